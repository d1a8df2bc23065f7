//! One user's closed loop.

use crate::operations::OperationLog;
use crate::timeline::Timeline;
use crate::{LoadError, Plan};
use pacelc_bindings::Session;
use pacelc_core::{ErrorKind, Operation, OperationKind, Outcome};
use pacelc_measure::{Batch, Recorder};
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
    origin: Cell<Option<Instant>>,
    /// When operations no longer start; far away until the timeline is known.
    end_ns: Cell<u64>,
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
    /// `noop` returns no rows, and nothing else may do so.
    rows_come_back: bool,
}

impl Shared {
    pub(crate) fn new(plan: &Plan, operations: Option<OperationLog>) -> Self {
        let spec = plan.workload.spec();
        let deletes = spec.mix.get(&OperationKind::Delete).is_some_and(|share| *share > 0.0);
        let all = u32::try_from(spec.records).unwrap_or(u32::MAX);
        Self {
            origin: Cell::new(None),
            end_ns: Cell::new(u64::MAX),
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
                rows_come_back: plan.context.target.database != "noop",
            },
            verifier: plan.workload.verifier(),
        }
    }

    /// Begins to record as soon as the timeline is fixed. What users do before that, while others
    /// are still being spawned, is no part of any phase.
    pub(crate) fn learn_timeline(&self, timeline: &Timeline) {
        self.origin.set(Some(timeline.at(0)));
        let (Some(start), Some(end)) = (timeline.measure_start_ns(), timeline.measure_end_ns())
        else {
            return;
        };
        if self.end_ns.get() == u64::MAX {
            self.end_ns.set(end);
            *self.recorder.borrow_mut() = Some(Recorder::new(start, timeline.ns(Instant::now())));
        }
    }

    /// No operation starts any more.
    pub(crate) fn stop(&self) {
        self.end_ns.set(0);
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

    pub(crate) fn close_log(&self) -> Result<(), LoadError> {
        self.operations.take().map_or(Ok(()), OperationLog::close)
    }

    fn record(&self, request: &Request, outcome: &Outcome, seen: &Verifier, start: u64, end: u64) {
        if let Some(recorder) = self.recorder.borrow_mut().as_mut() {
            if recorder.is_over(end) {
                self.batches.borrow_mut().push(recorder.roll(end));
            }
            recorder.record(request.kind, outcome, start, end, end - start);
        }
        if let Some(log) = self.operations.borrow_mut().as_mut() {
            log.write(request, outcome, seen.newest(), start, end);
        }
    }
}

/// Next request, execute, record, again, until the end of measuring.
pub(crate) async fn closed_loop<S: Session>(
    mut session: S,
    mut requests: User,
    shared: Rc<Shared>,
) {
    let origin = shared.origin.get().unwrap_or_else(Instant::now);
    let ns = |at: Instant| at.duration_since(origin).as_nanos() as u64;
    let mut verifier = shared.verifier.clone();
    // One timer for all operations of this user: moving its deadline back is far cheaper than a
    // timer an operation, and the runtime does no work for it while operations are in time.
    let mut limit = pin!(time::sleep(shared.timeout));
    loop {
        let request = requests.next_request();
        let started = Instant::now();
        let start = ns(started);
        if start >= shared.end_ns.get() {
            return;
        }
        limit.as_mut().reset((started + shared.timeout).into());
        let outcome = {
            let mut operation =
                pin!(perform(&mut session, request, &mut verifier, shared.expected));
            poll_fn(|context| match operation.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(outcome),
                Poll::Pending => limit.as_mut().poll(context).map(|()| {
                    let within = shared.timeout.as_millis();
                    Outcome::unknown(ErrorKind::Timeout, format!("no answer within {within} ms"))
                }),
            })
            .await
        };
        let end = ns(Instant::now());
        shared.record(request, &outcome, &verifier, start, end);
        requests.completed(outcome.is_ok());
        if outcome.failure().is_some_and(|failure| failure.kind.is_connection()) {
            time::sleep(RECONNECT_PAUSE).await;
        }
        // Lets others run where the session never waits, as `noop`'s and `memory`'s do not.
        tokio::task::coop::consume_budget().await;
    }
}

/// One request: one operation, or two for a read-modify-write.
async fn perform<S: Session>(
    session: &mut S,
    request: &Request,
    verifier: &mut Verifier,
    expected: Expected,
) -> Outcome {
    let values = request.values();
    let outcome = verified(session, &request.operation(&values), verifier, expected).await;
    match request.second_operation(&values) {
        Some(update) if outcome.is_ok() => session.execute(&update, &mut ()).await,
        _ => outcome,
    }
}

/// Executes one operation. A read that brings a wrong byte is a counted error, never a success.
async fn verified<S: Session>(
    session: &mut S,
    operation: &Operation<'_>,
    verifier: &mut Verifier,
    expected: Expected,
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
    match verifier.finish() {
        Some(wrong) => Outcome::fail(ErrorKind::Integrity, wrong),
        None if rows < least => {
            Outcome::fail(ErrorKind::NotFound, format!("{rows} rows of at least {least}"))
        }
        None => outcome,
    }
}
