//! What a pair of levels, one for reading and one for writing, promises of the records that are read
//! and written at them: the vendor's word, its condition, and where the vendor says so.
//!
//! | type | is |
//! |---|---|
//! | [`Guarantee`] | what a history of operations can be held against |
//! | [`Word`] | holds, holds on a condition, doesn't, or the vendor says nothing |
//! | [`Promise`] | a guarantee, its word and its [`Source`] |
//! | [`Pair`] | all promises of one level of reads and one of writes |
//!
//! A register is a record, all fields of which are written together. The promises themselves are in
//! each database's file.

use super::{PerKind, Shape, Terms};
use crate::OperationKind;
use serde::Serialize;

/// What can be promised of a history. Session guarantees are those of Terry et al. (1994).
///
/// Read your writes and monotonic reads have no form across records: what they demand of a read is
/// about the record that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // `meaning` says it
pub enum Guarantee {
    Linearizable,
    SequentialPerKey,
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
    MonotonicWritesAcrossRecords,
    WritesFollowReadsAcrossRecords,
    BoundedStaleness,
    Eventual,
}

impl Guarantee {
    /// All of them, in the order in which reports list them.
    pub const ALL: [Self; 10] = [
        Self::Linearizable,
        Self::SequentialPerKey,
        Self::ReadYourWrites,
        Self::MonotonicReads,
        Self::MonotonicWrites,
        Self::WritesFollowReads,
        Self::MonotonicWritesAcrossRecords,
        Self::WritesFollowReadsAcrossRecords,
        Self::BoundedStaleness,
        Self::Eventual,
    ];

    /// Those of one session and one record; of equally strong words the condition of an earlier one
    /// includes those of the later ones.
    pub const SESSION: [Self; 4] = [
        Self::MonotonicReads,
        Self::ReadYourWrites,
        Self::MonotonicWrites,
        Self::WritesFollowReads,
    ];

    /// Its name in files and reports, which checkers' findings have too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linearizable => "linearizable",
            Self::SequentialPerKey => "sequential_per_key",
            Self::ReadYourWrites => "read_your_writes",
            Self::MonotonicReads => "monotonic_reads",
            Self::MonotonicWrites => "monotonic_writes",
            Self::WritesFollowReads => "writes_follow_reads",
            Self::MonotonicWritesAcrossRecords => "monotonic_writes_across_records",
            Self::WritesFollowReadsAcrossRecords => "writes_follow_reads_across_records",
            Self::BoundedStaleness => "bounded_staleness",
            Self::Eventual => "eventual",
        }
    }

    /// What it demands, in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Linearizable => {
                "each operation takes effect at one moment between its start and its end"
            }
            Self::SequentialPerKey => {
                "a record's operations have one order, in which each session's are in its own order"
            }
            Self::ReadYourWrites => {
                "a session's read returns its own last write of the record, or a newer version"
            }
            Self::MonotonicReads => {
                "a session never reads an older version of a record than it has read before"
            }
            Self::MonotonicWrites => {
                "a session's later write of a record replaces its earlier one, on every replica"
            }
            Self::WritesFollowReads => {
                "a session's write of a record replaces the version that the session has read"
            }
            Self::MonotonicWritesAcrossRecords => {
                "whoever has read a session's later write doesn't miss its earlier ones of other \
                 records"
            }
            Self::WritesFollowReadsAcrossRecords => {
                "whoever has read a session's write doesn't miss what that session had read of other \
                 records"
            }
            Self::BoundedStaleness => {
                "no read misses a write that was acknowledged longer ago than a bound; where one is \
                 promised here, it is 0"
            }
            Self::Eventual => "when writes have ended, all reads in time return the same version",
        }
    }
}

/// A vendor's word on a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "word", content = "condition")]
pub enum Word {
    /// It is promised.
    Holds,
    /// It is promised on this condition.
    If(&'static str),
    /// It isn't: what contradicts it is documented behaviour.
    Not,
    /// The vendor says nothing.
    Silent,
}

impl Word {
    /// How much is promised: nothing, something, all.
    #[must_use]
    pub const fn strength(self) -> u8 {
        match self {
            Self::Not | Self::Silent => 0,
            Self::If(_) => 1,
            Self::Holds => 2,
        }
    }
}

/// Where a vendor says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The document.
    pub title: &'static str,
    /// The section in it.
    pub section: &'static str,
    /// Its public address.
    pub url: &'static str,
    /// What it says, in our words.
    pub claim: &'static str,
}

/// A guarantee, and the vendor's word on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// The guarantee.
    pub guarantee: Guarantee,
    /// The word.
    #[serde(flatten)]
    pub word: Word,
    /// Where it is from.
    pub source: Source,
}

/// What is promised of records that are read by these kinds of operation and written by those.
///
/// Where several pairs apply to a record, each guarantee has the weakest of their words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// `read`, `scan` or both. A scan's promise is about each record that it returns.
    pub reads: Vec<OperationKind>,
    /// Some of `update`, `insert` and `delete`.
    pub writes: Vec<OperationKind>,
    /// The level of those reads.
    pub read: String,
    /// The level of those writes.
    pub write: String,
    /// One for each of [`Guarantee::ALL`], in that order.
    pub promises: Vec<Promise>,
}

/// What one database is asked about a guarantee.
pub(super) struct Asked<'a, R, W> {
    pub(super) reads: OperationKind,
    pub(super) writes: OperationKind,
    pub(super) read: &'a R,
    pub(super) write: &'a W,
    pub(super) shape: Shape,
}

/// Kinds of one side whose promises are the same are one pair.
pub(super) fn pairs<T: Terms>(levels: &PerKind<T::Read, T::Write>, shape: Shape) -> Vec<Pair> {
    let by_writes = |reads: OperationKind, read: &T::Read| {
        let mut pairs: Vec<Pair> = vec![];
        for (writes, write) in [
            (OperationKind::Update, &levels.update),
            (OperationKind::Insert, &levels.insert),
            (OperationKind::Delete, &levels.delete),
        ] {
            let promises = all::<T>(&Asked { reads, writes, read, write, shape });
            let write = write.to_string();
            match pairs.iter_mut().find(|p| p.write == write && p.promises == promises) {
                Some(same) => same.writes.push(writes),
                None => pairs.push(Pair {
                    reads: vec![reads],
                    writes: vec![writes],
                    read: read.to_string(),
                    write,
                    promises,
                }),
            }
        }
        pairs
    };
    let mut pairs = by_writes(OperationKind::Read, &levels.read);
    for scan in by_writes(OperationKind::Scan, &levels.scan) {
        let same = |pair: &&mut Pair| {
            (&pair.read, &pair.write, &pair.writes, &pair.promises)
                == (&scan.read, &scan.write, &scan.writes, &scan.promises)
        };
        match pairs.iter_mut().find(same) {
            Some(same) => same.reads.push(OperationKind::Scan),
            None => pairs.push(scan),
        }
    }
    pairs
}

/// Every guarantee's promise.
///
/// Sequential per key isn't asked for, since it follows: in all these databases the versions of a
/// record have one order (its primary's, or that of timestamps), and where every session's reads and
/// writes keep to that order, it is the one that is demanded.
fn all<T: Terms>(asked: &Asked<'_, T::Read, T::Write>) -> Vec<Promise> {
    let promise = |guarantee| {
        let (word, source) = T::promise(guarantee, asked);
        Promise { guarantee, word, source }
    };
    let weakest = || {
        let session = Guarantee::SESSION.map(promise);
        let weakest = session.into_iter().min_by_key(|p| p.word.strength()).unwrap_or(session[0]);
        Promise { guarantee: Guarantee::SequentialPerKey, ..weakest }
    };
    Guarantee::ALL
        .into_iter()
        .map(|guarantee| match guarantee {
            Guarantee::SequentialPerKey => weakest(),
            asked => promise(asked),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{promises, resolve};
    use super::*;
    use serde_json::{Value, json};

    const THREE: Shape = Shape { nodes: 3, replication: 3 };

    /// Every level of reads and of writes that a database has, whether or not a shape satisfies it.
    fn levels(database: &str) -> (Vec<Value>, Vec<Value>) {
        let words = |list: &str| list.split(' ').map(|word| json!(word)).collect();
        match database {
            "cassandra" => {
                let all = "ONE TWO THREE QUORUM ALL LOCAL_ONE LOCAL_QUORUM SERIAL LOCAL_SERIAL";
                (words(all), words(&format!("{all} ANY EACH_QUORUM")))
            }
            "mongodb" => {
                let mut reads = vec![];
                for concern in ["local", "available", "majority", "linearizable", "snapshot"] {
                    for preference in [
                        "primary",
                        "primaryPreferred",
                        "secondary",
                        "secondaryPreferred",
                        "nearest",
                    ] {
                        reads.push(json!({"concern": concern, "preference": preference}));
                    }
                }
                let mut writes = vec![];
                for w in [json!(1), json!(2), json!(3), json!("majority")] {
                    for j in [Value::Null, json!(false), json!(true)] {
                        writes.push(json!({"w": w, "j": j}));
                    }
                }
                (reads, writes)
            }
            "redis" => {
                let waits = (0..5).map(|wait| json!({ "wait": wait }));
                (words("primary replica"), waits.collect())
            }
            _ => (
                words("STRONG TIMELINE"),
                words("USE_DEFAULT SKIP_WAL ASYNC_WAL SYNC_WAL FSYNC_WAL"),
            ),
        }
    }

    /// All pairs of levels of all databases, for clusters of up to five copies.
    fn everything() -> Vec<(String, Vec<Pair>)> {
        let mut all = vec![];
        for database in ["cassandra", "mongodb", "redis", "hbase"] {
            let (reads, writes) = levels(database);
            for replication in 1..=5 {
                for (read, write) in reads.iter().flat_map(|r| writes.iter().map(move |w| (r, w))) {
                    let shape = Shape { nodes: replication * 2, replication };
                    // A scan at SERIAL is refused.
                    let level = json!({"read": read, "scan": "weak", "write": write});
                    if let Ok(resolved) = resolve(database, &level, shape) {
                        let name = format!("{database} {read} {write}, {replication} copies");
                        all.push((name, promises(&resolved, shape)));
                    }
                }
            }
        }
        all
    }

    /// The promises of reads and updates at these levels.
    fn promised(database: &str, read: &Value, write: &Value, shape: Shape) -> Option<Vec<Promise>> {
        let level = json!({"read": read, "scan": "weak", "write": write});
        let pairs = promises(&resolve(database, &level, shape).ok()?, shape);
        pairs.into_iter().find(|p| p.reads.contains(&OperationKind::Read)).map(|p| p.promises)
    }

    fn word(promises: &[Promise], guarantee: Guarantee) -> Word {
        promises.iter().find(|p| p.guarantee == guarantee).unwrap().word
    }

    #[test]
    fn every_pair_has_a_word_with_a_source_on_every_guarantee() {
        let all = everything();
        assert!(all.len() > 1_000, "{}", all.len());
        for (name, pairs) in all {
            for pair in pairs {
                let named = pair.promises.iter().map(|p| p.guarantee);
                assert!(named.eq(Guarantee::ALL), "{name}");
                for Promise { source, word, .. } in pair.promises {
                    assert!(source.url.starts_with("https://"), "{name}: {source:?}");
                    assert!(!source.claim.is_empty() && source.claim.ends_with('.'), "{source:?}");
                    if let Word::If(condition) = word {
                        assert!(!condition.is_empty() && !condition.ends_with('.'), "{condition}");
                    }
                }
            }
        }
    }

    #[test]
    fn guarantees_have_the_same_name_in_code_and_in_files() {
        for guarantee in Guarantee::ALL {
            assert_eq!(json!(guarantee), json!(guarantee.name()));
        }
    }

    #[test]
    fn linearizable_promises_everything_and_sequential_all_of_a_record_s_sessions() {
        for (name, pairs) in everything() {
            for Pair { promises, .. } in pairs {
                let strength = |guarantee| word(&promises, guarantee).strength();
                for guarantee in Guarantee::ALL {
                    assert!(strength(Guarantee::Linearizable) <= strength(guarantee), "{name}");
                }
                for guarantee in Guarantee::SESSION {
                    assert!(strength(Guarantee::SequentialPerKey) <= strength(guarantee), "{name}");
                }
            }
        }
    }

    /// Each list is from weaker to stronger, on one side, whatever is on the other.
    #[test]
    fn a_stronger_level_promises_at_least_as_much() {
        let primary = |concern: &str| json!({ "concern": concern });
        let read_chains: [(&str, Vec<Value>); 7] = [
            ("cassandra", ["ONE", "TWO", "THREE", "ALL"].map(|w| json!(w)).into()),
            ("cassandra", ["LOCAL_ONE", "ONE", "QUORUM", "ALL"].map(|w| json!(w)).into()),
            ("cassandra", ["LOCAL_QUORUM", "QUORUM", "SERIAL"].map(|w| json!(w)).into()),
            (
                "mongodb",
                vec![
                    json!({"concern": "local", "preference": "secondary"}),
                    json!({"concern": "local", "preference": "primaryPreferred"}),
                    primary("local"),
                ],
            ),
            ("mongodb", vec![primary("majority"), primary("linearizable")]),
            ("redis", ["replica", "primary"].map(|w| json!(w)).into()),
            ("hbase", ["TIMELINE", "STRONG"].map(|w| json!(w)).into()),
        ];
        let write_chains: [(&str, Vec<Value>); 6] = [
            ("cassandra", ["ANY", "ONE", "TWO", "THREE", "ALL"].map(|w| json!(w)).into()),
            (
                "cassandra",
                ["LOCAL_ONE", "ONE", "QUORUM", "EACH_QUORUM", "ALL"].map(|w| json!(w)).into(),
            ),
            ("cassandra", ["LOCAL_QUORUM", "QUORUM", "SERIAL"].map(|w| json!(w)).into()),
            (
                "mongodb",
                vec![json!({"w": 1}), json!({"w": 2}), json!({"w": 3}), json!({"w": "majority"})],
            ),
            ("redis", (0..5).map(|wait| json!({ "wait": wait })).collect()),
            ("hbase", ["SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL"].map(|w| json!(w)).into()),
        ];
        let mut compared = 0;
        let mut compare = |database: &str, weaker: [&Value; 2], stronger: [&Value; 2], shape| {
            let of = |[read, write]: [&Value; 2]| promised(database, read, write, shape);
            let (Some(less), Some(more)) = (of(weaker), of(stronger)) else { return };
            compared += 1;
            for guarantee in Guarantee::ALL {
                assert!(
                    word(&less, guarantee).strength() <= word(&more, guarantee).strength(),
                    "{database}, {shape:?}, {guarantee:?}: {weaker:?} promises more than {stronger:?}"
                );
            }
        };
        for replication in 1..=5 {
            let shape = Shape { nodes: 5, replication };
            for (database, chain) in &read_chains {
                for write in levels(database).1 {
                    for two in chain.windows(2) {
                        compare(database, [&two[0], &write], [&two[1], &write], shape);
                    }
                }
            }
            for (database, chain) in &write_chains {
                for read in levels(database).0 {
                    for two in chain.windows(2) {
                        compare(database, [&read, &two[0]], [&read, &two[1]], shape);
                    }
                }
            }
        }
        assert!(compared > 1_000, "{compared}");
    }

    #[test]
    fn what_the_documents_say_is_what_is_promised() {
        use Guarantee::{
            BoundedStaleness, Eventual, Linearizable, MonotonicReads, MonotonicWrites,
            MonotonicWritesAcrossRecords, ReadYourWrites,
        };
        let secondary = json!({"concern": "majority", "preference": "secondary"});
        let majority = json!({"w": "majority"});
        for (database, read, write, guarantee, strength) in [
            ("cassandra", json!("ONE"), json!("ONE"), ReadYourWrites, 0),
            ("cassandra", json!("ONE"), json!("ONE"), MonotonicWrites, 1),
            ("cassandra", json!("ONE"), json!("ONE"), Eventual, 1),
            ("cassandra", json!("QUORUM"), json!("QUORUM"), Linearizable, 1),
            // Acknowledged writes are visible, but one under way flickers.
            ("cassandra", json!("ONE"), json!("ALL"), BoundedStaleness, 1),
            ("cassandra", json!("ONE"), json!("ALL"), MonotonicWritesAcrossRecords, 1),
            ("cassandra", json!("ONE"), json!("ALL"), Linearizable, 0),
            ("cassandra", json!("QUORUM"), json!("ONE"), MonotonicReads, 1),
            ("cassandra", json!("QUORUM"), json!("ONE"), ReadYourWrites, 0),
            ("cassandra", json!("ALL"), json!("ANY"), ReadYourWrites, 0),
            ("cassandra", json!("SERIAL"), json!("SERIAL"), Linearizable, 2),
            ("cassandra", json!("SERIAL"), json!("QUORUM"), Linearizable, 1),
            ("cassandra", json!("LOCAL_SERIAL"), json!("SERIAL"), Linearizable, 1),
            ("mongodb", json!("linearizable"), majority.clone(), Linearizable, 2),
            ("mongodb", json!("linearizable"), json!({"w": 3}), Linearizable, 1),
            ("mongodb", json!("majority"), majority.clone(), Linearizable, 1),
            // A majority read doesn't see what fewer have, not even its own.
            ("mongodb", json!("majority"), json!({"w": 1}), ReadYourWrites, 0),
            ("mongodb", json!("local"), json!({"w": 1}), ReadYourWrites, 1),
            ("mongodb", secondary.clone(), majority.clone(), MonotonicReads, 0),
            ("mongodb", secondary, majority, MonotonicWrites, 2),
            ("redis", json!("primary"), json!({"wait": 2}), Linearizable, 1),
            ("redis", json!("replica"), json!({"wait": 1}), ReadYourWrites, 0),
            ("redis", json!("replica"), json!({"wait": 2}), ReadYourWrites, 1),
            ("redis", json!("replica"), json!({"wait": 2}), Linearizable, 0),
            ("hbase", json!("STRONG"), json!("FSYNC_WAL"), Linearizable, 2),
            ("hbase", json!("STRONG"), json!("SKIP_WAL"), Linearizable, 1),
            ("hbase", json!("TIMELINE"), json!("FSYNC_WAL"), MonotonicReads, 0),
            ("hbase", json!("TIMELINE"), json!("FSYNC_WAL"), MonotonicWrites, 2),
        ] {
            let found = word(&promised(database, &read, &write, THREE).unwrap(), guarantee);
            assert_eq!(
                found.strength(),
                strength,
                "{database} {read} {write} {guarantee:?}: {found:?}"
            );
        }
    }

    /// Of four members three are a majority.
    #[test]
    fn half_of_the_members_are_no_majority() {
        let four = Shape { nodes: 4, replication: 4 };
        for (w, strength) in [(2, 0), (3, 1)] {
            let promises = promised("mongodb", &json!("majority"), &json!({ "w": w }), four);
            let word = word(&promises.unwrap(), Guarantee::ReadYourWrites);
            assert_eq!(word.strength(), strength, "{w}");
        }
        let promises = promised("cassandra", &json!("TWO"), &json!("TWO"), four).unwrap();
        assert_eq!(word(&promises, Guarantee::ReadYourWrites), Word::Not);
        let promises = promised("cassandra", &json!("TWO"), &json!("QUORUM"), four).unwrap();
        assert_eq!(word(&promises, Guarantee::MonotonicReads), Word::Not);
    }

    #[test]
    fn kinds_with_levels_of_their_own_are_pairs_of_their_own() {
        let of = |database, level: Value| {
            let pairs = promises(&resolve(database, &level, THREE).unwrap(), THREE);
            pairs.into_iter().map(|p| (p.reads, p.writes, p.promises)).collect::<Vec<_>>()
        };
        let strength = |promises: &[Promise]| word(promises, Guarantee::Linearizable).strength();
        let (read, scan) = (OperationKind::Read, OperationKind::Scan);

        let uniform = of("cassandra", json!("QUORUM"));
        assert_eq!((uniform.len(), &uniform[0].0, uniform[0].1.len()), (1, &vec![read, scan], 3));

        // Insert and delete are at `weak`.
        let mixed = of("cassandra", json!({"read": "SERIAL", "scan": "ALL", "update": "SERIAL"}));
        let found: Vec<_> = mixed.iter().map(|(r, w, p)| (r[0], w.len(), strength(p))).collect();
        assert_eq!(found, [(read, 1, 2), (read, 2, 0), (scan, 1, 1), (scan, 2, 1)]);

        // Of a scan MongoDB says nothing, and a delete of HBase's may mask a put.
        let scans = of("mongodb", json!({"read": "linearizable", "write": {"w": "majority"}}));
        assert_eq!(word(&scans[1].2, Guarantee::ReadYourWrites), Word::Silent);
        let deletes = of("hbase", json!("strong"));
        assert_eq!(
            deletes.iter().map(|(_, w, p)| (w.len(), strength(p))).collect::<Vec<_>>(),
            [(2, 2), (1, 1)]
        );
    }

    #[test]
    fn a_promise_is_one_flat_object_with_its_source() {
        let resolved = resolve("redis", &json!("weak"), THREE).unwrap();
        let first = &json!(promises(&resolved, THREE))[0]["promises"][0];
        assert_eq!((&first["guarantee"], &first["word"]), (&json!("linearizable"), &json!("if")));
        assert!(first["condition"].is_string() && first["source"]["url"].is_string(), "{first}");
        let local = resolve("memory", &json!("weak"), THREE).unwrap();
        assert!(promises(&local, THREE).is_empty());
    }
}
