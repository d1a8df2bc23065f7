//! Random valid networks, for properties that hold in all of them.

use pacelc_queueing::Network;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What networks may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Stations beside the client.
    pub stations: usize,
    /// Classes with users of their own.
    pub chains: usize,
    /// Of each.
    pub users: u32,
    /// Stations that serve in order, with services that differ by class.
    pub mixed_fcfs: bool,
}

/// A closed product-form network; the client is a delay, and every class's reference.
///
/// Each set of users has one or two classes, and becomes the other one when it leaves the client.
pub fn closed(limits: Limits) -> impl Strategy<Value = Network> {
    let times = prop_oneof![2 => 0.05..1.0_f64, 1 => Just(0.3)];
    let station = (0..5_u8, 1..4_u32, prop::collection::vec(times, 4));
    let stations = prop::collection::vec(station, 1..=limits.stations);
    let chains = prop::collection::vec((1..=limits.users, any::<bool>()), 1..=limits.chains);
    (stations, chains, 0.0..3.0_f64, prop::collection::vec(0.05..1.0_f64, 64)).prop_map(
        move |(stations, chains, think, weights)| {
            build(&stations, &chains, think, &weights, limits.mixed_fcfs)
        },
    )
}

fn build(
    written: &[(u8, u32, Vec<f64>)],
    chains: &[(u32, bool)],
    think: f64,
    weights: &[f64],
    mixed: bool,
) -> Network {
    let mut weight = weights.iter().cycle().copied();
    let mut classes = Vec::new();
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (index, (users, two)) in chains.iter().enumerate() {
        let name = format!("c{index}");
        classes.push(json!({"name": name, "users": users}));
        let mut group = vec![name.clone()];
        if *two {
            classes.push(json!({"name": format!("{name}b")}));
            group.push(format!("{name}b"));
        }
        groups.push(group);
    }
    let names: Vec<String> = (0..written.len()).map(|index| format!("s{index}")).collect();
    let mut stations = vec![json!({"name": "client", "kind": "delay", "service": {"*": think}})];
    for (name, (kind, servers, times)) in names.iter().zip(written) {
        let each: Map<String, Value> = groups
            .iter()
            .flatten()
            .zip(times.iter().cycle())
            .map(|(class, time)| (class.clone(), json!(time)))
            .collect();
        stations.push(match kind {
            0 => json!({"name": name, "kind": "delay", "service": each}),
            1 => json!({"name": name, "discipline": "ps", "service": each}),
            2 => json!({"name": name, "discipline": "ps", "servers": servers, "service": each}),
            3 if mixed => json!({"name": name, "servers": servers, "service": each}),
            3 => json!({"name": name, "servers": servers, "service": {"*": times[0]}}),
            _ => json!({"name": name, "service": {"*": times[0]}}),
        });
    }
    let mut routing = Map::new();
    for from in std::iter::once("client").chain(names.iter().map(String::as_str)) {
        let mut by_class = Map::new();
        for group in &groups {
            for class in group {
                // From the client to stations in any class of the group; elsewhere in one's own, or back.
                let mut to: Vec<(String, f64)> = Vec::new();
                for name in &names {
                    let classes: &[String] =
                        if from == "client" { group } else { std::slice::from_ref(class) };
                    for next in classes {
                        to.push((
                            format!("{name}/{next}"),
                            weight.next().expect("a weight for each"),
                        ));
                    }
                }
                if from != "client" {
                    to.push((format!("client/{class}"), weight.next().expect("a weight for each")));
                }
                let sum: f64 = to.iter().map(|(_, weight)| weight).sum();
                let shares: Map<String, Value> =
                    to.into_iter().map(|(place, weight)| (place, json!(weight / sum))).collect();
                by_class.insert(class.clone(), Value::Object(shares));
            }
        }
        routing.insert(from.to_owned(), Value::Object(by_class));
    }
    let value = json!({"classes": classes, "stations": stations, "routing": routing});
    serde_json::from_value(value).expect("a network")
}
