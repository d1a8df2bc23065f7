//! Recorded operations, and the checkers that read them: what clients observed, and whether it is
//! what a guarantee demands.
//!
//! Start with [`Operation`] and [`History`], then [`Checker`] and its three answers.
//!
//! | module | holds |
//! |---|---|
//! | [`history`] | operations as data |
//! | [`finding`] | holds, violated with a witness, unknown |
//! | `index` | what is found again by its number |
//! | `zones` | a history by register and version |
//! | [`register`] | linearizable or not, where values are distinct; by how much not |
//! | [`sessions`] | Terry's session guarantees, within a record and across records |
//! | [`staleness`] | how stale each read was, in time and in versions |
//!
//! Nothing here does I/O or reads a clock.

pub mod finding;
pub mod history;
pub(crate) mod index;
pub mod register;
pub mod sessions;
pub mod staleness;
pub(crate) mod zones;

pub use finding::{Checker, Finding, Witness};
pub use history::{Action, BadHistory, Fate, History, NEVER_NS, Operation, Version};
pub use register::LinearizableRegister;
