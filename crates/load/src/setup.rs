//! Before a run: create the table, insert the records, count them.
//!
//! None of it is measured, so here, and only here, an operation that fails is tried again.

use crate::{Control, LoadError, LoadSpec, Plan, thread, unknown};
use pacelc_bindings::{Binding, Session, for_database};
use pacelc_core::Outcome;
use std::cell::Cell;
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

/// Creates the table anew and empty.
///
/// # Errors
/// See [`LoadError`].
pub fn create_table(spec: &LoadSpec, control: &Control) -> Result<(), LoadError> {
    control.update(|progress| progress.phase = "create".into());
    let plan = setup_plan(spec)?;
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(async {
            let binding = thread::open::<B>(&plan).await?;
            Ok(binding.create_table().await?)
        })
    }, Err(unknown(&plan)))
}

/// Inserts every record and counts them; returns the count.
///
/// # Errors
/// See [`LoadError`]; [`LoadError::Records`] where a record can't be written or is missing.
pub fn insert_records(spec: &LoadSpec, control: &Control) -> Result<u64, LoadError> {
    control.update(|progress| progress.phase = "load".into());
    let plan = Rc::new(setup_plan(spec)?);
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(insert_with::<B>(&plan, control))
    }, Err(unknown(&plan)))
}

/// The run's plan, but at the strongest level and with the loaders as its users: what is loaded
/// must be on every node before a weak read may look for it.
fn setup_plan(spec: &LoadSpec) -> Result<Plan, LoadError> {
    let mut plan = Plan::new(LoadSpec { consistency: "strong".into(), ..spec.clone() })?;
    plan.context.users = IN_FLIGHT as usize;
    // A loader may wait longer than a measured user: tables are created while servers warm up.
    plan.context.operation_timeout = plan.context.operation_timeout.max(Duration::from_secs(10));
    Ok(plan)
}

fn on_this_thread<T>(task: impl Future<Output = Result<T, LoadError>>) -> Result<T, LoadError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| LoadError::System { what: "starting a runtime".into(), cause })?;
    LocalSet::new().block_on(&runtime, task)
}

async fn insert_with<B: Binding>(plan: &Rc<Plan>, control: &Control) -> Result<u64, LoadError> {
    let records = plan.workload.spec().records;
    let binding = thread::open::<B>(plan).await?;
    let next = Rc::new(Cell::new(0));
    let mut loaders = JoinSet::new();
    for _ in 0..IN_FLIGHT.min(records) {
        let loader = insert_some(binding.session().await?, Rc::clone(plan), Rc::clone(&next));
        loaders.spawn_local(loader);
    }
    loop {
        control.update(|progress| progress.ok = next.get().min(records));
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
    if plan.context.target.database == "noop" {
        return Ok(records);
    }
    match binding.count_records().await? {
        count if count == records => Ok(count),
        count => Err(LoadError::Records(format!("{count} records are there, not {records}"))),
    }
}

/// Inserts record after record until none is left.
async fn insert_some<S: Session>(
    mut session: S,
    plan: Rc<Plan>,
    next: Rc<Cell<u64>>,
) -> Result<(), LoadError> {
    loop {
        let number = next.get();
        if number >= plan.workload.spec().records {
            return Ok(());
        }
        next.set(number + 1);
        let request = plan.workload.load_request(number);
        let values = request.values();
        let mut tries = 1;
        loop {
            let limit = plan.context.operation_timeout;
            let insert = request.operation(&values);
            let outcome = time::timeout(limit, session.execute(&insert, &mut ())).await;
            match outcome {
                Ok(Outcome::Ok) => break,
                // An insert that was unknown may be there: its second try then finds the key taken.
                Ok(Outcome::Fail(f)) if tries > 1 && f.kind == pacelc_core::ErrorKind::Rejected => {
                    break;
                }
                _ if tries < TRIES => {
                    time::sleep(Duration::from_millis(100) * tries).await;
                    tries += 1;
                }
                Ok(other) => {
                    let detail = other.failure().map_or("", |failure| &failure.detail);
                    return Err(LoadError::Records(format!("{}: {detail}", request.key())));
                }
                Err(_) => {
                    return Err(LoadError::Records(format!("{}: no answer", request.key())));
                }
            }
        }
        tokio::task::coop::consume_budget().await;
    }
}
