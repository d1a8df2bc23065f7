//! MongoDB's read concern, read preference and write concern.

use super::promise::{Asked, Guarantee, Source, Word};
use super::{Alias, PerKind, Refused, Shape, parse_term};
use crate::OperationKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// What a read guarantees about the data that it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are MongoDB's
pub enum ReadConcern {
    Local,
    Available,
    Majority,
    Linearizable,
    Snapshot,
}

/// Which member answers a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // the names are MongoDB's
pub enum Preference {
    #[default]
    Primary,
    PrimaryPreferred,
    Secondary,
    SecondaryPreferred,
    Nearest,
}

/// How a read is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The read concern.
    pub concern: ReadConcern,
    /// The read preference.
    #[serde(default)]
    pub preference: Preference,
    /// Whether it waits for what the user's session has seen (`afterClusterTime`): `session: causal`
    /// of the whole level, since a session has reads and scans.
    #[serde(skip)]
    pub causal: bool,
}

/// How many members acknowledge a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Acknowledged {
    /// This many, the primary included. 0 asks for none and isn't offered: it can't be measured.
    Nodes(u32),
    /// A majority of the voting members.
    Majority(MajorityWord),
}

/// The word `majority`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MajorityWord {
    /// `w: "majority"`.
    Majority,
}

/// How a write is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// `w`.
    pub w: Acknowledged,
    /// `j`; unset leaves it to the server (which journals majority writes by default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub j: Option<bool>,
    /// How long the server waits for the members before it says that they did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wtimeout_ms: Option<u64>,
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |v: Value| v.as_str().unwrap_or_default().to_owned();
        let concern = word(serde_json::json!(self.concern));
        write!(f, "{concern} from {}", word(serde_json::json!(self.preference)))?;
        if self.causal { write!(f, ", causal") } else { Ok(()) }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.w {
            Acknowledged::Nodes(n) => write!(f, "w: {n}")?,
            Acknowledged::Majority(_) => write!(f, "w: majority")?,
        }
        if let Some(journal) = self.j {
            write!(f, ", j: {journal}")?;
        }
        if let Some(limit) = self.wtimeout_ms {
            write!(f, ", wtimeout: {limit} ms")?;
        }
        Ok(())
    }
}

/// What `value` asks for, `session: causal` included.
pub(super) fn resolve(value: &Value, shape: Shape) -> Result<PerKind<Read, Write>, Refused> {
    let mut by_kind = value.clone();
    let session = by_kind.as_object_mut().and_then(|kinds| kinds.remove(super::SESSION));
    let mut levels = super::per_kind::<Terms>(&by_kind, shape)?;
    let Some(session) = session else { return Ok(levels) };
    if session != "causal" {
        return Err(Refused::new(
            format!("MongoDB has no session level {session}"),
            "use session: causal, or leave it out",
        ));
    }
    for level in [&mut levels.read, &mut levels.scan] {
        if !matches!(level.concern, ReadConcern::Local | ReadConcern::Majority) {
            return Err(Refused::new(
                format!("MongoDB has no causal session with reads that are {level}"),
                "use concern: majority or local, or leave out session: causal",
            ));
        }
        level.causal = true;
    }
    Ok(levels)
}

pub(super) struct Terms;

impl super::Terms for Terms {
    type Read = Read;
    type Write = Write;

    fn alias_read(alias: Alias, _shape: Shape) -> Read {
        let concern = match alias {
            Alias::Weak => ReadConcern::Local,
            Alias::Quorum => ReadConcern::Majority,
            Alias::Strong => ReadConcern::Linearizable,
        };
        Read { concern, preference: Preference::Primary, causal: false }
    }

    fn alias_write(alias: Alias, shape: Shape) -> Write {
        let w = match alias {
            Alias::Weak => Acknowledged::Nodes(1),
            Alias::Quorum => Acknowledged::Majority(MajorityWord::Majority),
            Alias::Strong => Acknowledged::Nodes(shape.replication),
        };
        Write { w, j: None, wtimeout_ms: None }
    }

    fn parse_read(value: &Value) -> Result<Read, Refused> {
        // A bare word is the concern: `read: majority`.
        let mapping = match value {
            Value::String(word) => serde_json::json!({ "concern": word }),
            other => other.clone(),
        };
        parse_term(
            "MongoDB",
            "read",
            &mapping,
            "{concern: local|available|majority|linearizable|snapshot, preference: \
             primary|primaryPreferred|secondary|secondaryPreferred|nearest}",
        )
    }

    fn parse_write(value: &Value) -> Result<Write, Refused> {
        parse_term(
            "MongoDB",
            "write",
            value,
            "{w: 1|2|…|majority, j: true|false, wtimeout_ms: 1000}",
        )
    }

    fn check_read(level: &Read, shape: Shape) -> Result<(), Refused> {
        if level.concern == ReadConcern::Linearizable && level.preference != Preference::Primary {
            return Err(Refused::new(
                format!("MongoDB can't satisfy a read that is {level}: only a primary can"),
                "use preference: primary, or concern: majority",
            ));
        }
        if level.preference == Preference::Secondary && shape.replication < 2 {
            return Err(Refused::new(
                "MongoDB can't read from a secondary: the replica set has one member",
                "set `replication: 2` or more, or preference: primary",
            ));
        }
        Ok(())
    }

    fn check_write(level: &Write, shape: Shape) -> Result<(), Refused> {
        match level.w {
            Acknowledged::Nodes(0) => Err(Refused::new(
                "MongoDB writes with w: 0 are not acknowledged, so they can't be measured",
                "use w: 1",
            )),
            Acknowledged::Nodes(n) if n > shape.replication => Err(Refused::new(
                format!(
                    "MongoDB can't satisfy w: {n}: the replica set has {} members",
                    shape.replication
                ),
                format!("set `replication: {n}` or more, or a lower w"),
            )),
            _ => Ok(()),
        }
    }

    fn promise(guarantee: Guarantee, asked: &Asked<'_, Read, Write>) -> (Word, Source) {
        promise(guarantee, asked)
    }
}

/// What an acknowledgement says about a write's future.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    /// Fewer than a majority have it: a failover may roll it back.
    ByFew,
    /// A majority has it in memory.
    InMemory,
    /// A majority has it in its journals.
    InJournals,
}

fn kept(write: &Write, shape: Shape) -> Kept {
    match (write.w, write.j) {
        (Acknowledged::Nodes(n), _) if 2 * n <= shape.replication => Kept::ByFew,
        (Acknowledged::Majority(_), Some(false)) | (Acknowledged::Nodes(_), None | Some(false)) => {
            Kept::InMemory
        }
        _ => Kept::InJournals,
    }
}

const DEPOSED: Word = Word::If(
    "while no primary is deposed: one that doesn't know it yet answers with older data, and its writes \
     are rolled back",
);
const AVAILABLE: Word = Word::If(
    "while the primary can be reached, and none is deposed: else a secondary answers, which may be \
     behind",
);
const CRASH: Word = Word::If(
    "while no majority of members crashes at once: the acknowledgement didn't wait for journals",
);
const ONE_SET: Word = Word::If("the records are in one replica set: sets share no cluster time");

const ISOLATION: Source = Source {
    title: "MongoDB manual: Read Isolation, Consistency, and Recency",
    section: "Read Uncommitted And Single Document Atomicity",
    url: "https://www.mongodb.com/docs/manual/core/read-isolation-consistency-recency/",
    claim: "With a replica set, operations on a single document are serializable only in the absence of \
            a rollback.",
};
const MONOTONIC: Source = Source {
    section: "Monotonic Writes",
    claim: "Replica sets provide monotonic writes by default.",
    ..ISOLATION
};
const REAL_TIME: Source = Source {
    section: "Real Time Order",
    claim: "Linearizable reads and majority writes of a single document, on the primary, are \
            linearizable.",
    ..ISOLATION
};
const ONE_DOCUMENT: Source = Source {
    title: "MongoDB manual: Read Concern \"linearizable\"",
    section: "linearizable",
    url: "https://www.mongodb.com/docs/manual/reference/read-concern-linearizable/",
    claim: "The guarantee only applies to reads whose filter identifies a single document.",
};
const TWO_PRIMARIES: Source = Source {
    section: "Performance Comparisons, footnote",
    claim: "Two members may transiently believe to be the primary, and the former one may answer with \
            stale data; only linearizable reads confirm with other members that it isn't that one.",
    ..ONE_DOCUMENT
};
const COMMITTED: Source = Source {
    title: "MongoDB manual: Read Concern \"majority\"",
    section: "Example; Read Your Own Writes",
    url: "https://www.mongodb.com/docs/manual/reference/read-concern-majority/",
    claim: "The read returns what a majority has acknowledged, so that it misses a write that fewer \
            have; to read its own writes a session needs w: majority.",
};
const SNAPSHOT: Source = Source {
    title: "MongoDB manual: Read Concern \"snapshot\"",
    section: "snapshot",
    url: "https://www.mongodb.com/docs/manual/reference/read-concern-snapshot/",
    claim: "The read returns majority-committed data from one point in time in the recent past.",
};
const SECONDARIES: Source = Source {
    title: "MongoDB manual: Read Preference",
    section: "Behavior",
    url: "https://www.mongodb.com/docs/manual/core/read-preference/",
    claim: "All modes but primary may return stale data, since secondaries replicate asynchronously; no \
            bound applies unless maxStalenessSeconds is set, which no level here does.",
};
const PROPAGATES: Source = Source {
    claim: "Secondaries replicate the primary's operations in an asynchronous process.",
    ..SECONDARIES
};
const CAUSAL: Source = Source {
    title: "MongoDB manual: Causal Consistency and Read and Write Concerns",
    section: "Read Concern \"majority\" and Write concern \"majority\"",
    url: "https://www.mongodb.com/docs/manual/core/causal-consistency-read-write-concerns/",
    claim: "In causally consistent sessions the four session guarantees hold, on all members.",
};
const CAUSAL_FEW: Source = Source {
    section: "Read Concern \"majority\" and Write concern {w: 1}",
    claim: "Monotonic reads and writes follow reads hold; read your writes and monotonic writes hold \
            unless a write is rolled back.",
    ..CAUSAL
};
const CAUSAL_LOCAL: Source = Source {
    section: "Read Concern \"local\"",
    claim: "None but monotonic writes (with w: majority) is guaranteed while two members believe to be \
            the primary; in other situations all four may hold.",
    ..CAUSAL
};

fn promise(guarantee: Guarantee, asked: &Asked<'_, Read, Write>) -> (Word, Source) {
    let kept = kept(asked.write, asked.shape);
    // By itself, a write is rolled back only if fewer than a majority have it.
    let written = |source| match kept {
        Kept::ByFew => (DEPOSED, source),
        Kept::InMemory => (CRASH, source),
        Kept::InJournals => (Word::Holds, source),
    };
    match (guarantee, asked.read.concern) {
        (Guarantee::Eventual, _) => (Word::Holds, PROPAGATES),
        (Guarantee::MonotonicWrites, _) => written(MONOTONIC),
        (_, ReadConcern::Linearizable) if asked.reads == OperationKind::Scan => {
            (Word::Silent, ONE_DOCUMENT)
        }
        (_, ReadConcern::Linearizable) => written(REAL_TIME),
        (Guarantee::Linearizable | Guarantee::BoundedStaleness, ReadConcern::Snapshot) => {
            (Word::Not, SNAPSHOT)
        }
        (_, ReadConcern::Snapshot) => (Word::Silent, SNAPSHOT),
        (Guarantee::Linearizable | Guarantee::BoundedStaleness, _) => {
            from_member(guarantee, asked, kept)
        }
        _ if asked.read.causal => in_session(guarantee, asked, kept),
        _ => from_member(guarantee, asked, kept),
    }
}

/// A read at local, available or majority, by itself.
fn from_member(guarantee: Guarantee, asked: &Asked<'_, Read, Write>, kept: Kept) -> (Word, Source) {
    let majority = asked.read.concern == ReadConcern::Majority;
    let word = match asked.read.preference {
        Preference::Primary => DEPOSED,
        _ if asked.shape.replication == 1 => DEPOSED,
        Preference::PrimaryPreferred => AVAILABLE,
        // The primary orders writes, whoever is read from.
        _ if guarantee == Guarantee::WritesFollowReads => DEPOSED,
        _ => return (Word::Not, SECONDARIES),
    };
    match guarantee {
        Guarantee::Linearizable | Guarantee::BoundedStaleness | Guarantee::ReadYourWrites
            if majority && kept == Kept::ByFew =>
        {
            (Word::Not, COMMITTED)
        }
        _ if majority => (word, TWO_PRIMARIES),
        _ => (word, ISOLATION),
    }
}

/// A read at local, available or majority in a causally consistent session, from any member.
fn in_session(guarantee: Guarantee, asked: &Asked<'_, Read, Write>, kept: Kept) -> (Word, Source) {
    let across = matches!(
        guarantee,
        Guarantee::MonotonicWritesAcrossRecords | Guarantee::WritesFollowReadsAcrossRecords
    );
    let own_writes =
        matches!(guarantee, Guarantee::ReadYourWrites | Guarantee::MonotonicWritesAcrossRecords);
    match kept {
        _ if asked.read.concern != ReadConcern::Majority => (DEPOSED, CAUSAL_LOCAL),
        Kept::ByFew if own_writes => (DEPOSED, CAUSAL_FEW),
        Kept::InMemory if own_writes => (CRASH, CAUSAL),
        _ if across && asked.shape.nodes > asked.shape.replication => (ONE_SET, CAUSAL),
        Kept::ByFew => (Word::Holds, CAUSAL_FEW),
        _ => (Word::Holds, CAUSAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The table of "Causal Consistency and Read and Write Concerns": what holds with durability, in
    /// the order of `SESSION`.
    #[test]
    fn causal_sessions_promise_what_the_manual_lists() {
        for (read, write, listed) in [
            ("majority", json!({"w": "majority"}), [true, true, true, true]),
            ("majority", json!({"w": 1}), [true, false, false, true]),
            ("local", json!({"w": 1}), [false, false, false, false]),
            ("local", json!({"w": "majority"}), [false, false, true, false]),
        ] {
            for preference in ["primary", "secondary", "nearest"] {
                let alone = json!({"concern": read, "preference": preference});
                let alone: Read = serde_json::from_value(alone).unwrap();
                let [alone, causal] = [alone, Read { causal: true, ..alone }];
                let write = serde_json::from_value(write.clone()).unwrap();
                let word = |guarantee, read| {
                    let shape = Shape { nodes: 3, replication: 3 };
                    let (reads, writes) = (OperationKind::Read, OperationKind::Update);
                    promise(guarantee, &Asked { reads, writes, read, write: &write, shape }).0
                };
                let words = Guarantee::SESSION.map(|guarantee| word(guarantee, &causal));
                assert_eq!(words.map(|w| w == Word::Holds), listed, "{read}, {write}: {words:?}");
                // In other situations all four may hold, says the manual.
                assert!(words.iter().all(|w| w.strength() > 0), "{read}, {write}: {words:?}");
                for guarantee in Guarantee::ALL {
                    let (causal, alone) = (word(guarantee, &causal), word(guarantee, &alone));
                    assert!(causal.strength() >= alone.strength(), "{guarantee:?}");
                }
            }
        }
    }
}
