//! Ways round a network that take no time: customers could go round them for ever in one state of the chain.

use crate::model::{NodeKind, Place, Route};
use crate::solvers::Problem;

/// A node on a way that comes back to itself and takes no time, if there is any.
pub fn endless(problem: &Problem<'_>) -> Option<String> {
    let classes = problem.model.classes.len();
    let mut seen = vec![Seen::Not; problem.model.nodes.len() * classes];
    let visited = |place: &Place| problem.visited(place.node, place.class);
    let places = (0..problem.model.nodes.len())
        .flat_map(|node| (0..classes).map(move |class| Place { node, class }));
    let place = places.filter(visited).find_map(|place| around(problem, place, &mut seen))?;
    let name = &problem.model.nodes[place.node].name;
    Some(format!("node {name}: customers may come back to it in no time, again and again"))
}

#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Not,
    OnTheWay,
    Done,
}

/// A place that can be come back to in no time, from here on.
fn around(problem: &Problem<'_>, place: Place, seen: &mut [Seen]) -> Option<Place> {
    if takes_time(problem, place) {
        return None;
    }
    let at = place.node * problem.model.classes.len() + place.class;
    match seen[at] {
        Seen::Done => return None,
        Seen::OnTheWay => return Some(place),
        Seen::Not => seen[at] = Seen::OnTheWay,
    }
    let found = next(problem, place).into_iter().find_map(|to| around(problem, to, seen));
    seen[at] = Seen::Done;
    found
}

fn takes_time(problem: &Problem<'_>, place: Place) -> bool {
    let NodeKind::Station(station) = &problem.model.nodes[place.node].kind else { return false };
    station.mean_s(place.class) > 0.0
}

fn next(problem: &Problem<'_>, place: Place) -> Vec<Place> {
    if let NodeKind::Fork(fork) = &problem.model.nodes[place.node].kind {
        let siblings = |(node, own): &(usize, Option<usize>)| match &fork.classes {
            Some(classes) => {
                classes.iter().map(|class| Place { node: *node, class: *class }).collect()
            }
            None => vec![Place { node: *node, class: own.unwrap_or(place.class) }],
        };
        return fork.branches.iter().flat_map(siblings).collect();
    }
    match &problem.model.routes[place.node][place.class] {
        Some(Route::Random(to)) => to.iter().map(|(place, _)| *place).collect(),
        Some(Route::Chosen(_, to)) => to.clone(),
        None => Vec::new(),
    }
}
