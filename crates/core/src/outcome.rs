//! What came of an operation: ok, fail, or unknown.
//!
//! A read that finds no record is ok: it counts in throughput and latency, is counted as *missed*
//! besides, and is stale where the record must have been there.

use serde::{Deserialize, Serialize};

/// The fate of one operation, as its user saw it.
///
/// The three cases are Jepsen's: what matters to a checker is not whether an error was seen but
/// whether the operation may have taken effect. A write whose acknowledgement was lost is
/// [`Outcome::Unknown`]; counting it as failed would call a later read of its value corruption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It took effect, and at the level that was asked for.
    Ok,
    /// It certainly had no effect.
    Fail(Failure),
    /// It may have taken effect, or it did but not at the level that was asked for.
    Unknown(Failure),
}

impl Outcome {
    /// A failure without effect.
    pub fn fail(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self::Fail(Failure { kind, detail: detail.into() })
    }

    /// A failure that may have had an effect.
    pub fn unknown(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self::Unknown(Failure { kind, detail: detail.into() })
    }

    /// Nobody knows how far it came: unknown if it `may_write`, else a failure, for what only reads has
    /// no effect whatever became of it.
    pub fn interrupted(may_write: bool, kind: ErrorKind, detail: impl Into<String>) -> Self {
        if may_write { Self::unknown(kind, detail) } else { Self::fail(kind, detail) }
    }

    /// Whether it is [`Outcome::Ok`].
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }

    /// The failure, where there is one.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Ok => None,
            Self::Fail(failure) | Self::Unknown(failure) => Some(failure),
        }
    }
}

/// Why an operation wasn't ok.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it is counted under.
    pub kind: ErrorKind,
    /// The driver's or server's own words, kept as an example of its kind.
    pub detail: String,
}

/// The kinds of error that are counted apart, the same for every database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// The client's own time limit ran out.
    Timeout,
    /// The server said that it ran out of time.
    ServerTimeout,
    /// No connection could be made.
    ConnectionRefused,
    /// The connection broke.
    ConnectionLost,
    /// The server knew beforehand that too few replicas are alive for the level.
    Unavailable,
    /// Fewer replicas answered than the level asks for (`WAIT` below its number, for one).
    NotEnoughReplicas,
    /// The node asked isn't the one that takes such operations now.
    NotPrimary,
    /// The server is too busy, or still loading.
    Overloaded,
    /// The record isn't there.
    NotFound,
    /// A value came back with a wrong byte, under a wrong key, or not at all.
    Integrity,
    /// The server refused the request as such.
    Rejected,
    /// Anything else: see the example.
    Other,
    /// A record of that key is there already.
    Exists,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Timeout,
        Self::ServerTimeout,
        Self::ConnectionRefused,
        Self::ConnectionLost,
        Self::Unavailable,
        Self::NotEnoughReplicas,
        Self::NotPrimary,
        Self::Overloaded,
        Self::NotFound,
        Self::Integrity,
        Self::Rejected,
        Self::Other,
        Self::Exists,
    ];

    /// The name used in files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::ServerTimeout => "server_timeout",
            Self::ConnectionRefused => "connection_refused",
            Self::ConnectionLost => "connection_lost",
            Self::Unavailable => "unavailable",
            Self::NotEnoughReplicas => "not_enough_replicas",
            Self::NotPrimary => "not_primary",
            Self::Overloaded => "overloaded",
            Self::NotFound => "not_found",
            Self::Integrity => "integrity",
            Self::Rejected => "rejected",
            Self::Other => "other",
            Self::Exists => "exists",
        }
    }

    /// Whether the server can't be reached: a user waits a little before it tries again.
    #[must_use]
    pub const fn is_connection(self) -> bool {
        matches!(self, Self::ConnectionRefused | Self::ConnectionLost)
    }
}
