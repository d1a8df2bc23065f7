//! Recorded operations, and the checkers that read them: what clients observed, and whether it is
//! what a guarantee demands.
//!
//! Start with [`Operation`] and [`History`], then [`Checker`] and its three answers.
//!
//! | module | holds |
//! |---|---|
//! | [`history`] | operations as data |
//! | [`finding`] | holds, violated with a witness, unknown |
//!
//! Nothing here does I/O or reads a clock.

pub mod finding;
pub mod history;

pub use finding::{Checker, Finding, Witness};
pub use history::{Action, BadHistory, Fate, History, NEVER_NS, Operation, Version};
