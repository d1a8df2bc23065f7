//! One user: waits until an operation is due, does it, records it, again.

use crate::alarm::Alarm;
use crate::arrivals::{Schedule, Times};
use crate::operations::{OperationLog, Seen};
use crate::timeline::Timeline;
use crate::warm_up::Pulse;
use crate::{LoadError, Plan};
use pacelc_bindings::{Binding, Session};
use pacelc_core::{ErrorKind, Operation, OperationKind, Outcome};
use pacelc_measure::{Batch, Recorder, Span};
use pacelc_workload::{Request, ScanFrom, User, Verifier};
use std::cell::{Cell, RefCell};
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time;

/// How long a user waits when the server can't be reached. Without it, a closed loop would turn a
/// dead server into millions of refused connections a second.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// What the users of one thread share. All of it is that thread's own: cells, no locks.
#[derive(Debug)]
pub struct Shared {
    origin: Instant,
    pub(crate) alarm: Alarm,
    /// When schedules begin; unknown until the last user is in.
    begin_ns: Cell<Option<u64>>,
    /// What is due from here on is measured; far away until that is known.
    measure_start_ns: Cell<u64>,
    /// Nothing is due from here on; far away until that is known.
    end_ns: Cell<u64>,
    /// Measured operations that may still start on this thread, where their number is limited.
    quota: Cell<Option<u64>>,
    /// The end of the last operation of a limited number.
    pub(crate) ended_ns: Cell<u64>,
    /// When the first measured operation started.
    pub(crate) first_start_ns: Cell<Option<u64>>,
    /// Users that have not ended yet.
    pub(crate) active: Cell<u32>,
    pub(crate) punctuality: RefCell<Punctuality>,
    /// Operations, and the sum of their latencies, since the last tick.
    done: Cell<(u64, u64)>,
    scheduled: bool,
    recorder: RefCell<Option<Recorder>>,
    batches: RefCell<Vec<Batch>>,
    operations: RefCell<Option<OperationLog>>,
    timeout: Duration,
    expected: Expected,
    verifier: Verifier,
}

/// What the rows of a read or scan must be like.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// Rows that a scan returns at least, if it asks for so many; 0 where records may have been deleted.
    scan_rows: u32,
    /// Whether reads must find rows: see [`Binding::KEEPS_RECORDS`].
    rows_come_back: bool,
}

impl Shared {
    /// For a thread of which `quota` measured operations are asked, and which has `users`.
    pub(crate) fn new<B: Binding>(
        plan: &Plan,
        timeline: &Timeline,
        operations: Option<OperationLog>,
        users: u32,
        quota: Option<u64>,
    ) -> Result<Self, LoadError> {
        let spec = plan.workload.spec();
        let deletes = plan.workload.has(OperationKind::Delete);
        let all = u32::try_from(spec.records).unwrap_or(u32::MAX);
        Ok(Self {
            origin: timeline.at(0),
            alarm: Alarm::new()?,
            begin_ns: Cell::new(None),
            measure_start_ns: Cell::new(u64::MAX),
            end_ns: Cell::new(u64::MAX),
            quota: Cell::new(quota),
            ended_ns: Cell::new(0),
            first_start_ns: Cell::new(None),
            active: Cell::new(users),
            punctuality: RefCell::default(),
            done: Cell::default(),
            scheduled: plan.spec.arrivals.scheduled(),
            recorder: RefCell::new(None),
            batches: RefCell::new(Vec::new()),
            operations: RefCell::new(operations),
            timeout: plan.context.operation_timeout,
            expected: Expected {
                scan_rows: match (deletes, spec.scan_from) {
                    (true, _) => 0,
                    (false, ScanFrom::Start) => all,
                    (false, ScanFrom::Key) => 1,
                },
                rows_come_back: B::KEEPS_RECORDS,
            },
            verifier: plan.verifier(),
        })
    }

    /// Begins to record as soon as every user is in; what users do before that, while others are
    /// still being spawned, is no part of any phase. Measures as soon as it is known from when.
    pub(crate) fn learn_timeline(&self, timeline: &Timeline) {
        if self.begin_ns.get().is_none()
            && let (Some(begin), Some(origin)) =
                (timeline.ready_ns(), timeline.intervals_origin_ns())
        {
            self.begin_ns.set(Some(begin));
            let mut recorder = Recorder::new(origin, timeline.ns(Instant::now()), self.scheduled);
            recorder.measure_from(u64::MAX);
            *self.recorder.borrow_mut() = Some(recorder);
            self.alarm.wake_all();
        }
        if self.end_ns.get() == u64::MAX
            && self.begin_ns.get().is_some()
            && let (Some(start), Some(end)) =
                (timeline.measure_start_ns(), timeline.measure_end_ns())
        {
            self.measure_start_ns.set(start);
            self.end_ns.set(end);
            if let Some(recorder) = self.recorder.borrow_mut().as_mut() {
                recorder.measure_from(start);
            }
            self.alarm.wake_all();
        }
    }

    /// No operation starts any more.
    pub(crate) fn stop(&self) {
        if self.end_ns.replace(0) != 0 {
            self.alarm.wake_all();
        }
    }

    /// The intervals that ended before `now_ns`.
    pub(crate) fn finished_batches(&self, now_ns: u64) -> Vec<Batch> {
        if let Some(recorder) = self.recorder.borrow_mut().as_mut()
            && recorder.is_over(now_ns)
        {
            self.batches.borrow_mut().push(recorder.roll(now_ns));
        }
        self.batches.take()
    }

    /// Tells what has completed since the last call.
    pub(crate) fn beat(&self, pulse: &Pulse) {
        let (operations, latency_ns) = self.done.take();
        pulse.add(operations, latency_ns);
    }

    pub(crate) fn close_log(&self) {
        if let Some(log) = self.operations.take() {
            log.close();
        }
    }

    /// Counts what `schedule` has left of what was due while measuring. There may be millions, so that
    /// it is done when every user has ended: counting takes time from operations that are under way.
    pub(crate) fn count_not_started(&self, schedule: &mut Schedule) {
        let (start_ns, end_ns) = (self.measure_start_ns.get(), self.end_ns.get());
        if let Some(begin_ns) = self.begin_ns.get().filter(|_| start_ns < end_ns) {
            let measuring = start_ns.saturating_sub(begin_ns)..end_ns.saturating_sub(begin_ns);
            let left = schedule.count_left(measuring);
            let mut punctuality = self.punctuality.borrow_mut();
            punctuality.due += left;
            punctuality.not_started += left;
            punctuality.waited += left;
        }
    }

    fn ns(&self, at: Instant) -> u64 {
        at.duration_since(self.origin).as_nanos() as u64
    }

    fn is_measured(&self, due_ns: u64) -> bool {
        due_ns >= self.measure_start_ns.get()
    }

    /// Whether one more operation may start, where their number is limited. The last one ends the
    /// run for the thread's other users too.
    fn takes_quota(&self, due_ns: u64) -> bool {
        let Some(left) = self.quota.get().filter(|_| self.is_measured(due_ns)) else { return true };
        self.quota.set(Some(left.saturating_sub(1)));
        if left <= 1 {
            self.stop();
        }
        left > 0
    }

    fn record(&self, request: &Request, outcome: &Outcome, seen: Option<Seen>, span: Span) {
        if self.first_start_ns.get().is_none() && self.is_measured(span.due_ns) {
            self.first_start_ns.set(Some(span.start_ns));
        }
        let (operations, latency_ns) = self.done.get();
        self.done.set((operations + 1, latency_ns + span.end_ns.saturating_sub(span.due_ns)));
        if self.quota.get() == Some(0) {
            self.ended_ns.set(self.ended_ns.get().max(span.end_ns));
        }
        if let Some(recorder) = self.recorder.borrow_mut().as_mut() {
            if recorder.is_over(span.end_ns) {
                self.batches.borrow_mut().push(recorder.roll(span.end_ns));
            }
            recorder.record(request.kind, outcome, span);
            if outcome.is_ok() && seen.is_some_and(|seen| seen.missed) {
                recorder.record_missed(request.kind, span);
            }
        }
        if let Some(log) = self.operations.borrow_mut().as_mut() {
            log.write(request, outcome, seen, span);
        }
    }
}

/// How well a schedule was kept, while measuring.
#[derive(Debug, Clone)]
pub struct Punctuality {
    /// What was due.
    pub due: u64,
    /// Of which so many had not started when measuring ended.
    pub not_started: u64,
    /// And so many had to wait for a user to be free: the server's doing, or that of too few users.
    pub waited: u64,
    /// From when an operation was due *and* its user free to its start: the client's own doing.
    pub lag: hdrhistogram::Histogram<u64>,
}

impl Default for Punctuality {
    fn default() -> Self {
        Self { due: 0, not_started: 0, waited: 0, lag: pacelc_measure::new_histogram() }
    }
}

impl Punctuality {
    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.not_started += other.not_started;
        self.waited += other.waited;
        // All histograms have the same bounds, so that adding can't fail.
        let _ = self.lag.add(&other.lag);
    }
}

/// When a user's next operation is due.
#[derive(Debug)]
pub(crate) enum Pace {
    /// When the last is answered, after some time to think.
    Closed(Times),
    /// By its own schedule, or by one that it shares.
    Open(Rc<RefCell<Schedule>>),
}

impl Pace {
    /// Waits until the next operation may start; when it was due and when it starts. `None` when
    /// there is none any more.
    async fn next(&mut self, shared: &Shared, first: bool) -> Option<(u64, Instant)> {
        match self {
            Self::Closed(think) => {
                let think_ns = if first { 0.0 } else { think.draw_ns() };
                if think_ns > 0.0 {
                    let until = Instant::now() + Duration::from_nanos(think_ns as u64);
                    let over = || shared.ns(until) >= shared.end_ns.get();
                    if !shared.alarm.until(until, over).await {
                        return None;
                    }
                }
                let now = Instant::now();
                let start_ns = shared.ns(now);
                (start_ns < shared.end_ns.get()).then_some((start_ns, now))
            }
            Self::Open(schedule) => next_due(schedule, shared).await,
        }
    }
}

async fn next_due(schedule: &RefCell<Schedule>, shared: &Shared) -> Option<(u64, Instant)> {
    let begin_ns = schedule_begins(shared).await?;
    let free_ns = shared.ns(Instant::now());
    let due_ns = begin_ns + schedule.borrow_mut().next_ns();
    let over = || due_ns >= shared.end_ns.get();
    if over() {
        return None;
    }
    let due = shared.origin + Duration::from_nanos(due_ns);
    if free_ns < due_ns && !shared.alarm.until(due, over).await {
        return None;
    }
    let now = Instant::now();
    let start_ns = shared.ns(now);
    let late = start_ns >= shared.end_ns.get();
    if shared.is_measured(due_ns) {
        let mut punctuality = shared.punctuality.borrow_mut();
        punctuality.due += 1;
        punctuality.waited += u64::from(free_ns > due_ns);
        if late {
            // Those that were due after it are counted when nobody's last operation is under way.
            punctuality.not_started += 1;
        } else {
            let lag_ns = start_ns.saturating_sub(due_ns.max(free_ns));
            punctuality.lag.saturating_record(lag_ns.max(1));
        }
    }
    (!late).then_some((due_ns, now))
}

/// When schedules begin: known once every user is in. `None` if the run ends before.
async fn schedule_begins(shared: &Shared) -> Option<u64> {
    const LONG: Duration = Duration::from_secs(24 * 3_600);
    while shared.begin_ns.get().is_none() {
        let known = || shared.begin_ns.get().is_some() || shared.end_ns.get() == 0;
        shared.alarm.until(Instant::now() + LONG, known).await;
        if shared.end_ns.get() == 0 {
            return None;
        }
    }
    shared.begin_ns.get()
}

/// Does what is due until the end of measuring.
pub(crate) async fn run<S: Session>(
    mut session: S,
    mut requests: User,
    mut pace: Pace,
    shared: Rc<Shared>,
) {
    let mut verifier = shared.verifier.clone();
    // One timer for all operations of this user: moving its deadline back is far cheaper than a
    // timer an operation, and the runtime does no work for it while operations are in time.
    let mut limit = pin!(time::sleep(shared.timeout));
    let mut first = true;
    while let Some((due_ns, started)) = pace.next(&shared, first).await {
        if !shared.takes_quota(due_ns) {
            break;
        }
        first = false;
        let request = requests.next_request();
        let reached = Reached::default();
        limit.as_mut().reset((started + shared.timeout).into());
        let outcome = {
            let mut operation =
                pin!(perform(&mut session, request, &mut verifier, shared.expected, &reached));
            poll_fn(|context| match operation.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(outcome),
                Poll::Pending => limit.as_mut().poll(context).map(|()| {
                    let within = shared.timeout.as_millis();
                    let detail = format!("no answer within {within} ms");
                    Outcome::interrupted(reached.may_write.get(), ErrorKind::Timeout, detail)
                }),
            })
            .await
        };
        let (start_ns, end_ns) = (shared.ns(started), shared.ns(Instant::now()));
        shared.record(request, &outcome, reached.seen.get(), Span { due_ns, start_ns, end_ns });
        requests.completed(outcome.is_ok());
        if outcome.failure().is_some_and(|failure| failure.kind.is_connection()) {
            time::sleep(RECONNECT_PAUSE).await;
        }
        // Lets others run where the session never waits, as `noop`'s and `memory`'s do not.
        tokio::task::coop::consume_budget().await;
    }
    shared.active.set(shared.active.get() - 1);
}

/// How far a request has come: what is known of it even where it is dropped half way.
#[derive(Debug, Default)]
struct Reached {
    /// It may have an effect from now on.
    may_write: Cell<bool>,
    /// Its read was answered and proven.
    seen: Cell<Option<Seen>>,
}

/// One request: one operation, or two for a read-modify-write.
async fn perform<S: Session>(
    session: &mut S,
    request: &Request,
    verifier: &mut Verifier,
    expected: Expected,
    reached: &Reached,
) -> Outcome {
    let values = request.values();
    let operation = request.operation(&values);
    reached.may_write.set(operation.kind().writes());
    let outcome = verified(session, &operation, verifier, expected, &reached.seen).await;
    match request.second_operation(&values) {
        Some(update) if outcome.is_ok() => {
            if reached.seen.get().is_some_and(|seen| seen.missed) {
                return Outcome::fail(ErrorKind::NotFound, format!("no record {}", request.key()));
            }
            reached.may_write.set(true);
            session.execute(&update, &mut ()).await
        }
        _ => outcome,
    }
}

/// Executes one operation. A read that brings a wrong byte is a counted error, never a success; one
/// that finds nothing is a success: the database has answered, and what it said may be stale.
async fn verified<S: Session>(
    session: &mut S,
    operation: &Operation<'_>,
    verifier: &mut Verifier,
    expected: Expected,
    seen: &Cell<Option<Seen>>,
) -> Outcome {
    verifier.begin(operation);
    let outcome = session.execute(operation, verifier).await;
    let least = match operation {
        _ if !outcome.is_ok() || !expected.rows_come_back => return outcome,
        Operation::Read { .. } => 1,
        Operation::Scan { limit, .. } => expected.scan_rows.min(*limit),
        _ => return outcome,
    };
    let rows = verifier.rows();
    if let Some(wrong) = verifier.finish() {
        session.distrust();
        return Outcome::fail(ErrorKind::Integrity, wrong);
    }
    let (newest, torn) = (verifier.newest(), verifier.torn());
    seen.set(Some(Seen { nothing: rows == 0, missed: rows < least, newest, torn }));
    outcome
}
