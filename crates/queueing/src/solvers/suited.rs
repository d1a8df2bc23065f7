//! What breaks a product form (Baskett, Chandy, Muntz and Palacios 1975), and what may be assumed in its place.

use super::Problem;
use crate::model::{NodeKind, Route};
use crate::network::{Choice, Discipline};

/// Means that differ by less are the same.
const SAME: f64 = 1e-9;

/// Why this isn't for solvers of product forms, if it isn't; whether all chains are to be open or closed.
pub fn obstacle(problem: &Problem<'_>, open: bool) -> Option<String> {
    forks(problem).or_else(|| other_than_forks(problem, open))
}

/// Forks that make siblings meet.
pub fn forks(problem: &Problem<'_>) -> Option<String> {
    let (index, fork) = problem.model.forks().find(|(_, fork)| fork.copies > 1)?;
    let name = &problem.model.nodes[index].name;
    Some(format!(
        "fork {name}: siblings wait for each other ({} of {})",
        fork.wait_for, fork.copies
    ))
}

/// As [`obstacle`], of networks in which forks are no matter.
pub fn other_than_forks(problem: &Problem<'_>, open: bool) -> Option<String> {
    let model = problem.model;
    if let Some(chain) = problem.chains.iter().find(|chain| chain.open != open) {
        let class = &model.classes[chain.classes[0]].name;
        let (is, needs) = if open { ("closed", "open") } else { ("open", "closed") };
        return Some(format!("class {class} is {is}: this is for {needs} classes only"));
    }
    order(problem)
}

/// What keeps customers from going on by chance, and from being served alike.
pub fn order(problem: &Problem<'_>) -> Option<String> {
    binding_pool(problem).or_else(|| shortest_queue(problem)).or_else(|| {
        let station = (0..problem.stations).find(|station| {
            problem.waits(*station) && problem.station(*station).discipline == Discipline::Priority
        })?;
        Some(format!("station {}: some customers go before others", problem.name(station)))
    })
}

/// A pool that may be full.
pub fn binding_pool(problem: &Problem<'_>) -> Option<String> {
    let open = problem.chains.iter().any(|chain| chain.open);
    let forks = problem.model.forks().any(|(_, fork)| fork.copies > 1);
    let pool =
        problem.model.pools.iter().find(|pool| open || forks || pool.places < problem.users())?;
    Some(format!("pool {}: customers may wait for one of its places", pool.name))
}

fn shortest_queue(problem: &Problem<'_>) -> Option<String> {
    let node = chosen(problem, Choice::ShortestQueue).next()?;
    Some(format!("routing of {node}: it depends on where the fewest customers are"))
}

fn chosen<'a>(problem: &'a Problem<'_>, by: Choice) -> impl Iterator<Item = &'a str> {
    let model = problem.model;
    model.nodes.iter().enumerate().filter_map(move |(node, it)| {
        let visited = |class: usize| {
            problem.visited(node, class) || matches!(it.kind, NodeKind::Join(_) | NodeKind::Source)
        };
        let mut routes = model.routes[node].iter().enumerate();
        routes
            .any(|(class, route)| {
                matches!(route, Some(Route::Chosen(choice, to)) if *choice == by && to.len() > 1)
                    && visited(class)
            })
            .then_some(it.name.as_str())
    })
}

/// The first station where customers wait in order, and chains differ in their mean service.
pub fn chains_differ(problem: &Problem<'_>) -> Option<String> {
    let station = (0..problem.stations).find(|station| {
        let own = (0..problem.chains.len())
            .filter(|chain| problem.visits[*station][*chain] > 0.0)
            .map(|chain| problem.service_s(*station, chain));
        problem.in_order(*station) && differ(own)
    })?;
    Some(format!(
        "station {}: it serves in order, and classes with users of their own differ in their service",
        problem.name(station)
    ))
}

/// The first station whose rate depends on its load in a way of its own.
pub fn rates(problem: &Problem<'_>) -> Option<String> {
    let station = (0..problem.stations)
        .find(|s| problem.waits(*s) && !problem.station(*s).rates.is_empty())?;
    Some(format!("station {}: its rate depends on its load", problem.name(station)))
}

/// What solvers of product forms assume of this network, in words.
pub fn assumed(problem: &Problem<'_>) -> Vec<String> {
    assumed_at(problem, |_| true)
}

/// The same of some stations.
pub fn assumed_at(problem: &Problem<'_>, some: impl Fn(usize) -> bool) -> Vec<String> {
    assumed_with(
        problem,
        Some("all classes wait equally long, as long in all as if they shared the servers"),
        some,
    )
}

/// The same, where it is `encounters` that order is solved by.
pub fn assumed_in_order(problem: &Problem<'_>) -> Vec<String> {
    assumed_with(
        problem,
        Some(
            "waiting follows from whom customers find, and classes of the same users wait equally long \
             (beside exact chains of few users: 1 % off in the mean, at most 6 % with one set of users, 36 % with several)",
        ),
        |_| true,
    )
}

/// The same, of a solver that says itself how it takes order.
pub fn assumed_besides_order(problem: &Problem<'_>) -> Vec<String> {
    assumed_with(problem, None, |_| true)
}

fn assumed_with(
    problem: &Problem<'_>,
    order: Option<&str>,
    some: impl Fn(usize) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let list = |stations: &[usize]| {
        stations.iter().map(|station| problem.name(*station)).collect::<Vec<_>>().join(", ")
    };
    let in_order: Vec<usize> =
        (0..problem.stations).filter(|s| problem.in_order(*s) && some(*s)).collect();
    let shaped: Vec<usize> =
        in_order.iter().copied().filter(|station| shaped(problem, *station)).collect();
    if !shaped.is_empty() {
        found.push(format!("service at {} is exponential", list(&shaped)));
    }
    let mixed: Vec<usize> = in_order.into_iter().filter(|s| mixed(problem, *s)).collect();
    if let Some(order) = order.filter(|_| !mixed.is_empty()) {
        found.push(format!("at {} {order}", list(&mixed)));
    }
    let random: Vec<usize> =
        mixed.into_iter().filter(|s| problem.station(*s).discipline == Discipline::Siro).collect();
    if !random.is_empty() {
        found.push(format!("at {} waits are in the mean as long in random order", list(&random)));
    }
    for node in chosen(problem, Choice::RoundRobin) {
        found.push(format!("customers go on from {node} by chance, in equal shares"));
    }
    found
}

/// What is assumed of open classes whose arrivals aren't by chance alone.
pub fn poisson(problem: &Problem<'_>) -> Vec<String> {
    let open = problem.chains.iter().filter(|chain| chain.open);
    let classes = open.flat_map(|chain| &chain.classes).map(|it| &problem.model.classes[*it]);
    let others = classes.filter(|class| {
        class.interarrival.as_ref().is_some_and(|between| (between.scv() - 1.0).abs() > SAME)
    });
    others.map(|class| format!("arrivals of {} are Poisson", class.name)).collect()
}

/// Whether a station serves in order, and not exponentially.
pub fn shaped(problem: &Problem<'_>, station: usize) -> bool {
    let other = |it: &crate::Distribution| it.mean_s() > 0.0 && (it.scv() - 1.0).abs() > SAME;
    let mut services = problem.station(station).service.iter().enumerate();
    problem.in_order(station)
        && services.any(|(class, service)| {
            problem.visited(station, class) && service.as_ref().is_some_and(other)
        })
}

/// Whether a station serves in order classes that differ in their mean service.
pub fn mixed(problem: &Problem<'_>, station: usize) -> bool {
    problem.in_order(station) && differ(problem.services_s(station))
}

fn differ(values: impl Iterator<Item = f64>) -> bool {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
    most - least > SAME * most
}
