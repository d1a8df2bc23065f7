//! Cassandra's consistency levels.

use super::promise::{Asked, Guarantee, Source, Word};
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

    /// How many replicas of `replication` answer, at least, where there is one data centre.
    const fn copies(self, replication: u32) -> u32 {
        match self {
            Self::Any => 0, // a hint is enough
            Self::One | Self::LocalOne => 1,
            Self::Two => 2,
            Self::Three => 3,
            Self::All => replication,
            Self::Quorum
            | Self::LocalQuorum
            | Self::EachQuorum
            | Self::Serial
            | Self::LocalSerial => replication / 2 + 1,
        }
    }

    const fn is_local(self) -> bool {
        matches!(self, Self::LocalOne | Self::LocalQuorum | Self::LocalSerial)
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

    fn promise(guarantee: Guarantee, asked: &Asked<'_, Level, Level>) -> (Word, Source) {
        promise(guarantee, *asked.read, *asked.write, asked.shape.replication)
    }
}

/// On what the visibility of acknowledged writes depends: on the coordinators' clocks, or, where the
/// writes are lightweight transactions, on their being finished; and on where the clients are.
const fn visible(write: Level, in_one_place: bool) -> Word {
    Word::If(match (write.is_serial(), in_one_place) {
        (false, false) => {
            "no clock skew between coordinators: the write with the latest timestamp wins"
        }
        (false, true) => {
            "all clients are in one data centre, and there is no clock skew between coordinators: the \
             write with the latest timestamp wins"
        }
        (true, false) => {
            "no write is left unfinished: only later writes and reads by Paxos complete it"
        }
        (true, true) => {
            "all clients are in one data centre, and no write is left unfinished: only later writes and \
             reads by Paxos complete it"
        }
    })
}

const ONE_PLACE: Word =
    Word::If("all clients are in one data centre: at LOCAL_SERIAL each agrees by itself");
const REPAIRED: Word = Word::If("repair is run: hints and read repair are best effort");

const DYNAMO: Source = Source {
    title: "Apache Cassandra: Dynamo",
    section: "Data Versioning",
    url: "https://cassandra.apache.org/doc/latest/architecture/dynamo",
    claim: "Each write has a timestamp of its client's or its coordinator's clock, the last one wins, \
            and correctness depends on these clocks.",
};
const OVERLAP: Source = Source {
    section: "Picking Consistency Levels",
    claim: "Where W + R > RF, every acknowledged write is visible to subsequent reads; at levels that \
            need not overlap this is given up for throughput, latency and availability.",
    ..DYNAMO
};
const LOCAL: Source = Source {
    claim: "At LOCAL_QUORUM reads are guaranteed to see the latest write from within the same data \
            centre.",
    ..OVERLAP
};
const REPAIR: Source = Source {
    section: "Replica Synchronization",
    claim: "Read repair and hints are best effort; anti-entropy repair guarantees eventual \
            consistency.",
    ..DYNAMO
};
const QUORUM_READS: Source = Source {
    title: "Apache Cassandra: Read repair",
    section: "Expectation of Monotonic Quorum Reads",
    url: "https://cassandra.apache.org/doc/latest/operating/read_repair.html",
    claim: "Of two successive quorum reads the second never gets something older, since read repair \
            blocks; reads at ONE repair nothing.",
};
const TRANSACTIONS: Source = Source {
    title: "Apache Cassandra: Guarantees",
    section: "Lightweight transactions with linearizable consistency",
    url: "https://cassandra.apache.org/doc/latest/architecture/guarantees.html",
    claim: "Lightweight transactions are linearizable, by Paxos; such reads return the current state, \
            which may be uncommitted.",
};
const UNFINISHED: Source = Source {
    title: "Apache Cassandra: CQL binary protocol v5",
    section: "Error codes, 0x1700",
    url: "https://github.com/apache/cassandra/blob/trunk/doc/native_protocol_v5.spec",
    claim: "A conditional write that was only partially done may or may not be completed by a contending \
            one, or by a read at SERIAL or LOCAL_SERIAL.",
};
const SERIAL_LEVELS: Source = Source {
    title: "DataStax C# driver: SetSerialConsistencyLevel",
    section: "Remarks",
    url: "https://docs.datastax.com/en/drivers/csharp/3.1/html/M_Cassandra_IStatement_SetSerialConsistencyLevel.htm",
    claim: "SERIAL guarantees full linearizability, LOCAL_SERIAL within the local data centre only.",
};

fn promise(guarantee: Guarantee, read: Level, write: Level, replication: u32) -> (Word, Source) {
    let local = read.is_local() || write.is_local();
    match (read.is_serial(), write.is_serial()) {
        (true, true) if local => return (ONE_PLACE, SERIAL_LEVELS),
        (true, true) => return (Word::Holds, TRANSACTIONS),
        _ => {}
    }
    let overlap = read.copies(replication) + write.copies(replication) > replication;
    // Where the read waits for fewer, a write under way is seen by one read and not by the next.
    let majority = 2 * read.copies(replication) > replication;
    // Levels of all data centres overlap with local ones of each.
    let everywhere = |level| matches!(level, Level::EachQuorum | Level::All);
    let in_one_place = local && !everywhere(read) && !everywhere(write);
    let fresh = match (overlap, in_one_place) {
        (false, _) => (Word::Not, OVERLAP),
        (true, true) => (visible(write, true), LOCAL),
        (true, false) if write.is_serial() => (visible(write, false), UNFINISHED),
        (true, false) => (visible(write, false), OVERLAP),
    };
    let monotonic = if majority {
        (visible(write, in_one_place || read.is_local()), QUORUM_READS)
    } else {
        (Word::Not, QUORUM_READS)
    };
    match guarantee {
        Guarantee::Linearizable | Guarantee::WritesFollowReadsAcrossRecords => {
            if overlap && (!majority || read.is_local()) { monotonic } else { fresh }
        }
        Guarantee::ReadYourWrites
        | Guarantee::MonotonicWritesAcrossRecords
        | Guarantee::BoundedStaleness => fresh,
        Guarantee::MonotonicReads => monotonic,
        Guarantee::MonotonicWrites | Guarantee::WritesFollowReads | Guarantee::SequentialPerKey => {
            match write {
                Level::Serial => (Word::Holds, TRANSACTIONS),
                Level::LocalSerial => (ONE_PLACE, SERIAL_LEVELS),
                _ => (visible(write, false), DYNAMO),
            }
        }
        Guarantee::Eventual => (REPAIRED, REPAIR),
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
