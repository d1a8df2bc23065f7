//! Stations that serve in order classes that differ in their service: beside exact chains, and in the limits that are known.

use pacelc_queueing::solvers::solve;
use pacelc_queueing::{Model, Network, Solution};
use serde_json::{Value, json};

fn model(value: &Value) -> Model {
    Network::from_json(&value.to_string())
        .expect("it was made to be")
        .compile()
        .expect("it was made to be")
}

/// So many users of each kind, what they take at the station that all share, and for how long they are away.
fn kinds(of: &[(u32, f64, f64)]) -> Model {
    let each = |value: &dyn Fn(&(u32, f64, f64)) -> f64| -> Value {
        let named = of.iter().enumerate().map(|(i, kind)| (format!("c{i}"), json!(value(kind))));
        Value::Object(named.collect())
    };
    let class =
        |(i, kind): (usize, &(u32, f64, f64))| json!({"name": format!("c{i}"), "users": kind.0});
    model(&json!({
        "classes": of.iter().enumerate().map(class).collect::<Vec<_>>(),
        "stations": [
            {"name": "z", "kind": "delay", "service": each(&|kind| kind.2)},
            {"name": "s", "service": each(&|kind| kind.1)}],
        "routing": {"z": {"*": "s"}, "s": {"*": "z"}}
    }))
}

/// Reads and writes of one set of users, fifteen-fold different at the processor, and then at a disk.
fn mixed(users: u32, think: f64, disk: f64, reads: f64) -> Model {
    model(&json!({
        "classes": [{"name": "read", "users": users, "reference": "client"}, {"name": "write"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"*": think}},
            {"name": "cpu", "service": {"read": 0.1, "write": 1.5}},
            {"name": "disk", "service": {"*": disk}}],
        "routing": {
            "client": {"*": {"cpu/read": reads, "cpu/write": 1.0 - reads}}, "cpu": {"*": "disk"},
            "disk": {"*": "client"}}
    }))
}

/// The greatest relative difference of throughputs, and of responses, by chain.
fn off(found: &Solution, exact: &Solution) -> (f64, f64) {
    let pairs = found.chains.iter().zip(&exact.chains);
    pairs.fold((0.0, 0.0), |(x, r), (a, b)| {
        let throughput = (a.throughput_per_s / b.throughput_per_s - 1.0).abs();
        (f64::max(x, throughput), f64::max(r, (a.response_s / b.response_s - 1.0).abs()))
    })
}

#[test]
fn two_customers_are_exact() {
    for (slow, fast) in [((1.0, 1.0), (0.05, 1.0)), ((2.0, 0.1), (0.3, 5.0))] {
        let model = kinds(&[(1, slow.0, slow.1), (1, fast.0, fast.1)]);
        let exact = solve(&model, Some("ctmc")).unwrap();
        for name in ["fcfs", "linearizer", "schweitzer"] {
            let (x, r) = off(&solve(&model, Some(name)).unwrap(), &exact);
            assert!(x < 1e-6 && r < 1e-6, "{name}: {x} {r}");
        }
        // What would be there in the mean is no one for the fast one to meet so often.
        assert!(solve(&model, Some("mva")).is_err());
    }
}

#[test]
fn few_users_of_whom_one_is_served_twenty_times_as_long() {
    for (of, most_x, most_r) in [
        ([(1, 1.0, 1.0), (2, 0.05, 1.0)], 0.01, 0.02),
        ([(1, 1.0, 1.0), (2, 0.05, 0.2)], 0.01, 0.02),
        ([(1, 1.0, 1.0), (4, 0.05, 0.1)], 0.04, 0.05),
        ([(2, 1.0, 1.0), (2, 0.05, 0.2)], 0.08, 0.11),
        ([(3, 1.0, 5.0), (3, 0.1, 0.5)], 0.05, 0.09),
        ([(1, 1.0, 0.1), (3, 0.3, 0.1)], 0.02, 0.02),
    ] {
        let model = kinds(&of);
        let chosen = solve(&model, None).unwrap();
        assert_eq!((chosen.solver.as_str(), chosen.exact), ("fcfs", false));
        let (x, r) = off(&chosen, &solve(&model, Some("ctmc")).unwrap());
        assert!(x < most_x && r < most_r, "{of:?}: {x} {r}");
    }
}

#[test]
fn many_users_who_are_mostly_away_wait_as_poisson_arrivals_do() {
    // Each kind brings 0.2 and 2 a second; Pollaczek and Khinchine, as `jackson` has it.
    let closed = solve(&kinds(&[(400, 1.0, 2_000.0), (400, 0.1, 200.0)]), None).unwrap();
    let open = json!({
        "classes": [{"name": "c0", "interarrival": 5.0}, {"name": "c1", "interarrival": 0.5}],
        "stations": [{"name": "s", "service": {"c0": 1.0, "c1": 0.1}}],
        "routing": {"source": {"*": "s"}, "s": {"*": "sink"}}
    });
    let (_, r) = off(&closed, &solve(&model(&open), None).unwrap());
    assert!(r < 0.01, "{r}");
}

#[test]
fn services_that_hardly_differ_leave_the_exact_solution() {
    let value = json!({
        "classes": [{"name": "read", "users": 40, "reference": "client"}, {"name": "write"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"*": 0.01}},
            {"name": "cpu", "servers": 8, "discipline": "ps", "service": {"read": 0.01, "write": 0.001}},
            {"name": "disk", "service": {"read": 0.001, "write": 0.001_001}}],
        "routing": {
            "client": {"*": {"cpu/read": 0.5, "cpu/write": 0.5}}, "cpu": {"*": "disk"},
            "disk": {"*": "client"}}
    });
    let model = model(&value);
    let (found, exact) = (solve(&model, None).unwrap(), solve(&model, Some("mva")).unwrap());
    assert_eq!(found.solver, "fcfs");
    let (x, r) = off(&found, &exact);
    assert!(x < 1e-4 && r < 1e-4, "{x} {r}");
}

#[test]
fn one_set_of_users_is_near_the_exact_chain() {
    for (users, think, disk, reads) in [
        (2, 0.2, 0.3, 0.5),
        (3, 0.2, 0.3, 0.5),
        (8, 0.2, 0.3, 0.5),
        (2, 2.0, 0.3, 0.5),
        (4, 2.0, 0.3, 0.5),
        (8, 5.0, 0.3, 0.5),
        (4, 0.2, 0.3, 0.95),
        (6, 1.0, 0.1, 0.9),
        (3, 0.1, 0.9, 0.5),
    ] {
        let model = mixed(users, think, disk, reads);
        let exact = solve(&model, Some("ctmc")).unwrap();
        let found = solve(&model, None).unwrap();
        let (x, _) = off(&found, &exact);
        assert!(x < 0.055, "{users} {think} {disk} {reads}: {x}");
        // Where they are served in order; behind, they come in bursts.
        for (found, exact) in found.stations[1].classes.iter().zip(&exact.stations[1].classes) {
            let r = found.response_s / exact.response_s - 1.0;
            assert!(r.abs() < 0.05, "{users} {think} {disk} {reads}: {r}");
        }
        for (found, exact) in found.classes.iter().zip(&exact.classes) {
            let r = found.response_s.unwrap() / exact.response_s.unwrap() - 1.0;
            assert!(r.abs() < 0.16, "{users} {think} {disk} {reads}: {r}");
        }
    }
}

#[test]
fn no_station_does_more_than_it_can() {
    for users in [20, 60, 200] {
        for model in [
            mixed(users, 0.1, 0.3, 0.5),
            kinds(&[(users, 1.0, 1.0), (users / 2, 0.05, 0.2), (3, 10.0, 0.1)]),
        ] {
            let found = solve(&model, None).unwrap();
            assert_eq!(found.solver, "fcfs");
            for station in found.stations.iter().skip(1) {
                assert!(station.utilisation <= 1.0 + 1e-9, "{users}: {}", station.utilisation);
            }
            let there: f64 = found.stations.iter().map(|station| station.queue).sum();
            let everyone = model.classes.iter().map(|class| f64::from(class.users)).sum::<f64>();
            assert!((there / everyone - 1.0).abs() < 1e-9);
        }
    }
}
