//! Open and closed classes in one network: closed forms, the limit of many users who think long, and the simulator.

mod random;

use pacelc_queueing::simulate::{Options, simulate};
use pacelc_queueing::solvers::{Problem, solve};
use pacelc_queueing::{Distribution, Model, Network, QueueingError, Solution};
use proptest::prelude::*;
use random::{Limits, closed};
use serde_json::{Value, json};

const LIMITS: Limits = Limits { stations: 4, chains: 2, users: 4, mixed_fcfs: false };

fn model(value: &Value) -> Model {
    Network::from_json(&value.to_string())
        .expect("it was made to be")
        .compile()
        .expect("it was made to be")
}

/// Users who think, beside arrivals from outside, at one station.
fn terminals(station: &Value, users: u32, interarrival: f64) -> Value {
    json!({
        "classes": [{"name": "user", "users": users}, {"name": "guest", "interarrival": interarrival}],
        "stations": [{"name": "z", "kind": "delay", "service": {"user": 2.0}}, station],
        "routing": {"z": {"user": "s"}, "s": {"user": "z", "guest": "sink"}, "source": {"guest": "s"}}
    })
}

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found}, expected {expected}");
}

#[test]
fn open_customers_leave_closed_ones_a_slower_server() {
    // Lazowska et al., section 7.4: with an open utilisation of 0.4, one user finds a server of 1 / 0.6 its service;
    // guests stay D (1 + Q) / (1 − U).
    let station = json!({"name": "s", "discipline": "ps", "service": {"user": 1.0, "guest": 0.2}});
    let found = solve(&model(&terminals(&station, 1, 0.5)), None).unwrap();
    assert_eq!((found.solver.as_str(), found.exact), ("mixed", true), "{:?}", found.assumes);
    let response = 1.0 / 0.6;
    near(found.chains[0].response_s, response, 1e-12);
    near(found.chains[0].throughput_per_s, 1.0 / (2.0 + response), 1e-12);
    let queue = response / (2.0 + response);
    near(found.chains[1].response_s, 0.2 * (1.0 + queue) / 0.6, 1e-12);
    near(found.classes[1].response_s.unwrap(), found.chains[1].response_s, 1e-12);
    near(found.stations[1].utilisation, 0.4 + found.chains[0].throughput_per_s, 1e-12);
    // Two users: the second finds the first, as long as it is there.
    let two = solve(&model(&terminals(&station, 2, 0.5)), None).unwrap();
    near(two.chains[0].response_s, response * (1.0 + queue), 1e-12);
}

#[test]
fn more_than_can_be_done_diverges_whatever_the_closed_ones_do() {
    let station = json!({"name": "s", "servers": 2, "service": {"user": 0.001, "guest": 0.001}});
    let error = solve(&model(&terminals(&station, 1, 0.0005)), None).unwrap_err();
    assert!(matches!(error, QueueingError::Diverges(_)), "{error}");
    let station = json!({"name": "s", "service": {"user": 1.0, "guest": 0.1}});
    let error = solve(&model(&terminals(&station, 1, 1.0)), None).unwrap_err().to_string();
    assert!(
        error.contains(
            "mixed: station s: it serves in order, and classes with users of their own differ"
        ),
        "{error}"
    );
}

/// The same network with arrivals from outside, of the last of its chains, if it has two.
fn opened(network: &Network, interarrival_s: f64) -> Option<Network> {
    let mut network = network.clone();
    let name = network.classes.iter().rfind(|class| class.users > 0)?.name.clone();
    if network.classes.iter().filter(|class| class.users > 0).count() < 2 {
        return None;
    }
    // Classes that its customers become share its name.
    let own: Vec<String> =
        network.classes.iter().map(|c| c.name.clone()).filter(|c| c.starts_with(&name)).collect();
    let class = network.classes.iter_mut().find(|class| class.name == name)?;
    class.users = 0;
    class.interarrival = Some(Distribution::Exponential { mean_s: interarrival_s });
    let client = network.routing.get_mut("client")?;
    let begin = client.remove(&name)?;
    for class in &own {
        client.remove(class);
    }
    let mut text = serde_json::to_value(&network).ok()?;
    text["routing"]["source"] = json!({&name: begin});
    for (_, by_class) in text["routing"].as_object_mut()? {
        for class in &own {
            if let Some(Value::Object(to)) = by_class.get_mut(class)
                && let Some(back) = to.remove(&format!("client/{class}"))
            {
                to.insert("sink".into(), back);
            }
        }
    }
    serde_json::from_value(text).ok()
}

/// As many users as make so many cycles when they mostly think; whoever comes back begins anew, as from outside.
fn crowded(network: &Network, interarrival_s: f64, users: u32) -> Network {
    let mut network = network.clone();
    let last = network.classes.iter_mut().rfind(|class| class.users > 0).expect("it has users");
    last.users = users;
    let name = last.name.clone();
    let client = &mut network.stations[0].service;
    let think = client["*"].clone();
    let long = Distribution::Exponential { mean_s: f64::from(users) * interarrival_s };
    let routes = network.routing.get_mut("client").expect("it has one");
    let begin = routes[&name].clone();
    for class in &network.classes {
        let own = class.name.starts_with(&name);
        client.insert(class.name.clone(), if own { long.clone() } else { think.clone() });
        if own {
            routes.insert(class.name.clone(), begin.clone());
        }
    }
    network
}

/// Between arrivals that are so much load of the station that is busiest with them.
fn interarrival_s(network: &Network, load: f64) -> f64 {
    let model = network.compile().expect("it was made to be");
    let problem = Problem::new(&model).expect("it was made to be");
    let last = problem.chains.len() - 1;
    let each = (1..problem.stations).map(|station| problem.demands_s[station][last]);
    each.fold(0.0, f64::max) / load
}

fn differences(found: &Solution, near: &Solution) -> f64 {
    let pairs = found.chains.iter().zip(&near.chains);
    let each = pairs.flat_map(|(a, b)| {
        [(a.throughput_per_s, b.throughput_per_s), (a.response_s, b.response_s)]
    });
    let stations = found.stations[1..].iter().zip(&near.stations[1..]);
    let queues = stations.flat_map(|(a, b)| [(a.queue, b.queue), (a.utilisation, b.utilisation)]);
    each.chain(queues).map(|(a, b)| (a - b).abs() / b.max(1e-3)).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn an_open_class_is_many_users_who_think_long(network in closed(LIMITS), load in 0.05..0.4_f64) {
        let between = interarrival_s(&network, load);
        let Some(open) = opened(&network, between) else { return Ok(()) };
        let found = solve(&open.compile().unwrap(), None).unwrap();
        prop_assert_eq!(found.solver.as_str(), "mixed");
        prop_assert!(found.exact);
        // The error falls with the number of users: in the end by half, where it is twice as many.
        let limit = |users| {
            let crowd = crowded(&network, between, users).compile().unwrap();
            differences(&solve(&crowd, Some("convolution")).unwrap(), &found)
        };
        let (few, many) = (limit(250), limit(1_000));
        prop_assert!(many < 0.05 && (many < 0.5 * few || many < 1e-3), "{few} {many}");
    }
}

#[test]
fn the_simulator_agrees() {
    // Several servers, rates of a station's own, processor sharing with services that differ, two closed chains.
    let value = json!({
        "classes": [
            {"name": "a", "users": 4, "reference": "z"}, {"name": "b", "users": 3, "reference": "z"},
            {"name": "guest", "interarrival": 0.25}],
        "stations": [
            {"name": "z", "kind": "delay", "service": {"*": 1.0}},
            {"name": "cpu", "servers": 3, "service": {"*": 0.4}},
            {"name": "disk", "discipline": "ps", "service": {"a": 0.3, "b": 0.1, "guest": 0.05}},
            {"name": "net", "discipline": "ps", "rates": [1.0, 1.5, 1.3], "service": {"*": 0.15}}],
        "routing": {
            "source": {"guest": "cpu"}, "z": {"*": "cpu"}, "cpu": {"*": "disk"}, "disk": {"*": "net"},
            "net": {"a": "z", "b": "z", "guest": "sink"}}
    });
    let model = model(&value);
    let found = solve(&model, None).unwrap();
    assert!(found.exact && found.solver == "mixed", "{:?}", found.assumes);
    let options = Options { seed: 5, precision: 0.005, ..Options::default() };
    let simulated = simulate(&model, &options, &|| false).unwrap().solution;
    for (a, b) in found.classes.iter().zip(&simulated.classes) {
        near(a.throughput_per_s, b.throughput_per_s, 0.015);
        near(a.response_s.unwrap(), b.response_s.unwrap(), 0.02);
    }
    for (a, b) in found.stations.iter().zip(&simulated.stations) {
        near(a.queue, b.queue, 0.03);
        near(a.utilisation, b.utilisation, 0.015);
    }
}
