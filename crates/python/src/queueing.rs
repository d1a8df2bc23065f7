//! Networks of queues: check, solve, bound, without the GIL; and a cycle that is solved in microseconds.

use crate::error;
use pacelc_queueing::cycle::{Cycle, Group};
use pacelc_queueing::solvers::bounds::bounds;
use pacelc_queueing::solvers::solve;
use pacelc_queueing::solvers::summary::summary;
use pacelc_queueing::{Network, QueueingError};
use pyo3::prelude::*;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks a network and returns what it amounts to, as JSON: its chains with their users, visits and
/// demands, and the solver that suits; raises `InputError` with everything that is wrong.
#[pyfunction]
fn check_network(py: Python<'_>, network_json: &str) -> PyResult<String> {
    answer(py, || {
        let model = Network::from_json(network_json)?.compile()?;
        Ok(serde_json::to_string(&summary(&model)?)?)
    })
}

/// Solves a network by the named solver, or by the one that suits it best; the solution as JSON.
#[pyfunction]
#[pyo3(signature = (network_json, solver=None))]
fn solve_network(py: Python<'_>, network_json: &str, solver: Option<&str>) -> PyResult<String> {
    answer(py, || solved(network_json, solver))
}

/// Solves many networks on all processors. Each answer is a solution, or what is wrong as
/// {"error": one of invalid, unsuited, diverges, "message": …}; none raises.
#[pyfunction]
#[pyo3(signature = (networks_json, solver=None))]
#[allow(clippy::needless_pass_by_value)] // what comes from Python is owned, and may be used without the GIL
fn solve_networks(py: Python<'_>, networks_json: Vec<String>, solver: Option<&str>) -> Vec<String> {
    py.detach(|| {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some(network) = networks_json.get(at)
            {
                done.push((at, solved(network, solver).unwrap_or_else(|error| refusal(&error))));
            }
            done
        };
        let mut answers = vec![String::new(); networks_json.len()];
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                for (at, answer) in thread.join().expect("solvers don't panic") {
                    answers[at] = answer;
                }
            }
        });
        answers
    })
}

/// What throughput and response of each chain can't cross, as JSON.
#[pyfunction]
fn bound_network(py: Python<'_>, network_json: &str) -> PyResult<String> {
    answer(py, || {
        let model = Network::from_json(network_json)?.compile()?;
        Ok(serde_json::to_string(&bounds(&model)?)?)
    })
}

/// Throughput of customers who go round a delay and processors, and how long one is at each group of equal
/// ones. Of a group: processor time waited for and not, at all of them, in seconds; how many there are.
#[pyfunction]
fn closed_cycle(
    users: u32,
    delay_s: f64,
    cores: f64,
    groups: Vec<(f64, f64, u32)>,
) -> (f64, Vec<f64>) {
    let group = |(cpu_s, behind_s, processors)| Group { cpu_s, behind_s, processors };
    let groups = groups.into_iter().map(group).collect();
    let pace = Cycle { users, delay_s, cores, groups }.pace();
    (pace.throughput_per_s, pace.there_s)
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_network, module)?)?;
    module.add_function(wrap_pyfunction!(solve_network, module)?)?;
    module.add_function(wrap_pyfunction!(solve_networks, module)?)?;
    module.add_function(wrap_pyfunction!(bound_network, module)?)?;
    module.add_function(wrap_pyfunction!(closed_cycle, module)?)?;
    Ok(())
}

fn answer(
    py: Python<'_>,
    work: impl FnOnce() -> Result<String, QueueingError> + Send,
) -> PyResult<String> {
    py.detach(work).map_err(|problem| error::queueing(&problem))
}

fn solved(network_json: &str, solver: Option<&str>) -> Result<String, QueueingError> {
    let model = Network::from_json(network_json)?.compile()?;
    Ok(serde_json::to_string(&solve(&model, solver)?)?)
}

fn refusal(error: &QueueingError) -> String {
    let kind = match error {
        QueueingError::Invalid(_) | QueueingError::Json(_) => "invalid",
        QueueingError::Unsuited(_) => "unsuited",
        QueueingError::Diverges(_) => "diverges",
        QueueingError::Stopped => "stopped",
    };
    serde_json::json!({ "error": kind, "message": error.to_string() }).to_string()
}
