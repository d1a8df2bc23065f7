//! Before a run: create the table, insert the records, count them.
//!
//! None of it is measured, so here, and only here, an operation that fails is tried again.

use crate::{Control, LoadError, LoadSpec, Plan, thread, unknown};
use pacelc_bindings::{Binding, BindingError, Context, Layout, Session, Target, for_database};
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

/// Creates the table anew and empty; refuses where that would drop records that the target
/// protects.
///
/// # Errors
/// See [`LoadError`].
pub fn create_table(spec: &LoadSpec, control: &Control) -> Result<(), LoadError> {
    control.update(|progress| progress.phase = "create".into());
    let plan = setup_plan(spec)?;
    for_database!(plan.context.target.database.as_str(), B => {
        on_this_thread(async {
            let binding = thread::open::<B>(&plan).await?;
            if plan.context.target.protect_records && binding.holds_records().await? {
                let table = &plan.context.layout.table;
                return Err(BindingError::target(
                    format!("the table `{table}` holds records that aren't this study's"),
                    "clear it, or say replace_table: true in a study with a new results directory",
                )
                .into());
            }
            Ok(binding.create_table().await?)
        })
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
pub fn probe(target: &Target) -> Result<Probed, LoadError> {
    target.check()?;
    let shape = Shape { nodes: target.nodes, replication: target.replication };
    let context = Context {
        target: target.clone(),
        // No table is looked at.
        layout: Layout { table: "pacelc_probe".into(), fields: 1 },
        consistency: consistency::resolve(&target.database, &"strong".into(), shape)?,
        users: 1,
        operation_timeout: LEAST_TIMEOUT,
    };
    for_database!(target.database.as_str(), B => {
        on_this_thread(async {
            let binding = thread::open_context::<B>(&context).await?;
            Ok(Probed {
                version: binding.server_version().await,
                unsettled: binding.unsettled().await,
            })
        })
    }, Err(unknown(&target.database)))
}

/// Inserts every record from `load_from` on and counts all; returns the count.
///
/// Progress tells how many records are there without a gap: what `load_from` may be when a load
/// that was interrupted goes on.
///
/// # Errors
/// See [`LoadError`]; [`LoadError::Records`] where a record can't be written or is missing.
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
    let mut plan = Plan::new(LoadSpec { consistency: "strong".into(), ..spec.clone() })?;
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

async fn insert_with<B: Binding>(plan: &Rc<Plan>, control: &Control) -> Result<u64, LoadError> {
    let records = plan.workload.spec().records;
    let binding = thread::open::<B>(plan).await?;
    let numbers = Numbers::new(plan.spec.load_from, records);
    let loaders_needed = IN_FLIGHT.min(numbers.left());
    let numbers = Rc::new(RefCell::new(numbers));
    let mut loaders = JoinSet::new();
    for _ in 0..loaders_needed {
        let loader = insert_some(binding.session().await?, Rc::clone(plan), Rc::clone(&numbers));
        loaders.spawn_local(loader);
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
    if plan.context.target.database == "noop" {
        return Ok(records);
    }
    match binding.count_records().await? {
        count if count == records => Ok(count),
        count => Err(LoadError::Records(format!("{count} records are there, not {records}"))),
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
        let mut tries = 1;
        loop {
            let limit = plan.context.operation_timeout;
            let insert = request.operation(&values);
            let outcome = time::timeout(limit, session.execute(&insert, &mut ())).await;
            match outcome {
                Ok(Outcome::Ok) => break,
                // An insert that was unknown may be there: its second try then finds the key taken.
                Ok(Outcome::Fail(f)) if (goes_on || tries > 1) && f.kind == ErrorKind::Rejected => {
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
