//! What a run is, as the Python side writes it, and its checks.

use crate::LoadError;
use pacelc_bindings::{Context, Layout, Target};
use pacelc_core::{Shape, consistency};
use pacelc_workload::{Workload, WorkloadSpec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
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
    /// Closed-loop users.
    pub users: u32,
    /// Users that start a second, until all are in.
    pub spawn_rate_per_s: f64,
    /// Seconds from the last user's start to the start of measuring.
    pub warm_up_s: f64,
    /// Seconds of measuring.
    pub measure_s: f64,
    /// The loop's own time limit an operation.
    pub operation_timeout_ms: u64,
    /// Engine threads.
    #[serde(default = "one")]
    pub threads: usize,
    /// The run's seed.
    pub seed: u64,
    /// Where to write operations one by one: a file a thread is made, `<path>.<thread>`.
    #[serde(default)]
    pub record_operations: Option<PathBuf>,
    /// Records below this number are known to be there: a load goes on behind them.
    #[serde(default)]
    pub load_from: u64,
}

const fn one() -> usize {
    1
}

/// A checked [`LoadSpec`].
#[derive(Debug)]
pub struct Plan {
    /// As written.
    pub spec: LoadSpec,
    /// Checked.
    pub workload: Workload,
    /// What bindings are opened with; `users` is the number on one thread.
    pub context: Context,
}

impl Plan {
    /// Checks `spec`.
    pub fn new(spec: LoadSpec) -> Result<Self, LoadError> {
        let wrong = |field, problem: &str| Err(LoadError::Value { field, problem: problem.into() });
        if spec.users == 0 || spec.users > 1_000_000 {
            return wrong("users", "at least 1, at most 1,000,000");
        }
        if spec.threads == 0 || spec.threads > 1_024 {
            return wrong("threads", "at least 1, at most 1,024");
        }
        let in_days =
            |seconds: f64| seconds.is_finite() && (0.0..=86_400.0 * 30.0).contains(&seconds);
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
        spec.target.check()?;
        let workload = Workload::new(spec.workload.clone())?;
        let shape = Shape { nodes: spec.target.nodes, replication: spec.target.replication };
        let consistency = consistency::resolve(&spec.target.database, &spec.consistency, shape)?;
        let context = Context {
            target: spec.target.clone(),
            layout: Layout { table: spec.workload.table.clone(), fields: spec.workload.fields },
            consistency,
            users: (spec.users as usize).div_ceil(spec.threads),
            operation_timeout: Duration::from_millis(spec.operation_timeout_ms),
        };
        Ok(Self { spec, workload, context })
    }
}
