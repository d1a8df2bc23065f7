//! What a run is, as the Python side writes it, and its checks.

use crate::LoadError;
use crate::arrivals::Arrivals;
use pacelc_bindings::{Context, Layout, Target, routing};
use pacelc_core::{Shape, consistency};
use pacelc_workload::value::RUN_TAGS;
use pacelc_workload::{Verifier, Workload, WorkloadSpec, Writers};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// The cluster.
    pub target: Target,
    /// What the users do.
    pub workload: WorkloadSpec,
    /// At which level: an alias, a term of the database, or a mapping by kind.
    pub consistency: serde_json::Value,
    /// Users: each does one operation at a time.
    pub users: u32,
    /// Where they are in several places, all of them by place.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// Where a run is divided over machines: the number of the first user here.
    #[serde(default)]
    pub first_user: u32,
    /// And the users of all machines; `users` where this is the only one.
    #[serde(default)]
    pub all_users: Option<u32>,
    /// And which of the machines this is, from 0.
    #[serde(default)]
    pub worker: u32,
    /// Of so many.
    #[serde(default = "one_worker")]
    pub workers: u32,
    /// How operations arrive.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Users that start a second, until all are in.
    pub spawn_rate_per_s: f64,
    /// Seconds from the last user's start to the start of measuring; the fewest, with `steady`.
    pub warm_up_s: f64,
    /// The warm-up ends when throughput and latency are steady.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// Seconds of measuring; the most, with `operations`.
    pub measure_s: f64,
    /// Measuring ends with so many operations, of all machines together.
    #[serde(default)]
    pub operations: Option<u64>,
    /// The run's origin, seconds since 1970, where machines start together; now if it has passed.
    #[serde(default)]
    pub start_unix_s: Option<f64>,
    /// When measuring starts, where machines have agreed on it.
    #[serde(default)]
    pub measure_start_unix_s: Option<f64>,
    /// The loop's own time limit an operation.
    pub operation_timeout_ms: u64,
    /// Engine threads; those that would have no user aren't started.
    #[serde(default = "one")]
    pub threads: usize,
    /// The run's seed.
    pub seed: u64,
    /// A tag that its writes carry: another one for each run on the same data. 0 tells nothing apart.
    #[serde(default)]
    pub run: u32,
    /// Where to write operations one by one: to `<path>.0`.
    #[serde(default)]
    pub record_operations: Option<PathBuf>,
    /// At most so many bytes of them, those of a sample of the records; see
    /// [`observer`](crate::observer).
    #[serde(default)]
    pub operations_limit_bytes: Option<u64>,
    /// Records below this number are known to be there: a load goes on behind them.
    #[serde(default)]
    pub load_from: u64,
}

impl LoadSpec {
    /// The users of all machines.
    #[must_use]
    pub fn all_users(&self) -> u32 {
        self.all_users.unwrap_or(self.users)
    }
}

/// See [`warm_up`](crate::warm_up).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// Measuring begins after so many seconds even if nothing steady was seen.
    pub ceiling_s: f64,
}

/// The shortest warm-up that can be found to be over: ten batches of five observations.
const SHORTEST_STEADY_S: f64 = 5.0;

const fn one_worker() -> u32 {
    1
}

const fn one() -> usize {
    1
}

/// Users in one place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Where they are.
    pub region: String,
    /// How many.
    pub users: u32,
    /// The cluster as it is reached from there.
    pub target: Target,
    /// Path of the network namespace that its threads enter; `None`: the one that the engine is in.
    #[serde(default)]
    pub namespace: Option<PathBuf>,
}

/// A checked [`LoadSpec`].
#[derive(Debug)]
pub struct Plan {
    /// As written, but for threads without users.
    pub spec: LoadSpec,
    /// Checked.
    pub workload: Workload,
    /// What bindings are opened with; `users` is the number on one thread.
    pub context: Context,
    /// Of each group of users, where there are groups.
    pub(crate) groups: Vec<Arc<Plan>>,
}

impl Plan {
    /// Checks `spec`.
    pub fn new(mut spec: LoadSpec) -> Result<Self, LoadError> {
        let wrong = |field, problem: &str| Err(LoadError::Value { field, problem: problem.into() });
        if spec.users == 0 || spec.users > 1_000_000 {
            return wrong("users", "at least 1, at most 1,000,000");
        }
        if spec.threads == 0 || spec.threads > 1_024 {
            return wrong("threads", "at least 1, at most 1,024");
        }
        spec.threads = spec.threads.min(spec.users as usize);
        if u64::from(spec.first_user) + u64::from(spec.users) > u64::from(spec.all_users()) {
            return wrong("all_users", "at least those here and those before");
        }
        if !in_days(spec.warm_up_s) {
            return wrong("warm_up_s", "0 s to 30 days");
        }
        if !in_days(spec.measure_s) || spec.measure_s < 0.1 {
            return wrong("measure_s", "0.1 s to 30 days");
        }
        if !spec.spawn_rate_per_s.is_finite() || spec.spawn_rate_per_s <= 0.0 {
            return wrong("spawn_rate_per_s", "above 0");
        }
        if spec.operation_timeout_ms == 0 || spec.operation_timeout_ms > 3_600_000 {
            return wrong("operation_timeout_ms", "1 ms to 1 hour");
        }
        if spec.worker >= spec.workers {
            return wrong("worker", "below workers, counted from 0");
        }
        if spec.operations == Some(0) {
            return wrong("operations", "at least 1");
        }
        if spec.run >= RUN_TAGS {
            return wrong("run", "a tag is below 2^28");
        }
        spec.target.check()?;
        check_warm_up(&spec)?;
        check_arrivals(&spec.arrivals)?;
        let workload = Workload::new(spec.workload.clone())?
            .shared(spec.worker, spec.workers)
            .in_run(spec.run, spec.all_users());
        if spec.workload.writers == Writers::Single
            && spec.workload.records < u64::from(spec.all_users())
        {
            return wrong("workload.writers", "with a single writer a record, each user needs one");
        }
        let groups = plans_of_groups(&spec, &workload)?;
        if !groups.is_empty() {
            spec.threads = groups.iter().map(|plan| plan.spec.threads).sum();
        }
        let shape = Shape { nodes: spec.target.nodes, replication: spec.target.replication };
        let consistency = consistency::resolve(&spec.target.database, &spec.consistency, shape)?;
        routing::check(&spec.target, &consistency)?;
        let context = Context {
            target: spec.target.clone(),
            layout: Layout {
                table: spec.workload.table.clone(),
                fields: spec.workload.fields,
                record_bytes: workload.record_bytes(),
                scan_records: spec.workload.scan_length,
            },
            consistency,
            users: (spec.users as usize).div_ceil(spec.threads),
            operation_timeout: Duration::from_millis(spec.operation_timeout_ms),
        };
        Ok(Self { spec, workload, context, groups })
    }

    /// Proves what is read of its records.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        self.workload.verifier(self.context.consistency.update_inserts())
    }

    /// What falls to engine thread `number`.
    pub(crate) fn part(&self, number: usize) -> Part {
        let (spec, all) = (&self.spec, self.spec.all_users());
        let users_of =
            |thread: usize| spec.users.saturating_sub(thread as u32).div_ceil(spec.threads as u32);
        let before = spec.first_user + (0..number).map(users_of).sum::<u32>();
        let users = users_of(number);
        // Rounded at the parts' borders, so that the parts add up to the whole.
        let up_to = |users: u32, operations: u64| {
            (u128::from(operations) * u128::from(users) / u128::from(all)) as u64
        };
        Part {
            users,
            share: f64::from(users) / f64::from(all),
            stream: u64::from(before),
            streams: u64::from(all),
            operations: spec.operations.map(|n| up_to(before + users, n) - up_to(before, n)),
        }
    }
}

/// A plan for each group of `spec`, over the run's own `workload`; none where there are no groups.
fn plans_of_groups(spec: &LoadSpec, workload: &Workload) -> Result<Vec<Arc<Plan>>, LoadError> {
    let wrong = |problem: String| LoadError::Value { field: "groups", problem };
    let Some(first) = spec.groups.first() else { return Ok(Vec::new()) };
    let users: u64 = spec.groups.iter().map(|group| u64::from(group.users)).sum();
    if users != u64::from(spec.users) {
        return Err(wrong(format!("they have {users} users, and the run has {}", spec.users)));
    }
    if spec.workers > 1 || spec.all_users() != spec.users {
        return Err(wrong("users in several places are users of one process".into()));
    }
    let mut first_user = 0;
    let mut planned = Vec::with_capacity(spec.groups.len());
    for group in &spec.groups {
        if group.target.database != first.target.database {
            return Err(wrong("all use the same database".into()));
        }
        let part = LoadSpec {
            target: group.target.clone(),
            users: group.users,
            first_user,
            all_users: Some(spec.users),
            // Everywhere the last user is in at the same time.
            spawn_rate_per_s: spec.spawn_rate_per_s * f64::from(group.users)
                / f64::from(spec.users),
            // The run's own to find out.
            steady: None,
            groups: Vec::new(),
            ..spec.clone()
        };
        // One counter of new records, and one list of them.
        planned.push(Arc::new(Plan { workload: workload.clone(), ..Plan::new(part)? }));
        first_user += group.users;
    }
    Ok(planned)
}

/// One engine thread's part of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Part {
    pub users: u32,
    /// Of all users.
    pub share: f64,
    /// Tells its schedule from those of the others, and where between theirs it begins.
    pub stream: u64,
    pub streams: u64,
    /// Measured operations.
    pub operations: Option<u64>,
}

fn in_days(seconds: f64) -> bool {
    seconds.is_finite() && (0.0..=86_400.0 * 30.0).contains(&seconds)
}

fn check_warm_up(spec: &LoadSpec) -> Result<(), LoadError> {
    let wrong = |field, problem: String| Err(LoadError::Value { field, problem });
    let Some(steady) = spec.steady else { return Ok(()) };
    if spec.warm_up_s < SHORTEST_STEADY_S {
        return wrong(
            "warm_up_s",
            format!("a warm-up that ends when it is steady takes at least {SHORTEST_STEADY_S} s"),
        );
    }
    if !in_days(steady.ceiling_s) || steady.ceiling_s < spec.warm_up_s + 1.0 {
        return wrong("steady", "the ceiling is at least a second above warm_up_s".into());
    }
    if spec.all_users() != spec.users || spec.measure_start_unix_s.is_some() {
        return wrong(
            "steady",
            "machines that measure together need a warm-up of fixed length".into(),
        );
    }
    Ok(())
}

fn check_arrivals(arrivals: &Arrivals) -> Result<(), LoadError> {
    let wrong =
        |problem: &str| Err(LoadError::Value { field: "arrivals", problem: problem.into() });
    match *arrivals {
        Arrivals::Closed { think_s, .. } if !in_days(think_s) => {
            wrong("a time to think is 0 s to 30 days")
        }
        Arrivals::Open { rate_per_s, .. }
            if !rate_per_s.is_finite() || !(1e-6..=1e9).contains(&rate_per_s) =>
        {
            wrong("a rate is above 0 and at most 1,000,000,000 a second")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(users: u32, threads: usize, operations: u64) -> LoadSpec {
        let spec = serde_json::json!({
            "target": {"database": "noop"},
            "workload": {"records": 10, "fields": 1, "field_length_bytes": 100, "mix": {"read": 1.0}},
            "consistency": "weak",
            "users": users, "threads": threads, "operations": operations,
            "spawn_rate_per_s": 1e6, "warm_up_s": 0.0, "measure_s": 1.0,
            "operation_timeout_ms": 1000, "seed": 1,
        });
        serde_json::from_value(spec).unwrap()
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_whole(
            users in 1u32..500, threads in 1usize..9, operations in 1u64..1 << 40, elsewhere in 0u32..500,
        ) {
            let parts = |first_user, users| {
                let all_users = Some(500 + elsewhere);
                let spec = LoadSpec { first_user, all_users, ..spec(users, threads, operations) };
                let plan = Plan::new(spec).unwrap();
                (0..threads).map(|t| plan.part(t)).collect::<Vec<_>>()
            };
            let rest = 500 + elsewhere - users;
            let mut all = parts(0, users);
            if rest > 0 {
                all.extend(parts(users, rest));
            }
            prop_assert_eq!(all.iter().map(|p| p.users).sum::<u32>(), 500 + elsewhere);
            prop_assert_eq!(all.iter().filter_map(|p| p.operations).sum::<u64>(), operations);
            prop_assert!((all.iter().map(|p| p.share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let good = spec(1, 1, 1);
        let open = |rate_per_s| {
            serde_json::from_value(serde_json::json!({"open": {"rate_per_s": rate_per_s}})).unwrap()
        };
        let single = WorkloadSpec { writers: Writers::Single, ..good.workload.clone() };
        let steady = Some(Steady { ceiling_s: 60.0 });
        for (name, spec) in [
            ("operations", LoadSpec { operations: Some(0), ..good.clone() }),
            ("arrivals", LoadSpec { arrivals: open(0.0), ..good.clone() }),
            ("warm_up_s", LoadSpec { steady, ..good.clone() }),
            ("steady", LoadSpec { steady, warm_up_s: 60.0, ..good.clone() }),
            ("steady", LoadSpec { steady, warm_up_s: 9.0, all_users: Some(2), ..good.clone() }),
            ("workload.writers", LoadSpec { users: 11, workload: single, ..good.clone() }),
            ("run", LoadSpec { run: RUN_TAGS, ..good.clone() }),
            ("worker", LoadSpec { worker: 2, workers: 2, ..good.clone() }),
            ("all_users", LoadSpec { first_user: 3, ..good }),
        ] {
            let error = Plan::new(spec).unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
