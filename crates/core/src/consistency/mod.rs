//! Consistency levels: from the words of a study to what each database is asked for.
//!
//! A study says `weak`, `quorum` or `strong`, or speaks in the database's own terms, for all kinds
//! of operation or for each. [`resolve`] answers with a [`Consistency`], fully spelled out, or
//! with [`Refused`]: a level that the cluster can't satisfy must be known before anything starts,
//! not as ten thousand time-outs afterwards.
//!
//! One file a database holds its terms, what the aliases mean there, what it refuses, and what its
//! vendor promises at each level ([`promise`]).

pub mod cassandra;
pub mod hbase;
pub mod mongodb;
pub mod promise;
pub mod redis;

pub use promise::{Guarantee, Pair, Promise, Source, Word};

use crate::OperationKind;
use promise::Asked;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a level isn't accepted, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// One line: what is asked and why it can't be had.
    pub message: String,
    /// One line: what to change.
    pub hint: String,
}

impl Refused {
    /// A refusal with its hint.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// What of a cluster decides which levels it can satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Nodes that hold data.
    pub nodes: u32,
    /// Copies of each record, the primary's included.
    pub replication: u32,
}

/// Something for each kind of operation. A read-modify-write uses `read` and `update`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerKind<R, W> {
    /// For reads of one record.
    pub read: R,
    /// For scans.
    pub scan: R,
    /// For updates.
    pub update: W,
    /// For inserts.
    pub insert: W,
    /// For deletes.
    pub delete: W,
}

impl<R: std::fmt::Display, W: std::fmt::Display> PerKind<R, W> {
    /// Each kind's level as text, in the order in which reports list kinds.
    pub fn texts(&self) -> Vec<(OperationKind, String)> {
        vec![
            (OperationKind::Read, self.read.to_string()),
            (OperationKind::Update, self.update.to_string()),
            (OperationKind::Insert, self.insert.to_string()),
            (OperationKind::Scan, self.scan.to_string()),
            (OperationKind::Delete, self.delete.to_string()),
        ]
    }
}

/// What is asked of one database, kind by kind, in its own terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consistency {
    /// A binding without replicas (`noop`, `memory`): nothing to choose.
    Local,
    /// Cassandra's levels.
    Cassandra(PerKind<cassandra::Level, cassandra::Level>),
    /// MongoDB's concerns and read preference.
    MongoDb(PerKind<mongodb::Read, mongodb::Write>),
    /// Redis's and Valkey's `WAIT` and choice of node.
    Redis(PerKind<redis::Read, redis::Write>),
    /// HBase's read consistency and durability.
    HBase(PerKind<hbase::Read, hbase::Durability>),
}

impl Consistency {
    /// Each kind's level as text.
    #[must_use]
    pub fn texts(&self) -> Vec<(OperationKind, String)> {
        match self {
            Self::Local => vec![],
            Self::Cassandra(levels) => levels.texts(),
            Self::MongoDb(levels) => levels.texts(),
            Self::Redis(levels) => levels.texts(),
            Self::HBase(levels) => levels.texts(),
        }
    }

    /// Whether an update of a record that isn't there makes one, of the fields that it writes, and is
    /// ok. Elsewhere it is a failure: the record isn't found.
    ///
    /// It is the database's own `UPDATE`, as YCSB uses it too: Redis has no conditional `HSET`, a put
    /// of HBase's is no other for being an update, and Cassandra asks whether there is a row in
    /// lightweight transactions only.
    #[must_use]
    pub const fn update_inserts(&self) -> bool {
        match self {
            Self::Local | Self::MongoDb(_) => false,
            Self::Redis(_) | Self::HBase(_) => true,
            Self::Cassandra(levels) => !levels.update.is_serial(),
        }
    }
}

/// The aliases that mean something for every database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alias {
    /// The fewest nodes that the database offers to answer with.
    Weak,
    /// A majority, or the database's nearest setting to one.
    Quorum,
    /// Every copy, or the strongest guarantee there is.
    Strong,
}

impl Alias {
    /// All of them, weakest first.
    pub const ALL: [Self; 3] = [Self::Weak, Self::Quorum, Self::Strong];

    /// Its name in a study.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Quorum => "quorum",
            Self::Strong => "strong",
        }
    }
}

/// One database's terms, as [`resolve`] needs them.
trait Terms {
    type Read: Clone + std::fmt::Display;
    type Write: Clone + std::fmt::Display;

    fn alias_read(alias: Alias, shape: Shape) -> Self::Read;
    fn alias_write(alias: Alias, shape: Shape) -> Self::Write;
    fn parse_read(value: &Value) -> Result<Self::Read, Refused>;
    fn parse_write(value: &Value) -> Result<Self::Write, Refused>;
    fn check_read(level: &Self::Read, shape: Shape) -> Result<(), Refused>;
    fn check_scan(level: &Self::Read, shape: Shape) -> Result<(), Refused> {
        Self::check_read(level, shape)
    }
    fn check_write(level: &Self::Write, shape: Shape) -> Result<(), Refused>;
    /// The vendor's word on a guarantee other than `SequentialPerKey`, which follows from others.
    fn promise(guarantee: Guarantee, asked: &Asked<'_, Self::Read, Self::Write>) -> (Word, Source);
}

/// What `database` is to be asked for, given a study's `consistency` and the cluster's shape.
///
/// `value` is an alias, a term of the database for all kinds, or a mapping with `read` and `write`
/// and, where a kind differs, `scan`, `update`, `insert` or `delete`. A side that a mapping leaves
/// out has the meaning of `weak`; a `scan` left out follows `read`.
///
/// # Errors
/// [`Refused`] for a word that the database doesn't have, and for a level that the cluster can't
/// satisfy.
pub fn resolve(database: &str, value: &Value, shape: Shape) -> Result<Consistency, Refused> {
    if shape.replication == 0 || shape.nodes == 0 {
        return Err(Refused::new(
            "a cluster has at least one node and one copy of each record",
            "set `nodes` and `replication` to 1 or more",
        ));
    }
    match database {
        "cassandra" => per_kind::<cassandra::Terms>(value, shape).map(Consistency::Cassandra),
        "mongodb" => mongodb::resolve(value, shape).map(Consistency::MongoDb),
        "redis" | "valkey" => per_kind::<redis::Terms>(value, shape).map(Consistency::Redis),
        "hbase" => per_kind::<hbase::Terms>(value, shape).map(Consistency::HBase),
        "noop" | "memory" => match value.as_str().and_then(alias) {
            Some(_) => Ok(Consistency::Local),
            None => Err(Refused::new(
                format!("`{database}` has no consistency level {value}: it has no replicas"),
                "use weak, quorum or strong, which all mean the same there",
            )),
        },
        other => Err(Refused::new(
            format!("no database is called `{other}`"),
            "known are cassandra, mongodb, redis, valkey, hbase, memory and noop",
        )),
    }
}

/// What is promised, pair by pair; nothing for a binding without replicas, which has no vendor.
///
/// `consistency` is what [`resolve`] answered for the same `shape`.
#[must_use]
pub fn promises(consistency: &Consistency, shape: Shape) -> Vec<Pair> {
    match consistency {
        Consistency::Local => vec![],
        Consistency::Cassandra(levels) => promise::pairs::<cassandra::Terms>(levels, shape),
        Consistency::MongoDb(levels) => promise::pairs::<mongodb::Terms>(levels, shape),
        Consistency::Redis(levels) => promise::pairs::<redis::Terms>(levels, shape),
        Consistency::HBase(levels) => promise::pairs::<hbase::Terms>(levels, shape),
    }
}

fn alias(word: &str) -> Option<Alias> {
    Alias::ALL.into_iter().find(|alias| alias.name() == word)
}

/// What a mapping says of a user's operations together.
const SESSION: &str = "session";

const KEYS: [&str; 6] = ["read", "write", "scan", "update", "insert", "delete"];

fn per_kind<T: Terms>(value: &Value, shape: Shape) -> Result<PerKind<T::Read, T::Write>, Refused> {
    let empty = serde_json::Map::new();
    let (for_all, by_kind) = match value {
        Value::Object(map) => (None, map),
        other => (Some(other), &empty),
    };
    if by_kind.contains_key(SESSION) {
        return Err(Refused::new(
            "`session` is a consistency level of MongoDB's alone",
            "leave it out of consistency; where a user's operations go is a setting, session",
        ));
    }
    if let Some(unknown) = by_kind.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Refused::new(
            format!("`{unknown}` is no kind of operation that a consistency level is set for"),
            format!("use {}", KEYS.join(", ")),
        ));
    }
    let weak = Value::from(Alias::Weak.name());
    let pick =
        |keys: &[&str]| keys.iter().find_map(|key| by_kind.get(*key)).or(for_all).unwrap_or(&weak);
    let read = |keys: &[&str]| -> Result<T::Read, Refused> {
        match pick(keys) {
            Value::String(word) if alias(word).is_some() => {
                Ok(T::alias_read(alias(word).unwrap_or(Alias::Weak), shape))
            }
            term => T::parse_read(term),
        }
    };
    let write = |keys: &[&str]| -> Result<T::Write, Refused> {
        let level = match pick(keys) {
            Value::String(word) if alias(word).is_some() => {
                T::alias_write(alias(word).unwrap_or(Alias::Weak), shape)
            }
            term => T::parse_write(term)?,
        };
        T::check_write(&level, shape).map(|()| level)
    };
    let levels = PerKind {
        read: read(&["read"])?,
        scan: read(&["scan", "read"])?,
        update: write(&["update", "write"])?,
        insert: write(&["insert", "write"])?,
        delete: write(&["delete", "write"])?,
    };
    T::check_read(&levels.read, shape)?;
    T::check_scan(&levels.scan, shape)?;
    Ok(levels)
}

/// One row of the table of aliases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AliasRow {
    /// The database.
    pub database: &'static str,
    /// `weak`, `quorum` or `strong`.
    pub alias: &'static str,
    /// What a read asks for, on a cluster of three nodes with three copies.
    pub read: String,
    /// What a write asks for, likewise.
    pub write: String,
}

/// The table of aliases, resolved for three nodes with three copies: the documentation's source.
#[must_use]
pub fn alias_table() -> Vec<AliasRow> {
    fn rows<T: Terms>(database: &'static str) -> impl Iterator<Item = AliasRow> {
        let shape = Shape { nodes: 3, replication: 3 };
        Alias::ALL.into_iter().map(move |alias| AliasRow {
            database,
            alias: alias.name(),
            read: T::alias_read(alias, shape).to_string(),
            write: T::alias_write(alias, shape).to_string(),
        })
    }
    rows::<cassandra::Terms>("cassandra")
        .chain(rows::<mongodb::Terms>("mongodb"))
        .chain(rows::<redis::Terms>("redis"))
        .chain(rows::<hbase::Terms>("hbase"))
        .collect()
}

/// A field of a mapping, read with serde; the refusal names the database and the words it knows.
fn parse_term<T: serde::de::DeserializeOwned>(
    database: &str,
    side: &str,
    value: &Value,
    known: &str,
) -> Result<T, Refused> {
    serde_json::from_value(value.clone()).map_err(|_| {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Refused::new(
            format!("{database} has no {side} level `{shown}`"),
            format!("use weak, quorum, strong, or {known}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const THREE: Shape = Shape { nodes: 3, replication: 3 };

    #[test]
    fn every_alias_is_satisfied_by_three_nodes_with_three_copies() {
        for row in alias_table() {
            resolve(row.database, &json!(row.alias), THREE).unwrap();
        }
    }

    #[test]
    fn an_update_makes_a_record_unless_the_database_asks_whether_there_is_one() {
        for (database, level, inserts) in [
            ("redis", json!("strong"), true),
            ("hbase", json!("strong"), true),
            ("cassandra", json!("strong"), true),
            ("cassandra", json!({"read": "QUORUM", "write": "SERIAL"}), false),
            ("cassandra", json!({"insert": "SERIAL", "update": "ONE"}), true),
            ("mongodb", json!("weak"), false),
            ("memory", json!("weak"), false),
        ] {
            let resolved = resolve(database, &level, THREE).unwrap();
            assert_eq!(resolved.update_inserts(), inserts, "{database}, {level}");
        }
    }

    #[test]
    fn every_alias_is_satisfied_by_any_healthy_cluster() {
        for database in ["cassandra", "mongodb", "redis", "valkey"] {
            for nodes in 1..=12 {
                for replication in 1..=nodes {
                    for alias in Alias::ALL {
                        let shape = Shape { nodes, replication };
                        resolve(database, &json!(alias.name()), shape).unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn wait_3_with_two_replicas_is_refused_before_anything_starts() {
        let refused = resolve("redis", &json!({"write": {"wait": 3}}), THREE).unwrap_err();
        assert!(refused.message.contains("WAIT 3"), "{refused}");
        assert!(refused.message.contains("2 replicas"), "{refused}");
    }

    #[test]
    fn an_unknown_level_is_named_with_the_known_ones() {
        let refused = resolve("cassandra", &json!("QUORUMM"), THREE).unwrap_err();
        assert!(refused.message.contains("QUORUMM") && refused.hint.contains("QUORUM"));
    }

    #[test]
    fn a_kind_that_differs_overrides_its_side() {
        let levels =
            resolve("cassandra", &json!({"read": "ONE", "write": "ALL", "insert": "ANY"}), THREE);
        let Ok(Consistency::Cassandra(levels)) = levels else { panic!("{levels:?}") };
        assert_eq!(levels.insert, cassandra::Level::Any);
        assert_eq!(levels.update, cassandra::Level::All);
        assert_eq!(levels.scan, cassandra::Level::One);
    }

    #[test]
    fn a_causal_session_is_mongodbs_reads_and_no_other_databases() {
        let asked = |level: &str| json!({"read": level, "write": "quorum", "session": "causal"});
        let levels = resolve("mongodb", &asked("quorum"), THREE).unwrap();
        let texts: Vec<_> = levels.texts().into_iter().map(|(_, text)| text).collect();
        let (read, write) = ("majority from primary, causal", "w: majority");
        assert_eq!(texts, [read, write, write, read, write]);
        let secondary = json!({"concern": "local", "preference": "secondary"});
        let of_secondaries = json!({"read": secondary, "session": "causal"});
        let texts = resolve("mongodb", &of_secondaries, THREE).unwrap().texts();
        assert_eq!(texts[0].1, "local from secondary, causal");
        for (database, level, said) in [
            ("mongodb", asked("strong"), "linearizable"),
            ("mongodb", json!({"session": "eventual"}), "eventual"),
            ("mongodb", json!({"read": {"concern": "local", "causal": true}}), "causal"),
            ("redis", asked("quorum"), "MongoDB's alone"),
        ] {
            let refused = resolve(database, &level, THREE).unwrap_err();
            assert!(refused.message.contains(said), "{refused}");
        }
    }

    #[test]
    fn levels_beyond_the_cluster_are_refused() {
        let one = Shape { nodes: 1, replication: 1 };
        for (database, level) in [
            ("cassandra", json!({"read": "TWO"})),
            ("cassandra", json!({"read": "ANY"})),
            ("mongodb", json!({"write": {"w": 2}})),
            ("mongodb", json!({"read": {"concern": "linearizable", "preference": "secondary"}})),
            ("redis", json!({"read": "replica"})),
            ("hbase", json!({"read": "TIMELINE"})),
        ] {
            assert!(resolve(database, &level, one).is_err(), "{database} {level}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_is_refused_and_never_panics(word in "\\PC{0,12}", number in any::<i64>()) {
            for database in ["cassandra", "mongodb", "redis", "hbase", "memory", "elsewhere"] {
                for value in [json!(word), json!(number), json!({"read": word}), json!({"write": number}), json!([word])] {
                    let _ = resolve(database, &value, THREE);
                }
            }
        }
    }
}
