//! The smallest part of a register's operations that isn't linearizable by itself.
//!
//! A part proves something of the whole only if it is *closed*: with an operation that needs a value,
//! each one is in it that may have left that value there last. Left out are then reads, writes that
//! nobody in the part has seen, and those that another write of the part has certainly replaced
//! before. An order of the whole, without what is left out, is an order of a closed part: so where
//! the part has none, the whole has none.

use super::General;
use super::search::{Outcome, Register, Stuck};
use crate::{Action, Fate, Operation, Version, Witness};
use std::collections::HashMap;

/// The last so many operations are tried first, then four times as many, and so on.
const FIRST_WINDOW: usize = 16;
/// So many searches one witness may cost.
const SEARCHES: u32 = 400;

impl General<'_> {
    /// `operations` are those of one register that matter; the search got `stuck` there.
    pub(super) fn witness(&self, operations: &[Operation], stuck: Stuck) -> Witness {
        let (whole, ending) = Whole::new(operations, stuck.operation);
        let mut searches = 0;
        let mut smaller = |part: &Part, keep: &[bool]| -> Option<Part> {
            searches += 1;
            if searches > SEARCHES || (self.limits.give_up)() {
                return None;
            }
            let places = whole.closed(keep);
            (places.len() < part.places.len()).then(|| self.part(&whole, places)).flatten()
        };
        let all = (0..whole.operations.len()).collect();
        let mut part = Part { places: all, stuck: Stuck { operation: ending, ..stuck } };

        // What begins after the end at which every order fails is no part of it, nor are reads that
        // end after it.
        let last = whole.operations[ending];
        let is_before = |operation: &Operation| {
            operation.start_ns <= last.end_ns
                && (operation.writes() || operation.end_ns <= last.end_ns)
        };
        let before: Vec<_> = whole.operations.iter().map(is_before).collect();
        part = smaller(&part, &before).unwrap_or(part);

        let mut window = FIRST_WINDOW;
        while window < part.places.len() {
            let keep = whole.only(part.places.iter().rev().take(window));
            if let Some(found) = smaller(&part, &keep) {
                part = found;
                break;
            }
            window *= 4;
        }

        // Then without pieces of it, as delta debugging does (Zeller and Hildebrandt 2002).
        let mut piece = part.places.len().div_ceil(2);
        while piece > 0 {
            // Those of unknown fate may need each other, and nobody else them.
            let certain = part.places.iter().filter(|at| whole.operations[**at].fate == Fate::Ok);
            let keep = whole.only(certain);
            part = smaller(&part, &keep).unwrap_or(part);
            let mut from = 0;
            while from < part.places.len() {
                let without = from..from + piece;
                let kept = part.places.iter().enumerate().filter(|(at, _)| !without.contains(at));
                let keep = whole.only(kept.map(|(_, place)| place));
                match smaller(&part, &keep) {
                    Some(found) => part = found,
                    None => from += piece,
                }
            }
            piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
        }
        let explanation = self.explain(&whole, &part.stuck);
        whole.add_source(&mut part);
        let operations = part.places.iter().map(|place| whole.operations[*place]).collect();
        Witness { explanation, operations }
    }

    /// A part that isn't linearizable.
    fn part(&self, whole: &Whole, places: Vec<usize>) -> Option<Part> {
        let operations: Vec<_> = places.iter().map(|place| whole.operations[*place]).collect();
        match Register::new(&operations, self.initial, self.limits.states).search(self.limits) {
            Outcome::Stuck(stuck) => {
                let stuck = Stuck { operation: places[stuck.operation], ..stuck };
                Some(Part { places, stuck })
            }
            _ => None,
        }
    }

    fn explain(&self, whole: &Whole, stuck: &Stuck) -> String {
        let operation = whole.operations[stuck.operation];
        let name = |version| self.names.version(version);
        let did = match operation.action {
            Action::Read => format!("read {}", name(operation.version)),
            Action::CompareAndSet { expected } => {
                format!("changed {} to {}", name(expected), name(operation.version))
            }
            Action::Write => format!("wrote {}", name(operation.version)),
        };
        let held: Vec<_> = stuck.held.iter().map(|version| name(*version)).collect();
        let register = self.names.key(operation.key);
        if let Some(needed) = needed(&operation)
            && !self.initial.may_be(needed)
            && !whole
                .sources(needed)
                .iter()
                .any(|at| whole.operations[*at].start_ns <= operation.end_ns)
        {
            let session = operation.session;
            let needed = name(needed);
            return format!(
                "session {session} {did}, but nobody had written {needed} to {register}"
            );
        }
        let held = match held.as_slice() {
            [] => format!("nobody had written to {register} yet"),
            [only] => format!("{register} can only have held {only} then"),
            [others @ .., last] => {
                format!("{register} can only have held {} or {last} then", others.join(", "))
            }
        };
        format!("session {} {did}, but {held}", operation.session)
    }
}

/// Some operations of the whole, by their places in it, and where their search got stuck.
struct Part {
    places: Vec<usize>,
    stuck: Stuck,
}

/// All operations in the order of their starts.
pub(super) struct Whole {
    pub(super) operations: Vec<Operation>,
    /// By version: the places of those that leave it.
    sources: HashMap<Version, Vec<usize>>,
}

impl Whole {
    /// Also the new place of the operation at `place`.
    pub(super) fn new(operations: &[Operation], place: usize) -> (Self, usize) {
        let mut order: Vec<_> = (0..operations.len()).collect();
        order.sort_by_key(|at| operations[*at].start_ns);
        let new = order.iter().position(|at| *at == place).unwrap_or_default();
        let operations: Vec<_> = order.into_iter().map(|at| operations[at]).collect();
        let mut sources: HashMap<Version, Vec<usize>> = HashMap::new();
        for (at, operation) in operations.iter().enumerate().filter(|(_, o)| o.writes()) {
            sources.entry(operation.version).or_default().push(at);
        }
        (Self { operations, sources }, new)
    }

    /// The places of the operations that leave this version.
    fn sources(&self, version: Version) -> &[usize] {
        self.sources.get(&version).map_or(&[], Vec::as_slice)
    }

    fn only<'a>(&self, places: impl Iterator<Item = &'a usize>) -> Vec<bool> {
        let mut keep = vec![false; self.operations.len()];
        places.for_each(|place| keep[*place] = true);
        keep
    }

    /// The places of the operations to keep, and of all those that they need.
    pub(super) fn closed(&self, keep: &[bool]) -> Vec<usize> {
        // By the ends of kept writes: the latest start of one that has ended by then.
        let mut replaced: Vec<_> = self
            .operations
            .iter()
            .zip(keep)
            .filter(|(operation, keep)| **keep && operation.writes() && operation.fate == Fate::Ok)
            .map(|(operation, _)| (operation.end_ns, operation.start_ns))
            .collect();
        replaced.sort_unstable();
        let mut latest = i64::MIN;
        for (_, start_ns) in &mut replaced {
            latest = latest.max(*start_ns);
            *start_ns = latest;
        }
        let mut keep = keep.to_vec();
        let mut open = self.places(&keep);
        let mut until_ns = self.last_need_ns(&keep);
        while let Some(at) = open.pop() {
            let operation = &self.operations[at];
            let Some(needed) = needed(operation) else { continue };
            let before = replaced.partition_point(|(end_ns, _)| *end_ns < operation.start_ns);
            let replaced_from = before.checked_sub(1).map_or(i64::MIN, |last| replaced[last].1);
            for &source in self.sources(needed) {
                let written = &self.operations[source];
                let may_be_seen = written.end_ns >= replaced_from
                    && written.start_ns <= operation.end_ns.min(until_ns);
                if may_be_seen && !keep[source] {
                    keep[source] = true;
                    open.push(source);
                }
            }
            if open.is_empty() && self.last_need_ns(&keep) > until_ns {
                until_ns = self.last_need_ns(&keep);
                open = self.places(&keep);
            }
        }
        self.places(&keep)
    }

    fn places(&self, keep: &[bool]) -> Vec<usize> {
        (0..self.operations.len()).filter(|at| keep[*at]).collect()
    }

    /// When the last acknowledged one ends that needs a value: what an operation of unknown fate
    /// does after that matters to none.
    fn last_need_ns(&self, keep: &[bool]) -> i64 {
        let kept = self.operations.iter().zip(keep).filter(|(_, keep)| **keep);
        let needing = kept.filter(|(o, _)| o.fate == Fate::Ok && needed(o).is_some());
        needing.map(|(operation, _)| operation.end_ns).max().unwrap_or(i64::MIN)
    }

    /// Adds the newest operation that left the value which can't be there any more: no proof needs
    /// it, since it was replaced, but who reads the proof wants to see it.
    fn add_source(&self, part: &mut Part) {
        let last = &self.operations[part.stuck.operation];
        let Some(needed) = needed(last) else { return };
        let sources = self.sources(needed);
        if !sources.iter().any(|source| part.places.contains(source)) {
            let before = sources.iter().filter(|at| self.operations[**at].end_ns < last.start_ns);
            part.places.extend(before.max());
            part.places.sort_unstable();
        }
    }
}

/// The value that an operation must find.
const fn needed(operation: &Operation) -> Option<Version> {
    match operation.action {
        Action::Read => Some(operation.version),
        Action::CompareAndSet { expected } => Some(expected),
        Action::Write => None,
    }
}
