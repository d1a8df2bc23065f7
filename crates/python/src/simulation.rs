//! The simulator of queueing networks. It works without the GIL, and Ctrl-C stops it.

use crate::{door, error};
use pacelc_queueing::simulate::trace::{self, TraceOptions};
use pacelc_queueing::simulate::transient::{self, TransientOptions};
use pacelc_queueing::simulate::{self as simulator, Options};
use pacelc_queueing::{Model, Network, QueueingError};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Simulates a network's steady state; means with their intervals and percentiles as JSON.
#[pyfunction]
fn simulate(py: Python<'_>, network_json: &str, options_json: &str) -> PyResult<String> {
    heard(py, network_json, options_json, |model, options: &Options, stopped| {
        simulator::simulate(model, options, stopped)
    })
}

/// Simulates what happens when something changes at a given time; means in intervals of time as JSON.
#[pyfunction]
fn simulate_changes(py: Python<'_>, network_json: &str, options_json: &str) -> PyResult<String> {
    heard(py, network_json, options_json, |model, options: &TransientOptions, stopped| {
        transient::transient(model, options, stopped)
    })
}

/// Follows one customer of a simulated network; its cycles with every stay as JSON.
#[pyfunction]
fn trace_customer(py: Python<'_>, network_json: &str, options_json: &str) -> PyResult<String> {
    heard(py, network_json, options_json, |model, options: &TraceOptions, stopped| {
        trace::trace(model, options, stopped)
    })
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_changes, module)?)?;
    module.add_function(wrap_pyfunction!(trace_customer, module)?)?;
    Ok(())
}

/// Works through the door.
fn heard<O: DeserializeOwned + Send, A: Serialize>(
    py: Python<'_>,
    network_json: &str,
    options_json: &str,
    work: impl FnOnce(&Model, &O, &(dyn Fn() -> bool + Sync)) -> Result<A, QueueingError> + Send,
) -> PyResult<String> {
    door::heard(py, |stopped| {
        let model = Network::from_json(network_json)?.compile()?;
        let options = serde_json::from_str(options_json)?;
        let found = work(&model, &options, stopped)?;
        Ok(serde_json::to_string(&found)?)
    })?
    .map_err(|problem: QueueingError| error::queueing(&problem))
}
