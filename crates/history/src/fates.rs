//! What became of acknowledged writes, as a run's records were read back after it.
//!
//! A write is *lost* if its record isn't there any more, or is of a version that was written before
//! it. Real time alone says what was before (see [`zones`](crate::zones)), so a lost write is a fact. A
//! version of a write of unknown outcome may be as new as any.

use crate::log::{self, Logged, ROW_BYTES, Row};
use crate::zones::Zones;
use crate::{Action, BadHistory, Fate, NEVER_NS, Operation};
use pacelc_core::OperationKind;
use rustc_hash::FxHashMap;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum After {
    /// It is there, or something that may have followed it is.
    Kept = 0,
    /// It isn't, and nothing that may have replaced it is.
    Lost = 1,
    /// Its record couldn't be read back.
    Unread = 2,
    /// Its record holds several versions, so that one of them can't tell.
    Untold = 3,
    /// No acknowledged write, or one of a record that somebody deleted.
    NotAsked = 255,
}

/// One answer for each of `rows`. `read_back` has a row for each record that was read afterwards, with
/// the version that was found; `one_version` says whether a record holds one at a time.
///
/// # Errors
/// As [`log::read`]'s; and where a version is written twice.
pub fn fates(
    rows: &[u8],
    read_back: &[u8],
    logged: &Logged,
    one_version: bool,
) -> Result<Vec<After>, BadHistory> {
    let log = log::read(rows, logged)?;
    let read_back: FxHashMap<u64, Row> = read_back
        .as_chunks::<ROW_BYTES>()
        .0
        .iter()
        .map(Row::decode)
        .map(|r| (r.record, r))
        .collect();
    let mut found = vec![After::NotAsked; rows.len() / ROW_BYTES];
    let newest = if one_version { versions_read(&log, &read_back)? } else { Vec::new() };
    let (all, _) = rows.as_chunks::<ROW_BYTES>();
    for (place, operation) in log.history.operations().iter().enumerate() {
        if !operation.writes() || operation.fate != Fate::Ok {
            continue;
        }
        let number = log.rows[place] as usize;
        let row = Row::decode(&all[number]);
        let inserts = row.kind == OperationKind::Insert as u8;
        found[number] = match read_back.get(&row.record) {
            None => After::Unread,
            Some(after) if after.origin == log::Origin::Nothing as u8 => After::Lost,
            Some(_) if one_version => match newest.get(place) {
                Some(Some(true)) => After::Lost,
                Some(Some(false)) => After::Kept,
                _ if inserts => After::Kept,
                _ => After::Untold,
            },
            Some(_) if inserts => After::Kept,
            Some(_) => After::Untold,
        };
    }
    Ok(found)
}

/// By operation: whether a write is newer than what its record has afterwards; `None` where that was
/// not asked, or what it has is nobody's.
fn versions_read(
    log: &log::Log,
    read_back: &FxHashMap<u64, Row>,
) -> Result<Vec<Option<bool>>, BadHistory> {
    let mut operations = log.history.operations().to_vec();
    let asked = operations.len();
    let mut keys: Vec<u64> = operations.iter().map(|operation| operation.key).collect();
    keys.sort_unstable();
    keys.dedup();
    // As reads at the end of time, by which every acknowledged write is over.
    let after = keys.iter().filter_map(|key| {
        let version = log::version_read(read_back.get(key)?)?;
        Some(Operation {
            session: u32::MAX,
            action: Action::Read,
            fate: Fate::Ok,
            key: *key,
            version,
            start_ns: NEVER_NS - 1,
            end_ns: NEVER_NS - 1,
        })
    });
    operations.extend(after);
    let history = log.history.part(operations)?;
    let zones = Zones::of(&history)?;
    let mut last = vec![None; zones.keys.len()];
    for read in zones.reads.iter().filter(|read| read.operation as usize >= asked) {
        let zone = &zones.all[read.zone as usize];
        last[zone.register as usize] = (!zone.is_unwritten()).then_some(zone);
    }
    let mut newer = vec![None; asked];
    for zone in zones.all.iter().filter(|zone| (zone.write as usize) < asked) {
        let found = last[zone.register as usize];
        newer[zone.write as usize] = found.map(|found| found.written_before(zone));
    }
    Ok(newer)
}
