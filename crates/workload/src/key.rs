//! Record number → key.

use std::fmt::Write as _;

/// YCSB's key of record `number`: `user` and the number's FNV-1a hash, so that neighbours in
/// number are strangers in the database's order.
///
/// Source: YCSB, `Utils.fnvhash64` and `CoreWorkload.buildKeyName` with `insertorder=hashed`.
/// (YCSB hashes the number's eight octets, lowest first, and takes the absolute value.)
///
/// ```
/// let mut key = String::new();
/// pacelc_workload::key::write_hashed(999, &mut key);
/// assert_eq!(key, "user2071219101098386137");
/// ```
pub fn write_hashed(number: u64, key: &mut String) {
    key.clear();
    // Writing to a String can't fail.
    let _ = write!(key, "user{}", fnv_1a_64(number).unsigned_abs());
}

fn fnv_1a_64(number: u64) -> i64 {
    number
        .to_le_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(1_099_511_628_211)
        })
        .cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_equal_ycsbs() {
        let mut key = String::new();
        for (number, expected) in [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
            (999, "user2071219101098386137"),
        ] {
            write_hashed(number, &mut key);
            assert_eq!(key, expected);
        }
    }
}
