//! One engine thread: a runtime, a binding, a recorder, and the users that share them.
//!
//! A recorder is its thread's own, so recording an operation takes no lock. Once a second a thread
//! hands over a batch of what it measured. One thread is the default: it serves thousands of users,
//! and a second one would compete for cores with servers on the same machine.

use crate::arrivals::{Arrivals, Schedule, Times, Whose};
use crate::cpu::CpuTime;
use crate::observer::Logs;
use crate::opening::{OPEN_TIMEOUT, STEP_LIMIT, in_time, open, require_ours};
use crate::timeline::Timeline;
use crate::user::{self, Pace, Punctuality, Shared};
use crate::warm_up::Pulse;
use crate::{Control, LoadError, Plan};
use nix::sched::{CloneFlags, setns};
use pacelc_bindings::Binding;
use pacelc_core::OperationKind;
use pacelc_measure::{Batch, INTERVAL_NS};
use std::cell::RefCell;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, LocalSet};
use tokio::time;

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
    /// The thread has ended.
    Ended {
        /// The thread's number.
        thread: usize,
        /// CPU time that it took while measuring.
        cpu: CpuTime,
        /// Of which so many seconds were nothing but waiting for something to be due.
        awake_s: f64,
        /// Further requests, sent while measuring, of operations that were slow to be answered.
        hedges: u64,
        /// How well it kept its schedule.
        punctuality: Box<Punctuality>,
        /// When its first measured operation started.
        first_start_ns: Option<u64>,
    },
    /// The thread has ended early.
    Failed(LoadError),
}

/// What all threads of a run see, or those of one group of users.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub plan: Arc<Plan>,
    pub timeline: Arc<Timeline>,
    pub pulse: Arc<Pulse>,
    pub stop: Arc<AtomicBool>,
    /// Where operations are recorded, if they are.
    pub logs: Option<Logs>,
    /// The number of the plan's first thread among all of the run.
    pub first_thread: usize,
    /// The network that the plan's users are in; `None`: where the engine is.
    pub namespace: Option<PathBuf>,
}

impl Run {
    /// Of all threads of `plan`, from now on.
    pub(crate) fn new(plan: &Arc<Plan>, control: &Control, logs: Option<&Logs>) -> Self {
        Self {
            plan: Arc::clone(plan),
            timeline: Arc::new(Timeline::new(&plan.spec)),
            pulse: Arc::default(),
            stop: Arc::clone(control.stop_flag()),
            logs: logs.cloned(),
            first_thread: 0,
            namespace: None,
        }
    }

    /// Puts the calling thread, for good, where the plan's users are.
    fn enter(&self) -> Result<(), LoadError> {
        let Some(path) = &self.namespace else { return Ok(()) };
        File::open(path).and_then(|file| Ok(setns(file, CloneFlags::CLONE_NEWNET)?)).map_err(
            |cause| LoadError::System { what: "entering the users' network".into(), cause },
        )
    }
}

/// Runs the thread's users from the first one's start to the last one's end.
///
/// `number` is the thread's among those of its plan.
pub(crate) fn run<B: Binding>(run: &Run, number: usize, events: &Sender<Event>) {
    let runtime = || {
        let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
        built.map_err(|cause| LoadError::System { what: "starting a runtime".into(), cause })
    };
    let result = run
        .enter()
        .and_then(|()| runtime())
        .and_then(|runtime| LocalSet::new().block_on(&runtime, users::<B>(run, number, events)));
    if let Err(error) = result {
        // Nobody listens only when the run has already ended.
        let _ = events.send(Event::Failed(error));
    }
}

async fn users<B: Binding>(
    run: &Run,
    number: usize,
    events: &Sender<Event>,
) -> Result<(), LoadError> {
    let (plan, timeline) = (&*run.plan, &run.timeline);
    let opening = async {
        let binding: B = open(plan).await?;
        if number == 0 {
            require_ours(&binding, plan).await?;
        }
        Ok(binding)
    };
    let binding = in_time("connecting", STEP_LIMIT, &run.stop, opening).await?;
    let _ = events.send(Event::Opened(binding.in_force()));
    let operations = run.logs.as_ref().map(Logs::log);
    let part = plan.part(number);
    let shared = Shared::new::<B>(plan, timeline, operations, part.users, part.operations)?;
    let shared = Rc::new(shared);
    let ringing = Rc::clone(&shared);
    tokio::task::spawn_local(async move { ringing.alarm.ring().await });

    // Scoped by hand: local tasks borrow nothing, so what they need is reference-counted.
    let thread = run.first_thread + number;
    let local = LocalScope { run, events, shared: &shared, thread };
    let mut paces = Paces::new(plan, &part);
    let mut tasks = JoinSet::new();
    for user in (number as u32..plan.spec.users).step_by(plan.spec.threads) {
        let start = timeline.at((f64::from(user) / plan.spec.spawn_rate_per_s * 1e9) as u64);
        local.tick_until(start).await;
        if run.stop.load(Ordering::Relaxed) {
            break;
        }
        let opening = async { Ok(binding.session().await?) };
        let session = in_time("opening a session", OPEN_TIMEOUT, &run.stop, opening).await?;
        let user = plan.spec.first_user + user;
        let requests = plan.workload.user(plan.spec.seed, user);
        tasks.spawn_local(user::run(session, requests, paces.of(user), Rc::clone(&shared)));
        timeline.user_is_in();
        shared.learn_timeline(timeline);
    }
    local.measure(&mut tasks, &paces, || binding.hedges()).await
}

/// Gives each user of a thread its pace.
struct Paces<'a> {
    plan: &'a Plan,
    /// The one that users share, or one a user.
    schedules: Vec<Rc<RefCell<Schedule>>>,
}

impl<'a> Paces<'a> {
    fn new(plan: &'a Plan, part: &crate::spec::Part) -> Self {
        let mut paces = Self { plan, schedules: Vec::new() };
        if let Arrivals::Open { rate_per_s, spread, schedule: Whose::Shared } = plan.spec.arrivals {
            let (rate_per_s, seed) = (rate_per_s * part.share, plan.spec.seed);
            paces.add(Schedule::new(rate_per_s, spread, seed, part.stream, part.streams));
        }
        paces
    }

    fn add(&mut self, schedule: Schedule) -> Rc<RefCell<Schedule>> {
        let schedule = Rc::new(RefCell::new(schedule));
        self.schedules.push(Rc::clone(&schedule));
        schedule
    }

    fn of(&mut self, user: u32) -> Pace {
        let (seed, users) = (self.plan.spec.seed, self.plan.spec.all_users());
        match self.plan.spec.arrivals {
            Arrivals::Closed { think_s, think } => {
                Pace::Closed(Times::new(think_s, think, seed, u64::from(user)))
            }
            Arrivals::Open { schedule: Whose::Shared, .. } => {
                Pace::Open(Rc::clone(&self.schedules[0]))
            }
            Arrivals::Open { rate_per_s, spread, schedule: Whose::User } => {
                let (rate_per_s, user) = (rate_per_s / f64::from(users), u64::from(user));
                let own = Schedule::new(rate_per_s, spread, seed, user, u64::from(users));
                Pace::Open(self.add(own))
            }
        }
    }
}

struct LocalScope<'a> {
    run: &'a Run,
    events: &'a Sender<Event>,
    shared: &'a Shared,
    thread: usize,
}

/// How often a thread looks whether it is to stop, and learns of the timeline.
const TICK: Duration = Duration::from_millis(50);

impl LocalScope<'_> {
    /// One look around: hands over intervals that have ended, hears a stop.
    fn tick(&self) {
        let timeline = &self.run.timeline;
        self.shared.learn_timeline(timeline);
        self.shared.beat(&self.run.pulse);
        if self.is_stopped() {
            self.shared.stop();
        }
        for batch in self.shared.finished_batches(timeline.ns(Instant::now())) {
            let _ = self.events.send(Event::Batch { thread: self.thread, batch });
        }
    }

    fn is_stopped(&self) -> bool {
        self.run.stop.load(Ordering::Relaxed)
    }

    /// Ticks until `moment`, or until nothing is left to wait for.
    async fn tick_until(&self, moment: Instant) {
        loop {
            self.tick();
            let now = Instant::now();
            if now >= moment || self.is_stopped() || self.shared.active.get() == 0 {
                return;
            }
            time::sleep((moment - now).min(TICK)).await;
        }
    }

    /// From the last user's start on this thread to the end of its last operation.
    async fn measure(
        &self,
        tasks: &mut JoinSet<()>,
        paces: &Paces<'_>,
        hedges: impl Fn() -> u64,
    ) -> Result<(), LoadError> {
        let timeline = &self.run.timeline;
        while timeline.measure_start_ns().is_none() && !self.is_stopped() {
            self.tick();
            time::sleep(TICK).await;
        }
        let start = timeline.measure_start_ns().unwrap_or(0);
        self.tick_until(timeline.at(start)).await;
        let (before, awake_before_ns) = (CpuTime::of_this_thread(), self.shared.alarm.awake_ns());
        let hedges_before = hedges();
        self.tick_until(timeline.at(timeline.measure_end_ns().unwrap_or(0))).await;
        let cpu = CpuTime::of_this_thread().since(before);
        let waited_ns = self.shared.alarm.awake_ns() - awake_before_ns;
        let hedges = hedges() - hedges_before;
        // Users end by themselves, each after its last operation or that one's time limit; those
        // who are to stop at once are dropped in mid-operation.
        loop {
            self.tick();
            if self.is_stopped() {
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
        for schedule in &paces.schedules {
            self.shared.count_not_started(&mut schedule.borrow_mut());
        }
        timeline.ended_early(self.shared.ended_ns.get());
        let far = timeline.ns(Instant::now()) + 2 * INTERVAL_NS;
        for batch in self.shared.finished_batches(far) {
            let _ = self.events.send(Event::Batch { thread: self.thread, batch });
        }
        let punctuality = Box::new(self.shared.punctuality.take());
        let first_start_ns = self.shared.first_start_ns.get();
        let awake_s = waited_ns as f64 / 1e9;
        let thread = self.thread;
        let ended = Event::Ended { thread, cpu, awake_s, hedges, punctuality, first_start_ns };
        let _ = self.events.send(ended);
        self.shared.close_log();
        Ok(())
    }
}
