//! After a run with faults: which records are there, and which version of each.
//!
//! Read at the strongest level, by number, and proven byte by byte as every read is. None of it is
//! measured, so that a read that fails is tried again. A record that no try could read is *unread*,
//! never missing: only a server that said so makes it missing.

use crate::setup::{on_this_thread, open_with, setup_plan};
use crate::{Control, LoadError, LoadSpec, Plan, unknown};
use pacelc_bindings::{Binding, Session, for_database};
use pacelc_core::{ErrorKind, Operation, OperationKind, Outcome};
use pacelc_workload::{Stamp, Verifier};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time;

/// Records on their way at once.
const IN_FLIGHT: usize = 32;

/// Tries a record, a little longer apart each time.
const TRIES: u32 = 4;

/// What was found, a column each.
#[derive(Debug, Default, Serialize)]
pub struct ReadBack {
    /// The level of the reads, read back from what was sent.
    pub level: Option<String>,
    /// Records that are there.
    pub found: Vec<u64>,
    /// Who wrote each of them last (0 is the load phase); `None` where a value is too short to tell.
    pub writer: Vec<Option<u32>>,
    /// As which of its operations, in the run whose writes these were to be; else as it is stored.
    pub sequence: Vec<Option<u64>>,
    /// Whether each of them is from that run, the load, or an earlier run.
    pub origin: Vec<Option<&'static str>>,
    /// Records that the database says are not there.
    pub missing: Vec<u64>,
    /// Records that could not be read.
    pub unread: Vec<u64>,
    /// Why: how many by kind of error.
    pub errors: BTreeMap<ErrorKind, u64>,
}

/// What became of one record.
#[derive(Debug)]
enum Answer {
    /// With its stamp, if the value is long enough for one.
    Found(Option<Stamp>),
    Missing,
    Unread(ErrorKind),
}

impl ReadBack {
    fn add(&mut self, record: u64, answer: &Answer, run: u32) {
        match *answer {
            Answer::Found(stamp) => {
                let version = stamp.map(|stamp| stamp.seen_by(run));
                self.found.push(record);
                self.writer.push(stamp.map(|stamp| stamp.writer));
                self.sequence.push(version.map(|(_, sequence)| sequence));
                self.origin.push(version.map(|(origin, _)| origin.name()));
            }
            Answer::Missing => self.missing.push(record),
            Answer::Unread(kind) => {
                self.unread.push(record);
                *self.errors.entry(kind).or_default() += 1;
            }
        }
    }
}

/// Reads `records`, for at most `limit`; what is left then is unread.
///
/// # Errors
/// See [`LoadError`]: where the cluster can't be spoken to at all.
pub fn read_back(
    spec: &LoadSpec,
    records: Vec<u64>,
    limit: Duration,
    control: &Control,
) -> Result<ReadBack, LoadError> {
    control.update(|progress| progress.phase = "read-back".into());
    let end = Instant::now() + limit;
    let plan = Rc::new(setup_plan(spec)?);
    // What may have become of a record is a matter of the run's own levels.
    let verifier = Plan::new(spec.clone())?.verifier();
    if let Some(record) = records.iter().find(|n| **n < plan.workload.spec().insert_start) {
        return Err(LoadError::Records(format!("there is no record {record}")));
    }
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(read_with::<B>(&plan, &verifier, records, end, control))
    }, Err(unknown(&plan.context.target.database)))
}

async fn read_with<B: Binding>(
    plan: &Rc<Plan>,
    verifier: &Verifier,
    records: Vec<u64>,
    end: Instant,
    control: &Control,
) -> Result<ReadBack, LoadError> {
    let readers_needed = IN_FLIGHT.min(records.len()) as u64;
    let (binding, sessions) = open_with::<B>(plan, readers_needed, control).await?;
    let in_force = binding.in_force();
    let level = in_force.into_iter().find(|(kind, _)| *kind == OperationKind::Read);
    let found = ReadBack { level: level.map(|(_, text)| text), ..ReadBack::default() };
    let state = Rc::new(RefCell::new((records.into_iter(), found)));
    let mut readers = JoinSet::new();
    for session in sessions {
        let (plan, state) = (Rc::clone(plan), Rc::clone(&state));
        readers.spawn_local(read_some(session, plan, verifier.clone(), state, end));
    }
    loop {
        control.update(|progress| progress.ok = state.borrow().1.found.len() as u64);
        if control.is_stopped() {
            return Err(LoadError::Stopped);
        }
        match time::timeout(Duration::from_millis(100), readers.join_next()).await {
            Ok(None) => break,
            Ok(Some(Err(panic))) => return Err(LoadError::Records(panic.to_string())),
            Ok(Some(Ok(()))) | Err(_) => {}
        }
    }
    let (_, found) = &mut *state.borrow_mut();
    Ok(std::mem::take(found))
}

/// The records still to be read, and what was found so far.
type State = RefCell<(std::vec::IntoIter<u64>, ReadBack)>;

/// Reads record after record until none is left.
async fn read_some<S: Session>(
    mut session: S,
    plan: Rc<Plan>,
    mut verifier: Verifier,
    state: Rc<State>,
    end: Instant,
) {
    let start = plan.workload.spec().insert_start;
    loop {
        let taken = state.borrow_mut().0.next();
        let Some(record) = taken else { return };
        let request = plan.workload.load_request(record - start);
        let read = Operation::Read { key: request.key(), field: None };
        let mut answer = Answer::Unread(ErrorKind::Timeout);
        for tries in 1..=TRIES {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let limit = plan.context.operation_timeout.min(left);
            answer = time::timeout(limit, read_one(&mut session, &read, &mut verifier))
                .await
                .unwrap_or(Answer::Unread(ErrorKind::Timeout));
            if !matches!(answer, Answer::Unread(_)) || tries == TRIES {
                break;
            }
            time::sleep((Duration::from_millis(100) * tries).min(left)).await;
        }
        state.borrow_mut().1.add(record, &answer, plan.spec.run);
        tokio::task::coop::consume_budget().await;
    }
}

/// One read, every byte of it proven.
async fn read_one<S: Session>(
    session: &mut S,
    read: &Operation<'_>,
    verifier: &mut Verifier,
) -> Answer {
    verifier.begin(read);
    match session.execute(read, verifier).await {
        Outcome::Ok if verifier.rows() == 0 => Answer::Missing,
        Outcome::Ok => {
            let newest = verifier.newest();
            verifier
                .finish()
                .map_or(Answer::Found(newest), |_| Answer::Unread(ErrorKind::Integrity))
        }
        Outcome::Fail(failure) | Outcome::Unknown(failure) => Answer::Unread(failure.kind),
    }
}
