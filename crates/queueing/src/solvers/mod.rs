//! Analytic solvers: one file each, one trait, chosen by what the network needs.
//!
//! Start with [`solve`]. [`Solver::unsuited`] says in words why a solver can't; [`Solution::assumes`] what
//! one assumed.
//!
//! | module | holds |
//! |---|---|
//! | [`problem`] | a model with its chains and demands: what all solvers work on |
//! | [`summary`] | what a network amounts to, without solving it |
//! | `suited` | what breaks a product form, and what may be assumed in its place |
//! | `report` | from chains' throughputs and queues to a [`Solution`] |
//! | [`mva`] | exact mean value analysis |
//! | [`convolution`] | normalising constants, for many servers and load-dependent rates; on `lattice` and `wide` |
//! | [`schweitzer`], [`linearizer`] | approximations for many customers in many chains; on `approximate`, `waiting` and `encounters` |
//! | [`fcfs`] | stations that serve in order classes that differ; on all of those above |
//! | [`bounds`] | what throughput and response can't cross |
//! | [`jackson`] | open networks |
//! | [`mixed`] | open and closed classes together |
//! | [`fork_join`] | forks that wait for k of n; on `paths` and `order` |
//! | [`ctmc`] | the Markov chain of a small network: the oracle |

mod approximate;
pub mod bounds;
pub mod convolution;
pub mod ctmc;
mod encounters;
pub mod fcfs;
pub mod fork_join;
pub mod jackson;
mod lattice;
pub mod linearizer;
pub mod mixed;
pub mod mva;
mod order;
mod paths;
pub mod problem;
mod report;
pub mod schweitzer;
mod suited;
pub mod summary;
mod waiting;
mod wide;

pub use problem::Problem;

use crate::{Model, QueueingError, Solution};

/// A way to solve networks.
pub trait Solver: Sync {
    /// As it is asked for.
    fn name(&self) -> &'static str;

    /// Why it can't solve this one, if it can't.
    fn unsuited(&self, problem: &Problem<'_>) -> Option<String>;

    /// Solve a network that it isn't unsuited for.
    ///
    /// # Errors
    ///
    /// [`QueueingError::Diverges`] if there is no steady state, [`QueueingError::Unsuited`] if only solving shows that
    /// it can't.
    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError>;
}

/// Every solver, in the order in which one is chosen: exact before approximate, cheap before costly. Before those of
/// product forms is the one for networks whose order of service has none.
pub const ALL: [&dyn Solver; 9] = [
    &fcfs::Fcfs,
    &mva::Mva,
    &convolution::Convolution,
    &jackson::Jackson,
    &mixed::Mixed,
    &fork_join::ForkJoin,
    &linearizer::Linearizer,
    &schweitzer::Schweitzer,
    &ctmc::Ctmc,
];

/// Solve a model, by the solver of this name or by the one that suits it best.
///
/// # Errors
///
/// [`QueueingError::Unsuited`] if it can't be solved so, and why; [`QueueingError::Diverges`] if there is no
/// steady state.
pub fn solve(model: &Model, which: Option<&str>) -> Result<Solution, QueueingError> {
    let problem = Problem::new(model)?;
    let Some(name) = which else { return choose(&problem)?.solve(&problem) };
    let solver = ALL.into_iter().find(|solver| solver.name() == name).ok_or_else(|| {
        let names = ALL.map(Solver::name).join(", ");
        QueueingError::Unsuited(format!("no solver is called {name:?}: there are {names}"))
    })?;
    match solver.unsuited(&problem) {
        Some(why) => Err(QueueingError::Unsuited(format!("{name} can't solve this: {why}"))),
        None => solver.solve(&problem),
    }
}

/// The first solver that suits.
///
/// # Errors
///
/// [`QueueingError::Unsuited`] with the reason of each, if none does.
pub fn choose(problem: &Problem<'_>) -> Result<&'static dyn Solver, QueueingError> {
    let mut reasons: Vec<String> = Vec::new();
    for solver in ALL {
        match solver.unsuited(problem) {
            None => return Ok(solver),
            Some(why) if reasons.iter().any(|reason| reason.ends_with(&why)) => {}
            Some(why) => reasons.push(format!("{}: {why}", solver.name())),
        }
    }
    Err(QueueingError::Unsuited(format!(
        "no solver can solve this, so simulate it ({})",
        reasons.join("; ")
    )))
}
