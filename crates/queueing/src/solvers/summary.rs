//! What a checked network amounts to: its chains, what they demand, and which solver suits.

use super::{Problem, choose};
use crate::{Model, QueueingError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of a network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// For people.
    pub name: String,
    /// Its chains.
    pub chains: Vec<ChainSummary>,
    /// The solver that is chosen; `None` if only a simulation will do.
    pub solver: Option<&'static str>,
    /// Why none suits.
    pub unsuited: Option<String>,
}

/// Of one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainSummary {
    /// Its classes' names.
    pub classes: Vec<String>,
    /// Of a closed chain.
    pub users: u32,
    /// Of an open chain.
    pub arrivals_per_s: f64,
    /// By station: mean visits in a cycle, of siblings too.
    pub visits: BTreeMap<String, f64>,
    /// By station: service in a cycle, in seconds.
    pub demands_s: BTreeMap<String, f64>,
}

/// Sum a model up.
///
/// # Errors
///
/// As [`Problem::new`].
pub fn summary(model: &Model) -> Result<Summary, QueueingError> {
    let problem = Problem::new(model)?;
    let by_station = |values: &[Vec<f64>], chain: usize| -> BTreeMap<String, f64> {
        let stations = 0..problem.stations;
        stations.map(|at| (problem.name(at).to_owned(), values[at][chain])).collect()
    };
    let chains = problem.chains.iter().enumerate().map(|(index, chain)| ChainSummary {
        classes: chain.classes.iter().map(|class| model.classes[*class].name.clone()).collect(),
        users: chain.users,
        arrivals_per_s: chain.arrivals_per_s,
        visits: by_station(&problem.visits, index),
        demands_s: by_station(&problem.demands_s, index),
    });
    let chosen = choose(&problem);
    Ok(Summary {
        name: model.name.clone(),
        chains: chains.collect(),
        solver: chosen.as_ref().ok().map(|solver| solver.name()),
        unsuited: chosen.err().map(|error| error.to_string()),
    })
}
