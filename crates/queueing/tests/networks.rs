//! What a network may be, and how each thing that is wrong with one is named.

use pacelc_queueing::flow::chains;
use pacelc_queueing::{Network, QueueingError};
use serde_json::{Value, json};

/// Reads and writes, half and half, of one set of users; nine of ten writes don't need the disk.
fn switching() -> Value {
    json!({
        "classes": [{"name": "read", "users": 10, "reference": "client"}, {"name": "write"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"*": "1ms"}},
            {"name": "cpu", "servers": 2, "discipline": "ps", "service": {"read": "1ms", "write": "0.1ms"}},
            {"name": "disk", "service": {"*": "200us"}, "cached": {"write": 0.9}}],
        "routing": {
            "client": {"*": {"cpu/read": 0.5, "cpu/write": 0.5}},
            "cpu": {"*": "disk"},
            "disk": {"*": "client"}}
    })
}

/// A customer becomes three siblings, and goes on when two of them are back.
fn quorum() -> Value {
    json!({
        "classes": [{"name": "write", "users": 5}, {"name": "copy"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"write": "1ms"}},
            {"name": "n1", "service": {"copy": "1ms"}},
            {"name": "n2", "service": {"copy": "1ms"}},
            {"name": "n3", "service": {"copy": "1ms"}},
            {"name": "n4", "service": {"copy": "1ms"}}],
        "forks": [{"name": "set", "branches": ["n1/copy", "n2/copy", "n3/copy", "n4/copy"], "copies": 3, "join": 2}],
        "routing": {
            "client": {"write": "set"},
            "n1": {"copy": "set.join"}, "n2": {"copy": "set.join"},
            "n3": {"copy": "set.join"}, "n4": {"copy": "set.join"},
            "set.join": {"write": "client"}}
    })
}

fn network(value: &Value) -> Network {
    Network::from_json(&value.to_string()).expect("a network")
}

fn problems(value: &Value) -> Vec<String> {
    match network(value).compile() {
        Err(QueueingError::Invalid(problems)) => problems,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_station_may_be_called_as_anothers_cache_would_be() {
    let mut value = switching();
    value["stations"][2] = json!({"name": "disk.cache", "service": {"*": "200us"}});
    value["routing"]["cpu"]["*"] = json!("disk.cache");
    value["routing"]["disk.cache"] = value["routing"]["disk"].take();
    value["routing"].as_object_mut().unwrap().remove("disk");
    network(&value).compile().unwrap();
    value["stations"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "disk", "service": {"*": "1ms"}}));
    value["routing"]["disk"] = json!({"*": "client"});
    assert_eq!(problems(&value), ["station disk: no customer ever gets there"]);
}

#[test]
fn visits_of_a_chain_that_switches_classes() {
    let model = network(&switching()).compile().unwrap();
    let [chain] = chains(&model).unwrap().try_into().unwrap();
    assert_eq!((chain.users, chain.classes.as_slice(), chain.open), (10, [0, 1].as_slice(), false));
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(near(chain.visits[0][0], 0.5) && near(chain.visits[0][1], 0.5));
    assert!(near(chain.visits[2][0], 0.5) && near(chain.visits[2][1], 0.05));
    assert!(near(chain.total_demand_s(&model, 1), 0.5e-3 + 0.05e-3));
}

#[test]
fn a_class_that_others_become_begins_nowhere() {
    let mut value = switching();
    let stations = value["stations"].as_array_mut().unwrap();
    stations.rotate_right(1);
    assert_eq!(stations[0]["name"], "disk");
    network(&value).compile().unwrap();
    value["classes"][1]["users"] = json!(1);
    assert_eq!(problems(&value), ["class write: its reference can't have a cache"]);
}

#[test]
fn more_users_than_can_be_counted_are_named() {
    let mut value = switching();
    for class in 0..2 {
        value["classes"][class]["users"] = json!(3_000_000_000_u32);
    }
    value["classes"][1]["reference"] = json!("client");
    assert_eq!(problems(&value), ["there are more than 4294967295 users in all"]);
}

#[test]
fn siblings_count_as_visits_of_their_customers_chain() {
    let model = network(&quorum()).compile().unwrap();
    let [chain] = chains(&model).unwrap().try_into().unwrap();
    assert_eq!(chain.classes, [0]);
    for node in 1..=4 {
        assert!((chain.visits[node][1] - 0.75).abs() < 1e-12);
    }
}

#[test]
fn open_customers_come_and_leave() {
    let mut value = quorum();
    value["classes"][0] = json!({"name": "write", "interarrival": "10ms"});
    value["routing"]["source"] = json!({"write": "client"});
    value["routing"]["set.join"]["write"] = json!("sink");
    let model = network(&value).compile().unwrap();
    let [chain] = chains(&model).unwrap().try_into().unwrap();
    assert!(chain.open && (chain.arrivals_per_s - 100.0).abs() < 1e-9);
    assert!((chain.visits[4][1] - 0.75).abs() < 1e-12);
}

#[test]
fn each_problem_is_named() {
    let cases: [(&str, Value, &str); 16] = [
        (
            "/routing/cpu/*",
            json!({"disk": 0.5, "source": 0.5}),
            "routing of cpu: customers come from source, and none goes there",
        ),
        (
            "/routing/cpu/*",
            json!({"disk": 0.5, "client": 0.4}),
            "routing of cpu: probabilities add up to 0.9, not 1",
        ),
        ("/routing/cpu/*", json!("dsk"), "routing of cpu: there is no node \"dsk\""),
        ("/routing/cpu/*", json!("disk/raed"), "routing of cpu: there is no class \"raed\""),
        ("/routing/cpu/*", json!("client"), "station disk: no customer ever gets there"),
        (
            "/routing/disk",
            json!({"read": "client"}),
            "disk.after in class write: customers get there, and no routing is given",
        ),
        (
            "/routing/disk/*",
            json!("disk"),
            "disk.cache in class read: who gets there never comes back to its reference",
        ),
        (
            "/routing/disk/*",
            json!("sink"),
            "class read: customers of a closed class leave by the sink",
        ),
        (
            "/classes/0/users",
            json!(0),
            "class read: it has no users and no interarrival, and no customer becomes one of it",
        ),
        ("/classes/1/name", json!("read"), "two classes are called \"read\""),
        ("/classes/0/reference", json!("cliemt"), "class read: there is no station \"cliemt\""),
        ("/stations/1/servers", json!(0), "station cpu: it should have at least one server"),
        (
            "/stations/1/service/read",
            json!(-1),
            "station cpu: service of read: mean -1 s is no time: it should be 0 or more",
        ),
        (
            "/stations/1/service",
            json!({"read": 1}),
            "cpu in class write: customers get there, and no service is given",
        ),
        ("/stations/2/cached/write", json!(1.5), "station disk: cached: 1.5 is no probability"),
        (
            "/stations/2/name",
            json!("a/b"),
            "a node can't be called \"a/b\": it should not be empty, hold '/', or be '*', 'source' or 'sink'",
        ),
    ];
    for (pointer, change, problem) in cases {
        let mut value = switching();
        *value.pointer_mut(pointer).unwrap() = change;
        let found = problems(&value);
        assert!(found.iter().any(|it| it == problem), "{pointer}: {found:#?}");
    }
}

#[test]
fn forks_are_checked() {
    let cases: [(&str, Value, &str); 5] = [
        ("/forks/0/join", json!(4), "fork set: join 4 of 3: it should be 1 to 3"),
        ("/forks/0/copies", json!(5), "fork set: 5 copies on 4 branches: it should be 1 to 4"),
        (
            "/forks/0/late",
            json!("timeout"),
            "fork set: late: timeout needs a timeout of more than 0",
        ),
        (
            "/routing/n1/copy",
            json!("client/write"),
            "fork set: its siblings get to client, and should end at set.join",
        ),
        (
            "/routing/n1/copy",
            json!("n1"),
            "fork set: a sibling at n1 in class copy never gets to set.join",
        ),
    ];
    for (pointer, change, problem) in cases {
        let mut value = quorum();
        if let Some(at) = value.pointer_mut(pointer) {
            *at = change;
        } else {
            value["forks"][0]["late"] = change;
        }
        let found = problems(&value);
        assert!(found.iter().any(|it| it == problem), "{pointer}: {found:#?}");
    }
}
