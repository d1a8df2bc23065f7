//! Cassandra's consistency levels.

use super::{Alias, Refused, Shape, parse_term};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A level of the native protocol. `Serial` and `LocalSerial` on a write make it a lightweight
/// transaction (`IF NOT EXISTS` for inserts, `IF EXISTS` for updates and deletes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs)] // the names are the protocol's
pub enum Level {
    Any,
    One,
    Two,
    Three,
    Quorum,
    All,
    LocalOne,
    LocalQuorum,
    EachQuorum,
    Serial,
    LocalSerial,
}

impl Level {
    /// The name in Cassandra's documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "ANY",
            Self::One => "ONE",
            Self::Two => "TWO",
            Self::Three => "THREE",
            Self::Quorum => "QUORUM",
            Self::All => "ALL",
            Self::LocalOne => "LOCAL_ONE",
            Self::LocalQuorum => "LOCAL_QUORUM",
            Self::EachQuorum => "EACH_QUORUM",
            Self::Serial => "SERIAL",
            Self::LocalSerial => "LOCAL_SERIAL",
        }
    }

    /// Whether a write at this level is a lightweight transaction.
    #[must_use]
    pub const fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::LocalSerial)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) struct Terms;

const KNOWN: &str = "ANY (writes), ONE, TWO, THREE, QUORUM, ALL, LOCAL_ONE, LOCAL_QUORUM, \
                     EACH_QUORUM (writes), SERIAL, LOCAL_SERIAL";

impl super::Terms for Terms {
    type Read = Level;
    type Write = Level;

    fn alias_read(alias: Alias, _shape: Shape) -> Level {
        match alias {
            Alias::Weak => Level::One,
            Alias::Quorum => Level::Quorum,
            Alias::Strong => Level::All,
        }
    }

    fn alias_write(alias: Alias, shape: Shape) -> Level {
        Self::alias_read(alias, shape)
    }

    fn parse_read(value: &Value) -> Result<Level, Refused> {
        parse_term("Cassandra", "consistency", value, KNOWN)
    }

    fn parse_write(value: &Value) -> Result<Level, Refused> {
        Self::parse_read(value)
    }

    fn check_read(level: &Level, shape: Shape) -> Result<(), Refused> {
        match level {
            Level::Any => Err(Refused::new(
                "Cassandra has no read at ANY: it is a level for writes",
                "read at ONE, or set levels by kind: {read: ONE, write: ANY}",
            )),
            Level::EachQuorum => Err(Refused::new(
                "Cassandra has no read at EACH_QUORUM: it is a level for writes",
                "read at QUORUM or LOCAL_QUORUM",
            )),
            _ => enough_copies(*level, shape),
        }
    }

    fn check_scan(level: &Level, shape: Shape) -> Result<(), Refused> {
        if level.is_serial() {
            return Err(Refused::new(
                format!("Cassandra has no scan at {level}: serial reads are of one partition"),
                "set the level of scans by itself: {read: SERIAL, scan: QUORUM}",
            ));
        }
        Self::check_read(level, shape)
    }

    fn check_write(level: &Level, shape: Shape) -> Result<(), Refused> {
        enough_copies(*level, shape)
    }
}

fn enough_copies(level: Level, shape: Shape) -> Result<(), Refused> {
    let needed = match level {
        Level::Two => 2,
        Level::Three => 3,
        _ => 1,
    };
    if needed > shape.replication {
        return Err(Refused::new(
            format!(
                "Cassandra can't satisfy {level} with a replication factor of {}",
                shape.replication
            ),
            format!("set `replication: {needed}` or more, or a lower level"),
        ));
    }
    Ok(())
}
