//! What comes out of a run, as the Python side reads it.

use crate::Plan;
use crate::thread::CpuTime;
use crate::timeline::Timeline;
use pacelc_core::{ErrorKind, OperationKind};
use pacelc_measure::{Collector, LatencySummary, Phase, Sample};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// What the threads tell besides their batches.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub in_force: Vec<(OperationKind, String)>,
    pub cpu: CpuTime,
}

/// What a run measured.
#[derive(Debug, Serialize)]
pub struct RunResult {
    /// Seconds of measuring.
    pub measured_s: f64,
    /// Seconds of warm-up before it.
    pub warm_up_s: f64,
    /// Seconds from the run's origin to the start of measuring: opening, spawn and warm-up.
    pub before_measure_s: f64,
    /// The start of measuring, seconds since 1970.
    pub started_unix_s: f64,
    /// The level of each kind of operation in the mix, read back from what was sent.
    pub consistency: BTreeMap<OperationKind, String>,
    /// What came of the operations that started while measuring.
    pub operations: BTreeMap<OperationKind, OperationResult>,
    /// The time series, by column.
    pub samples: SampleColumns,
    /// HdrHistogram interval log.
    pub latency_log: String,
    /// What the load generator itself took while measuring.
    pub client: ClientResult,
    /// What a reader of the result should know.
    pub warnings: Vec<String>,
}

/// One kind of operation.
#[derive(Debug, Serialize)]
#[allow(missing_docs)] // see pacelc_measure::Total
pub struct OperationResult {
    pub ok: u64,
    pub fail: BTreeMap<ErrorKind, u64>,
    pub unknown: BTreeMap<ErrorKind, u64>,
    pub examples: BTreeMap<ErrorKind, String>,
    pub latency_ns: Option<LatencySummary>,
}

/// The load generator.
#[derive(Debug, Serialize)]
pub struct ClientResult {
    /// CPU seconds of the engine's threads in user mode.
    pub cpu_user_s: f64,
    /// And in the kernel.
    pub cpu_system_s: f64,
    /// Engine threads.
    pub threads: usize,
    /// Share of the threads' time that they were busy; near 1, the client was the bottleneck.
    pub busy_fraction: f64,
}

/// [`Sample`]s by column, which is how data frames want them.
#[derive(Debug, Default, Serialize)]
#[allow(missing_docs)] // see pacelc_measure::Sample
pub struct SampleColumns {
    pub t_s: Vec<f64>,
    pub interval_s: Vec<f64>,
    pub phase: Vec<Phase>,
    pub operation: Vec<OperationKind>,
    pub ok: Vec<u64>,
    pub fail: Vec<u64>,
    pub unknown: Vec<u64>,
    pub latency_ns_mean: Vec<Option<f64>>,
    pub latency_ns_p50: Vec<Option<u64>>,
    pub latency_ns_p90: Vec<Option<u64>>,
    pub latency_ns_p99: Vec<Option<u64>>,
    pub latency_ns_p999: Vec<Option<u64>>,
    pub latency_ns_max: Vec<Option<u64>>,
}

impl SampleColumns {
    fn push(&mut self, sample: &Sample) {
        self.t_s.push(sample.t_s);
        self.interval_s.push(sample.interval_s);
        self.phase.push(sample.phase);
        self.operation.push(sample.operation);
        self.ok.push(sample.ok);
        self.fail.push(sample.fail);
        self.unknown.push(sample.unknown);
        let latency = sample.latency.as_ref();
        self.latency_ns_mean.push(latency.map(|l| l.mean));
        self.latency_ns_p50.push(latency.map(|l| l.p50));
        self.latency_ns_p90.push(latency.map(|l| l.p90));
        self.latency_ns_p99.push(latency.map(|l| l.p99));
        self.latency_ns_p999.push(latency.map(|l| l.p999));
        self.latency_ns_max.push(latency.map(|l| l.max));
    }
}

pub(crate) fn assemble(
    plan: &Plan,
    timeline: &Timeline,
    mut collector: Collector,
    gathered: Gathered,
) -> RunResult {
    let measured_s = plan.spec.measure_s;
    collector.finish(measured_s);
    let mut samples = SampleColumns::default();
    collector.samples().iter().for_each(|sample| samples.push(sample));
    let start = timeline.measure_start_utc();
    let threads = plan.spec.threads;
    let busy_s = gathered.cpu.user_s + gathered.cpu.system_s;
    let operations = collector
        .totals()
        .into_iter()
        .map(|(kind, total)| {
            let latency_ns = total.latencies.as_ref().and_then(LatencySummary::of);
            let (ok, fail, unknown, examples) =
                (total.ok, total.fail, total.unknown, total.examples);
            (kind, OperationResult { ok, fail, unknown, examples, latency_ns })
        })
        .collect();
    RunResult {
        measured_s,
        warm_up_s: plan.spec.warm_up_s,
        before_measure_s: timeline.before_measure_s(),
        started_unix_s: start
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64(),
        consistency: in_mix(plan, gathered.in_force),
        operations,
        samples,
        latency_log: collector.interval_log(start),
        client: ClientResult {
            cpu_user_s: gathered.cpu.user_s,
            cpu_system_s: gathered.cpu.system_s,
            threads,
            busy_fraction: busy_s / (measured_s * threads as f64),
        },
        warnings: plan.spec.target.warnings(),
    }
}

/// The levels of the kinds that the workload has; a read-modify-write has those of its two parts.
fn in_mix(plan: &Plan, in_force: Vec<(OperationKind, String)>) -> BTreeMap<OperationKind, String> {
    let mix = &plan.workload.spec().mix;
    let has = |kind: &OperationKind| mix.get(kind).is_some_and(|share| *share > 0.0);
    let composed = has(&OperationKind::ReadModifyWrite);
    in_force
        .into_iter()
        .filter(|(kind, _)| {
            has(kind) || (composed && matches!(kind, OperationKind::Read | OperationKind::Update))
        })
        .collect()
}
