//! One engine thread: a runtime, a binding, a recorder, and the users that share them.

use crate::operations::OperationLog;
use crate::timeline::Timeline;
use crate::user::{self, Shared};
use crate::{LoadError, Plan};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use pacelc_bindings::{Binding, BindingError, Context};
use pacelc_core::OperationKind;
use pacelc_measure::{Batch, INTERVAL_NS};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, LocalSet};
use tokio::time;

/// How long a binding or a session may take to open.
pub const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// What a thread tells the run.
#[derive(Debug)]
pub enum Event {
    /// The binding is open; the levels as they will be sent.
    Opened(Vec<(OperationKind, String)>),
    /// What was seen in one interval.
    Batch {
        /// The thread's number.
        thread: usize,
        /// What it saw.
        batch: Batch,
    },
    /// CPU time that the thread took while measuring.
    Cpu(CpuTime),
    /// The thread has ended early.
    Failed(LoadError),
}

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuTime {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// What the calling thread has taken since it began; zero where the kernel doesn't tell.
    fn of_this_thread() -> Self {
        let seconds = |t: nix::sys::time::TimeVal| t.num_microseconds() as f64 / 1e6;
        getrusage(UsageWho::RUSAGE_THREAD).map_or(Self::default(), |usage| Self {
            user_s: seconds(usage.user_time()),
            system_s: seconds(usage.system_time()),
        })
    }

    fn since(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
    }
}

/// Runs the thread's users from the first one's start to the last one's end.
pub fn run<B: Binding>(
    plan: &Plan,
    timeline: &Timeline,
    number: usize,
    events: &Sender<Event>,
    stop: &AtomicBool,
) {
    let result = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| LoadError::System { what: "starting a runtime".into(), cause })
        .and_then(|runtime| {
            LocalSet::new().block_on(&runtime, users::<B>(plan, timeline, number, events, stop))
        });
    if let Err(error) = result {
        // Nobody listens only when the run has already ended.
        let _ = events.send(Event::Failed(error));
    }
}

async fn users<B: Binding>(
    plan: &Plan,
    timeline: &Timeline,
    number: usize,
    events: &Sender<Event>,
    stop: &AtomicBool,
) -> Result<(), LoadError> {
    let binding = open::<B>(plan).await?;
    let _ = events.send(Event::Opened(binding.in_force()));
    let operations = match &plan.spec.record_operations {
        Some(path) => Some(OperationLog::create(path, number)?),
        None => None,
    };
    let shared = Rc::new(Shared::new(plan, operations));

    // Scoped by hand: local tasks borrow nothing, so what they need is reference-counted.
    let local = LocalScope { timeline, stop, events, shared: &shared, number };
    let mut tasks = JoinSet::new();
    for user in (number as u32..plan.spec.users).step_by(plan.spec.threads) {
        let start = timeline.at((f64::from(user) / plan.spec.spawn_rate_per_s * 1e9) as u64);
        local.tick_until(start).await;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let session = time::timeout(OPEN_TIMEOUT, binding.session()).await.map_err(|_| {
            BindingError::connect(&plan.context.target.database, "", "no answer in 30 s")
        })??;
        let requests = plan.workload.user(plan.spec.seed, user, plan.spec.users);
        tasks.spawn_local(user::closed_loop(session, requests, Rc::clone(&shared)));
        timeline.user_is_in();
        shared.learn_timeline(timeline);
    }
    local.measure(&mut tasks).await
}

/// Opens a binding, or says that it took too long.
pub(crate) async fn open<B: Binding>(plan: &Plan) -> Result<B, LoadError> {
    open_context(&plan.context).await
}

/// The same, where there is no plan yet.
pub(crate) async fn open_context<B: Binding>(context: &Context) -> Result<B, LoadError> {
    let target = &context.target;
    time::timeout(OPEN_TIMEOUT, B::open(context)).await.map_or_else(
        |_| {
            let address = target.endpoints.first().map_or("", String::as_str);
            Err(BindingError::connect(&target.database, address, "no answer in 30 s").into())
        },
        |opened| opened.map_err(LoadError::from),
    )
}

struct LocalScope<'a> {
    timeline: &'a Timeline,
    stop: &'a AtomicBool,
    events: &'a Sender<Event>,
    shared: &'a Shared,
    number: usize,
}

/// How often a thread looks whether it is to stop, and learns of the timeline.
const TICK: Duration = Duration::from_millis(50);

impl LocalScope<'_> {
    /// One look around: hands over intervals that have ended, hears a stop.
    fn tick(&self) {
        self.shared.learn_timeline(self.timeline);
        if self.stop.load(Ordering::Relaxed) {
            self.shared.stop();
        }
        for batch in self.shared.finished_batches(self.timeline.ns(Instant::now())) {
            let _ = self.events.send(Event::Batch { thread: self.number, batch });
        }
    }

    async fn tick_until(&self, moment: Instant) {
        loop {
            self.tick();
            let now = Instant::now();
            if now >= moment || self.stop.load(Ordering::Relaxed) {
                return;
            }
            time::sleep((moment - now).min(TICK)).await;
        }
    }

    /// From the last user's start on this thread to the end of its last operation.
    async fn measure(&self, tasks: &mut JoinSet<()>) -> Result<(), LoadError> {
        while self.timeline.measure_start_ns().is_none() && !self.stop.load(Ordering::Relaxed) {
            self.tick_until(Instant::now() + TICK).await;
        }
        let start = self.timeline.measure_start_ns().unwrap_or(0);
        self.tick_until(self.timeline.at(start)).await;
        let before = CpuTime::of_this_thread();
        self.tick_until(self.timeline.at(self.timeline.measure_end_ns().unwrap_or(0))).await;
        let cpu = CpuTime::of_this_thread().since(before);
        // Users end by themselves, each after its last operation or that one's time limit; those
        // who are to stop at once are dropped in mid-operation.
        loop {
            self.tick();
            if self.stop.load(Ordering::Relaxed) {
                tasks.shutdown().await;
            }
            match time::timeout(TICK, tasks.join_next()).await {
                Ok(None) => break,
                Ok(Some(Err(error))) if error.is_panic() => {
                    return Err(LoadError::System {
                        what: "a user panicked".into(),
                        cause: std::io::Error::other(error.to_string()),
                    });
                }
                Ok(Some(_)) | Err(_) => {}
            }
        }
        let far = self.timeline.ns(Instant::now()) + 2 * INTERVAL_NS;
        for batch in self.shared.finished_batches(far) {
            let _ = self.events.send(Event::Batch { thread: self.number, batch });
        }
        let _ = self.events.send(Event::Cpu(cpu));
        self.shared.close_log()
    }
}
