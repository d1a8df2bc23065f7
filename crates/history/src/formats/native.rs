//! Packed rows, one an operation, little-endian: how `pacelc.history` hands over a run's log.
//!
//! | bytes | hold |
//! |---|---|
//! | 8 | key |
//! | 8 | version written or read: see [`log`](crate::log) |
//! | 8 | version expected, of a compare-and-set |
//! | 8, 8 | start and end, nanoseconds; the end of an unknown one is ignored |
//! | 4 | session |
//! | 1 | 0 read, 1 write, 2 compare-and-set |
//! | 1 | 0 ok, 1 failed, 2 unknown |
//! | 2 | 0 |

use super::{BadLine, Read};
use crate::{Action, Fate, History, Names, Operation, Version};

/// What a file of rows begins with.
pub const MAGIC: &[u8; 8] = b"pacelch1";
/// The bytes of a row.
pub const ROW: usize = 48;

/// Whether this begins as such rows do.
#[must_use]
pub fn is_native(data: &[u8]) -> bool {
    data.starts_with(MAGIC)
}

/// Reads a history; a bad row's number takes the place of a line's.
pub fn read(data: &[u8]) -> Result<Read, BadLine> {
    let Some(rows) = data.strip_prefix(MAGIC) else {
        return Err(BadLine::new(1, "these are no packed rows"));
    };
    let (rows, rest) = rows.as_chunks::<ROW>();
    if !rest.is_empty() {
        return Err(BadLine::new(rows.len() as u32 + 1, "the last row is cut short"));
    }
    let operations = rows.iter().zip(1..).map(|(row, number)| {
        operation(row).ok_or_else(|| BadLine::new(number, "no such action or fate"))
    });
    let history = History::new(operations.collect::<Result<_, _>>()?)
        .map_err(|bad| BadLine::new(bad.operation as u32 + 1, bad.problem))?;
    Ok(Read { history, names: Names::of_log(), lines: Vec::new(), is_timed: true })
}

fn operation(row: &[u8; ROW]) -> Option<Operation> {
    let (words, _) = row.as_chunks::<8>();
    let [key, version, expected, start, end, last] = *words else { return None };
    let [s0, s1, s2, s3, action, fate, 0, 0] = last else { return None };
    Some(Operation {
        session: u32::from_le_bytes([s0, s1, s2, s3]),
        action: match action {
            0 => Action::Read,
            1 => Action::Write,
            2 => Action::CompareAndSet { expected: Version(u64::from_le_bytes(expected)) },
            _ => return None,
        },
        fate: match fate {
            0 => Fate::Ok,
            1 => Fate::Failed,
            2 => Fate::Unknown,
            _ => return None,
        },
        key: u64::from_le_bytes(key),
        version: Version(u64::from_le_bytes(version)),
        start_ns: i64::from_le_bytes(start),
        end_ns: i64::from_le_bytes(end),
    })
}

/// Packs operations as [`read`] reads them.
#[must_use]
pub fn pack<'o>(operations: impl IntoIterator<Item = &'o Operation>) -> Vec<u8> {
    let mut data = MAGIC.to_vec();
    for one in operations {
        let (action, expected) = match one.action {
            Action::Read => (0, Version(0)),
            Action::Write => (1, Version(0)),
            Action::CompareAndSet { expected } => (2, expected),
        };
        for word in [one.key, one.version.0, expected.0] {
            data.extend(word.to_le_bytes());
        }
        data.extend(one.start_ns.to_le_bytes());
        data.extend(one.end_ns.to_le_bytes());
        data.extend(one.session.to_le_bytes());
        data.extend([action, one.fate as u8, 0, 0]);
    }
    data
}
