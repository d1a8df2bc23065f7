//! Histories of operations: read, and checked without the GIL; Ctrl-C stops it.

use crate::{door, error};
use pacelc_history::formats::{BadLine, Format, Read};
use pacelc_history::general::STATE_BYTES;
use pacelc_history::{Action, Counts, Fate, Finding, Initial, Limits, Operation, Version};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How to check.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// By its name; else told by the content.
    format: Option<String>,
    initial: What,
    time_limit_s: f64,
    memory_limit_bytes: usize,
    /// An earlier run left writes of unknown outcome.
    #[serde(default)]
    earlier_unknown: bool,
    /// Registers that were written before it began: the first one's key, and the first that wasn't.
    #[serde(default)]
    loaded: (u64, u64),
}

/// What registers hold at first.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Nothing,
    Earlier,
    Any,
    Value(u64),
}

#[derive(Serialize)]
struct Answer<'a> {
    format: &'static str,
    #[serde(flatten)]
    counts: Counts,
    /// Whether times are nanoseconds, or numbers of the file's events.
    timed: bool,
    verdict: &'static str,
    /// Why it is unknown.
    reason: Option<&'a str>,
    explanation: Option<&'a str>,
    witness: Vec<Row>,
}

/// An operation of a witness, in words.
#[derive(Serialize)]
struct Row {
    session: u32,
    register: String,
    action: &'static str,
    expected: Option<String>,
    value: String,
    outcome: &'static str,
    start_ns: i64,
    end_ns: Option<i64>,
    line: Option<u32>,
}

/// Reads a history and checks whether its registers are linearizable; options, and the answer with
/// verdict, witness and counts, are JSON. Raises `InputError`, with the line, where it can't be read.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what comes from Python is owned, and may be used without the GIL
fn check_history(py: Python<'_>, data: PyBackedBytes, options_json: &str) -> PyResult<String> {
    let options: Options = crate::parse(options_json)?;
    door::heard(py, |stopped| checked(&data, &options, stopped))?
        .map_err(|problem| error::history(&problem))
}

/// Reads a history and packs its operations as rows; see `pacelc_history::formats::native`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what comes from Python is owned, and may be used without the GIL
fn pack_history(py: Python<'_>, data: PyBackedBytes) -> PyResult<Vec<u8>> {
    door::heard(py, |_| {
        let read = Format::of(&data).read(&data)?;
        Ok(pacelc_history::formats::native::pack(read.history.operations()))
    })?
    .map_err(|problem: BadLine| error::history(&problem))
}

fn checked(
    data: &[u8],
    options: &Options,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<String, BadLine> {
    let named = options.format.as_deref().and_then(Format::named);
    let format = named.unwrap_or_else(|| Format::of(data));
    let mut read = format.read(data)?;
    read.history.earlier_unknown = options.earlier_unknown;
    read.history.loaded = options.loaded.0..options.loaded.1;
    let begin = Instant::now();
    let limit = Duration::try_from_secs_f64(options.time_limit_s).unwrap_or(Duration::MAX);
    let limits = Limits {
        states: options.memory_limit_bytes / STATE_BYTES,
        give_up: &|| stopped() || begin.elapsed() > limit,
    };
    let initial = match options.initial {
        What::Nothing => Initial::Known(Version::ABSENT),
        What::Earlier => Initial::Earlier,
        What::Any => Initial::Any,
        What::Value(value) => Initial::Known(Version(value)),
    };
    let finding = pacelc_history::check_registers(&read.history, initial, limits, &read.names);
    let mut answer = Answer {
        format: format.name(),
        counts: Counts::of(&read.history),
        timed: read.is_timed,
        verdict: "holds",
        reason: None,
        explanation: None,
        witness: Vec::new(),
    };
    match &finding {
        Finding::Holds => {}
        Finding::Unknown { reason } => {
            answer.verdict = "unknown";
            answer.reason = Some(reason);
        }
        Finding::Violated { witness } => {
            answer.verdict = "violated";
            answer.explanation = Some(&witness.explanation);
            answer.witness = witness.operations.iter().map(|one| row(one, &read)).collect();
        }
    }
    Ok(serde_json::to_string(&answer).expect("these are numbers and texts"))
}

fn row(operation: &Operation, read: &Read) -> Row {
    let place = read.history.operations().iter().position(|other| other == operation);
    let name = |version| read.names.version(version);
    let (action, expected) = match operation.action {
        Action::Read => ("read", None),
        Action::Write => ("write", None),
        Action::CompareAndSet { expected } => ("cas", Some(name(expected))),
    };
    Row {
        session: operation.session,
        register: read.names.key(operation.key),
        action,
        expected,
        value: name(operation.version),
        outcome: match operation.fate {
            Fate::Ok => "ok",
            Fate::Failed => "fail",
            Fate::Unknown => "unknown",
        },
        start_ns: operation.start_ns,
        end_ns: (operation.fate != Fate::Unknown).then_some(operation.end_ns),
        line: place.and_then(|place| read.lines.get(place).copied()),
    }
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_history, module)?)?;
    module.add_function(wrap_pyfunction!(pack_history, module)?)?;
    Ok(())
}
