//! Visibility against its definition, taken word by word.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Kind, histories};
use pacelc_history::visibility::{BINS, Seen, bin, bin_begin_ns, visibility};
use pacelc_history::{Fate, Operation, Version};
use proptest::prelude::*;

const TWO: Kind = Kind { operations: 12, keys: 2, single_writer: false };

/// When a version was written: not before, and not after.
fn written(all: &[Operation], key: u64, version: Version) -> Option<(i64, i64)> {
    let of = |o: &&Operation| o.key == key && o.version == version;
    let write = all.iter().filter(of).find(|o| o.writes())?;
    let acknowledged = (write.fate == Fate::Ok).then_some(write.end_ns);
    let reads = all.iter().filter(of).filter(|o| o.is_answered_read()).map(|o| o.end_ns);
    let last = acknowledged.into_iter().chain(reads).min().unwrap_or(i64::MAX);
    Some((write.start_ns, last.max(write.start_ns)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn it_is_as_defined(history in histories(TWO)) {
        let all = history.operations();
        let mut expected = vec![Seen::default(); BINS];
        for read in all.iter().filter(|o| o.is_answered_read()) {
            let mine = match written(all, read.key, read.version) {
                None if read.version == Version::ABSENT => (i64::MIN, i64::MIN),
                None => continue,
                Some(times) => times,
            };
            let before = |o: &&Operation| {
                o.writes() && o.fate == Fate::Ok && o.key == read.key && o.end_ns < read.start_ns
            };
            let ended = all.iter().filter(before).map(|o| o.end_ns).max();
            // Of several that ended at once, the one that began last is the newest.
            let newest = all.iter().filter(before).filter(|o| Some(o.end_ns) == ended).max_by_key(|o| o.start_ns);
            let Some(newest) = newest else { continue };
            if all.iter().filter(before).filter(|o| o.end_ns == newest.end_ns).count() > 1 {
                return Ok(());
            }
            let theirs = written(all, read.key, newest.version).unwrap();
            let seen = &mut expected[bin(read.start_ns - newest.end_ns)];
            if read.version == newest.version || theirs.1 < mine.0 {
                seen.seen += 1;
            } else if mine.1 < theirs.0 {
                seen.unseen += 1;
            } else {
                seen.untold += 1;
            }
        }
        prop_assert_eq!(visibility(&history).unwrap(), expected, "{:#?}", history);
    }

    #[test]
    fn a_duration_lies_in_its_bin(ns in 1..2_000_000_000_000_i64) {
        let bin = bin(ns);
        prop_assert!(bin_begin_ns(bin) <= ns as f64 * 1.000_001);
        prop_assert!(bin + 1 == BINS || ns as f64 <= bin_begin_ns(bin + 1) * 1.000_001);
    }
}
