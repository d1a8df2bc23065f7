//! Record number → key.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Which order keys are in, as against record numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertOrder {
    /// The number's hash: neighbours in number are strangers in the database's order.
    #[default]
    Hashed,
    /// The number itself.
    Ordered,
}

/// How records are named: as YCSB names them.
///
/// Source: YCSB, `CoreWorkload.buildKeyName`, `Utils.fnvhash64`. (YCSB hashes the number's eight
/// octets, lowest first, and takes the absolute value.)
///
/// ```
/// use pacelc_workload::key::{InsertOrder, KeyNames};
/// let mut key = String::new();
/// KeyNames { order: InsertOrder::Hashed, zero_padding: 1 }.write(999, &mut key);
/// assert_eq!(key, "user2071219101098386137");
/// KeyNames { order: InsertOrder::Ordered, zero_padding: 8 }.write(5, &mut key);
/// assert_eq!(key, "user00000005");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyNames {
    /// Hash, or number.
    pub order: InsertOrder,
    /// Digits at least; zeros are put before fewer.
    pub zero_padding: usize,
}

impl KeyNames {
    /// Writes the key of record `number` in place of what `key` holds.
    pub fn write(self, number: u64, key: &mut String) {
        key.clear();
        let digits = match self.order {
            InsertOrder::Hashed => fnv_1a_64(number).unsigned_abs(),
            InsertOrder::Ordered => number,
        };
        // Writing to a String can't fail.
        let _ = match self.zero_padding {
            0 | 1 => write!(key, "user{digits}"),
            width => write!(key, "user{digits:0width$}"),
        };
    }
}

pub(crate) fn fnv_1a_64(number: u64) -> i64 {
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

    fn key(order: InsertOrder, zero_padding: usize, number: u64) -> String {
        let mut key = String::new();
        KeyNames { order, zero_padding }.write(number, &mut key);
        key
    }

    #[test]
    fn hashed_keys_equal_ycsbs() {
        for (number, expected) in [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
            (999, "user2071219101098386137"),
        ] {
            assert_eq!(key(InsertOrder::Hashed, 1, number), expected);
            assert_eq!(key(InsertOrder::Hashed, 0, number), expected);
        }
        assert_eq!(key(InsertOrder::Hashed, 22, 0), "user0006284781860667377211");
    }

    #[test]
    fn ordered_keys_are_numbers_and_padded_ones_sort() {
        assert_eq!(key(InsertOrder::Ordered, 1, 5_000_000_000), "user5000000000");
        let keys: Vec<_> = (0..2_000).map(|n| key(InsertOrder::Ordered, 12, n)).collect();
        assert!(keys.is_sorted());
    }
}
