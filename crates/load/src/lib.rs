//! The load loop: users, phases, and what they measured.
//!
//! Start with [`run`]. A run is made of *threads*, each with a runtime, a binding and a recorder
//! of its own, and of *users*, spread over the threads, each in a closed loop: next request,
//! execute, record, again. Threads share nothing on the way but the [`Timeline`](timeline).
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | what a run is, as JSON, and its checks |
//! | [`setup`] | before a run: create the table, insert the records, count them |
//! | [`timeline`] | spawn → warm-up → measure, agreed between threads |
//! | [`user`] | one user's closed loop |
//! | [`thread`] | one engine thread |
//! | [`control`] | how a run is watched and stopped from outside |
//! | [`operations`] | operations one by one, on disk, where a run asks for them |
//! | [`result`] | what comes out |
//!
//! Latency is measured around [`Session::execute`](pacelc_bindings::Session::execute), from the
//! moment that the user was free: the loops here are closed, and say so. An operation's time limit
//! is the loop's, not the driver's: past it the call is dropped and counts as unknown.

pub mod control;
pub mod operations;
pub mod result;
pub mod setup;
pub mod spec;
pub mod thread;
pub mod timeline;
pub mod user;

use pacelc_bindings::{Binding, BindingError, for_database};
use pacelc_core::Refused;
use pacelc_measure::Collector;
use pacelc_workload::WorkloadError;
use std::sync::{Arc, mpsc};

pub use control::{Control, Progress};
pub use result::RunResult;
pub use spec::{LoadSpec, Plan};

/// Why a run did not take place. Errors of single operations are outcomes, never this.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The specification isn't valid JSON of its kind.
    #[error("the load specification can't be read: {0}")]
    Spec(#[from] serde_json::Error),
    /// A number in it makes no sense.
    #[error("{field}: {problem}")]
    Value {
        /// Which.
        field: &'static str,
        /// Why.
        problem: String,
    },
    /// The workload makes no sense.
    #[error("workload.{0}")]
    Workload(#[from] WorkloadError),
    /// The cluster can't satisfy the level.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The cluster can't be spoken to.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// A record could not be loaded, or is missing afterwards.
    #[error("loading the records: {0}")]
    Records(String),
    /// The machine: no thread, no file.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It was stopped from outside.
    #[error("stopped")]
    Stopped,
}

/// Runs `spec` to its end, and returns what was measured.
///
/// Blocks; `control` tells of its progress and stops it.
///
/// # Errors
/// See [`LoadError`].
pub fn run(spec: &LoadSpec, control: &Control) -> Result<RunResult, LoadError> {
    let plan = Arc::new(Plan::new(spec.clone())?);
    for_database!(plan.context.target.database.as_str(), B => run_with::<B>(&plan, control), Err(unknown(&plan.context.target.database)))
}

fn unknown(database: &str) -> LoadError {
    BindingError::target(
        format!("no binding is called `{database}`"),
        format!("known are {}", pacelc_bindings::DATABASES.join(", ")),
    )
    .into()
}

fn run_with<B: Binding>(plan: &Arc<Plan>, control: &Control) -> Result<RunResult, LoadError> {
    let timeline = Arc::new(timeline::Timeline::new(plan));
    let (sender, events) = mpsc::channel();
    let threads = plan.spec.threads;
    let mut handles = Vec::with_capacity(threads);
    for number in 0..threads {
        let (plan, timeline, sender) = (Arc::clone(plan), Arc::clone(&timeline), sender.clone());
        let stop = control.stop_flag();
        let body = move || thread::run::<B>(&plan, &timeline, number, &sender, &stop);
        let handle = std::thread::Builder::new()
            .name(format!("pacelc-load-{number}"))
            .spawn(body)
            .map_err(|cause| LoadError::System { what: "starting a load thread".into(), cause })?;
        handles.push(handle);
    }
    drop(sender);

    let mut collector = Collector::new(threads);
    let mut gathered = result::Gathered::default();
    let mut failure = None;
    // Ends when every thread has dropped its sender, that is, when all have ended.
    while let Some(event) = control::next(&events, control, &timeline) {
        match event {
            thread::Event::Opened(in_force) => gathered.in_force = in_force,
            thread::Event::Batch { thread, batch } => {
                control.show(collector.add(thread, batch));
            }
            thread::Event::Cpu(cpu) => gathered.cpu.add(cpu),
            thread::Event::Failed(error) => {
                // The first error is the cause; those after it are often its echo.
                failure.get_or_insert(error);
                control.stop();
            }
        }
    }
    for handle in handles {
        if handle.join().is_err() {
            return Err(LoadError::System {
                what: "a load thread panicked".into(),
                cause: std::io::Error::other("see the message above"),
            });
        }
    }
    match failure {
        Some(error) => Err(error),
        None if control.is_stopped() => Err(LoadError::Stopped),
        None => Ok(result::assemble(plan, &timeline, collector, gathered)),
    }
}
