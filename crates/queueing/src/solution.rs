//! What a solver or the simulator found: means by class, chain and station.

use serde::{Deserialize, Serialize};

/// A solved network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Which solver, such as `mva`.
    pub solver: String,
    /// Whether it is the model's exact solution, but for rounding.
    pub exact: bool,
    /// What is assumed that the network doesn't say, in words; empty for an exact solution of
    /// this very network.
    pub assumes: Vec<String>,
    /// In the order of the network.
    pub classes: Vec<ClassResult>,
    /// In the order of [`crate::flow::chains`].
    pub chains: Vec<ChainResult>,
    /// In the order of the network.
    pub stations: Vec<StationResult>,
}

/// Of one class of customers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassResult {
    /// The class.
    pub name: String,
    /// Visits to the reference that end in this class (open: departures by the sink), a second.
    pub throughput_per_s: f64,
    /// Time between visits to the reference of customers that come back in this class, by Little's law:
    /// customers in this class elsewhere, over the throughput. `None` where there is no throughput, or where siblings make it
    /// meaningless. It is the mean time of a cycle where customers keep their class between visits.
    pub response_s: Option<f64>,
}

/// Of one chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainResult {
    /// Its classes' names.
    pub classes: Vec<String>,
    /// Cycles (open: stays) completed a second.
    pub throughput_per_s: f64,
    /// Mean time between leaving the reference and coming back to it (open: between arrival and departure), in seconds.
    pub response_s: f64,
}

/// Of one station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationResult {
    /// The station.
    pub name: String,
    /// Mean share of its servers that are busy; of a delay station the mean number of customers.
    pub utilisation: f64,
    /// Mean number of customers there, waiting or served.
    pub queue: f64,
    /// By class, in the order of the network; siblings under their own classes.
    pub classes: Vec<VisitResult>,
}

/// Of one class at one station.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct VisitResult {
    /// The class.
    pub class: String,
    /// Visits completed a second.
    pub throughput_per_s: f64,
    /// Mean time of a visit, waiting included, in seconds; 0 where there are none.
    pub response_s: f64,
    /// Mean number of customers of this class there.
    pub queue: f64,
    /// Its part of the station's utilisation.
    pub utilisation: f64,
}
