//! What can be wrong with a network whose parts are each in order.

use crate::QueueingError;
use crate::flow::{beginnings, chains, followed, groups, reached};
use crate::model::{Model, NodeKind, Place};
use std::collections::BTreeSet;

/// Everything that is wrong, each named; of parts that depend on each other only the first.
pub(crate) fn problems(model: &Model) -> Vec<String> {
    let all = reached(model, beginnings(model), None);
    let mut found = missing(model, &all);
    found.extend(unreached(model, &all));
    found.extend(without_customers(model, &all));
    if found.is_empty() {
        found.extend(lost_siblings(model, &all));
    }
    if found.is_empty() {
        found.extend(lost_customers(model));
    }
    if found.is_empty()
        && let Err(QueueingError::Invalid(problems)) = chains(model)
    {
        found.extend(problems);
    }
    found
}

fn place_name(model: &Model, place: Place) -> String {
    format!("{} in class {}", model.nodes[place.node].name, model.classes[place.class].name)
}

/// Places that customers get to, and where there is no service, or no way on.
fn missing(model: &Model, all: &BTreeSet<Place>) -> Vec<String> {
    let mut found = Vec::new();
    for place in all {
        match &model.nodes[place.node].kind {
            NodeKind::Station(station) if station.service[place.class].is_none() => {
                found.push(format!(
                    "{}: customers get there, and no service is given",
                    place_name(model, *place)
                ));
            }
            NodeKind::Sink | NodeKind::Fork(_) => continue,
            _ => {}
        }
        if model.routes[place.node][place.class].is_none() {
            found.push(format!(
                "{}: customers get there, and no routing is given",
                place_name(model, *place)
            ));
        }
    }
    found
}

/// Stations that nobody gets to, not even to find an answer in their caches.
fn unreached(model: &Model, all: &BTreeSet<Place>) -> Vec<String> {
    let seen: BTreeSet<usize> =
        all.iter().filter_map(|place| model.station_at(place.node)).collect();
    model
        .stations()
        .filter(|(index, _)| !seen.contains(index))
        .map(|(index, _)| {
            format!("station {}: no customer ever gets there", model.nodes[index].name)
        })
        .collect()
}

fn without_customers(model: &Model, all: &BTreeSet<Place>) -> Vec<String> {
    let seen: BTreeSet<usize> = all.iter().map(|place| place.class).collect();
    (0..model.classes.len())
        .filter(|class| !seen.contains(class))
        .map(|class| {
            format!(
                "class {}: it has no users and no interarrival, and no customer becomes one of it",
                model.classes[class].name
            )
        })
        .collect()
}

/// Siblings have to get to their join, and nowhere that only customers may be.
fn lost_siblings(model: &Model, all: &BTreeSet<Place>) -> Vec<String> {
    let mut found = Vec::new();
    for place in all {
        let NodeKind::Fork(fork) = &model.nodes[place.node].kind else { continue };
        let begins = model.siblings(*place).into_iter().map(|(begin, _)| begin);
        let places = followed(model, begins, Some(fork.join));
        let name = &model.nodes[place.node].name;
        let inside = model.siblings(*place).into_iter().map(|(begin, _)| begin);
        if reached(model, inside, Some(fork.join)).iter().any(|at| at.node == place.node) {
            found.push(format!("fork {name}: its siblings get to it again"));
        }
        for at in &places {
            let node = &model.nodes[at.node];
            let foreign = match node.kind {
                NodeKind::Join(of) => at.node != fork.join && !places.iter().any(|p| p.node == of),
                NodeKind::Sink | NodeKind::Source => true,
                _ => false,
            };
            let chain_reference = beginnings(model).any(|begin| begin.node == at.node);
            if foreign || chain_reference {
                found.push(format!(
                    "fork {name}: its siblings get to {}, and should end at {name}.join",
                    node.name
                ));
            } else if !followed(model, [*at].into_iter(), Some(fork.join))
                .iter()
                .any(|p| p.node == fork.join)
            {
                found.push(format!(
                    "fork {name}: a sibling at {} never gets to {name}.join",
                    place_name(model, *at)
                ));
            }
        }
    }
    found.dedup();
    found
}

/// Customers have to come back to their reference; open ones have to leave, and to stay apart from closed ones.
fn lost_customers(model: &Model) -> Vec<String> {
    let mut found = Vec::new();
    for classes in groups(model) {
        let begins: Vec<Place> = beginnings(model).filter(|b| classes.contains(&b.class)).collect();
        let name = |class: usize| &model.classes[class].name;
        let first = begins[0];
        for other in &begins[1..] {
            if model.is_open(other.class) != model.is_open(first.class) {
                found.push(format!("classes {} and {}: customers of an open and of a closed class can't become each other", name(first.class), name(other.class)));
            } else if other.node != first.node {
                found.push(format!(
                    "classes {} and {}: customers become each other, and their references differ",
                    name(first.class),
                    name(other.class)
                ));
            }
        }
        let goal = |place: &Place| {
            if model.is_open(first.class) {
                matches!(model.nodes[place.node].kind, NodeKind::Sink)
            } else {
                place.node == first.node
            }
        };
        for place in followed(model, begins.iter().copied(), None) {
            let on = followed(model, model.next(place).into_iter().map(|(next, _)| next), None);
            let leaves = matches!(model.nodes[place.node].kind, NodeKind::Sink);
            if leaves && !model.is_open(first.class) {
                found.push(format!(
                    "class {}: customers of a closed class leave by the sink",
                    name(place.class)
                ));
            } else if !leaves && !on.iter().any(goal) {
                let to = if model.is_open(first.class) {
                    "leaves"
                } else {
                    "comes back to its reference"
                };
                found.push(format!("{}: who gets there never {to}", place_name(model, place)));
            }
        }
    }
    found.dedup();
    found
}
