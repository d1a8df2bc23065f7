//! A run in the background.

use crate::error;
use pacelc_load::{Control, LoadError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

type JobResult = Result<String, LoadError>;

enum State {
    Running(Receiver<JobResult>),
    Done(JobResult),
    Taken,
}

/// Work of the engine's, on threads of its own. Dropping it stops it.
#[pyclass(frozen, module = "pacelc._engine")]
pub struct Job {
    control: Arc<Control>,
    state: Mutex<State>,
}

/// How long Ctrl-C may go unheard.
const HEARING: Duration = Duration::from_millis(100);

impl Job {
    pub fn start(work: impl FnOnce(&Control) -> JobResult + Send + 'static) -> PyResult<Self> {
        let control = Arc::new(Control::default());
        let (sender, result) = channel();
        let theirs = Arc::clone(&control);
        std::thread::Builder::new().name("pacelc-job".into()).spawn(move || {
            // Nobody listens when the job was dropped meanwhile.
            let _ = sender.send(work(&theirs));
        })?;
        Ok(Self { control, state: Mutex::new(State::Running(result)) })
    }

    /// Waits without the GIL until the job is done or `limit` has passed.
    fn wait_for(&self, limit: Duration) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Running(result) = &*state else { return true };
        match result.recv_timeout(limit) {
            Ok(result) => *state = State::Done(result),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {
                *state = State::Done(Err(LoadError::System {
                    what: "the engine panicked".into(),
                    cause: std::io::Error::other("please report this as a bug"),
                }));
            }
        }
        true
    }
}

#[pymethods]
impl Job {
    /// Waits up to `timeout_s` seconds; True when the job is done. Other Python threads run
    /// meanwhile, and Ctrl-C is heard: it stops the job and raises `KeyboardInterrupt`.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s.max(0.0)).unwrap_or(Duration::MAX);
        let end = Instant::now().checked_add(timeout);
        loop {
            let left = end.map_or(HEARING, |end| end.saturating_duration_since(Instant::now()));
            if py.detach(|| self.wait_for(left.min(HEARING))) {
                return Ok(true);
            }
            if let Err(interrupt) = py.check_signals() {
                self.control.stop();
                return Err(interrupt);
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    /// Where the job stands: phase, `elapsed_s`, `measure_start_unix_s` (None until it is known),
    /// users, ok, fail, unknown, `throughput_per_s`, `p99_ns`, and by kind in `operations`: ok, fail, unknown, `latency_sum_ns`, `p50_ns`, `p99_ns`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let progress = self.control.progress();
        let done = !matches!(
            *self.state.lock().unwrap_or_else(PoisonError::into_inner),
            State::Running(_)
        );
        let dict = PyDict::new(py);
        dict.set_item("phase", if done { "done" } else { progress.phase.as_str() })?;
        dict.set_item("elapsed_s", progress.elapsed_s)?;
        dict.set_item("measure_start_unix_s", progress.measure_start_unix_s)?;
        dict.set_item("users", progress.users)?;
        dict.set_item("ok", progress.ok)?;
        dict.set_item("fail", progress.fail)?;
        dict.set_item("unknown", progress.unknown)?;
        dict.set_item("throughput_per_s", progress.throughput_per_s)?;
        dict.set_item("p99_ns", progress.p99_ns)?;
        let operations = PyDict::new(py);
        for (kind, so_far) in progress.operations {
            let counts = PyDict::new(py);
            counts.set_item("ok", so_far.ok)?;
            counts.set_item("fail", so_far.fail)?;
            counts.set_item("unknown", so_far.unknown)?;
            counts.set_item("latency_sum_ns", so_far.latency_sum_ns)?;
            counts.set_item("p50_ns", so_far.p50_ns)?;
            counts.set_item("p99_ns", so_far.p99_ns)?;
            operations.set_item(kind.name(), counts)?;
        }
        dict.set_item("operations", operations)?;
        Ok(dict)
    }

    /// Asks the job to end now; what it measured is dropped and `result` raises `Stopped`.
    fn stop(&self) {
        self.control.stop();
    }

    /// The result as JSON, once; waits for it if need be. Raises what went wrong.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, f64::MAX)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(result) => result.map_err(error::load),
            State::Running(_) | State::Taken => Err(error::load(LoadError::System {
                what: "the result was taken before".into(),
                cause: std::io::Error::other("ask for it once"),
            })),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.control.stop();
    }
}
