//! `sharding: client`: which replica set holds a key, and what several sets' scans are together.
//!
//! The hash of a key is 64-bit FNV-1a over its UTF-8 octets, then the finalizer of `MurmurHash3`
//! (`fmix64`), since the low bits of FNV-1a alone follow those of the key's octets. Of `n` sets the
//! key's is the one in whose n-th of all 64-bit numbers the hash lies: `hash × n / 2⁶⁴`. Nothing
//! else goes into it, so that every process, thread and machine finds a key in the same set; the
//! order of the sets in the target is part of where records are.

/// The set that holds `key`, of so many.
pub(super) fn set_of(key: &str, sets: usize) -> usize {
    ((u128::from(hash(key)) * sets as u128) >> 64) as usize
}

fn hash(key: &str) -> u64 {
    let mut hash = key.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

/// Merges lists that are sorted by key: their items in order of the keys.
pub(super) fn merged<K: Ord + Copy, T>(lists: Vec<Vec<(K, T)>>) -> impl Iterator<Item = T> {
    let mut lists: Vec<_> = lists.into_iter().map(|list| list.into_iter().peekable()).collect();
    std::iter::from_fn(move || {
        let heads =
            lists.iter_mut().enumerate().filter_map(|(n, l)| l.peek().map(|(k, _)| (*k, n)));
        let (_, least) = heads.min()?;
        lists[least].next().map(|(_, item)| item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_key_is_where_it_always_was() {
        // Worked out by another program from the description above. A change here loses every
        // record that was loaded before it.
        for (key, hash_of_key, of_two, of_three, of_twelve) in KNOWN {
            assert_eq!(hash(key), hash_of_key, "{key}");
            let sets = [2, 3, 12].map(|sets| set_of(key, sets));
            assert_eq!(sets, [of_two, of_three, of_twelve], "{key}");
        }
    }

    const KNOWN: [(&str, u64, usize, usize, usize); 5] = [
        ("", 0xEFD0_1F60_BA99_2926, 1, 2, 11),
        ("user0", 0xDA57_046A_3E4A_4DDB, 1, 2, 10),
        ("user6284781860667377211", 0x1885_DBA9_7A5A_C870, 0, 0, 1),
        ("user8517097267634966620", 0xC7B9_F08E_EE37_3F79, 1, 2, 9),
        ("käse", 0x5F36_CDEA_F19E_5148, 0, 1, 4),
    ];

    /// The share of each set, as counts.
    fn shares<'a>(keys: impl Iterator<Item = &'a str>, sets: usize) -> Vec<usize> {
        let mut counts = vec![0; sets];
        for key in keys {
            counts[set_of(key, sets)] += 1;
        }
        counts
    }

    /// Keys as YCSB makes them: hashed numbers, or numbers in order, from any on.
    fn keys(from: u64, count: u64, hashed: bool, width: usize) -> Vec<String> {
        let digits = |n: u64| if hashed { n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1 } else { n };
        (from..from + count).map(|n| format!("user{:0width$}", digits(n))).collect()
    }

    proptest! {
        #[test]
        fn every_key_goes_to_exactly_one_set(key in ".{0,40}", sets in 1usize..65) {
            let set = set_of(&key, sets);
            prop_assert!(set < sets);
            // The same from another copy of the text.
            prop_assert_eq!(set_of(&key.clone(), sets), set);
        }

        /// Within six standard deviations of a fair draw, whatever the keys' form.
        #[test]
        fn shares_are_fair(
            from in 0u64..1 << 40, count in 1_000u64..4_000, hashed: bool, width in 1usize..13,
            sets in 1usize..13,
        ) {
            let keys = keys(from, count, hashed, width);
            let expected = count as f64 / sets as f64;
            let deviation = (expected * (1.0 - 1.0 / sets as f64)).sqrt();
            for share in shares(keys.iter().map(String::as_str), sets) {
                prop_assert!((share as f64 - expected).abs() <= 6.0 * deviation + 1e-9, "{share} of {count}");
            }
        }

        #[test]
        fn the_sets_scans_merged_are_a_scan_of_their_union(
            keys in prop::collection::btree_set("[a-c]{1,6}", 0..80),
            start in "[a-c]{0,4}", limit in 1usize..50, sets in 1usize..8,
        ) {
            let scan = |records: &BTreeSet<String>| -> Vec<String> {
                records.range(start.clone()..).take(limit).cloned().collect()
            };
            let mut held = vec![BTreeSet::new(); sets];
            for key in &keys {
                held[set_of(key, sets)].insert(key.clone());
            }
            let found: Vec<_> = held.iter().map(scan).collect();
            let lists = found.iter().map(|l| l.iter().map(|k| (k.as_str(), k.clone())).collect());
            let together: Vec<String> = merged(lists.collect()).take(limit).collect();
            prop_assert_eq!(together, scan(&keys));
        }
    }
}
