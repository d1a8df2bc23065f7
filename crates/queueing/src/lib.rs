//! Queueing networks: closed and open classes, solvers and a simulator.
//!
//! Start with [`Network`] (what a file holds) and [`Network::compile`], which checks it and gives a
//! [`Model`]; then [`flow`] says how often customers visit what, and [`solution`] how an answer looks.
//!
//! | module | holds |
//! |---|---|
//! | [`network`] | a network as data |
//! | [`time`], [`distribution`] | times as people write them; distributions of them |
//! | [`model`] | a checked network, its parts numbered |
//! | [`flow`] | chains of classes, visit ratios, demands |
//! | [`solution`] | what solvers and the simulator answer |
//! | [`simulate`] | the simulator: steady means, transients, traces |
//! | [`solvers`] | analytic solutions, exact and approximate |
//! | [`cycle`] | the cycle that calibration searches with: a delay, processors, work behind |
//!
//! Nothing here does I/O or reads a clock. All times are seconds.

mod check;
mod compile;
pub mod cycle;
pub mod distribution;
pub mod flow;
pub mod model;
pub mod network;
pub mod simulate;
pub mod solution;
pub mod solvers;
pub mod time;

pub use distribution::Distribution;
pub use model::Model;
pub use network::Network;
pub use solution::Solution;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum QueueingError {
    /// The network can't be.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// Not JSON, or of another shape.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// This solver can't solve this network, and why.
    #[error("{0}")]
    Unsuited(String),
    /// More work arrives than can be done: there is no steady state.
    #[error("{0}")]
    Diverges(String),
    /// Somebody asked for an end before it was reached.
    #[error("stopped")]
    Stopped,
}
