//! Recorded operations, and what the checkers say of them.
//!
//! Operations come as rows (`pacelc_history::log`), which Python has as one piece of memory.

use crate::error;
use crate::{parse, to_json};
use pacelc_history::formats::native;
use pacelc_history::log::{self, Logged};
use pacelc_history::{fates, observed, staleness};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What clients observed, as JSON, of the rows that `logged_json` says how to read.
#[pyfunction]
pub fn observe(py: Python<'_>, rows: &[u8], logged_json: &str) -> PyResult<String> {
    let logged: Logged = parse(logged_json)?;
    let observed = py.detach(|| observed::observe(&log::read(rows, &logged)?, &logged));
    to_json(&observed.map_err(|e| error::log(&e))?)
}

/// The operations on registers that the rows are, packed: see `pacelc_history::formats::native`.
#[pyfunction]
pub fn pack_log<'py>(
    py: Python<'py>,
    rows: &[u8],
    logged_json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let logged: Logged = parse(logged_json)?;
    let packed = py.detach(|| {
        let log = log::read(rows, &logged)?;
        Ok(native::pack(log.history.operations().iter().chain(&log.deleted)))
    });
    Ok(PyBytes::new(py, &packed.map_err(|e| error::log(&e))?))
}

/// How stale each read was: rows of five little-endian 64-bit integers: the row that it is from, the
/// staleness in nanoseconds at least and at most, and in versions at least and at most.
#[pyfunction]
pub fn staleness_of_reads<'py>(
    py: Python<'py>,
    rows: &[u8],
    logged_json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let logged: Logged = parse(logged_json)?;
    let found = py.detach(|| {
        let log = log::read(rows, &logged)?;
        let reads = staleness::of_reads(&log.history)?;
        Ok(reads
            .iter()
            .flat_map(|read| {
                let row = i64::from(log.rows[read.operation]);
                let versions = [read.least_versions.into(), read.most_versions.into()];
                [row, read.least_ns, read.most_ns, versions[0], versions[1]]
            })
            .flat_map(i64::to_le_bytes)
            .collect::<Vec<u8>>())
    });
    Ok(PyBytes::new(py, &found.map_err(|e| error::log(&e))?))
}

/// What became of each row's write, a byte a row: 0 kept, 1 lost, 2 unread, 3 untold, 255 for what is
/// no acknowledged write, or one of a record that somebody deleted.
#[pyfunction]
pub fn fates_of_writes<'py>(
    py: Python<'py>,
    rows: &[u8],
    read_back: &[u8],
    logged_json: &str,
    one_version: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let logged: Logged = parse(logged_json)?;
    let found = py.detach(|| fates::fates(rows, read_back, &logged, one_version));
    let found = found.map_err(|e| error::log(&e))?;
    Ok(PyBytes::new(py, &found.into_iter().map(|after| after as u8).collect::<Vec<u8>>()))
}
