//! What customers and siblings go through: visits, and forks with the paths of their siblings.

use super::Problem;
use crate::flow::{own_flows, sibling_flows};
use crate::model::{Model, NodeKind, Place};
use std::collections::BTreeMap;

/// Mean visits of one customer in a cycle, or of one sibling until its join.
pub struct Path {
    /// Station, class, visits.
    pub visits: Vec<(usize, usize, f64)>,
    /// How often it is split, in which class, how.
    pub splits: Vec<(f64, usize, Split)>,
}

/// One passage through a fork.
pub struct Split {
    /// Siblings; of each the paths that it may take, all as likely.
    pub siblings: Vec<Vec<Path>>,
    /// How many of them there are in fact, chosen by chance.
    pub copies: usize,
    /// How many are waited for.
    pub wait_for: usize,
}

impl Path {
    /// Of a chain's customers.
    pub fn of_chain(problem: &Problem<'_>, chain: usize) -> Self {
        let classes = problem.chains[chain].classes.iter().copied();
        let flows = own_flows(problem.model, classes).expect("solved once already");
        Self::of(problem.model, flows)
    }

    fn of(model: &Model, flows: BTreeMap<Place, f64>) -> Self {
        let mut path = Self { visits: Vec::new(), splits: Vec::new() };
        for (place, flow) in flows.into_iter().filter(|(_, flow)| *flow > 0.0) {
            match &model.nodes[place.node].kind {
                NodeKind::Station(_) => path.visits.push((place.node, place.class, flow)),
                NodeKind::Fork(fork) => {
                    let sibling = |node: usize, class: usize| {
                        Self::of(model, sibling_flows(model, Place { node, class }, fork.join))
                    };
                    let siblings: Vec<Vec<Self>> = match &fork.classes {
                        Some(classes) => classes
                            .iter()
                            .map(|class| fork.branches.iter().map(|(n, _)| sibling(*n, *class)).collect())
                            .collect(),
                        None => fork
                            .branches
                            .iter()
                            .map(|(node, own)| vec![sibling(*node, own.unwrap_or(place.class))])
                            .collect(),
                    };
                    let split = Split { siblings, copies: fork.copies, wait_for: fork.wait_for };
                    path.splits.push((flow, place.class, split));
                }
                _ => {}
            }
        }
        path
    }
}
