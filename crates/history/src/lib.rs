//! Recorded operations, and the checkers that read them: what clients observed, and whether it is
//! what a guarantee demands.
//!
//! Start with [`Operation`] and [`History`], then [`Checker`] and its three answers.
//!
//! | module | holds |
//! |---|---|
//! | [`history`] | operations as data |
//! | [`finding`] | holds, violated with a witness, unknown |
//! | [`log`] | pacelc's own log of operations, row by row |
//! | [`formats`] | histories of others: Jepsen's EDN and logs; packed rows of our own |
//! | `zones` | a history by register and version |
//! | [`register`] | linearizable or not, where values are distinct; by how much not |
//! | [`online`] | the same while operations come in |
//! | [`general`] | linearizable or not, where values may repeat, with compare-and-set |
//! | [`registers`] | whichever of the two a history needs |
//! | [`staleness`] | how stale each read was, in time and in versions |
//! | [`sessions`] | Terry's session guarantees, within a record and across records |
//! | [`visibility`] | how soon a write is seen |
//! | [`fates`] | what became of acknowledged writes, as records were read back after a run |
//! | [`observed`] | all that the checkers say of one run |
//! | [`names`] | what findings call values and registers |
//! | `index` | what is found again by its number |
//!
//! Nothing here does I/O or reads a clock.

pub mod fates;
pub mod finding;
pub mod formats;
pub mod general;
pub mod history;
pub(crate) mod index;
pub mod log;
pub mod names;
pub mod observed;
pub mod online;
pub mod register;
pub mod registers;
pub mod sessions;
pub mod staleness;
pub mod visibility;
pub(crate) mod zones;

pub use finding::{Checker, Finding, Witness};
pub use general::{General, Initial, Limits};
pub use history::{Action, BadHistory, Fate, History, NEVER_NS, Operation, Version};
pub use names::Names;
pub use register::LinearizableRegister;
pub use registers::{Counts, check_registers};

// The tests' made histories are shared by those in the crate and those beside it.
#[cfg(test)]
extern crate self as pacelc_history;
