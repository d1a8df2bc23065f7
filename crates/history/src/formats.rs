//! Histories of others, read into operations.
//!
//! | module | reads |
//! |---|---|
//! | [`edn`] | extensible data notation, form by form |
//! | [`jepsen`] | Jepsen's histories: registers, compare-and-set registers, many registers |
//! | [`etcd`] | the same as lines of Jepsen's log |
//! | [`native`] | packed rows, as our Python makes them of a run's log of operations |
//!
//! What can't be read is an error with the number of its line; nothing is guessed or left out.

pub mod edn;
pub mod etcd;
mod events;
pub mod jepsen;
pub mod native;

use crate::{History, Names};

/// A history that was read.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// Its operations.
    pub history: History,
    /// What its values and registers are called there.
    pub names: Names,
    /// The line of each operation's start; none where there are no lines.
    pub lines: Vec<u32>,
    /// Whether times are nanoseconds; else they number the events of the file.
    pub is_timed: bool,
}

/// Why a history can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct BadLine {
    /// From 1.
    pub line: u32,
    /// What is wrong there.
    pub problem: String,
}

impl BadLine {
    pub(crate) fn new(line: u32, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Jepsen's EDN.
    Jepsen,
    /// Lines of Jepsen's log.
    EtcdLog,
    /// Packed rows.
    Native,
}

impl Format {
    /// The format that this is in; a file of which nothing can be told is taken for EDN, whose
    /// reader says what is wrong with it.
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        if native::is_native(data) {
            Self::Native
        } else if etcd::is_log(data) {
            Self::EtcdLog
        } else {
            Self::Jepsen
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Jepsen, Self::EtcdLog, Self::Native].into_iter().find(|one| one.name() == name)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jepsen => "jepsen",
            Self::EtcdLog => "etcd-log",
            Self::Native => "native",
        }
    }

    /// Reads a history.
    pub fn read(self, data: &[u8]) -> Result<Read, BadLine> {
        match self {
            Self::Jepsen => jepsen::read(text_of(data)?),
            Self::EtcdLog => etcd::read(text_of(data)?),
            Self::Native => native::read(data),
        }
    }
}

fn text_of(data: &[u8]) -> Result<&str, BadLine> {
    std::str::from_utf8(data).map_err(|error| {
        let before = &data[..error.valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count() as u32;
        BadLine::new(line, "these bytes aren't text in UTF-8")
    })
}
