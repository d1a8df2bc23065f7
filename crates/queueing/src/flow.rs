//! Who gets where, and how often: chains of classes, visit ratios, demands.

use crate::QueueingError;
use crate::model::{Model, NodeKind, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Customers that can become each other's classes: closed ones share a number of users.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// The classes its customers may be of, ascending. Siblings' classes aren't among them unless
    /// customers are of them, too.
    pub classes: Vec<usize>,
    /// Of a closed chain.
    pub users: u32,
    /// Of an open chain: arrivals a second, in all.
    pub arrivals_per_s: f64,
    /// Whether it is open.
    pub open: bool,
    /// The station where cycles begin and end; of an open chain the source.
    pub reference: usize,
    /// `visits[node][class]`: mean number of visits in a cycle (of an open chain: in a stay), those of
    /// siblings included. At the reference they add up to 1.
    pub visits: Vec<Vec<f64>>,
}

impl Chain {
    /// The service demand at a station in a class: visits times mean service time, in seconds.
    #[must_use]
    pub fn demand_s(&self, model: &Model, station: usize, class: usize) -> f64 {
        self.visits[station][class] * model.station(station).mean_s(class)
    }

    /// The service demand at a station in all classes, in seconds.
    #[must_use]
    pub fn total_demand_s(&self, model: &Model, station: usize) -> f64 {
        (0..model.classes.len()).map(|class| self.demand_s(model, station, class)).sum()
    }
}

/// Where customers begin: closed ones leave their reference.
pub(crate) fn beginnings(model: &Model) -> impl Iterator<Item = Place> + '_ {
    model
        .classes
        .iter()
        .enumerate()
        .filter(|(class, it)| it.users > 0 || model.is_open(*class))
        .map(|(class, it)| Place { node: it.reference, class })
}

/// Every place that customers which begin in `from`, or siblings of theirs, get to; who begins as a
/// sibling ends at the join `end`, which is not among them.
pub(crate) fn reached(
    model: &Model,
    from: impl Iterator<Item = Place>,
    end: Option<usize>,
) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    let mut forks = BTreeSet::new();
    let mut open = vec![(followed(model, from, end), end)];
    while let Some((places, end)) = open.pop() {
        for place in places.into_iter().filter(|place| Some(place.node) != end) {
            found.insert(place);
            if let NodeKind::Fork(fork) = &model.nodes[place.node].kind
                && forks.insert(place)
            {
                let begins = model.siblings(place).into_iter().map(|(begin, _)| begin);
                open.push((followed(model, begins, Some(fork.join)), Some(fork.join)));
            }
        }
    }
    found
}

/// The places that the same customer gets to (never a sibling), beginning in `from`; a sibling ends at `end`.
pub(crate) fn followed(
    model: &Model,
    from: impl Iterator<Item = Place>,
    end: Option<usize>,
) -> BTreeSet<Place> {
    let mut found: BTreeSet<Place> = from.collect();
    let mut open: Vec<Place> = found.iter().copied().collect();
    while let Some(place) = open.pop() {
        if Some(place.node) == end {
            continue;
        }
        for (next, _) in model.next(place) {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

/// The chains of a model, in the order of their first classes, with their visits.
///
/// # Errors
///
/// [`QueueingError::Invalid`] if customers end up in loops that never meet again.
pub fn chains(model: &Model) -> Result<Vec<Chain>, QueueingError> {
    groups(model).into_iter().map(|classes| chain(model, &classes)).collect()
}

/// Classes with customers, together with those that they become, joined where they overlap.
pub(crate) fn groups(model: &Model) -> Vec<BTreeSet<usize>> {
    let mut groups: Vec<BTreeSet<usize>> = Vec::new();
    for begin in beginnings(model) {
        let mut classes: BTreeSet<usize> = followed(model, [begin].into_iter(), None)
            .into_iter()
            .map(|place| place.class)
            .collect();
        groups.retain(|other| {
            let apart = other.is_disjoint(&classes);
            if !apart {
                classes.extend(other);
            }
            apart
        });
        groups.push(classes);
    }
    groups.sort();
    groups
}

fn chain(model: &Model, classes: &BTreeSet<usize>) -> Result<Chain, QueueingError> {
    let begins: Vec<Place> = beginnings(model).filter(|b| classes.contains(&b.class)).collect();
    let open = model.is_open(begins[0].class);
    let arrivals_per_s: f64 = begins.iter().map(|begin| arrivals(model, begin.class)).sum();
    let reference = begins[0].node;
    let flows = own_flows(model, classes.iter().copied()).ok_or_else(|| {
        let names: Vec<_> = classes.iter().map(|c| model.classes[*c].name.as_str()).collect();
        QueueingError::Invalid(vec![format!(
            "customers of class {} end up in loops that never meet again",
            names.join(", ")
        )])
    })?;
    let mut visits = vec![vec![0.0; model.classes.len()]; model.nodes.len()];
    add(model, &flows, &mut visits);
    Ok(Chain {
        classes: classes.iter().copied().collect(),
        users: classes.iter().map(|class| model.classes[*class].users).sum(),
        arrivals_per_s,
        open,
        reference,
        visits,
    })
}

/// Arrivals of a class a second.
fn arrivals(model: &Model, class: usize) -> f64 {
    model.classes[class].interarrival.as_ref().map_or(0.0, |between| 1.0 / between.mean_s())
}

/// Mean visits in a cycle (or a stay) of the customers of a chain with these classes, without their siblings;
/// `None` if there isn't one solution.
pub(crate) fn own_flows(
    model: &Model,
    mut classes: impl Iterator<Item = usize> + Clone,
) -> Option<BTreeMap<Place, f64>> {
    let begins: Vec<Place> =
        beginnings(model).filter(|b| classes.clone().any(|class| class == b.class)).collect();
    let open = classes.any(|class| model.is_open(class));
    let reference = begins[0].node;
    let all: f64 = begins.iter().map(|begin| arrivals(model, begin.class)).sum();
    let main = followed(model, begins.iter().copied(), None);
    // What enters from outside, in a cycle: open customers by their share of arrivals, closed ones never.
    let entering = |place: Place| {
        if open && place.node == reference { arrivals(model, place.class) / all } else { 0.0 }
    };
    balance(model, &main, None, &entering, (!open).then_some(reference))
}

/// Mean visits of a sibling that begins there, until it comes to its join.
pub(crate) fn sibling_flows(model: &Model, begin: Place, join: usize) -> BTreeMap<Place, f64> {
    let places = followed(model, [begin].into_iter(), Some(join));
    let entering = |at: Place| f64::from(u8::from(at == begin));
    let mut flows = balance(model, &places, Some(join), &entering, None)
        .expect("checked: every sibling gets to its join");
    flows.retain(|at, _| at.node != join);
    flows
}

/// Add a flow, and that of the siblings which it sends out at forks.
fn add(model: &Model, flows: &BTreeMap<Place, f64>, visits: &mut [Vec<f64>]) {
    for (place, flow) in flows {
        visits[place.node][place.class] += flow;
        if let NodeKind::Fork(fork) = &model.nodes[place.node].kind {
            let begins = model.siblings(*place);
            let places = followed(model, begins.iter().map(|(begin, _)| *begin), Some(fork.join));
            let entering = |at: Place| {
                begins.iter().filter(|(begin, _)| *begin == at).map(|(_, n)| n * flow).sum::<f64>()
            };
            let mut siblings = balance(model, &places, Some(fork.join), &entering, None)
                .expect("checked: every sibling gets to its join");
            siblings.retain(|at, _| at.node != fork.join);
            add(model, &siblings, visits);
        }
    }
}

/// Solve the traffic equations on `places`: what leaves a place is what gets there.
///
/// `end` is the node where siblings stop. With `unit`, nothing enters, and flows are scaled so that
/// those at that node add up to 1. `None` if there isn't one solution.
fn balance(
    model: &Model,
    places: &BTreeSet<Place>,
    end: Option<usize>,
    entering: &dyn Fn(Place) -> f64,
    unit: Option<usize>,
) -> Option<BTreeMap<Place, f64>> {
    let order: Vec<Place> = places.iter().copied().collect();
    let index: BTreeMap<Place, usize> = order.iter().enumerate().map(|(i, p)| (*p, i)).collect();
    let n = order.len();
    // Rows: flow of a place − what others send there = what enters.
    let mut rows = vec![vec![0.0; n + 1]; n];
    for (i, place) in order.iter().enumerate() {
        rows[i][i] += 1.0;
        rows[i][n] += entering(*place);
        if Some(place.node) != end {
            for (next, share) in model.next(*place) {
                rows[index[&next]][i] -= share;
            }
        }
    }
    if let Some(node) = unit {
        // One balance follows from the others: the scale takes the place of one at that node.
        let row = order.iter().position(|place| place.node == node)?;
        for (i, place) in order.iter().enumerate() {
            rows[row][i] = f64::from(u8::from(place.node == node));
        }
        rows[row][n] = 1.0;
    }
    let solved = solve(rows)?;
    Some(order.into_iter().zip(solved.into_iter().map(|flow| flow.max(0.0))).collect())
}

/// Gaussian elimination with partial pivoting on `[A | b]`; `None` if A is singular.
pub(crate) fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    const SINGULAR: f64 = 1e-12;
    let n = rows.len();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        if rows[pivot][column].abs() < SINGULAR {
            return None;
        }
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        for row in below {
            let factor = row[column] / pivot[column];
            if factor != 0.0 {
                for (value, by) in row[column..].iter_mut().zip(&pivot[column..]) {
                    *value -= factor * by;
                }
            }
        }
    }
    let mut solution = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|column| rows[row][column] * solution[column]).sum();
        solution[row] = (rows[row][n] - known) / rows[row][row];
    }
    Some(solution)
}
