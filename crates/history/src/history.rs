//! Operations as data: who did what to which register, from when to when, and what came of it.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The end of an operation whose outcome isn't known: it may take effect at any time.
pub const NEVER_NS: i64 = i64::MAX;

/// What a register holds: one version of it, or in histories from elsewhere one value.
///
/// Numbers of two versions of a register are equal only where the versions are. How a number is made
/// is the business of who makes the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub u64);

impl Version {
    /// The register isn't there.
    pub const ABSENT: Self = Self(u64::MAX);
    /// What was loaded before the first operation.
    pub const LOADED: Self = Self(u64::MAX - 1);
    /// All above this number were there before the history: what earlier runs have left.
    const FIRST_EARLIER: u64 = 1 << 63;

    /// A version that an earlier run has left; `number` tells it from others.
    #[must_use]
    pub const fn earlier(number: u64) -> Self {
        Self(Self::FIRST_EARLIER | (number >> 2))
    }

    /// Whether it was there, or not there, before the history began.
    #[must_use]
    pub const fn is_initial(self) -> bool {
        self.0 >= Self::FIRST_EARLIER
    }
}

/// What an operation does to its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Returns the register's version.
    Read,
    /// Replaces it, whatever it is; by [`Version::ABSENT`], deletes it.
    Write,
    /// Replaces it if it is as expected, else changes nothing and has failed.
    CompareAndSet {
        /// What it has to be.
        expected: Version,
    },
}

/// What came of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It did what it was to do, between its start and its end.
    Ok,
    /// It certainly had no effect.
    Failed,
    /// It may have had an effect, or may yet have one.
    Unknown,
}

/// One operation on one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Whose: a session does one operation at a time.
    pub session: u32,
    /// What it did.
    pub action: Action,
    /// What came of it.
    pub fate: Fate,
    /// On which register.
    pub key: u64,
    /// The version that was written, or the one that was read.
    pub version: Version,
    /// When it began, on a clock that all operations share.
    pub start_ns: i64,
    /// When its answer was there; [`NEVER_NS`] where its fate is unknown.
    pub end_ns: i64,
}

impl Operation {
    /// Whether a version may come from it.
    #[must_use]
    pub const fn writes(&self) -> bool {
        !matches!(self.action, Action::Read)
    }

    /// A read that returned something, or found that there is nothing.
    #[must_use]
    pub const fn is_answered_read(&self) -> bool {
        matches!((self.action, self.fate), (Action::Read, Fate::Ok))
    }
}

/// Why a history can't be read, or can't be checked by the checker that was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct BadHistory {
    /// The operation's place in the history, from 0.
    pub operation: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// The operations of one run, or of one file.
///
/// A session's operations are in the order in which it did them; those of several sessions may be
/// interleaved in any order.
#[derive(Debug, Clone)]
pub struct History {
    operations: Vec<Operation>,
    /// An earlier run on the same data left writes of which nobody knows whether they took effect,
    /// so that one of its versions may appear at any time.
    pub earlier_unknown: bool,
    /// Keys of the registers that were written before the history began. Of others nothing was there,
    /// unless earlier runs have left something.
    pub loaded: Range<u64>,
    /// Reads that began outside tell of versions, and are in no count.
    pub counted_ns: Range<i64>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            operations: Vec::new(),
            earlier_unknown: false,
            loaded: 0..0,
            counted_ns: i64::MIN..NEVER_NS,
        }
    }
}

impl History {
    /// Checks `operations`.
    ///
    /// # Errors
    /// [`BadHistory`] for an operation that ends before it starts.
    pub fn new(mut operations: Vec<Operation>) -> Result<Self, BadHistory> {
        for (place, operation) in operations.iter_mut().enumerate() {
            if operation.fate == Fate::Unknown {
                operation.end_ns = NEVER_NS;
            }
            if operation.end_ns < operation.start_ns {
                let problem = format!(
                    "the operation ends at {} ns, before it starts at {} ns",
                    operation.end_ns, operation.start_ns
                );
                return Err(BadHistory { operation: place, problem });
            }
        }
        Ok(Self { operations, ..Self::default() })
    }

    /// Some of its operations, as a history that began as this one did.
    ///
    /// # Errors
    /// As [`Self::new`]'s.
    pub fn part(&self, operations: Vec<Operation>) -> Result<Self, BadHistory> {
        Ok(Self {
            operations: Self::new(operations)?.operations,
            earlier_unknown: self.earlier_unknown,
            loaded: self.loaded.clone(),
            counted_ns: self.counted_ns.clone(),
        })
    }

    /// All of them.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The same history, seen through clocks that differ by up to `uncertainty_ns` from the one that
    /// all are meant to share: each operation may have begun so much earlier and ended so much later.
    #[must_use]
    pub fn widened(mut self, uncertainty_ns: i64) -> Self {
        widen(&mut self.operations, uncertainty_ns);
        self
    }
}

/// See [`History::widened`].
pub(crate) fn widen(operations: &mut [Operation], uncertainty_ns: i64) {
    for operation in operations {
        operation.start_ns = operation.start_ns.saturating_sub(uncertainty_ns);
        operation.end_ns = operation.end_ns.saturating_add(uncertainty_ns);
    }
}
