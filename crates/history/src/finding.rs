//! What a checker answers, and what a checker is.

use crate::{BadHistory, History, Operation};
use serde::Serialize;

/// One question about a history.
pub trait Checker {
    /// Its name in reports and files.
    fn name(&self) -> &'static str;

    /// Answers it for one history.
    ///
    /// # Errors
    /// [`BadHistory`] for one that it can't read, such as one that writes a value twice.
    fn check(&self, history: &History) -> Result<Finding, BadHistory>;
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Finding {
    /// The history is as the guarantee demands.
    Holds,
    /// It isn't, whatever the database did inside: here is why.
    Violated {
        /// The smallest part of the history that is a violation by itself.
        witness: Witness,
    },
    /// It can't be told.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// Operations that are a violation by themselves: without any one of them there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// In one sentence, why.
    pub explanation: String,
    /// In the order of their starts.
    pub operations: Vec<Operation>,
}

/// A duration, as people write it.
pub(crate) fn duration(ns: i64) -> String {
    let ns = ns as f64;
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.3} µs", ns / 1e3),
        ..1e9 => format!("{:.3} ms", ns / 1e6),
        _ => format!("{:.3} s", ns / 1e9),
    }
}
