//! Before a run: create the table, insert the records, count them.
//!
//! None of it is measured, so here, and only here, an operation that fails is tried again. Records
//! are written at the strongest level, so that a weak read of the first second finds its record on
//! every node.
//!
//! Whatever a server does, each step ends: at its time limit, or a moment after it is told to stop.
//! All steps run in one wrapper (`in_time`), since drivers' own time limits don't cover a server
//! that goes on answering. For the same reason a count stops just above the workload's records.

use crate::opening::{STEP_LIMIT, in_time, open, open_context, require_ours};
use crate::{Control, LoadError, LoadSpec, Plan, unknown};
use pacelc_bindings::{Binding, Context, Created, Layout, Session, Target, for_database, table};
use pacelc_core::{ErrorKind, Outcome, Shape, consistency};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};
use tokio::time;

/// Records on their way at once. Enough to hide a replica's round trip, few enough that a small
/// server isn't overrun.
const IN_FLIGHT: u64 = 32;

/// Tries a record, a little longer apart each time: 3 s in all, by which a cluster that serves has
/// got over an election or a pause for garbage.
const TRIES: u32 = 8;

/// A loader may wait longer than a measured user: tables are created while servers warm up.
const LEAST_TIMEOUT: Duration = Duration::from_secs(10);

/// A count goes through so many records a second at least, on the slowest machine.
const COUNTED_PER_S: u64 = 2_000;

/// Creates the table anew and empty; refuses where that would drop what isn't this study's.
///
/// # Errors
/// See [`LoadError`].
pub fn create_table(spec: &LoadSpec, control: &Control) -> Result<Created, LoadError> {
    control.update(|progress| progress.phase = "create".into());
    let plan = setup_plan(spec)?;
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(in_time("creating the table", STEP_LIMIT, control.stop_flag(), async {
            let binding = open::<B>(&plan).await?;
            Ok(table::make_anew(&binding, &plan.context).await?)
        }))
    }, Err(unknown(&plan.context.target.database)))
}

/// What was taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cleared {
    /// Whether there was a table.
    pub table: bool,
    /// Whether what held it (a keyspace) went with it.
    pub container: bool,
}

/// Drops the table, if it is there, and with `container` what holds it, if nothing else is in it.
///
/// # Errors
/// See [`LoadError`]; the table isn't this study's.
pub fn clear(spec: &LoadSpec, container: bool, control: &Control) -> Result<Cleared, LoadError> {
    control.update(|progress| progress.phase = "clear".into());
    let plan = setup_plan(spec)?;
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(in_time("dropping the table", STEP_LIMIT, control.stop_flag(), async {
            let binding = open::<B>(&plan).await?;
            let table = table::drop_ours(&binding, &plan.context).await?;
            let container = container && binding.drop_container().await?;
            Ok(Cleared { table, container })
        }))
    }, Err(unknown(&plan.context.target.database)))
}

/// What a cluster says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probed {
    /// Its version; `None` where it doesn't tell.
    pub version: Option<String>,
    /// What keeps it from serving with all its servers; `None` if nothing does, or where it isn't
    /// asked.
    pub unsettled: Option<String>,
}

/// Connects to `target` and asks how it is.
///
/// # Errors
/// See [`LoadError`]: what stands in the way of every run on it.
pub fn probe(target: &Target, control: &Control) -> Result<Probed, LoadError> {
    target.check()?;
    let shape = Shape { nodes: target.nodes, replication: target.replication };
    let context = Context {
        target: target.clone(),
        // No table is looked at.
        layout: Layout {
            table: "pacelc_probe".into(),
            fields: 1,
            record_bytes: 0,
            scan_records: 1,
        },
        consistency: consistency::resolve(&target.database, &"strong".into(), shape)?,
        users: 1,
        operation_timeout: LEAST_TIMEOUT,
    };
    for_database!(target.database.as_str(), B => {
        on_this_thread(in_time("asking for the version", STEP_LIMIT, control.stop_flag(), async {
            let binding = open_context::<B>(&context).await?;
            Ok(Probed {
                version: binding.server_version().await,
                unsettled: binding.unsettled().await,
            })
        }))
    }, Err(unknown(&target.database)))
}

/// Inserts every record from `load_from` on and counts all; returns the count.
///
/// Progress tells how many records are there without a gap: what `load_from` may be when a load
/// that was interrupted goes on.
///
/// # Errors
/// See [`LoadError`]; [`LoadError::Records`] where a record can't be written, [`LoadError::Lost`]
/// where one is missing.
pub fn insert_records(spec: &LoadSpec, control: &Control) -> Result<u64, LoadError> {
    control.update(|progress| progress.phase = "load".into());
    let plan = Rc::new(setup_plan(spec)?);
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(insert_with::<B>(&plan, control))
    }, Err(unknown(&plan.context.target.database)))
}

/// The run's plan, but at the strongest level and with the loaders as its users: what is loaded
/// must be on every node before a weak read may look for it.
pub(crate) fn setup_plan(spec: &LoadSpec) -> Result<Plan, LoadError> {
    let target = Target { session: None, ..spec.target.clone() };
    let mut plan = Plan::new(LoadSpec { target, consistency: "strong".into(), ..spec.clone() })?;
    plan.context.users = IN_FLIGHT as usize;
    plan.context.operation_timeout = plan.context.operation_timeout.max(LEAST_TIMEOUT);
    Ok(plan)
}

pub(crate) fn on_this_thread<T>(
    task: impl Future<Output = Result<T, LoadError>>,
) -> Result<T, LoadError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| LoadError::System { what: "starting a runtime".into(), cause })?;
    LocalSet::new().block_on(&runtime, task)
}

/// A binding on this study's table, and so many sessions.
pub(crate) async fn open_with<B: Binding>(
    plan: &Plan,
    sessions: u64,
    control: &Control,
) -> Result<(B, Vec<B::Session>), LoadError> {
    let opening = in_time("connecting", STEP_LIMIT, control.stop_flag(), async {
        let binding = open::<B>(plan).await?;
        require_ours(&binding, plan).await?;
        let mut open = Vec::new();
        for _ in 0..sessions {
            open.push(binding.session().await?);
        }
        Ok((binding, open))
    });
    opening.await
}

async fn insert_with<B: Binding>(plan: &Rc<Plan>, control: &Control) -> Result<u64, LoadError> {
    let records = plan.workload.spec().records;
    let numbers = Numbers::new(plan.spec.load_from, records);
    let loaders_needed = IN_FLIGHT.min(numbers.left());
    let numbers = Rc::new(RefCell::new(numbers));
    let mut loaders = JoinSet::new();
    let (binding, sessions) = open_with::<B>(plan, loaders_needed, control).await?;
    for session in sessions {
        loaders.spawn_local(insert_some(session, Rc::clone(plan), Rc::clone(&numbers)));
    }
    loop {
        control.update(|progress| progress.ok = numbers.borrow().contiguous());
        if control.is_stopped() {
            return Err(LoadError::Stopped);
        }
        match time::timeout(Duration::from_millis(100), loaders.join_next()).await {
            Ok(None) => break,
            Ok(Some(Ok(result))) => result?,
            Ok(Some(Err(panic))) => return Err(LoadError::Records(panic.to_string())),
            Err(_) => {}
        }
    }
    if !B::KEEPS_RECORDS {
        return Ok(records);
    }
    let limit = STEP_LIMIT + Duration::from_secs(records / COUNTED_PER_S);
    let count = in_time("counting the records", limit, control.stop_flag(), async {
        Ok(binding.count_records(records).await?)
    });
    match count.await? {
        count if count == records => Ok(count),
        count if count > records => {
            Err(LoadError::Lost(format!("more records are there than {records}")))
        }
        count => Err(LoadError::Lost(format!("{count} records are there, not {records}"))),
    }
}

/// Which records are still to be inserted, and which are on their way.
#[derive(Debug)]
struct Numbers {
    next: u64,
    end: u64,
    on_their_way: BTreeSet<u64>,
}

impl Numbers {
    fn new(from: u64, end: u64) -> Self {
        Self { next: from.min(end), end, on_their_way: BTreeSet::new() }
    }

    fn left(&self) -> u64 {
        self.end - self.next
    }

    fn take(&mut self) -> Option<u64> {
        let number = (self.next < self.end).then_some(self.next)?;
        self.next += 1;
        self.on_their_way.insert(number);
        Some(number)
    }

    fn is_there(&mut self, number: u64) {
        self.on_their_way.remove(&number);
    }

    /// So many records, from the first on, are there.
    fn contiguous(&self) -> u64 {
        self.on_their_way.first().copied().unwrap_or(self.next)
    }
}

/// Inserts record after record until none is left.
async fn insert_some<S: Session>(
    mut session: S,
    plan: Rc<Plan>,
    numbers: Rc<RefCell<Numbers>>,
) -> Result<(), LoadError> {
    // Those that were on their way when an earlier load ended may be there.
    let goes_on = plan.spec.load_from > 0;
    loop {
        let taken = numbers.borrow_mut().take();
        let Some(number) = taken else { return Ok(()) };
        let request = plan.workload.load_request(number);
        let values = request.values();
        let failed = |why: &str| LoadError::Records(format!("{}: {why}", request.key()));
        // Whether an earlier insert of this record may have taken effect.
        let mut may_be_there = goes_on;
        let mut tries = 1;
        loop {
            let limit = plan.context.operation_timeout;
            let insert = request.operation(&values);
            let outcome = time::timeout(limit, session.execute(&insert, &mut ())).await;
            let why = match outcome {
                Ok(Outcome::Ok) => break,
                Ok(Outcome::Fail(failure)) => match failure.kind {
                    ErrorKind::Exists if may_be_there => break,
                    // A second try would be answered the same.
                    ErrorKind::Exists | ErrorKind::Rejected => {
                        return Err(failed(&failure.detail));
                    }
                    _ => failure.detail,
                },
                Ok(Outcome::Unknown(failure)) => {
                    may_be_there = true;
                    failure.detail
                }
                Err(_) => {
                    may_be_there = true;
                    "no answer".into()
                }
            };
            if tries == TRIES {
                return Err(failed(&why));
            }
            time::sleep(Duration::from_millis(100) * tries).await;
            tries += 1;
        }
        numbers.borrow_mut().is_there(number);
        tokio::task::coop::consume_budget().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the order in which inserts are answered, no record below the count is missing.
        #[test]
        fn what_is_contiguous_is_there(
            from in 0u64..50,
            count in 0u64..50,
            answers in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..200),
        ) {
            let end = from + count;
            let mut numbers = Numbers::new(from, end);
            let mut there: BTreeSet<u64> = (0..from).collect();
            let mut sent = Vec::new();
            for (take, which) in answers {
                if take {
                    sent.extend(numbers.take());
                } else if !sent.is_empty() {
                    let number = sent.swap_remove(which.index(sent.len()));
                    there.insert(number);
                    numbers.is_there(number);
                }
                let contiguous = numbers.contiguous();
                prop_assert!((0..contiguous).all(|number| there.contains(&number)));
                prop_assert!(!there.contains(&contiguous));
            }
            for number in sent {
                numbers.is_there(number);
            }
            prop_assert_eq!(numbers.contiguous(), end - numbers.left());
        }
    }
}
