//! What a checker answers, and what a checker is.

use crate::{History, Operation};
use serde::Serialize;

/// One question about a history.
pub trait Checker {
    /// Its name in reports and files.
    fn name(&self) -> &'static str;

    /// Answers it for one history.
    fn check(&self, history: &History) -> Finding;
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
