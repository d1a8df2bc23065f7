//! `pacelc._engine`: the engine as a Python module.
//!
//! Specifications go in and results come out as JSON, so that their shape is defined once, in the
//! crates, and checked where it enters.
//!
//! | module | holds |
//! |---|---|
//! | [`job`] | a run in the background |
//! | [`door`] | the one door for other long work: without the GIL, and Ctrl-C is heard |
//! | [`history`] | histories of operations: read, and checked |
//! | [`observed`] | a run's log of operations, and what the checkers say of it |
//! | [`simulation`] | queueing networks, simulated |
//! | [`queueing`] | networks of queues: check, solve, bound |
//! | [`error`] | the one place where the crates' errors become Python's |

mod door;
mod error;
mod history;
mod job;
mod observed;
mod queueing;
mod simulation;

use pacelc_bindings::Target;
use pacelc_core::{Operation, Shape, consistency};
use pacelc_load::{LoadError, LoadSpec, Plan};
use pyo3::prelude::*;
use serde::Serialize;
use std::time::Duration;

/// The engine's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Names of the databases that the engine speaks to.
#[pyfunction]
fn bindings() -> Vec<&'static str> {
    pacelc_bindings::DATABASES.to_vec()
}

/// The table of consistency aliases, as JSON: a list of {database, alias, read, write}.
#[pyfunction]
fn levels() -> PyResult<String> {
    to_json(&consistency::alias_table())
}

/// What a database is asked for at a level, kind by kind, as JSON; raises `Refused` where the
/// cluster's shape can't satisfy it.
#[pyfunction]
fn resolve_consistency(
    database: &str,
    consistency_json: &str,
    shape_json: &str,
) -> PyResult<String> {
    let value: serde_json::Value = parse(consistency_json)?;
    let shape: Shape = parse(shape_json)?;
    let levels = consistency::resolve(database, &value, shape).map_err(error::refused)?;
    let texts: std::collections::BTreeMap<_, _> =
        levels.texts().into_iter().map(|(kind, text)| (kind.name(), text)).collect();
    to_json(&texts)
}

/// What a level promises on a cluster of that shape, as JSON: a list of pairs of a level of reads and
/// one of writes, each with its promises and their sources. Raises as `resolve_consistency` does.
#[pyfunction]
fn promises(
    database: &str,
    consistency_json: &str,
    nodes: u32,
    replication: u32,
) -> PyResult<String> {
    let value: serde_json::Value = parse(consistency_json)?;
    let shape = Shape { nodes, replication };
    let levels = consistency::resolve(database, &value, shape).map_err(error::refused)?;
    to_json(&consistency::promises(&levels, shape))
}

/// What each guarantee demands: a list of (name, meaning), in the order of reports.
#[pyfunction]
fn guarantees() -> Vec<(&'static str, &'static str)> {
    consistency::Guarantee::ALL.map(|g| (g.name(), g.meaning())).to_vec()
}

/// Checks a load specification without running it.
#[pyfunction]
fn check(spec_json: &str) -> PyResult<()> {
    Plan::new(parse(spec_json)?).map(|_| ()).map_err(error::load)
}

/// The first `count` operations of one user, as (kind, key, records that a scan asks for, else 0):
/// what a run with this specification will issue, without issuing it; each counts as done well before the next.
#[pyfunction]
fn operations(
    spec_json: &str,
    user: u32,
    count: usize,
) -> PyResult<Vec<(&'static str, String, u32)>> {
    let plan = Plan::new(parse(spec_json)?).map_err(error::load)?;
    let mut user = plan.workload.user(plan.spec.seed, user);
    Ok((0..count)
        .map(|_| {
            let request = user.next_request();
            let limit = match request.operation(&[]) {
                Operation::Scan { limit, .. } => limit,
                _ => 0,
            };
            let operation = (request.kind.name(), request.key().to_owned(), limit);
            user.completed(true);
            operation
        })
        .collect())
}

/// Connects to a cluster and asks how it is, in the background; the result is {"version": …, "unsettled": …}: the
/// version, null where it doesn't tell; and what keeps it from serving with all its servers, null if nothing does.
#[pyfunction]
fn probe(target_json: &str) -> PyResult<job::Job> {
    let target: Target = parse(target_json)?;
    job::Job::start(move |control| {
        Ok(serde_json::to_string(&pacelc_load::setup::probe(&target, control)?)?)
    })
}

/// Creates the table anew and empty, in the background; the result has `table_id`, the id that the database gave it,
/// and `container`, whether what holds it (a keyspace) had to be made. One that isn't this study's is refused.
#[pyfunction]
fn prepare(spec_json: &str) -> PyResult<job::Job> {
    let spec: LoadSpec = parse(spec_json)?;
    job::Job::start(move |control| {
        Ok(serde_json::to_string(&pacelc_load::setup::create_table(&spec, control)?)?)
    })
}

/// Drops the table if it is there and this study's, in the background, and with `container` what holds it, if that is
/// empty then; the result has `table`, whether it was there, and `container`, whether that went, too.
#[pyfunction]
#[pyo3(signature = (spec_json, container = false))]
fn clear(spec_json: &str, container: bool) -> PyResult<job::Job> {
    let spec: LoadSpec = parse(spec_json)?;
    job::Job::start(move |control| {
        Ok(serde_json::to_string(&pacelc_load::setup::clear(&spec, container, control)?)?)
    })
}

/// Inserts the records and counts them, in the background; the result is {"records": n}.
#[pyfunction]
fn load(spec_json: &str) -> PyResult<job::Job> {
    let spec: LoadSpec = parse(spec_json)?;
    job::Job::start(move |control| {
        pacelc_load::setup::insert_records(&spec, control).map(|n| format!("{{\"records\": {n}}}"))
    })
}

/// Runs the users, in the background; the result is what was measured.
#[pyfunction]
fn run(spec_json: &str) -> PyResult<job::Job> {
    let spec: LoadSpec = parse(spec_json)?;
    job::Job::start(move |control| {
        let result = pacelc_load::run(&spec, control)?;
        Ok(serde_json::to_string(&result)?)
    })
}

/// Reads records by number at the strongest level, in the background, for at most `limit_s` seconds;
/// the result has `level`, `found` with `writer` and `sequence`, `missing`, `unread`, `errors`.
#[pyfunction]
fn read_back(spec_json: &str, records: Vec<u64>, limit_s: f64) -> PyResult<job::Job> {
    let spec: LoadSpec = parse(spec_json)?;
    let limit = Duration::try_from_secs_f64(limit_s.max(0.0)).unwrap_or(Duration::MAX);
    job::Job::start(move |control| {
        let found = pacelc_load::read_back::read_back(&spec, records, limit, control)?;
        Ok(serde_json::to_string(&found)?)
    })
}

/// The results of machines that measured together, as one; raises `EngineError` where one is damaged.
#[pyfunction]
fn merge(py: Python<'_>, results_json: Vec<String>) -> PyResult<String> {
    py.detach(|| {
        let parts = results_json
            .into_iter()
            .map(|json| serde_json::from_str(&json))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|problem| LoadError::Part { problem: problem.to_string() })?;
        Ok(serde_json::to_string(&pacelc_load::merge::merge(&parts)?)?)
    })
    .map_err(error::load)
}

/// Makes the hosts of an emulated network and moves their packets until standard input ends: what the
/// network's own process does. It tells where the hosts are on standard output, and answers commands.
#[pyfunction]
fn network(py: Python<'_>, spec_json: &str) -> PyResult<()> {
    py.detach(|| pacelc_wan::run(spec_json)).map_err(|e| error::wan(&e))
}

/// Disables the idle states of this machine's processors until the process is killed.
#[pyfunction]
fn disable_idle_states(py: Python<'_>) -> PyResult<()> {
    py.detach(pacelc_load::idle_states::disable).map_err(error::load)
}

fn parse<T: serde::de::DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|e| error::load(e.into()))
}

fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| error::load(e.into()))
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<job::Job>()?;
    error::add_to(module)?;
    history::add_to(module)?;
    simulation::add_to(module)?;
    queueing::add_to(module)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(bindings, module)?)?;
    module.add_function(wrap_pyfunction!(levels, module)?)?;
    module.add_function(wrap_pyfunction!(resolve_consistency, module)?)?;
    module.add_function(wrap_pyfunction!(promises, module)?)?;
    module.add_function(wrap_pyfunction!(guarantees, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(operations, module)?)?;
    module.add_function(wrap_pyfunction!(probe, module)?)?;
    module.add_function(wrap_pyfunction!(prepare, module)?)?;
    module.add_function(wrap_pyfunction!(clear, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(read_back, module)?)?;
    module.add_function(wrap_pyfunction!(merge, module)?)?;
    module.add_function(wrap_pyfunction!(observed::observe, module)?)?;
    module.add_function(wrap_pyfunction!(observed::pack_log, module)?)?;
    module.add_function(wrap_pyfunction!(observed::staleness_of_reads, module)?)?;
    module.add_function(wrap_pyfunction!(observed::fates_of_writes, module)?)?;
    module.add_function(wrap_pyfunction!(network, module)?)?;
    module.add_function(wrap_pyfunction!(disable_idle_states, module)?)?;
    Ok(())
}
