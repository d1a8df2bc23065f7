//! The nouns of the instrument: what a client asks of a database, and what came of it.
//!
//! Start with [`Operation`] (a request) and [`Outcome`] (its fate), then [`consistency`], which
//! turns a level, as a study names it, into what each database is asked for, or refuses it.
//!
//! | module | holds |
//! |---|---|
//! | [`operation`] | kinds of operation, the operation itself, the rows that answer it |
//! | [`outcome`] | ok, fail, unknown, and the kinds of error |
//! | [`consistency`] | levels in each database's own terms, aliases, refusals |
//! | [`seed`] | one seed for a run, many independent streams |
//!
//! Nothing here does I/O or reads a clock.

pub mod consistency;
pub mod operation;
pub mod outcome;
pub mod seed;

pub use consistency::{Consistency, PerKind, Refused, Shape};
pub use operation::{FieldValue, Operation, OperationKind, Rows};
pub use outcome::{ErrorKind, Failure, Outcome};
