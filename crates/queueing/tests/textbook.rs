//! Networks whose solutions are printed, or known in closed form.

use pacelc_queueing::solvers::bounds::bounds;
use pacelc_queueing::solvers::solve;
use pacelc_queueing::{Model, Network, QueueingError};
use serde_json::{Value, json};

fn model(value: &Value) -> Model {
    Network::from_json(&value.to_string())
        .expect("it was made to be")
        .compile()
        .expect("it was made to be")
}

fn near(found: f64, printed: f64, half_a_digit: f64) {
    assert!((found - printed).abs() <= half_a_digit, "{found}, printed {printed}");
}

/// Users at terminals, a processor and two disks, with demands in seconds.
fn central_server(users: u32, think: f64, demands: [f64; 3]) -> Value {
    json!({
        "classes": [{"name": "a", "users": users}],
        "stations": [
            {"name": "terminals", "kind": "delay", "service": {"a": think}},
            {"name": "cpu", "discipline": "ps", "service": {"a": demands[0]}},
            {"name": "disk1", "service": {"a": demands[1]}},
            {"name": "disk2", "service": {"a": demands[2]}}],
        "routing": {
            "terminals": {"a": "cpu"}, "cpu": {"a": "disk1"}, "disk1": {"a": "disk2"},
            "disk2": {"a": "terminals"}}
    })
}

#[test]
fn single_class_terminals() {
    // Lazowska et al., *Quantitative System Performance*, chapter 6: demands 0.605, 2.1 and 1.35 s, think time 15 s.
    // With 1 and 2 users by hand: R = 4.055; then X = 1/19.055.
    let demands = [0.605, 2.1, 1.35];
    let one = solve(&model(&central_server(1, 15.0, demands)), None).unwrap();
    near(one.chains[0].response_s, 4.055, 1e-12);
    near(one.chains[0].throughput_per_s, 1.0 / 19.055, 1e-12);
    let two = solve(&model(&central_server(2, 15.0, demands)), None).unwrap();
    let squares: f64 = demands.iter().map(|d| d * d).sum();
    near(two.chains[0].response_s, 4.055 + squares / 19.055, 1e-12);
    let bound = bounds(&model(&central_server(2, 15.0, demands))).unwrap().swap_remove(0);
    assert_eq!(bound.bottleneck, "disk1");
    // Chapter 5: X is at most N / (D + Z) and 1 / Dmax, at least N / (N D + Z); balanced job bounds are narrower.
    assert!(bound.balanced);
    assert!(bound.throughput_per_s.most <= f64::min(2.0 / 19.055, 1.0 / 2.1));
    assert!(bound.throughput_per_s.least >= 2.0 / (2.0 * 4.055 + 15.0));
}

#[test]
fn balanced_networks_have_a_closed_form() {
    // Lazowska et al., chapter 5: with K stations of one demand D, X = N / ((N + K − 1) D).
    let value = json!({
        "classes": [{"name": "a", "users": 7}],
        "stations": [
            {"name": "a", "service": {"a": 0.25}}, {"name": "b", "service": {"a": 0.25}},
            {"name": "c", "discipline": "ps", "service": {"a": 0.25}}],
        "routing": {"a": {"a": "b"}, "b": {"a": "c"}, "c": {"a": "a"}}
    });
    for solver in ["mva", "convolution", "ctmc", "schweitzer"] {
        let found = solve(&model(&value), Some(solver)).unwrap();
        near(found.chains[0].throughput_per_s, 7.0 / (9.0 * 0.25), 1e-9);
    }
    let bound = bounds(&model(&value)).unwrap().swap_remove(0).throughput_per_s;
    near(bound.least, 7.0 / (9.0 * 0.25), 1e-12);
    near(bound.most, 7.0 / (9.0 * 0.25), 1e-12);
}

#[test]
fn two_classes() {
    // Lazowska et al., chapter 7, one customer of each class: demands (A, B) at the CPU 1 and 2, at the disk
    // 3 and 4. Each alone finds 4 and 6; together the other's share of its cycle: 1/4, 3/4 and 1/3, 2/3.
    let value = json!({
        "classes": [{"name": "A", "users": 1, "reference": "cpu"}, {"name": "B", "users": 1, "reference": "cpu"}],
        "stations": [
            {"name": "cpu", "discipline": "ps", "service": {"A": 1, "B": 2}},
            {"name": "disk", "discipline": "ps", "service": {"A": 3, "B": 4}}],
        "routing": {"cpu": {"*": "disk"}, "disk": {"*": "cpu"}}
    });
    let (a, b) = (1.0 + 1.0 / 3.0 + 3.0 * (1.0 + 2.0 / 3.0), 2.0 * 1.25 + 4.0 * 1.75);
    for solver in ["mva", "convolution", "ctmc"] {
        let found = solve(&model(&value), Some(solver)).unwrap();
        near(found.chains[0].throughput_per_s, 1.0 / a, 1e-12);
        near(found.chains[1].throughput_per_s, 1.0 / b, 1e-12);
    }
}

fn open(station: &Value, interarrival: &Value) -> Value {
    json!({
        "classes": [{"name": "a", "interarrival": interarrival}], "stations": [station],
        "routing": {"source": {"a": "s"}, "s": {"a": "sink"}}
    })
}

#[test]
fn open_stations() {
    // Bolch et al., chapter 6: M/M/1, R = 1 / (μ − λ).
    let one = json!({"name": "s", "service": {"a": 0.5}});
    let found = solve(&model(&open(&one, &json!(1.0))), None).unwrap();
    assert!(found.exact && found.solver == "jackson");
    near(found.chains[0].response_s, 1.0, 1e-12);
    near(found.classes[0].response_s.unwrap(), 1.0, 1e-12);
    // M/M/2 with ρ = 0.5: R = S / (1 − ρ²).
    let two = json!({"name": "s", "servers": 2, "service": {"a": 1.0}});
    near(
        solve(&model(&open(&two, &json!(1.0))), None).unwrap().chains[0].response_s,
        4.0 / 3.0,
        1e-12,
    );
    // The same with rates.
    let rates = json!({"name": "s", "rates": [1, 2], "service": {"a": 1.0}});
    let found = solve(&model(&open(&rates, &json!(1.0))), None).unwrap();
    near(found.chains[0].response_s, 4.0 / 3.0, 1e-12);
    near(found.stations[0].utilisation, 2.0 / 3.0, 1e-12);
    // Pollaczek and Khinchine: M/D/1 waits half as long as M/M/1.
    let fixed =
        json!({"name": "s", "service": {"a": {"distribution": "deterministic", "value": 0.5}}});
    let found = solve(&model(&open(&fixed, &json!(1.0))), None).unwrap();
    near(found.chains[0].response_s, 0.75, 1e-12);
    assert!(!found.exact);
    let full = solve(&model(&open(&one, &json!(0.5))), None).unwrap_err();
    assert!(matches!(full, QueueingError::Diverges(_)), "{full}");
    assert!(
        full.to_string().starts_with("station s: 1.0000 servers' work arrives, and 1 can be done")
    );
}

#[test]
fn the_papers_single_node_saturates_where_its_processors_do() {
    // Gandini et al. 2014, section 5: a CPU of 8 cores, demands read as milliseconds: 2.45, 1.4 and 0.875 ms saturate at
    // 3,265, 5,714 and 9,143 operations a second; the disk's as microseconds.
    for (demand, most) in [("2.45ms", 3_265.0), ("1.4ms", 5_714.0), ("0.875ms", 9_143.0)] {
        let value = json!({
            "classes": [{"name": "op", "users": 2_000}],
            "stations": [
                {"name": "client", "kind": "delay", "service": {"op": "1ms"}},
                {"name": "cpu", "servers": 8, "discipline": "ps", "service": {"op": demand}},
                {"name": "disk", "service": {"op": "1us"}}],
            "routing": {"client": {"op": "cpu"}, "cpu": {"op": "disk"}, "disk": {"op": "client"}}
        });
        near(solve(&model(&value), None).unwrap().chains[0].throughput_per_s, most, 1.0);
    }
}

#[test]
fn priorities_and_shortest_queues_are_for_the_chain() {
    let value = |discipline: &str| {
        json!({
            "classes": [{"name": "hi", "users": 2, "priority": 1}, {"name": "lo", "users": 2}],
            "stations": [
                {"name": "z", "kind": "delay", "service": {"*": 1.0}},
                {"name": "s", "discipline": discipline, "service": {"*": 1.0}}],
            "routing": {"z": {"*": "s"}, "s": {"*": "z"}}
        })
    };
    let (equal, ordered) = (
        solve(&model(&value("fcfs")), None).unwrap(),
        solve(&model(&value("priority")), None).unwrap(),
    );
    assert_eq!(ordered.solver, "ctmc");
    // Who is served first is no matter to all together, where all are served alike.
    near(ordered.stations[1].queue, equal.stations[1].queue, 1e-9);
    assert!(ordered.classes[0].response_s < equal.classes[0].response_s);
    assert!(ordered.classes[1].response_s > equal.classes[1].response_s);

    let routed = |to: Value| {
        json!({
            "classes": [{"name": "a", "users": 4}],
            "stations": [
                {"name": "z", "kind": "delay", "service": {"a": 1.0}},
                {"name": "s", "service": {"a": 1.0}}, {"name": "t", "service": {"a": 1.0}}],
            "routing": {"z": {"a": to}, "s": {"a": "z"}, "t": {"a": "z"}}
        })
    };
    let response =
        |to: Value| solve(&model(&routed(to)), Some("ctmc")).unwrap().chains[0].response_s;
    let chance = response(json!({"s": 0.5, "t": 0.5}));
    let turns = response(json!({"choose": "round_robin", "to": ["s", "t"]}));
    let shortest = response(json!({"choose": "shortest_queue", "to": ["s", "t"]}));
    assert!(shortest < turns && turns < chance, "{shortest} {turns} {chance}");
    let assumed =
        solve(&model(&routed(json!({"choose": "round_robin", "to": ["s", "t"]}))), None).unwrap();
    assert_eq!(assumed.assumes, ["customers go on from z by chance, in equal shares"]);
    near(assumed.chains[0].response_s, chance, 1e-9);
}

#[test]
fn load_dependent_rates_are_exact() {
    let value = json!({
        "classes": [{"name": "a", "users": 5}],
        "stations": [
            {"name": "z", "kind": "delay", "service": {"a": 1.0}},
            {"name": "s", "discipline": "ps", "rates": [1.0, 1.6, 1.2], "service": {"a": 0.7}},
            {"name": "t", "service": {"a": 0.2}}],
        "routing": {"z": {"a": "s"}, "s": {"a": "t"}, "t": {"a": "z"}}
    });
    let (one, other) =
        (solve(&model(&value), None).unwrap(), solve(&model(&value), Some("ctmc")).unwrap());
    assert_eq!(one.solver, "convolution");
    for (a, b) in one.stations.iter().zip(&other.stations) {
        near(a.queue, b.queue, 1e-9);
        near(a.utilisation, b.utilisation, 1e-9);
    }
}

#[test]
fn classes_that_differ_fifteen_fold_wait_equally_long() {
    let value = json!({
        "classes": [{"name": "read", "users": 8, "reference": "client"}, {"name": "write"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"*": 0.2}},
            {"name": "cpu", "service": {"read": 0.1, "write": 1.5}},
            {"name": "disk", "service": {"*": 0.3}}],
        "routing": {
            "client": {"*": {"cpu/read": 0.5, "cpu/write": 0.5}}, "cpu": {"*": "disk"},
            "disk": {"*": "client"}}
    });
    let (found, exact) =
        (solve(&model(&value), None).unwrap(), solve(&model(&value), Some("ctmc")).unwrap());
    assert_eq!(found.solver, "fcfs");
    assert!(
        found.assumes[0].starts_with("at cpu waiting follows from whom customers find"),
        "{found:?}"
    );
    // At the busy station; as if they shared its servers, reads would be a fifteenth of writes.
    for (found, exact) in found.stations[1].classes.iter().zip(&exact.stations[1].classes) {
        near(found.response_s / exact.response_s, 1.0, 0.06);
    }
    let [found, exact] = [found, exact].map(|solution| solution.chains[0].throughput_per_s);
    near(found / exact, 1.0, 0.02);
}
