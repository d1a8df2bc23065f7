//! The parts of a run that several machines measured together, as one.
//!
//! Histograms are added, interval by interval, so that a percentile of the whole is that of all
//! operations; it is never a mean of percentiles. What can't be put together exactly, such as the
//! percentiles of the warm-up, is left out.

use crate::LoadError;
use crate::observer::Observed;
use crate::result::{ClientResult, OperationResult, RunResult, SampleColumns, ScheduleResult};
use pacelc_measure::{Collector, LatencySummary, Phase, Sample, interval_log, new_histogram};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// One result of `parts`, which measured the same study over the same time.
///
/// # Errors
/// [`LoadError::Part`] where there is none, or where one is damaged.
pub fn merge(parts: &[RunResult]) -> Result<RunResult, LoadError> {
    let damaged = |problem: String| LoadError::Part { problem };
    let mut collector = Collector::new(1);
    for part in parts {
        for batch in interval_log::read(&part.latency_log).map_err(damaged)? {
            // Kept open to the end: another part may hold the same interval.
            collector.add(usize::MAX, batch);
        }
    }
    let measured_s = parts.iter().map(|part| part.measured_s).fold(0.0, f64::max);
    collector.finish(measured_s);
    let samples = samples(parts, &collector);
    let mut operations: BTreeMap<_, OperationResult> = BTreeMap::new();
    for (kind, result) in parts.iter().flat_map(|part| &part.operations) {
        operations.entry(*kind).or_default().add(result);
    }
    for (kind, total) in collector.totals() {
        let result = operations.entry(kind).or_default();
        result.latency_ns = total.times.as_ref().and_then(|t| LatencySummary::of(&t.latency));
        result.service_ns =
            total.times.and_then(|t| t.service).as_ref().and_then(LatencySummary::of);
    }
    let threads: usize = parts.iter().map(|part| part.client.threads).sum();
    let busiest = parts.iter().map(|part| part.client.busy_fraction).fold(0.0, f64::max);
    let sum = |of: fn(&ClientResult) -> f64| parts.iter().map(|part| of(&part.client)).sum();
    let client = ClientResult {
        cpu_user_s: sum(|client| client.cpu_user_s),
        cpu_system_s: sum(|client| client.cpu_system_s),
        awake_s: sum(|client| client.awake_s),
        threads,
        busy_fraction: busiest,
        hedges: parts.iter().map(|part| part.client.hedges).sum(),
    };
    let schedule = schedule(parts).map_err(damaged)?;
    let first = |of: fn(&RunResult) -> f64| parts.iter().map(of).fold(f64::INFINITY, f64::min);
    let (started_unix_s, warm_up_s, before_measure_s) =
        (first(|p| p.started_unix_s), first(|p| p.warm_up_s), first(|p| p.before_measure_s));
    let start = Duration::try_from_secs_f64(started_unix_s)
        .map_err(|_| damaged("there is no part to put together".into()))?;
    let mut warnings: Vec<String> = parts.iter().flat_map(|p| p.warnings.clone()).collect();
    warnings.sort();
    warnings.dedup();
    Ok(RunResult {
        measured_s,
        warm_up_s,
        steady: None,
        before_measure_s,
        started_unix_s,
        first_start_unix_s: parts.iter().filter_map(|p| p.first_start_unix_s).reduce(f64::min),
        consistency: parts.iter().flat_map(|part| part.consistency.clone()).collect(),
        operations,
        samples,
        latency_log: collector.interval_log(SystemTime::UNIX_EPOCH + start),
        schedule,
        client,
        // Several machines have no speed in common.
        machine_speed: match parts {
            [only] => only.machine_speed,
            _ => None,
        },
        observed: observed(parts),
        // Users in several places are users of one process.
        groups: Vec::new(),
        warnings,
    })
}

/// What is in every part's sample: that of the smallest, to which the rows are yet to be brought.
fn observed(parts: &[RunResult]) -> Option<Observed> {
    let all: Vec<_> = parts.iter().map(|part| part.observed.as_ref()).collect::<Option<_>>()?;
    let sum = |of: fn(&Observed) -> u64| all.iter().map(|part| of(part)).sum();
    let least = |of: fn(&Observed) -> f64| all.iter().map(|part| of(part)).fold(1.0, f64::min);
    let hot_records = all.iter().map(|part| &part.hot_records).min_by_key(|hot| hot.len())?;
    Some(Observed {
        operations: sum(|part| part.operations),
        logged: sum(|part| part.logged),
        lost_operations: sum(|part| part.lost_operations),
        threshold: least(|part| part.threshold),
        hot_records: hot_records.clone(),
        share_of_records: least(|part| part.share_of_records),
        limit_bytes: sum(|part| part.limit_bytes),
    })
}

/// Those of measuring from the histograms; those of the warm-up, of which there are none, as counts.
fn samples(parts: &[RunResult], collector: &Collector) -> SampleColumns {
    let mut warm_up: BTreeMap<(i64, pacelc_core::OperationKind), Sample> = BTreeMap::new();
    for part in parts {
        for (row, phase) in part.samples.phase.iter().enumerate() {
            if *phase == Phase::Measure {
                continue;
            }
            let Some(sample) = part.samples.row(row) else { continue };
            let place = ((sample.t_s * 1e3).round() as i64, sample.operation);
            warm_up
                .entry(place)
                .and_modify(|all| {
                    all.ok += sample.ok;
                    all.fail += sample.fail;
                    all.unknown += sample.unknown;
                    all.missed += sample.missed;
                })
                .or_insert(sample);
        }
    }
    let mut samples = SampleColumns::default();
    warm_up.values().chain(collector.samples()).for_each(|sample| samples.push(sample));
    samples
}

fn schedule(parts: &[RunResult]) -> Result<Option<ScheduleResult>, String> {
    let mut schedules = parts.iter().filter_map(|part| part.schedule.as_ref());
    let Some(first) = schedules.next() else { return Ok(None) };
    let mut whole = first.clone();
    let mut lag = new_histogram();
    lag.add(interval_log::decode(&first.lag_histogram)?).map_err(|e| e.to_string())?;
    for part in schedules {
        whole.due += part.due;
        whole.not_started += part.not_started;
        whole.waited += part.waited;
        lag.add(interval_log::decode(&part.lag_histogram)?).map_err(|e| e.to_string())?;
    }
    whole.lag_ns = LatencySummary::of(&lag);
    whole.lag_histogram = interval_log::encode(&lag);
    Ok(Some(whole))
}
