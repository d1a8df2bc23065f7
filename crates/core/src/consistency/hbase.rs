//! HBase's read consistency and write durability.

use super::{Alias, Refused, Shape, parse_term};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Which region replicas may answer a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Read {
    /// The primary region only.
    Strong,
    /// The primary, or another replica where the primary is slow. A read may be stale.
    Timeline,
}

/// What has happened to the write-ahead log when a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs)] // the names are HBase's
pub enum Durability {
    UseDefault,
    SkipWal,
    AsyncWal,
    SyncWal,
    FsyncWal,
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strong => "STRONG",
            Self::Timeline => "TIMELINE",
        })
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UseDefault => "USE_DEFAULT",
            Self::SkipWal => "SKIP_WAL",
            Self::AsyncWal => "ASYNC_WAL",
            Self::SyncWal => "SYNC_WAL",
            Self::FsyncWal => "FSYNC_WAL",
        })
    }
}

pub(super) struct Terms;

impl super::Terms for Terms {
    type Read = Read;
    type Write = Durability;

    /// One region server answers for a row, so there is no majority to ask: `quorum` is the
    /// database's default, and `strong` adds a sync of the log to disk.
    fn alias_read(alias: Alias, shape: Shape) -> Read {
        match alias {
            Alias::Weak if shape.replication > 1 => Read::Timeline,
            _ => Read::Strong,
        }
    }

    fn alias_write(alias: Alias, _shape: Shape) -> Durability {
        match alias {
            Alias::Weak => Durability::AsyncWal,
            Alias::Quorum => Durability::SyncWal,
            Alias::Strong => Durability::FsyncWal,
        }
    }

    fn parse_read(value: &Value) -> Result<Read, Refused> {
        parse_term("HBase", "read", value, "STRONG, TIMELINE")
    }

    fn parse_write(value: &Value) -> Result<Durability, Refused> {
        parse_term("HBase", "write", value, "USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL, FSYNC_WAL")
    }

    fn check_read(level: &Read, shape: Shape) -> Result<(), Refused> {
        if *level == Read::Timeline && shape.replication < 2 {
            return Err(Refused::new(
                "HBase can't read at TIMELINE: its regions have one replica",
                "set `replication: 2` or more, or read: STRONG",
            ));
        }
        Ok(())
    }

    fn check_write(_level: &Durability, _shape: Shape) -> Result<(), Refused> {
        Ok(())
    }
}
