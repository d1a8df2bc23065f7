//! HBase's read consistency and write durability.

use super::promise::{Asked, Guarantee, Source, Word};
use super::{Alias, Refused, Shape, parse_term};
use crate::OperationKind;
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
    fn promise(guarantee: Guarantee, asked: &Asked<'_, Read, Durability>) -> (Word, Source) {
        let strong = *asked.read == Read::Strong;
        match guarantee {
            Guarantee::Eventual if strong => (Word::Holds, SINGLE_HOME),
            Guarantee::Eventual if *asked.write == Durability::SkipWal => (FLUSHED, NOT_REPLICATED),
            Guarantee::Eventual => (Word::Holds, SAME_ORDER),
            // The primary orders writes, wherever they are read.
            Guarantee::MonotonicWrites | Guarantee::WritesFollowReads => kept(asked),
            _ if strong => kept(asked),
            Guarantee::MonotonicReads => (Word::Not, BACK_IN_TIME),
            _ => (Word::Not, STALE),
        }
    }
}

/// What is read from the primary is the last write, unless that was lost, or masked by a delete.
fn kept(asked: &Asked<'_, Read, Durability>) -> (Word, Source) {
    let delete = asked.writes == OperationKind::Delete;
    match asked.write {
        Durability::SkipWal | Durability::AsyncWal => (NO_FAILURE, DURABILITY),
        Durability::SyncWal | Durability::UseDefault if delete => (POWER_AND_MILLISECOND, MASKED),
        Durability::SyncWal | Durability::UseDefault => (POWER, FLUSH),
        Durability::FsyncWal if delete => (MILLISECOND, MASKED),
        Durability::FsyncWal => (Word::Holds, VISIBILITY),
    }
}

const NO_FAILURE: Word =
    Word::If("while no region server fails: an acknowledged write may be in no log");
const POWER: Word = Word::If(
    "while not all data nodes lose power at once: the log is in their memory, not forced to disk",
);
const MILLISECOND: Word =
    Word::If("no put in the millisecond of a delete of its row, which would mask it");
const POWER_AND_MILLISECOND: Word = Word::If(
    "no put in the millisecond of a delete of its row, which would mask it, and while not all data \
     nodes lose power at once",
);
const FLUSHED: Word = Word::If("once the primary has flushed: replicas follow its log");

const VISIBILITY: Source = Source {
    title: "Apache HBase ACID properties",
    section: "Visibility",
    url: "https://hbase.apache.org/acid-semantics.html",
    claim: "A mutation that succeeded is immediately visible to its client and to every client with \
            which that communicates later; a row never travels back in time.",
};
const FLUSH: Source = Source {
    section: "Durability, footnote 2",
    claim: "What succeeded is durable, by an hflush of the log, which is no fsync: if a whole data \
            centre loses power, edits may be lost.",
    ..VISIBILITY
};
const DURABILITY: Source = Source {
    title: "Apache HBase API: Durability",
    section: "Enum constants",
    url: "https://hbase.apache.org/apidocs/org/apache/hadoop/hbase/client/Durability.html",
    claim: "SKIP_WAL doesn't write the mutation to the log, ASYNC_WAL writes it asynchronously.",
};
const MASKED: Source = Source {
    title: "Apache HBase reference guide: data model",
    section: "Deletes mask Puts",
    url: "https://hbase.apache.org/docs/datamodel",
    claim: "A delete masks puts of the same or an earlier timestamp, even those that came after it; \
            within one millisecond this may happen to anybody.",
};
const SINGLE_HOME: Source = Source {
    title: "Apache HBase reference guide: timeline-consistent reads",
    section: "Introduction",
    url: "https://hbase.apache.org/docs/architecture/timeline-consistent-reads",
    claim: "All reads and writes of a region go through one server: writes happen in one order, and \
            reads see the most recent committed data.",
};
const SAME_ORDER: Source = Source {
    section: "Timeline Consistency",
    claim: "Secondaries apply edits in the order in which the primary committed them, so that data \
            doesn't diverge.",
    ..SINGLE_HOME
};
const BACK_IN_TIME: Source = Source {
    claim: "A client can see edits out of order and go back in time, if it reads from one secondary, \
            then from another: there is no stickiness.",
    ..SAME_ORDER
};
const STALE: Source = Source {
    section: "Async WAL replication",
    claim: "The log is replicated asynchronously, so that data in secondaries may be stale; no bound is \
            given.",
    ..SINGLE_HOME
};
const NOT_REPLICATED: Source = Source {
    title: "Apache HBase reference guide",
    section: "Bulk Load Limitations",
    url: "https://hbase.apache.org/book.html#arch.bulk.load.limitations",
    claim: "Replication reads the log, so it doesn't see edits that were made with SKIP_WAL.",
};
