//! What comes out of a run, as the Python side reads it.

use crate::arrivals::{Arrivals, Spread, Whose};
use crate::cpu::CpuTime;
use crate::machine::MachineSpeed;
use crate::observer::Observed;
use crate::timeline::Timeline;
use crate::user::Punctuality;
use crate::{LoadError, Plan};
use pacelc_core::{ErrorKind, OperationKind};
use pacelc_measure::{Collector, LatencySummary, Phase, Sample, Total, interval_log};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// What the threads tell besides their batches.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub in_force: Vec<(OperationKind, String)>,
    pub cpu: CpuTime,
    pub awake_s: f64,
    /// CPU seconds of the busiest thread, without its `awake_s`.
    pub busiest_s: f64,
    pub hedges: u64,
    pub punctuality: Punctuality,
    pub steady: Option<bool>,
    pub first_start_ns: Option<u64>,
    pub machine_speed: Option<MachineSpeed>,
    pub observed: Option<Observed>,
}

impl Gathered {
    /// Counts a thread's CPU time, of which it waited awake for `awake_s`, and its further requests.
    pub(crate) fn add_thread(&mut self, cpu: CpuTime, awake_s: f64, hedges: u64) {
        self.cpu.add(cpu);
        self.awake_s += awake_s;
        self.busiest_s = self.busiest_s.max(cpu.user_s + cpu.system_s - awake_s);
        self.hedges += hedges;
    }
}

/// What a run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunResult {
    /// Seconds of measuring.
    pub measured_s: f64,
    /// Seconds of warm-up before it.
    pub warm_up_s: f64,
    /// Whether throughput and latency were steady at its end; `None` where nobody looked.
    pub steady: Option<bool>,
    /// Seconds from the run's origin to the start of measuring: opening, spawn and warm-up.
    pub before_measure_s: f64,
    /// The start of measuring, seconds since 1970.
    pub started_unix_s: f64,
    /// When the first measured operation did start: how far apart machines began that were to
    /// begin together.
    pub first_start_unix_s: Option<f64>,
    /// The level of each kind of operation in the mix, read back from what was sent.
    pub consistency: BTreeMap<OperationKind, String>,
    /// What came of the operations that started while measuring.
    pub operations: BTreeMap<OperationKind, OperationResult>,
    /// The time series, by column.
    pub samples: SampleColumns,
    /// HdrHistogram interval log.
    pub latency_log: String,
    /// How the schedule was kept; `None` for a closed loop.
    pub schedule: Option<ScheduleResult>,
    /// What the load generator itself took while measuring.
    pub client: ClientResult,
    /// How fast its machine was meanwhile; `None` where it can't be told, or there were several.
    #[serde(default)]
    pub machine_speed: Option<MachineSpeed>,
    /// What was kept of its operations; `None` where it was nothing, or all.
    #[serde(default)]
    pub observed: Option<Observed>,
    /// What each group of users did, where they were in several places.
    #[serde(default)]
    pub groups: Vec<GroupResult>,
    /// What a reader of the result should know.
    pub warnings: Vec<String>,
}

/// What the users of one place did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupResult {
    /// Where they are.
    pub region: String,
    /// The first and the last of them, counted from 0.
    pub users: [u32; 2],
    /// What came of their operations.
    pub operations: BTreeMap<OperationKind, OperationResult>,
    /// What their threads took.
    pub client: ClientResult,
}

/// One kind of operation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)] // see pacelc_measure::Total
pub struct OperationResult {
    pub ok: u64,
    #[serde(default)]
    pub missed: u64,
    pub fail: BTreeMap<ErrorKind, u64>,
    pub unknown: BTreeMap<ErrorKind, u64>,
    pub examples: BTreeMap<ErrorKind, String>,
    pub latency_ns: Option<LatencySummary>,
    pub service_ns: Option<LatencySummary>,
}

/// How a schedule was kept while measuring.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScheduleResult {
    /// Operations due a second.
    pub rate_per_s: f64,
    /// How the times between them vary.
    pub spread: Spread,
    /// Whose schedule it is.
    pub schedule: Whose,
    /// Operations that were due.
    pub due: u64,
    /// Of which so many had not started when measuring ended.
    pub not_started: u64,
    /// And so many waited for a user to be free.
    pub waited: u64,
    /// From when an operation was due and its user free to its start: the client's own doing.
    pub lag_ns: Option<LatencySummary>,
    /// The same as a histogram, so that the parts of several machines can be added.
    pub lag_histogram: String,
}

/// The load generator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClientResult {
    /// CPU seconds of the engine's threads in user mode.
    pub cpu_user_s: f64,
    /// And in the kernel.
    pub cpu_system_s: f64,
    /// Engine threads.
    pub threads: usize,
    /// Of both, what was nothing but waiting, awake, for the next operation to be due.
    #[serde(default)]
    pub awake_s: f64,
    /// Share of its time that the busiest thread was busy with anything else; near 1, the client was
    /// the bottleneck, whatever other threads did.
    pub busy_fraction: f64,
    /// Requests sent beside the first of an operation, because that one was slow to be answered.
    #[serde(default)]
    pub hedges: u64,
}

/// [`Sample`]s by column, which is how data frames want them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs)] // see pacelc_measure::Sample
pub struct SampleColumns {
    pub t_s: Vec<f64>,
    pub interval_s: Vec<f64>,
    pub phase: Vec<Phase>,
    pub operation: Vec<OperationKind>,
    pub ok: Vec<u64>,
    pub fail: Vec<u64>,
    pub unknown: Vec<u64>,
    pub missed: Vec<u64>,
    pub latency_ns_mean: Vec<Option<f64>>,
    pub latency_ns_p50: Vec<Option<u64>>,
    pub latency_ns_p90: Vec<Option<u64>>,
    pub latency_ns_p99: Vec<Option<u64>>,
    pub latency_ns_p999: Vec<Option<u64>>,
    pub latency_ns_max: Vec<Option<u64>>,
    pub service_ns_mean: Vec<Option<f64>>,
    pub service_ns_p50: Vec<Option<u64>>,
    pub service_ns_p99: Vec<Option<u64>>,
}

impl OperationResult {
    /// Adds another's counts; latencies come from histograms.
    pub(crate) fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.missed += other.missed;
        for (sums, counts) in [(&mut self.fail, &other.fail), (&mut self.unknown, &other.unknown)] {
            for (error, count) in counts {
                *sums.entry(*error).or_default() += count;
            }
        }
        for (error, example) in &other.examples {
            self.examples.entry(*error).or_insert_with(|| example.clone());
        }
    }
}

impl SampleColumns {
    /// The counts of a row.
    pub(crate) fn row(&self, row: usize) -> Option<Sample> {
        Some(Sample {
            t_s: *self.t_s.get(row)?,
            interval_s: *self.interval_s.get(row)?,
            phase: *self.phase.get(row)?,
            operation: *self.operation.get(row)?,
            ok: *self.ok.get(row)?,
            fail: *self.fail.get(row)?,
            unknown: *self.unknown.get(row)?,
            missed: *self.missed.get(row)?,
            latency: None,
            service: None,
        })
    }

    pub(crate) fn push(&mut self, sample: &Sample) {
        self.t_s.push(sample.t_s);
        self.interval_s.push(sample.interval_s);
        self.phase.push(sample.phase);
        self.operation.push(sample.operation);
        self.ok.push(sample.ok);
        self.fail.push(sample.fail);
        self.unknown.push(sample.unknown);
        self.missed.push(sample.missed);
        let latency = sample.latency.as_ref();
        self.latency_ns_mean.push(latency.map(|l| l.mean));
        self.latency_ns_p50.push(latency.map(|l| l.p50));
        self.latency_ns_p90.push(latency.map(|l| l.p90));
        self.latency_ns_p99.push(latency.map(|l| l.p99));
        self.latency_ns_p999.push(latency.map(|l| l.p999));
        self.latency_ns_max.push(latency.map(|l| l.max));
        let service = sample.service.as_ref();
        self.service_ns_mean.push(service.map(|l| l.mean));
        self.service_ns_p50.push(service.map(|l| l.p50));
        self.service_ns_p99.push(service.map(|l| l.p99));
    }
}

pub(crate) fn assemble(
    plan: &Plan,
    timeline: &Timeline,
    mut collector: Collector,
    gathered: Gathered,
) -> Result<RunResult, LoadError> {
    let measured_s = timeline.measured_s();
    let warm_up_s = timeline.warmed_up_s().ok_or_else(|| LoadError::Value {
        field: "measure_start_unix_s",
        problem: "measuring was to start before every user was in".into(),
    })?;
    collector.finish(measured_s);
    let mut samples = SampleColumns::default();
    collector.samples().iter().for_each(|sample| samples.push(sample));
    let start = timeline.measure_start_utc();
    let threads = plan.spec.threads;
    let operations = kinds(&collector);
    let schedule = schedule(&plan.spec.arrivals, &gathered.punctuality);
    let busy_fraction = gathered.busiest_s / measured_s;
    let mut warnings = schedule
        .as_ref()
        .map_or_else(Vec::new, |schedule| late(schedule, plan.spec.users, busy_fraction));
    warnings.extend(plan.spec.target.warnings());
    warnings.extend(missed(plan, &operations));
    if gathered.steady == Some(false) {
        warnings.push(format!(
            "throughput or latency was not steady after {warm_up_s:.0} s of warm-up, its ceiling"
        ));
    }
    Ok(RunResult {
        measured_s,
        warm_up_s,
        steady: gathered.steady,
        before_measure_s: timeline.before_measure_s(),
        started_unix_s: start
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64(),
        first_start_unix_s: gathered.first_start_ns.map(|ns| timeline.unix_s(ns)),
        consistency: in_mix(plan, gathered.in_force),
        operations,
        samples,
        latency_log: collector.interval_log(start),
        schedule,
        client: ClientResult {
            cpu_user_s: gathered.cpu.user_s,
            cpu_system_s: gathered.cpu.system_s,
            awake_s: gathered.awake_s,
            threads,
            busy_fraction,
            hedges: gathered.hedges,
        },
        machine_speed: gathered.machine_speed,
        observed: gathered.observed,
        groups: Vec::new(),
        warnings,
    })
}

/// What came of each kind of operation while measuring.
pub(crate) fn kinds(collector: &Collector) -> BTreeMap<OperationKind, OperationResult> {
    let totals = collector.totals().into_iter();
    let results = totals.map(|(kind, total)| {
        let times = total.times.as_ref();
        let latency_ns = times.and_then(|times| LatencySummary::of(&times.latency));
        let service_ns =
            times.and_then(|times| times.service.as_ref()).and_then(LatencySummary::of);
        let Total { ok, missed, fail, unknown, examples, .. } = total;
        (kind, OperationResult { ok, missed, fail, unknown, examples, latency_ns, service_ns })
    });
    results.collect()
}

fn schedule(arrivals: &Arrivals, kept: &Punctuality) -> Option<ScheduleResult> {
    let Arrivals::Open { rate_per_s, spread, schedule } = *arrivals else { return None };
    Some(ScheduleResult {
        rate_per_s,
        spread,
        schedule,
        due: kept.due,
        not_started: kept.not_started,
        waited: kept.waited,
        lag_ns: LatencySummary::of(&kept.lag),
        lag_histogram: interval_log::encode(&kept.lag),
    })
}

/// Starts later than this, by the client's own doing, are more than the system's clock and
/// scheduler can be blamed for.
const LATE_NS: u64 = 1_000_000;

/// A load thread busier than this has no time left to be punctual.
const BUSY: f64 = 0.9;

/// One that is less busy doesn't keep its own users waiting for a millisecond.
const IDLE: f64 = 0.5;

/// Who is to blame for a schedule that wasn't kept.
fn late(schedule: &ScheduleResult, users: u32, busy_fraction: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    let rate = schedule.rate_per_s;
    let lag_ns = schedule.lag_ns.map_or(0, |lag| lag.p99);
    let (late_ms, busy) = (lag_ns as f64 / 1e6, 100.0 * busy_fraction);
    if busy_fraction > BUSY || (lag_ns > LATE_NS && busy_fraction > IDLE) {
        warnings.push(format!(
            "the client itself could not keep {rate} operations a second: its p99 start was \
             {late_ms:.2} ms late and its busiest thread was busy {busy:.0} % of the time; use more \
             threads or machines"
        ));
    } else if lag_ns > LATE_NS {
        warnings.push(format!(
            "the client's machine was late: the p99 start was {late_ms:.2} ms late, though the busiest \
             thread was busy only {busy:.0} % of the time; look for what else took its processors, \
             or give the client a machine of its own"
        ));
    }
    let share = |n: u64| 100.0 * n as f64 / schedule.due.max(1) as f64;
    // Fewer than this touch no percentile that is reported.
    if share(schedule.not_started) > 0.01 {
        warnings.push(format!(
            "{} of {} operations ({:.2} %) that were due had not started at the end, and are in no \
             percentile: higher percentiles than the {:.2}th are lower bounds",
            schedule.not_started,
            schedule.due,
            share(schedule.not_started),
            100.0 - share(schedule.not_started)
        ));
    }
    // A little waiting is a queue at work; much of it means that the loop is hardly open any more.
    if share(schedule.waited) > 10.0 {
        warnings.push(format!(
            "{:.0} % of the operations waited because all {users} users were busy: the database is \
             slower than {rate} a second, or there are too few users",
            share(schedule.waited)
        ));
    }
    warnings
}

/// What reads did not find, where no delete can explain it: every record was loaded, or its insert
/// acknowledged.
fn missed(plan: &Plan, operations: &BTreeMap<OperationKind, OperationResult>) -> Vec<String> {
    if plan.workload.has(OperationKind::Delete) {
        return Vec::new();
    }
    let told = |(kind, result): (&OperationKind, &OperationResult)| {
        let (missed, ok) = (result.missed, result.ok);
        let share = 100.0 * missed as f64 / ok as f64;
        let nothing = match kind {
            OperationKind::Scan => "fewer records than there are",
            _ => "no record, although it had been loaded or its insert acknowledged",
        };
        let name = kind.name();
        format!(
            "{missed} of {ok} {name}s ({share:.2} %) found {nothing}: they were stale, or data is lost"
        )
    };
    operations.iter().filter(|(_, result)| result.missed > 0).map(told).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_start_has_an_owner() {
        let blamed = |busy_fraction, lag_ns| {
            let mut lag = pacelc_measure::new_histogram();
            lag.record(lag_ns).unwrap();
            let schedule = ScheduleResult {
                rate_per_s: 100.0,
                spread: Spread::Constant,
                schedule: Whose::Shared,
                due: 100,
                not_started: 0,
                waited: 0,
                lag_ns: LatencySummary::of(&lag),
                lag_histogram: String::new(),
            };
            let warnings = late(&schedule, 1, busy_fraction);
            assert!(warnings.len() <= 1, "{warnings:?}");
            warnings.first().map(|w| (w.contains("more threads"), w.contains("machine was late")))
        };
        let (client, machine) = (Some((true, false)), Some((false, true)));
        for (busy_fraction, lag_ns, expected) in [
            (0.01, 50_000, None),
            (0.01, 5_000_000, machine),
            (0.80, 5_000_000, client),
            (0.80, 50_000, None),
            (0.95, 50_000, client),
        ] {
            assert_eq!(blamed(busy_fraction, lag_ns), expected, "{busy_fraction}, {lag_ns} ns");
        }
    }
}
