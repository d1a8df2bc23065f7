//! Redis's and Valkey's `WAIT`, and reads from replicas.

use super::{Alias, Refused, Shape, parse_term};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Which node answers a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
    /// The primary, which has every write.
    Primary,
    /// A replica: users are spread over the replicas. A read may be stale.
    Replica,
}

/// How many replicas must have a write before it counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// `WAIT`'s number of replicas, the primary not counted; 0 sends no `WAIT`.
    pub wait: u32,
    /// `WAIT`'s own time limit. Fewer replicas by then is an outcome of its own, never ok.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
}

const fn default_timeout_ms() -> u64 {
    1_000
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Replica => "replica",
        })
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wait {
            0 => f.write_str("primary only"),
            n => write!(f, "WAIT {n} within {} ms", self.timeout_ms),
        }
    }
}

pub(super) struct Terms;

impl super::Terms for Terms {
    type Read = Read;
    type Write = Write;

    /// Reads of the primary at every level: Redis offers no read that asks several nodes, and a
    /// read of a replica is a choice of its own, to be named.
    fn alias_read(_alias: Alias, _shape: Shape) -> Read {
        Read::Primary
    }

    fn alias_write(alias: Alias, shape: Shape) -> Write {
        let replicas = shape.replication - 1;
        let wait = match alias {
            Alias::Weak => 0,
            // With the primary, which always has the write, this many make a majority.
            Alias::Quorum => shape.replication / 2,
            Alias::Strong => replicas,
        };
        Write { wait, timeout_ms: default_timeout_ms() }
    }

    fn parse_read(value: &Value) -> Result<Read, Refused> {
        parse_term("Redis", "read", value, "primary, replica")
    }

    fn parse_write(value: &Value) -> Result<Write, Refused> {
        parse_term("Redis", "write", value, "{wait: 1, timeout_ms: 1000}")
    }

    fn check_read(level: &Read, shape: Shape) -> Result<(), Refused> {
        if *level == Read::Replica && shape.replication < 2 {
            return Err(Refused::new(
                "Redis can't read from a replica: the cluster has none",
                "set `replication: 2` or more, or read: primary",
            ));
        }
        Ok(())
    }

    fn check_write(level: &Write, shape: Shape) -> Result<(), Refused> {
        let replicas = shape.replication - 1;
        if level.wait > replicas {
            return Err(Refused::new(
                format!(
                    "Redis can't satisfy WAIT {}: the cluster has {replicas} replicas",
                    level.wait
                ),
                format!(
                    "WAIT doesn't count the primary: use wait: {replicas}, or `replication: {}`",
                    level.wait + 1
                ),
            ));
        }
        if level.wait > 0 && level.timeout_ms == 0 {
            return Err(Refused::new(
                "Redis's WAIT with a time limit of 0 would block for ever",
                "use timeout_ms: 1000",
            ));
        }
        Ok(())
    }
}
