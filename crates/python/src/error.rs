//! The one place where the crates' errors become Python's.
//!
//! Each carries `message`, one line that says what is wrong, and `hint`, one that says what to do.

use pacelc_core::Refused;
use pacelc_history::BadHistory;
use pacelc_history::formats::BadLine;
use pacelc_load::LoadError;
use pacelc_queueing::QueueingError;
use pacelc_wan::WanError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(pacelc._engine, EngineError, PyException, "The engine could not do it.");
create_exception!(
    pacelc._engine,
    RefusedError,
    EngineError,
    "A specification that makes no sense, or a level that the cluster can't satisfy."
);
create_exception!(pacelc._engine, ConnectError, EngineError, "The cluster can't be reached.");
create_exception!(
    pacelc._engine,
    RecordsLostError,
    EngineError,
    "What was loaded isn't there, or not as it was loaded."
);
create_exception!(pacelc._engine, StoppedError, EngineError, "The job was stopped.");

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("EngineError", py.get_type::<EngineError>())?;
    module.add("Refused", py.get_type::<RefusedError>())?;
    module.add("ConnectError", py.get_type::<ConnectError>())?;
    module.add("RecordsLost", py.get_type::<RecordsLostError>())?;
    module.add("Stopped", py.get_type::<StoppedError>())?;
    Ok(())
}

pub fn refused(error: Refused) -> PyErr {
    with_fields::<RefusedError>(error.message, error.hint)
}

pub fn load(error: LoadError) -> PyErr {
    match error {
        LoadError::Refused(error) => refused(error),
        LoadError::Binding(error) if error.connection => {
            with_fields::<ConnectError>(error.message, error.hint)
        }
        LoadError::Binding(error) => with_fields::<EngineError>(error.message, error.hint),
        LoadError::Spec(_) | LoadError::Value { .. } | LoadError::Workload(_) => {
            with_fields::<RefusedError>(error.to_string(), "correct the study".into())
        }
        LoadError::Lost(_) => {
            with_fields::<RecordsLostError>(error.to_string(), "see the servers' logs".into())
        }
        LoadError::Stopped => with_fields::<StoppedError>("stopped".into(), String::new()),
        other => {
            let hint = match &other {
                LoadError::Records(_) => "see the servers' logs",
                LoadError::Part { .. } => "run it again; if it persists, report it as a bug",
                LoadError::System { .. } => {
                    "check the disk, its permissions and the process limits"
                }
                _ => "correct the study",
            };
            with_fields::<EngineError>(other.to_string(), hint.into())
        }
    }
}

/// And so is a log that no engine wrote.
pub fn log(error: &BadHistory) -> PyErr {
    let message = format!("row {}: {error}", error.operation + 1);
    of_package("InputError", message, "the log of operations is damaged, or of a newer pacelc")
}

pub fn wan(error: &WanError) -> PyErr {
    let hint = match error {
        WanError::System { .. } => "`pacelc doctor` says what this machine allows",
        _ => "correct the regions and links of the study",
    };
    with_fields::<EngineError>(error.to_string(), hint.into())
}

/// What is wrong with a network is the caller's input: the package's own `InputError`.
pub fn queueing(error: &QueueingError) -> PyErr {
    let hint = match error {
        QueueingError::Invalid(_) | QueueingError::Json(_) => "correct the network",
        QueueingError::Unsuited(_) => "name another solver, or simulate it",
        QueueingError::Diverges(_) => "less load, or more servers",
        QueueingError::Stopped => {
            return with_fields::<StoppedError>("stopped".into(), String::new());
        }
    };
    let class = match error {
        QueueingError::Diverges(_) => "NoSteadyState",
        _ => "InputError",
    };
    of_package(class, error.to_string(), hint)
}

/// A file that isn't what it should be is the caller's input.
pub fn history(error: &BadLine) -> PyErr {
    of_package("InputError", error.to_string(), "see docs/reference/check.md for what is read")
}

/// An exception of the package's own.
fn of_package(class: &str, message: String, hint: &str) -> PyErr {
    Python::attach(|py| {
        let raised = py
            .import("pacelc.errors")
            .and_then(|module| module.getattr(class))
            .and_then(|class| class.call1((message, hint)));
        raised.map_or_else(|problem| problem, PyErr::from_value)
    })
}

/// An exception of class `E` whose `message` and `hint` can be read.
fn with_fields<E: pyo3::type_object::PyTypeInfo>(message: String, hint: String) -> PyErr {
    Python::attach(|py| {
        let error = PyErr::from_type(py.get_type::<E>(), (message.clone(),));
        let value = error.value(py);
        // A class of ours takes attributes; if it ever didn't, the argument still says what is wrong.
        let _ = value.setattr("message", message);
        let _ = value.setattr("hint", hint);
        error
    })
}
