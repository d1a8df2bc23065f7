//! What is asked of a history of registers.

use crate::{
    Checker, Fate, Finding, General, History, Initial, Limits, LinearizableRegister, Names,
    Operation, Version,
};
use serde::Serialize;
use std::collections::HashSet;

/// Whether each register of a history is linearizable: told at once where values are distinct, else
/// searched for within `limits`.
#[must_use]
pub fn check_registers(
    history: &History,
    initial: Initial,
    limits: Limits<'_>,
    names: &Names,
) -> Finding {
    let search = General { initial, limits, names };
    match distinct(history, initial) {
        // The few operations of a witness are searched in no time, and explained by their names.
        Some(Finding::Violated { witness }) => {
            match history.part(witness.operations.clone()).map(|few| search.answer(&few)) {
                Ok(Finding::Violated { witness }) => Finding::Violated { witness },
                _ => Finding::Violated { witness },
            }
        }
        Some(found) => found,
        None => search.answer(history),
    }
}

/// The answer where values are distinct, and what registers hold at first is known; `None` elsewhere.
fn distinct(history: &History, initial: Initial) -> Option<Finding> {
    let first = match initial {
        Initial::Known(version) => version,
        Initial::Earlier => Version::ABSENT,
        Initial::Any => return None,
    };
    let swapped = |operation: &Operation| {
        let version = match operation.version {
            version if version == first => Version::ABSENT,
            Version::ABSENT => first,
            version => version,
        };
        Operation { version, ..*operation }
    };
    let same = history.part(history.operations().iter().map(swapped).collect()).ok()?;
    let mut found = LinearizableRegister.check(&same).ok()?;
    if let Finding::Violated { witness } = &mut found {
        witness.operations = witness.operations.iter().map(swapped).collect();
    }
    Some(found)
}

/// What a history consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All of them.
    pub operations: usize,
    /// Of these: certainly without an effect.
    pub failed: usize,
    /// Of these: may have had an effect.
    pub unknown: usize,
    /// On so many registers.
    pub registers: usize,
    /// By so many sessions.
    pub sessions: usize,
}

impl Counts {
    /// Counts.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let operations = history.operations();
        let of_fate = |fate| operations.iter().filter(|operation| operation.fate == fate).count();
        let keys: HashSet<_> = operations.iter().map(|operation| operation.key).collect();
        let sessions: HashSet<_> = operations.iter().map(|operation| operation.session).collect();
        Self {
            operations: operations.len(),
            failed: of_fate(Fate::Failed),
            unknown: of_fate(Fate::Unknown),
            registers: keys.len(),
            sessions: sessions.len(),
        }
    }
}
