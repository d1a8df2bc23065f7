//! Is a history of registers linearizable, where values may repeat and be compared and set?
//!
//! The search of Wing and Gong (JPDC 1993) with the memory of Lowe (CPE 2017), as Porcupine and
//! Knossos do it, for each register apart (locality: Herlihy and Wing, TOPLAS 1990). It takes time
//! exponential in the number of operations that overlap, so it has limits and may answer *unknown*.
//!
//! An order is built from left to right along the ends of the acknowledged operations. At each end
//! the operation has to be in the order, so some of those that have begun are put in until it is.
//! What the future depends on is then the end that was reached, the register's value, which of the
//! operations that are still open are in, and which of unknown fate: of those that are equal in all
//! this one is enough. Three rules keep their number small:
//!
//! - A read that finds its value is put in at once: it changes nothing, so that waiting gains nothing.
//! - An operation of unknown fate is put in only where the next one needs its value: else the order
//!   without it is an order, too.
//! - Of two that differ only in the operations of unknown fate, the one that has used fewer is
//!   enough: what it has left over may as well never take effect.
//!
//! An end at which every order fails is the end of the shortest part that isn't linearizable.

mod search;
#[cfg(test)]
mod tests;
mod witness;

use crate::{BadHistory, Checker, Finding, History, Names, Operation, Version};
use search::{Outcome, Register};
use std::collections::HashMap;

/// What a register holds before the first operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// This.
    Known(Version),
    /// Any of the versions that [`Version::is_initial`] tells.
    Earlier,
    /// Anything.
    Any,
}

impl Initial {
    /// Whether a register may hold this at first.
    fn may_be(self, version: Version) -> bool {
        match self {
            Self::Known(known) => known == version,
            Self::Earlier => version.is_initial(),
            Self::Any => true,
        }
    }
}

/// About what a remembered state of a search takes, its share of the tables included.
pub const STATE_BYTES: usize = 256;

/// How long a search may go on.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// So many states of the search may be remembered, of about [`STATE_BYTES`] each.
    pub states: usize,
    /// Asked now and then: whether to give up.
    pub give_up: &'a dyn Fn() -> bool,
}

/// Linearizable registers with read, write, and compare-and-set.
#[derive(Clone, Copy)]
pub struct General<'a> {
    /// What each register holds at first.
    pub initial: Initial,
    /// When to answer *unknown*.
    pub limits: Limits<'a>,
    /// What the explanation calls values and registers.
    pub names: &'a Names,
}

/// So many registers that aren't linearizable are looked at for the smallest witness.
const WITNESSES: usize = 8;

impl Checker for General<'_> {
    fn name(&self) -> &'static str {
        "linearizable"
    }

    fn check(&self, history: &History) -> Result<Finding, BadHistory> {
        Ok(self.answer(history))
    }
}

impl General<'_> {
    pub(crate) fn answer(&self, history: &History) -> Finding {
        let mut unknown = None;
        let mut witnesses = Vec::new();
        for operations in registers(history.operations()) {
            match self.search(&operations) {
                Outcome::Linearizable => {}
                Outcome::GaveUp(reason) => {
                    let register = self.names.key(operations[0].key);
                    unknown.get_or_insert_with(|| format!("{register}: {reason}"));
                }
                Outcome::Stuck(stuck) => {
                    if history.earlier_unknown && !self.stuck_without_earlier(&operations) {
                        unknown.get_or_insert_with(|| {
                            "an earlier run left writes of unknown outcome".into()
                        });
                        continue;
                    }
                    witnesses.push(self.witness(&operations, stuck));
                    if witnesses.len() == WITNESSES {
                        break;
                    }
                }
            }
        }
        match (witnesses.into_iter().min_by_key(|witness| witness.operations.len()), unknown) {
            (Some(witness), _) => Finding::Violated { witness },
            (None, Some(reason)) => Finding::Unknown { reason },
            (None, None) => Finding::Holds,
        }
    }

    fn search(&self, operations: &[Operation]) -> Outcome {
        Register::new(operations, self.initial, self.limits.states).search(self.limits)
    }

    /// Whether it isn't linearizable even if what was there before may appear at any time.
    fn stuck_without_earlier(&self, operations: &[Operation]) -> bool {
        let later: Vec<_> = operations
            .iter()
            .filter(|operation| operation.writes() || !operation.version.is_initial())
            .copied()
            .collect();
        matches!(self.search(&later), Outcome::Stuck(_))
    }
}

/// The operations that matter, register by register, in the order of the registers' first ones.
///
/// Those that failed had no effect, and a read without an answer tells nothing.
fn registers(operations: &[Operation]) -> Vec<Vec<Operation>> {
    let mut place = HashMap::new();
    let mut registers: Vec<Vec<Operation>> = Vec::new();
    for operation in operations.iter().filter(|operation| search::matters(operation)) {
        let at = *place.entry(operation.key).or_insert_with(|| {
            registers.push(Vec::new());
            registers.len() - 1
        });
        registers[at].push(*operation);
    }
    registers
}
