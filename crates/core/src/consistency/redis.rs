//! Redis's and Valkey's `WAIT`, and reads from replicas.

use super::promise::{Asked, Guarantee, Source, Word};
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
    fn promise(guarantee: Guarantee, asked: &Asked<'_, Read, Write>) -> (Word, Source) {
        let everywhere = asked.write.wait > 0 && asked.write.wait == asked.shape.replication - 1;
        match (guarantee, asked.read) {
            (Guarantee::Eventual, _) => (Word::Holds, EVENTUAL),
            // The primary alone orders writes, wherever they are read.
            (_, Read::Primary)
            | (Guarantee::MonotonicWrites | Guarantee::WritesFollowReads, Read::Replica) => {
                (SAME_PRIMARY, if asked.write.wait > 0 { WAIT } else { ASYNCHRONOUS })
            }
            // A write under way is seen on one replica and not yet on the next.
            (Guarantee::Linearizable, Read::Replica) => (Word::Not, STALE),
            (Guarantee::ReadYourWrites | Guarantee::BoundedStaleness, Read::Replica) => {
                if everywhere {
                    (SAME_PRIMARY, RECEIVED)
                } else {
                    (Word::Not, STALE)
                }
            }
            (_, Read::Replica) => (SAME_REPLICA, STREAM),
        }
    }
}

const SAME_PRIMARY: Word = Word::If(
    "while the primary neither fails nor is replaced: else acknowledged writes may be lost, and an old \
     primary may go on answering",
);
const SAME_REPLICA: Word = Word::If(
    "while a session reads from one replica, and the primary neither fails nor is replaced",
);

// Valkey's documents say the same under valkey.io/commands/wait, /topics/replication and
// /topics/sentinel.
const ASYNCHRONOUS: Source = Source {
    title: "Redis replication",
    section: "Important facts about Redis replication",
    url: "https://redis.io/docs/latest/operate/oss_and_stack/management/replication/",
    claim: "One primary takes all writes and replicates them asynchronously, so that a failover may \
            lose acknowledged ones.",
};
const STREAM: Source = Source {
    section: "Redis replication",
    claim: "A replica is kept up to date by the stream of the primary's commands, in its order.",
    ..ASYNCHRONOUS
};
const WAIT: Source = Source {
    title: "Redis commands: WAIT",
    section: "Consistency and WAIT",
    url: "https://redis.io/docs/latest/commands/wait/",
    claim: "WAIT doesn't make Redis a strongly consistent store: a write that several replicas have may \
            still be lost in a failover, though less often.",
};
const RECEIVED: Source = Source {
    section: "WAIT",
    claim: "When WAIT returns, all previous writes of the connection are guaranteed to be received by \
            the number of replicas that it returns.",
    ..WAIT
};
const STALE: Source = Source {
    title: "Redis commands: READONLY",
    section: "READONLY",
    url: "https://redis.io/docs/latest/commands/readonly/",
    claim: "Who reads from a replica is willing to read possibly stale data.",
};
const EVENTUAL: Source = Source {
    title: "High availability with Redis Sentinel",
    section: "Consistency under partitions",
    url: "https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/",
    claim: "Redis with Sentinel is an eventually consistent system in which the last failover wins, and \
            what an old primary alone has is discarded.",
};
