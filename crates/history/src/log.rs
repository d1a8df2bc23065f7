//! pacelc's own log of operations: rows of a fixed length, little-endian, so that writing one costs a
//! copy and reading a file is one call of any array library.
//!
//! | bytes | column |
//! |---|---|
//! | 0–7 | when it was due, nanoseconds since the run's origin; in a closed loop, its start |
//! | 8–15 | start |
//! | 16–23 | end |
//! | 24–31 | record number |
//! | 32–39 | the writer's sequence number: with the user, an operation's identity |
//! | 40–47 | sequence number of the newest value that was read; all ones for none |
//! | 48–51 | its writer (0 is the load phase) |
//! | 52–55 | user |
//! | 56 | kind of operation, as numbered by [`OperationKind::ALL`] |
//! | 57 | outcome: 0 ok, 1 fail, 2 unknown |
//! | 58 | kind of error, as numbered by `ErrorKind::ALL`; 255 for none |
//! | 59 | where the version that was read is from: see [`Origin`] |
//! | 60 | 1 where the fields that were read are of several writes, although each writes all of them |
//! | 61–63 | bits 0–11: the one field that was written, or by what only reads, read, plus 1; bits 12–23: of a read-modify-write, the one that it read, plus 1; 0 for all |

use crate::history::widen;
use crate::{Action, BadHistory, Fate, History, Operation, Version};
use pacelc_core::{OperationKind, seed};

/// Bytes of a row.
pub const ROW_BYTES: usize = 64;

/// Bits of a version's number that are its user's own count; those above are the user.
pub(crate) const SEQUENCE_BITS: u32 = 36;

/// Bits of the number of a field.
const FIELD_BITS: u32 = 12;

/// Where a version that was read is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// A write of this run.
    Run = 0,
    /// The load.
    Load = 1,
    /// An earlier run on the same data.
    Earlier = 2,
    /// Nothing was found.
    Nothing = 3,
    /// No version was read, or one that doesn't name its write.
    None = 255,
}

/// One operation as it is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// When it was due, nanoseconds since the run's origin.
    pub due_ns: u64,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Its record's number.
    pub record: u64,
    /// As which of its user's operations.
    pub sequence: u64,
    /// Of the version that was read.
    pub read_sequence: u64,
    /// And its writer.
    pub read_writer: u32,
    /// Whose it is.
    pub user: u32,
    /// As numbered by [`OperationKind::ALL`].
    pub kind: u8,
    /// 0 ok, 1 fail, 2 unknown.
    pub outcome: u8,
    /// As numbered by `ErrorKind::ALL`; 255 for none.
    pub error: u8,
    /// See [`Origin`].
    pub origin: u8,
    /// Whether what was read is of several writes.
    pub torn: bool,
    /// The one that was written, or by what only reads, read, plus 1; 0 for all.
    pub field: u16,
    /// Of a read-modify-write, the one that it read, plus 1; 0 for all.
    pub read_field: u16,
}

impl Row {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        let words = [
            self.due_ns,
            self.start_ns,
            self.end_ns,
            self.record,
            self.sequence,
            self.read_sequence,
        ];
        for (bytes, word) in row.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        row[48..52].copy_from_slice(&self.read_writer.to_le_bytes());
        row[52..56].copy_from_slice(&self.user.to_le_bytes());
        row[56..61].copy_from_slice(&[
            self.kind,
            self.outcome,
            self.error,
            self.origin,
            u8::from(self.torn),
        ]);
        let fields = u32::from(self.field) | u32::from(self.read_field) << FIELD_BITS;
        row[61..].copy_from_slice(&fields.to_le_bytes()[..3]);
        row
    }

    /// From bytes.
    #[must_use]
    pub fn decode(row: &[u8; ROW_BYTES]) -> Self {
        let (words, _) = row.as_chunks::<8>();
        let word = |place: usize| u64::from_le_bytes(words[place]);
        Self {
            due_ns: word(0),
            start_ns: word(1),
            end_ns: word(2),
            record: word(3),
            sequence: word(4),
            read_sequence: word(5),
            read_writer: word(6) as u32,
            user: (word(6) >> 32) as u32,
            kind: row[56],
            outcome: row[57],
            error: row[58],
            origin: row[59],
            torn: row[60] == 1,
            field: (word(7) >> 40) as u16 & ((1 << FIELD_BITS) - 1),
            read_field: (word(7) >> (40 + FIELD_BITS)) as u16,
        }
    }
}

/// What of a run says how its rows are to be read.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logged {
    /// Records that were loaded, from the first number up to this one, which wasn't.
    pub loaded_from: u64,
    /// See there.
    pub loaded_to: u64,
    /// Fields of a record where an update writes one of them, and each is a register; 0 where a record
    /// holds one version at a time, and is one.
    #[serde(default)]
    pub fields: u32,
    /// See [`History::earlier_unknown`].
    #[serde(default)]
    pub earlier_unknown: bool,
    /// By how much clocks of several machines may differ, nanoseconds.
    #[serde(default)]
    pub clock_uncertainty_ns: i64,
    /// Which records are in the log, where it is a sample.
    #[serde(default)]
    pub sample: Option<Sample>,
    /// Reads that began from here on, and before there, are counted; all where there are none.
    #[serde(default)]
    pub counted_ns: Option<(i64, i64)>,
}

/// A sample of records: all operations of those, and none of others.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// With which chance a record is in it.
    pub threshold: f64,
    /// Those that are in it in any case.
    pub hot_records: Vec<u64>,
}

/// A run's history, and what its rows say beyond that.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Without records that somebody deleted.
    pub history: History,
    /// By operation of the history, the row that it is from.
    pub rows: Vec<u32>,
    /// Rows with a read that counts, whose fields are of several writes.
    pub torn: Vec<u32>,
    /// Reads that count and found nothing.
    pub missed: u64,
    /// The operations on records that somebody deleted: nothing is there before a write and after a
    /// delete, so that reading nothing doesn't say which of them it came after.
    pub deleted: Vec<Operation>,
}

/// Reads rows, in the order in which they were due; a session's must be in its order.
///
/// # Errors
/// [`BadHistory`], with a row's number, for one that no engine writes.
pub fn read(rows: &[u8], logged: &Logged) -> Result<Log, BadHistory> {
    let (rows, rest) = rows.as_chunks::<ROW_BYTES>();
    if !rest.is_empty() {
        let problem = format!("the last row has {} bytes of {ROW_BYTES}", rest.len());
        return Err(BadHistory { operation: rows.len(), problem });
    }
    let mut gone: Vec<u64> = rows
        .iter()
        .map(Row::decode)
        .filter(|r| r.kind == OperationKind::Delete as u8)
        .map(|r| r.record)
        .collect();
    gone.sort_unstable();
    gone.dedup();
    let mut log = Log::default();
    let mut operations = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().map(Row::decode).enumerate() {
        let is_gone = gone.binary_search(&row.record).is_ok();
        let is_counted = logged.counted_ns.is_none_or(|(from_ns, to_ns)| {
            i64::try_from(row.start_ns).is_ok_and(|start_ns| (from_ns..to_ns).contains(&start_ns))
        });
        if is_counted && row.kind != OperationKind::Scan as u8 {
            if row.torn && !is_gone {
                log.torn.push(number as u32);
            }
            log.missed += u64::from(row.origin == Origin::Nothing as u8);
        }
        each_operation(&row, logged, |operation| {
            if is_gone {
                log.deleted.push(operation);
            } else {
                operations.push(operation);
                log.rows.push(number as u32);
            }
        })
        .map_err(|problem| BadHistory { operation: number, problem })?;
    }
    let rows = std::mem::take(&mut log.rows);
    let history = History::new(operations)
        .map_err(|bad| BadHistory { operation: rows[bad.operation] as usize, ..bad })?;
    log.rows = rows;
    let fields = u64::from(logged.fields.max(1));
    log.history = history.widened(logged.clock_uncertainty_ns);
    let mut deleted = std::mem::take(&mut log.deleted);
    widen(&mut deleted, logged.clock_uncertainty_ns);
    log.deleted = deleted;
    log.history.loaded = logged.loaded_from * fields..logged.loaded_to * fields;
    log.history.earlier_unknown = logged.earlier_unknown;
    if let Some((from_ns, to_ns)) = logged.counted_ns {
        log.history.counted_ns = from_ns..to_ns;
    }
    Ok(log)
}

/// Calls `found` with each operation on a register that a row is: two for a read-modify-write, one a
/// field for an insert where each field is a register, none for what says nothing.
fn each_operation(
    row: &Row,
    logged: &Logged,
    mut found: impl FnMut(Operation),
) -> Result<(), String> {
    let kind = OperationKind::ALL
        .get(usize::from(row.kind))
        .ok_or_else(|| format!("no kind of operation has the number {}", row.kind))?;
    let fate = match row.outcome {
        0 => Fate::Ok,
        1 => Fate::Failed,
        2 => Fate::Unknown,
        other => return Err(format!("no outcome has the number {other}")),
    };
    let time = |ns: u64| i64::try_from(ns).map_err(|_| format!("{ns} ns is no time of a run"));
    let (start_ns, end_ns) = (time(row.start_ns)?, time(row.end_ns)?);
    if row.sequence >> SEQUENCE_BITS != 0 || row.user >> (63 - SEQUENCE_BITS) != 0 {
        return Err(format!("user {} has no operation {}", row.user, row.sequence));
    }
    let fields = u64::from(logged.fields);
    let registers = |field: u16| match (fields, u64::from(field)) {
        (0, _) => row.record..row.record + 1,
        (_, 0) => row.record * fields..(row.record + 1) * fields,
        (_, field) => row.record * fields + field - 1..row.record * fields + field,
    };
    // What a read-modify-write read is known even where it isn't known whether it wrote.
    let reads = match kind {
        OperationKind::Read => fate == Fate::Ok,
        OperationKind::ReadModifyWrite => true,
        _ => false,
    };
    let writes = matches!(
        kind,
        OperationKind::Update | OperationKind::Insert | OperationKind::ReadModifyWrite
    );
    let mut add = |action, fate, key, version| {
        found(Operation { session: row.user, action, fate, key, version, start_ns, end_ns });
    };
    if reads && let Some(version) = version_read(row) {
        let both = *kind == OperationKind::ReadModifyWrite;
        for key in registers(if both { row.read_field } else { row.field }) {
            add(Action::Read, Fate::Ok, key, version);
        }
    }
    if writes {
        for key in registers(row.field) {
            add(Action::Write, fate, key, version(row.user, row.sequence));
        }
    }
    if *kind == OperationKind::Delete {
        for key in registers(0) {
            add(Action::Write, fate, key, Version::ABSENT);
        }
    }
    Ok(())
}

const fn version(user: u32, sequence: u64) -> Version {
    Version((user as u64) << SEQUENCE_BITS | sequence & ((1 << SEQUENCE_BITS) - 1))
}

pub(crate) fn version_read(row: &Row) -> Option<Version> {
    match row.origin {
        0 => Some(version(row.read_writer.checked_sub(1)?, row.read_sequence)),
        1 => Some(Version::LOADED),
        2 => {
            Some(Version::earlier(seed::mix(row.read_sequence ^ seed::mix(row.read_writer.into()))))
        }
        3 => Some(Version::ABSENT),
        _ => None,
    }
}
