//! `MongoDB`'s binding against a real server: `PACELC_TEST_TARGET` holds its `Target` as JSON.
//!
//! What holds for every binding is checked by the conformance suite; here is what is `MongoDB`'s
//! alone: the level that the server receives, kind by kind, and what its errors count as.

#![allow(clippy::unwrap_used)] // tests

use ::mongodb::bson::{Document, doc};
use ::mongodb::{Client, Database};
use futures::TryStreamExt;
use pacelc_bindings::mongodb::MongoDb;
use pacelc_bindings::{Binding, Context, Layout, Session, Sharding, Target};
use pacelc_core::{ErrorKind, FieldValue, Operation, Outcome, Shape, consistency};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn target() -> Target {
    let text = std::env::var("PACELC_TEST_TARGET").expect("PACELC_TEST_TARGET holds a target");
    serde_json::from_str(&text).unwrap()
}

fn context(target: Target, table: &str, level: &Value) -> Context {
    // A level may be more than the cluster can satisfy: that is what some tests are about.
    let shape = Shape { nodes: 99, replication: 99 };
    Context {
        target,
        layout: Layout { table: table.into(), fields: 2, record_bytes: 100, scan_records: 10 },
        consistency: consistency::resolve("mongodb", level, shape).unwrap(),
        users: 1,
        operation_timeout: Duration::from_secs(5),
    }
}

/// Makes a binding's table anew.
async fn anew(binding: &MongoDb) {
    if let Some(found) = binding.find_table().await.unwrap() {
        binding.drop_table(&found).await.unwrap();
    }
    binding.create_table().await.unwrap();
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// A client of the test's own, to look at the server with.
async fn observer(target: &Target) -> Database {
    let set = target.replica_set.as_ref().map_or(String::new(), |set| format!("replicaSet={set}"));
    let uri = format!("mongodb://{}/?{set}", target.endpoints.join(","));
    Client::with_uri_str(uri).await.unwrap().database("pacelc")
}

const VALUES: [FieldValue<'static>; 2] =
    [FieldValue { field: 0, value: b"zero" }, FieldValue { field: 1, value: b"one" }];
const KINDS: [Operation<'static>; 5] = [
    Operation::Insert { key: "a", values: &VALUES },
    Operation::Update { key: "a", values: &VALUES },
    Operation::Read { key: "a", field: None },
    Operation::Scan { start: None, limit: 10, field: None },
    Operation::Delete { key: "a" },
];

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn the_server_receives_the_level_of_each_kind() {
    let target = target();
    run(async {
        let level = json!({
            "read": {"concern": "linearizable"},
            "scan": {"concern": "available"},
            "insert": {"w": 1, "j": false},
            "update": {"w": "majority", "wtimeout_ms": 4000},
            "delete": {"w": 1, "j": true},
        });
        let server = observer(&target).await;
        let binding = MongoDb::open(&context(target, "levels", &level)).await.unwrap();
        anew(&binding).await;
        server.run_command(doc! { "profile": 0 }).await.unwrap();
        let profile = server.collection::<Document>("system.profile");
        profile.drop().await.unwrap();
        server.run_command(doc! { "profile": 2 }).await.unwrap();
        let mut user = binding.session().await.unwrap();
        for operation in &KINDS {
            assert_eq!(user.execute(operation, &mut ()).await, Outcome::Ok, "{operation:?}");
        }
        server.run_command(doc! { "profile": 0 }).await.unwrap();

        let seen: Vec<Document> = profile
            .find(doc! { "ns": "pacelc.levels", "appName": "pacelc" })
            .sort(doc! { "ts": 1 })
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        let command = |op: &str, filter: Option<&Document>| {
            let commands = seen.iter().filter(|entry| entry.get_str("op").is_ok_and(|o| o == op));
            let mut commands = commands.filter_map(|entry| entry.get_document("command").ok());
            commands.find(|command| command.get_document("filter").ok() == filter).unwrap()
        };
        let by_key = command("query", Some(&doc! { "_id": "a" })).get("readConcern");
        assert_eq!(by_key, Some(&doc! { "level": "linearizable" }.into()));
        let scan = command("query", Some(&doc! {})).get("readConcern");
        assert_eq!(scan, Some(&doc! { "level": "available" }.into()));
        let insert = command("insert", None).get("writeConcern");
        assert_eq!(insert, Some(&doc! { "w": 1, "j": false }.into()));
        // The profile shows single updates and deletes without their write concern; `in_force`
        // reads it from the command as packed, and an impossible one shows it, kind by kind, below.
        assert_eq!(
            binding.in_force().into_iter().map(|(_, level)| level).collect::<Vec<_>>(),
            [
                "linearizable from primary",
                "w: majority, wtimeout: 4000 ms",
                "w: 1, j: false",
                "available from primary",
                "w: 1, j: true",
            ]
        );
    });
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn a_causal_sessions_reads_carry_the_time_of_its_last_operation() {
    let target = target();
    run(async {
        for (session, expected) in [(json!({"session": "causal"}), true), (json!({}), false)] {
            let mut level = json!({"read": "quorum", "write": "quorum"});
            level.as_object_mut().unwrap().extend(session.as_object().unwrap().clone());
            let server = observer(&target).await;
            let binding = MongoDb::open(&context(target.clone(), "causal", &level)).await.unwrap();
            anew(&binding).await;
            server.run_command(doc! { "profile": 0 }).await.unwrap();
            let profile = server.collection::<Document>("system.profile");
            profile.drop().await.unwrap();
            server.run_command(doc! { "profile": 2 }).await.unwrap();
            let mut user = binding.session().await.unwrap();
            for operation in &KINDS {
                assert_eq!(user.execute(operation, &mut ()).await, Outcome::Ok, "{operation:?}");
            }
            server.run_command(doc! { "profile": 0 }).await.unwrap();
            let seen: Vec<Document> = profile
                .find(doc! { "ns": "pacelc.causal", "op": "query", "appName": "pacelc" })
                .sort(doc! { "ts": 1 })
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
            assert_eq!(seen.len(), 2, "{seen:?}");
            let mut before = None;
            for entry in &seen {
                let concern = entry.get_document("command").unwrap().get_document("readConcern");
                let after = concern.unwrap().get_timestamp("afterClusterTime").ok();
                assert_eq!(after.is_some(), expected, "{entry}");
                assert!(after >= before, "{entry}");
                before = after;
            }
            let causal = |text: &str| text.ends_with(", causal");
            let levels = binding.in_force().into_iter().map(|(kind, text)| (kind, causal(&text)));
            for (kind, is_causal) in levels {
                assert_eq!(is_causal, expected && !kind.writes(), "{kind:?}");
            }
        }
    });
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn a_write_with_too_few_members_is_unknown_for_its_kind_alone() {
    let target = target();
    run(async {
        for (kind, at) in [("insert", 0), ("update", 1), ("delete", 4)] {
            let level = json!({"write": {"w": 1}, kind: {"w": 49, "wtimeout_ms": 500}});
            let context = context(target.clone(), "members", &level);
            let binding = MongoDb::open(&context).await.unwrap();
            anew(&binding).await;
            let mut user = binding.session().await.unwrap();
            for (n, operation) in KINDS.iter().enumerate() {
                let outcome = user.execute(operation, &mut ()).await;
                match outcome {
                    Outcome::Unknown(failure) if n == at => {
                        assert_eq!(failure.kind, ErrorKind::NotEnoughReplicas, "{failure:?}");
                    }
                    outcome => assert_eq!((outcome, n == at), (Outcome::Ok, false), "{kind} {n}"),
                }
            }
        }
    });
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn errors_count_as_what_they_leave_behind() {
    let target = target();
    run(async {
        let server = observer(&target).await.client().database("admin");
        let fail = async |times: i32, data: Document| {
            let command = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
            server.run_command(command).await
        };
        let can_fail = fail(0, doc! { "failCommands": [], "errorCode": 1 }).await;
        can_fail.expect("mongod was started with --setParameter enableTestCommands=1");
        let binding = MongoDb::open(&context(target, "errors", &json!("weak"))).await.unwrap();
        anew(&binding).await;
        let mut user = binding.session().await.unwrap();
        let code = |code: i32| doc! { "errorCode": code };
        let concern = |code: i32| doc! { "writeConcernError": { "code": code, "errmsg": "so" } };
        let closed = || doc! { "closeConnection": true };
        // What goes wrong, the kind it counts under, whether a write is certain to have no effect.
        for (wrong, kind, write_fails) in [
            (code(10107), ErrorKind::NotPrimary, true),
            (code(13436), ErrorKind::NotPrimary, true),
            (code(189), ErrorKind::NotPrimary, false),
            (code(11600), ErrorKind::NotPrimary, false),
            (code(50), ErrorKind::ServerTimeout, false),
            (code(13), ErrorKind::Rejected, true),
            (code(8), ErrorKind::Other, false),
            (closed(), ErrorKind::ConnectionLost, false),
            (concern(64), ErrorKind::NotEnoughReplicas, false),
            (concern(91), ErrorKind::NotPrimary, false),
        ] {
            for operation in &KINDS[..3] {
                let only_writes = wrong.contains_key("writeConcernError");
                if only_writes && !operation.kind().writes() {
                    continue;
                }
                // The server may need a moment to be found again after the error before.
                loop {
                    let answer =
                        user.execute(&Operation::Read { key: "none", field: None }, &mut ()).await;
                    if answer.is_ok() {
                        break;
                    }
                }
                let _ = user.execute(&Operation::Delete { key: "a" }, &mut ()).await;
                if !matches!(operation, Operation::Insert { .. }) {
                    assert!(user.execute(&KINDS[0], &mut ()).await.is_ok());
                }
                let mut data = wrong.clone();
                data.insert("failCommands", ["insert", "update", "find"].as_slice());
                data.insert("appName", "pacelc");
                fail(1, data).await.unwrap();
                let outcome = user.execute(operation, &mut ()).await;
                fail(0, doc! { "failCommands": [], "errorCode": 1 }).await.unwrap();
                let certain = write_fails || !operation.kind().writes();
                let (is_certain, failure) = match &outcome {
                    Outcome::Fail(failure) => (true, failure),
                    Outcome::Unknown(failure) => (false, failure),
                    Outcome::Ok => panic!("{operation:?} was ok with {wrong}"),
                };
                assert_eq!((failure.kind, is_certain), (kind, certain), "{wrong} {failure:?}");
            }
        }
    });
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn a_record_inserted_twice_exists_and_a_missing_one_is_not_found() {
    let target = target();
    run(async {
        let binding = MongoDb::open(&context(target, "keys", &json!("weak"))).await.unwrap();
        anew(&binding).await;
        let mut user = binding.session().await.unwrap();
        let expected = [None, Some(ErrorKind::Exists), None, None, None, Some(ErrorKind::NotFound)];
        let insert = KINDS[0];
        for (operation, kind) in
            [insert, insert, KINDS[1], KINDS[2], KINDS[4], KINDS[4]].iter().zip(expected)
        {
            let outcome = user.execute(operation, &mut ()).await;
            assert!(!matches!(outcome, Outcome::Unknown(_)));
            assert_eq!(outcome.failure().map(|failure| failure.kind), kind, "{operation:?}");
        }
        assert_eq!(binding.count_records(1_000).await, Ok(0));
    });
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn a_scan_of_more_than_one_reply_is_read_to_its_limit() {
    let target = target();
    run(async {
        // Replies end at 16 MiB: 30 records of 1 MiB take two, at every read concern.
        for concern in ["local", "majority", "linearizable"] {
            let context = context(
                target.clone(),
                "long",
                &json!({"read": concern, "write": {"w": "majority"}}),
            );
            let binding = MongoDb::open(&context).await.unwrap();
            anew(&binding).await;
            let mut user = binding.session().await.unwrap();
            let value = vec![b'x'; 1 << 20];
            for n in 0..30 {
                let values = [FieldValue { field: 0, value: &value }];
                let key = format!("user{n:02}");
                let insert = Operation::Insert { key: &key, values: &values };
                assert_eq!(user.execute(&insert, &mut ()).await, Outcome::Ok);
            }
            for (start, limit, expected) in
                [(None, 40, 30), (None, 25, 25), (Some("user04"), 20, 20), (Some("user20"), 20, 10)]
            {
                let mut count = Count::default();
                let scan = Operation::Scan { start, limit, field: None };
                assert_eq!(user.execute(&scan, &mut count).await, Outcome::Ok, "{concern}");
                assert_eq!((count.rows, count.bytes), (expected, expected << 20), "{concern}");
            }
        }
    });
}

#[derive(Default)]
struct Count {
    rows: usize,
    bytes: usize,
}

impl pacelc_core::Rows for Count {
    fn row(&mut self, _key: &[u8]) {
        self.rows += 1;
    }
    fn value(&mut self, _field: usize, value: &[u8]) {
        self.bytes += value.len();
    }
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn a_scan_of_several_sets_is_one_of_their_union() {
    let target = target();
    assert_eq!(target.sharding, Sharding::Client);
    run(async {
        let level = json!({"read": "linearizable", "write": {"w": "majority"}});
        let binding = MongoDb::open(&context(target, "union", &level)).await.unwrap();
        anew(&binding).await;
        let mut user = binding.session().await.unwrap();
        let keys: Vec<String> = (0..60).map(|n| format!("user{n:02}")).collect();
        for key in &keys {
            let insert = Operation::Insert { key, values: &VALUES };
            assert_eq!(user.execute(&insert, &mut ()).await, Outcome::Ok);
        }
        assert_eq!(binding.count_records(1_000).await, Ok(60));
        for (from, limit) in [(0, 7), (0, 100), (31, 20), (55, 20), (59, 1)] {
            let scan = Operation::Scan { start: Some(&keys[from]), limit, field: None };
            let mut found = Keys::default();
            assert_eq!(user.execute(&scan, &mut found).await, Outcome::Ok);
            assert_eq!(found.0, keys[from..keys.len().min(from + limit as usize)]);
        }
        for limit in [1, 30, 60, 100] {
            let scan = Operation::Scan { start: None, limit, field: None };
            let mut found = Keys::default();
            assert_eq!(user.execute(&scan, &mut found).await, Outcome::Ok);
            let count = keys.len().min(limit as usize);
            assert_eq!(found.0.len(), count);
            found.0.sort();
            found.0.dedup();
            assert_eq!(found.0.len(), count, "a record was handed over twice");
        }
    });
}

#[derive(Default)]
struct Keys(Vec<String>);

impl pacelc_core::Rows for Keys {
    fn row(&mut self, key: &[u8]) {
        self.0.push(String::from_utf8(key.to_vec()).unwrap());
    }
    fn value(&mut self, _field: usize, _value: &[u8]) {}
}

#[test]
#[ignore = "needs a MongoDB: PACELC_TEST_TARGET"]
fn what_is_no_mongos_is_not_taken_for_one() {
    let mut target = target();
    target.sharding = Sharding::Mongos;
    target.replica_set = None;
    target.sets.clear();
    run(async {
        let error = MongoDb::open(&context(target, "none", &json!("weak"))).await.unwrap_err();
        assert!(!error.connection && error.message.contains("is no mongos"), "{error}");
    });
}

#[test]
fn sets_that_do_not_go_with_the_sharding_are_refused() {
    run(async {
        let sets = json!([{"name": "shard1", "endpoints": ["127.0.0.1:1"]}]);
        for (sharding, sets) in [("client", json!([])), ("none", sets.clone()), ("mongos", sets)] {
            let target = json!({"database": "mongodb", "endpoints": ["127.0.0.1:1"],
                "sharding": sharding, "sets": sets});
            let target: Target = serde_json::from_value(target).unwrap();
            let error = MongoDb::open(&context(target, "none", &json!("weak"))).await.unwrap_err();
            assert!(!error.connection && error.message.contains("sets"), "{error}");
        }
    });
}

#[test]
fn a_server_that_is_not_there_is_named_within_the_selection_limit() {
    run(async {
        let target = json!({"database": "mongodb", "endpoints": ["127.0.0.1:1"]});
        let target: Target = serde_json::from_value(target).unwrap();
        let start = Instant::now();
        let error = MongoDb::open(&context(target, "none", &json!("weak"))).await.unwrap_err();
        assert!(error.connection && error.message.contains("127.0.0.1:1"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20));
    });
}

#[test]
fn an_option_it_does_not_have_is_refused() {
    run(async {
        let target = json!({"database": "mongodb", "endpoints": ["127.0.0.1:1"],
            "options": {"coordinator": "fixed"}});
        let target: Target = serde_json::from_value(target).unwrap();
        let error = MongoDb::open(&context(target, "none", &json!("weak"))).await.unwrap_err();
        assert!(!error.connection && error.message.contains("coordinator"), "{error}");
    });
}
