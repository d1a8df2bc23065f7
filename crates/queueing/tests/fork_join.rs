//! Forks that wait for k of n: the approximation beside the exact chain, and what must hold in both.

use pacelc_queueing::simulate::{Options, simulate};
use pacelc_queueing::solvers::solve;
use pacelc_queueing::{Model, Network, QueueingError, Solution};
use serde_json::{Value, json};

/// Users who think, and write to nodes; these take so long each, and `join` of them are waited for.
fn quorum(users: u32, think: f64, nodes: impl AsRef<[f64]>, join: u32) -> Value {
    let mut stations =
        vec![json!({"name": "client", "kind": "delay", "service": {"write": think}})];
    let mut routing = json!({"client": {"write": "set"}, "set.join": {"write": "client"}});
    let mut branches = Vec::new();
    for (number, service) in nodes.as_ref().iter().enumerate() {
        let name = format!("n{}", number + 1);
        branches.push(format!("{name}/copy"));
        stations.push(json!({"name": name, "service": {"copy": service}}));
        routing[name] = json!({"copy": "set.join"});
    }
    json!({
        "classes": [{"name": "write", "users": users}, {"name": "copy"}],
        "stations": stations,
        "forks": [{"name": "set", "branches": branches, "join": join}],
        "routing": routing
    })
}

fn model(value: &Value) -> Model {
    Network::from_json(&value.to_string())
        .expect("it was made to be")
        .compile()
        .expect("it was made to be")
}

fn response(solution: &Solution) -> f64 {
    solution.chains[0].response_s
}

/// Exact throughput and response of `quorum` on nodes of one mean, from the chain of all states: users, think, k.
const EXACT: [(u32, f64, u32, f64, f64); 20] = [
    (1, 1.0, 1, 0.6383, 0.5665),
    (1, 1.0, 2, 0.4959, 1.0167),
    (1, 1.0, 3, 0.3529, 1.8333),
    (2, 1.0, 1, 0.9069, 1.2053),
    (2, 1.0, 2, 0.7535, 1.6541),
    (2, 1.0, 3, 0.5826, 2.4328),
    (3, 1.0, 2, 0.8642, 2.4715),
    (3, 1.0, 3, 0.7163, 3.1880),
    (5, 1.0, 2, 0.9340, 4.3534),
    (5, 1.0, 3, 0.8360, 4.9808),
    (1, 4.0, 1, 0.2274, 0.3974),
    (1, 4.0, 2, 0.2043, 0.8954),
    (3, 4.0, 1, 0.6279, 0.7779),
    (3, 4.0, 2, 0.5525, 1.4300),
    (3, 4.0, 3, 0.4639, 2.4665),
    (5, 8.0, 1, 0.5697, 0.7765),
    (5, 8.0, 2, 0.5255, 1.5141),
    (5, 8.0, 3, 0.4678, 2.6883),
    (2, 0.3, 2, 0.8548, 2.0397),
    (2, 0.3, 3, 0.6778, 2.6506),
];

#[test]
fn the_approximation_is_near_the_exact_chain() {
    for (users, think, join, throughput, time) in EXACT {
        let model = model(&quorum(users, think, [1.0; 3], join));
        let found = solve(&model, None).unwrap();
        assert_eq!(found.solver, "fork_join");
        let x = found.chains[0].throughput_per_s / throughput - 1.0;
        let r = response(&found) / time - 1.0;
        let (most_x, most_r) = if join == 1 { (0.023, 0.043) } else { (0.011, 0.015) };
        assert!(x.abs() < most_x && r.abs() < most_r, "{users} {think} {join}: {x} {r}");
        // What is known of any solution: Little's law, and that siblings are served.
        let away = found.chains[0].throughput_per_s * (response(&found) + think);
        assert!((away / f64::from(users) - 1.0).abs() < 1e-6);
        let busy = found.chains[0].throughput_per_s;
        assert!((found.stations[1].utilisation / busy - 1.0).abs() < 1e-9 && busy < 1.0);
    }
}

type Case = (u32, f64, &'static [f64], u32, f64, f64);

/// The same of other nodes, simulated to half a percent: users, think, nodes, k, throughput, response.
const SIMULATED: [Case; 18] = [
    (5, 4.0, &[1.0, 1.0, 1.0, 1.0, 1.0], 2, 0.844, 1.923),
    (5, 4.0, &[1.0, 1.0, 1.0, 1.0, 1.0], 3, 0.783, 2.388),
    (5, 4.0, &[1.0, 1.0, 1.0, 1.0, 1.0], 4, 0.717, 2.970),
    (5, 4.0, &[1.0, 1.0, 1.0, 1.0, 1.0], 5, 0.627, 3.964),
    (2, 1.0, &[1.0, 1.0, 1.0, 1.0, 1.0], 3, 0.745, 1.680),
    (10, 8.0, &[1.0, 1.0, 1.0, 1.0, 1.0], 3, 0.860, 3.637),
    (10, 8.0, &[1.0, 1.0, 1.0], 2, 0.862, 3.600),
    (20, 8.0, &[1.0, 1.0, 1.0], 2, 0.978, 12.459),
    (60, 75.0, &[1.0, 1.0, 1.0], 2, 0.765, 3.417),
    (1, 1.0, &[1.0, 0.7, 0.4], 2, 0.601, 0.662),
    (2, 1.0, &[1.0, 0.7, 0.4], 2, 0.961, 1.081),
    (5, 4.0, &[1.0, 0.7, 0.4], 2, 0.935, 1.349),
    (5, 1.0, &[1.0, 0.7, 0.4], 3, 0.975, 4.126),
    (2, 1.0, &[1.0, 1.0, 0.2], 2, 0.869, 1.302),
    (5, 4.0, &[1.0, 1.0, 0.2], 2, 0.857, 1.839),
    (5, 1.0, &[1.0, 1.0, 0.2], 2, 0.998, 4.009),
    (5, 1.0, &[1.0, 1.0, 0.2], 3, 0.888, 4.630),
    (5, 1.0, &[1.0, 0.3, 0.3], 3, 0.997, 4.014),
];

#[test]
fn more_and_unequal_nodes_are_near_the_simulator() {
    for (users, think, nodes, join, throughput, time) in SIMULATED {
        let found = solve(&model(&quorum(users, think, nodes, join)), None).unwrap();
        let x = found.chains[0].throughput_per_s / throughput - 1.0;
        let r = response(&found) / time - 1.0;
        assert!(x.abs() < 0.02 && r.abs() < 0.035, "{users} {think} {nodes:?} {join}: {x} {r}");
    }
}

#[test]
fn a_first_copy_of_busy_nodes_has_a_steady_state() {
    // One user who hardly thinks: each node has nearly no rest, and that is no end of late copies. Simulated: 0.900.
    let found = solve(&model(&quorum(1, 0.3, [1.0; 3], 1)), None).unwrap();
    let x = found.chains[0].throughput_per_s;
    assert!((x / 0.900 - 1.0).abs() < 0.03, "{x}");
    // Waiting for all, nothing is late, whatever is the bottleneck.
    let uneven = solve(&model(&quorum(20, 0.1, [1.0, 0.3, 0.3], 3)), None).unwrap();
    let x = uneven.chains[0].throughput_per_s;
    assert!(x > 0.99 && x < 1.001, "{x}");
}

#[test]
fn the_table_is_what_the_chain_gives() {
    for (users, think, join, throughput, time) in EXACT.into_iter().filter(|case| case.0 == 1) {
        let found = solve(&model(&quorum(users, think, [1.0; 3], join)), Some("ctmc")).unwrap();
        assert!(found.exact);
        assert!((found.chains[0].throughput_per_s - throughput).abs() < 6e-5);
        assert!((response(&found) - time).abs() < 6e-5);
        assert!((found.classes[0].response_s.unwrap() - response(&found)).abs() < 1e-9);
    }
}

#[test]
fn waiting_for_all_leaves_no_one_late() {
    // k = n: whatever becomes of late ones is no matter, in the exact chain and in the approximation.
    let mut value = quorum(2, 0.5, [1.0, 0.7, 0.4], 3);
    for solver in ["ctmc", "fork_join"] {
        let mut answers = Vec::new();
        for late in ["serve", "discard", "cancel"] {
            value["forks"][0]["late"] = json!(late);
            answers.push(solve(&model(&value), Some(solver)).unwrap());
        }
        value["forks"][0].as_object_mut().unwrap().remove("join");
        answers.push(solve(&model(&value), Some(solver)).unwrap());
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:#?}");
        value["forks"][0]["join"] = json!(3);
    }
}

#[test]
fn cancelled_siblings_load_less_and_are_solved_exactly() {
    let with = |late: &str| {
        let mut value = quorum(2, 1.0, [1.0; 3], 1);
        value["forks"][0]["late"] = json!(late);
        solve(&model(&value), None)
    };
    // Served to the end only by the approximation; else there is no other solver than the chain.
    let (discard, cancel) = (with("discard").unwrap(), with("cancel").unwrap());
    assert_eq!((discard.solver.as_str(), cancel.solver.as_str()), ("ctmc", "ctmc"));
    assert!(response(&cancel) < response(&discard));
    assert!(response(&discard) < response(&with("serve").unwrap()));
    // One user, all cancelled: the least of three, and no work is left. 1/3 after a think time of 1.
    let mut value = quorum(1, 1.0, [1.0; 3], 1);
    value["forks"][0]["late"] = json!("cancel");
    let alone = solve(&model(&value), None).unwrap();
    assert!((response(&alone) - 1.0 / 3.0).abs() < 1e-12);
    assert!((alone.chains[0].throughput_per_s - 0.75).abs() < 1e-12);
    let error = {
        value["forks"][0]["late"] = json!("timeout");
        value["forks"][0]["timeout"] = json!(1.0);
        solve(&model(&value), None).unwrap_err().to_string()
    };
    assert!(error.starts_with("no solver can solve this, so simulate it"), "{error}");
    assert!(error.contains("ctmc: fork set: a time-out isn't exponential"), "{error}");
}

#[test]
fn open_pairs_are_near_the_exact_time() {
    // Nelson and Tantawi 1988: two nodes, Poisson arrivals, both waited for: (12 − ρ)/8 of M/M/1's response.
    for load in [0.1, 0.5, 0.9] {
        let value = json!({
            "classes": [{"name": "write", "interarrival": 1.0 / load}, {"name": "copy"}],
            "stations": [{"name": "n1", "service": {"copy": 1.0}}, {"name": "n2", "service": {"copy": 1.0}}],
            "forks": [{"name": "set", "branches": ["n1/copy", "n2/copy"]}],
            "routing": {
                "source": {"write": "set"}, "n1": {"copy": "set.join"}, "n2": {"copy": "set.join"},
                "set.join": {"write": "sink"}}
        });
        let found = solve(&model(&value), None).unwrap();
        let expected = (12.0 - load) / 8.0 / (1.0 - load);
        assert!((response(&found) / expected - 1.0).abs() < 1e-6, "{load}: {}", response(&found));
    }
}

#[test]
fn a_slow_node_that_nobody_waits_for_diverges() {
    let slow = model(&quorum(3, 1.0, [1.0, 1.0, 20.0], 2));
    let error = solve(&slow, None).unwrap_err();
    assert!(matches!(error, QueueingError::Diverges(_)), "{error}");
}

/// Copies in three regions, always so far away: who is waited for is nearly certain.
#[test]
fn copies_in_regions_come_in_their_order() {
    for (join, nearest) in [(1, 0.001), (2, 0.01), (3, 0.038)] {
        let mut value = quorum(10, 0.05, [0.0005; 3], join);
        let stations = value["stations"].as_array_mut().unwrap();
        for (number, delay) in [0.001, 0.01, 0.038].into_iter().enumerate() {
            let service = json!({"distribution": "deterministic", "value": delay});
            let name = format!("way{}", number + 1);
            stations.push(json!({"name": name, "kind": "delay", "service": {"copy": service}}));
        }
        value["forks"][0]["branches"] = json!(["way1/copy", "way2/copy", "way3/copy"]);
        for number in 1..=3 {
            value["routing"][format!("way{number}")] = json!({"copy": format!("n{number}")});
        }
        let model = model(&value);
        let solved = response(&solve(&model, None).unwrap());
        let options = Options { seed: 1, precision: 0.005, ..Options::default() };
        let simulated = response(&simulate(&model, &options, &|| false).unwrap().solution);
        assert!(
            solved > nearest && (solved / simulated - 1.0).abs() < 0.03,
            "{solved} {simulated}"
        );
    }
}

#[test]
fn a_discarded_sibling_ends_with_the_visit_at_which_it_is_served() {
    // Only those whose first visit is over before the other branch's go on to the second: one of 101 at most.
    let model = model(&json!({
        "classes": [{"name": "write", "users": 1}, {"name": "copy"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"write": 1.0}},
            {"name": "n1", "service": {"copy": 1e-3}},
            {"name": "n2", "service": {"copy": 0.1}},
            {"name": "d2", "service": {"copy": 1e-2}},
        ],
        "forks": [{"name": "set", "branches": ["n1/copy", "n2/copy"], "join": 1, "late": "discard"}],
        "routing": {
            "client": {"write": "set"}, "set.join": {"write": "client"},
            "n1": {"copy": "set.join"}, "n2": {"copy": "d2"}, "d2": {"copy": "set.join"},
        }
    }));
    let share = |solution: &Solution| {
        solution.stations[3].classes[1].throughput_per_s / solution.chains[0].throughput_per_s
    };
    let exact = share(&solve(&model, Some("ctmc")).unwrap());
    let simulated = share(&simulate(&model, &Options::default(), &|| false).unwrap().solution);
    assert!(exact < 1.0 / 101.0, "{exact}");
    assert!((simulated / exact - 1.0).abs() < 0.15, "{simulated} {exact}");
}
