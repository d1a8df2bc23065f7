//! Small random histories of one register or two, and logged operations.
#![allow(dead_code)] // Each test file uses some of it.

use pacelc_core::OperationKind;
use pacelc_history::log::{Origin, Row};
use pacelc_history::{Action, Fate, History, Operation, Version};
use proptest::prelude::*;

/// Of which kinds histories are.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub operations: usize,
    pub keys: u64,
    /// Whether each register has one session that writes it.
    pub single_writer: bool,
}

/// A session's next operation: how long after the last, how long it takes, whether it writes, its
/// fate, its key, and which version it reads.
type Draw = (i64, i64, bool, u8, u64, u64);

/// Histories in which every value is written once; reads return whatever was written, or nothing.
pub fn histories(kind: Kind) -> impl Strategy<Value = History> {
    let draw = (0..4i64, 0..7i64, any::<bool>(), 0..8u8, 0..kind.keys, any::<u64>());
    let sessions = prop::collection::vec(prop::collection::vec(draw, 1..4), 1..4);
    sessions.prop_map(move |sessions| history(&sessions, kind))
}

fn history(sessions: &[Vec<Draw>], kind: Kind) -> History {
    let mut operations = Vec::new();
    for (session, draws) in sessions.iter().enumerate() {
        let mut now_ns = 0;
        for (gap, lasts, writes, fate, key, choice) in draws {
            let writes = *writes && (!kind.single_writer || *key as usize == session);
            let start_ns = now_ns + gap + 1;
            now_ns = start_ns + lasts;
            let fate = match fate {
                0 if writes => Fate::Failed,
                1 if writes => Fate::Unknown,
                _ => Fate::Ok,
            };
            operations.push(Operation {
                session: session as u32,
                action: if writes { Action::Write } else { Action::Read },
                fate,
                key: *key,
                version: Version(*choice),
                start_ns,
                end_ns: now_ns,
            });
        }
    }
    operations.truncate(kind.operations);
    // Numbers for what is written, and then what is read: mostly something that may have been there.
    for (number, operation) in operations.iter_mut().enumerate().filter(|(_, o)| o.writes()) {
        operation.version = Version(number as u64);
    }
    for place in 0..operations.len() {
        let read = operations[place];
        if read.writes() {
            continue;
        }
        let begun =
            |o: &&Operation| o.writes() && o.key == read.key && o.start_ns <= read.end_ns + 1;
        let candidates: Vec<Version> =
            operations.iter().filter(begun).map(|o| o.version).chain([Version::ABSENT]).collect();
        operations[place].version = candidates[read.version.0 as usize % candidates.len()];
    }
    History::new(operations).unwrap()
}

/// Whether some order of the operations respects real time and explains every read: by trying all.
pub fn linearizable(history: &History) -> bool {
    let mut keys: Vec<u64> = history.operations().iter().map(|o| o.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().all(|key| {
        let begin = if history.loaded.contains(&key) { Version::LOADED } else { Version::ABSENT };
        let mut of_key: Vec<Operation> = history
            .operations()
            .iter()
            .filter(|o| {
                o.key == key && (o.fate != Fate::Failed) && (o.writes() || o.fate == Fate::Ok)
            })
            .copied()
            .collect();
        explained(&mut of_key, begin)
    })
}

fn explained(left: &mut Vec<Operation>, now: Version) -> bool {
    if left.iter().all(|o| o.fate == Fate::Unknown) {
        return true;
    }
    for place in 0..left.len() {
        let next = left[place];
        let first = left.iter().all(|other| other.end_ns >= next.start_ns);
        if !first || (!next.writes() && next.version != now) {
            continue;
        }
        left.swap_remove(place);
        let after = if next.writes() { next.version } else { now };
        let found = explained(left, after);
        left.push(next);
        let last = left.len() - 1;
        left.swap(place, last);
        if found {
            return true;
        }
    }
    false
}

/// The same operations, changed by `change`.
pub fn changed(history: &History, change: impl Fn(&mut Operation)) -> History {
    let mut operations = history.operations().to_vec();
    operations.iter_mut().for_each(change);
    let mut changed = History::new(operations).unwrap();
    changed.loaded = history.loaded.clone();
    changed
}

/// The same operations but the one at `place`.
pub fn without(history: &History, place: usize) -> History {
    let mut operations = history.operations().to_vec();
    operations.remove(place);
    let mut rest = History::new(operations).unwrap();
    rest.loaded = history.loaded.clone();
    rest
}

/// A logged operation of user 3 that did what it was to do in 10 ns, and read no version.
pub fn row(kind: OperationKind, record: u64, start_ns: u64) -> Row {
    Row {
        due_ns: start_ns,
        start_ns,
        end_ns: start_ns + 10,
        record,
        sequence: start_ns,
        read_sequence: u64::MAX,
        read_writer: 0,
        user: 3,
        kind: kind as u8,
        outcome: 0,
        error: 255,
        origin: Origin::None as u8,
        torn: false,
        field: 0,
        read_field: 0,
    }
}
