//! The per-run side: puts the threads' batches together.

use crate::recorder::{Batch, Errors, Times};
use crate::{Fate, INTERVAL_S, LatencySummary, Phase, interval_log, new_histogram};
use hdrhistogram::Histogram;
use pacelc_core::{ErrorKind, OperationKind};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// One row of the time series: one interval, kind of operation and phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// The interval's start, in seconds from the start of measuring.
    pub t_s: f64,
    /// The interval's length in seconds; the last one of a run may be shorter or longer.
    pub interval_s: f64,
    /// The phase in which the operations started.
    pub phase: Phase,
    /// Kind of operation.
    pub operation: OperationKind,
    /// Outcomes.
    pub ok: u64,
    /// See [`Fate::Fail`].
    pub fail: u64,
    /// See [`Fate::Unknown`].
    pub unknown: u64,
    /// See [`Fate::Missed`].
    pub missed: u64,
    /// Latencies of those that were ok; `None` where none was.
    pub latency: Option<LatencySummary>,
    /// Their service times; `None` without a schedule.
    pub service: Option<LatencySummary>,
}

/// A kind of operation over the whole of measuring.
#[derive(Debug, Clone, Default)]
pub struct Total {
    /// Number of those that were ok.
    pub ok: u64,
    /// Of which so many found no record.
    pub missed: u64,
    /// Failures by kind.
    pub fail: BTreeMap<ErrorKind, u64>,
    /// Unknown outcomes by kind.
    pub unknown: BTreeMap<ErrorKind, u64>,
    /// One example of each kind of error, in the server's or driver's words.
    pub examples: BTreeMap<ErrorKind, String>,
    /// Times of those that were ok.
    pub times: Option<Times>,
}

type SliceKey = (OperationKind, Phase, Fate);

/// Puts batches together, interval by interval.
///
/// An interval is closed, and its histograms folded into totals and text, when every thread has
/// handed it in: memory grows with the run's length only by some hundred bytes a second.
#[derive(Debug)]
pub struct Collector {
    /// The newest interval that each thread has handed in.
    reached: Vec<i64>,
    /// The interval in which measuring begins.
    first_measured: i64,
    open: BTreeMap<i64, BTreeMap<SliceKey, Times>>,
    samples: Vec<Sample>,
    totals: BTreeMap<SliceKey, Times>,
    errors: Errors,
    /// The interval log's lines so far: text, since a histogram takes a hundred times the room.
    log: String,
}

impl Collector {
    /// For `threads` recorders.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self {
            reached: vec![i64::MIN; threads],
            first_measured: 0,
            open: BTreeMap::new(),
            samples: Vec::new(),
            totals: BTreeMap::new(),
            errors: Errors::new(),
            log: String::new(),
        }
    }

    /// Measuring begins with interval `first`, counted as the recorders count. To be said before
    /// anything measured is added.
    pub fn measure_from(&mut self, first: i64) {
        let moved = first - self.first_measured;
        self.first_measured = first;
        for sample in &mut self.samples {
            sample.t_s -= moved as f64 * INTERVAL_S;
        }
    }

    /// Takes what thread number `thread` saw. Answers with the samples of intervals that are now
    /// complete.
    pub fn add(&mut self, thread: usize, batch: Batch) -> &[Sample] {
        let interval = self.open.entry(batch.interval).or_default();
        for slice in batch.slices {
            let key = (slice.kind, slice.phase, slice.fate);
            add(interval, key, &slice.times);
        }
        for (key, (count, example)) in batch.errors {
            self.errors.entry(key).or_insert_with(|| (0, example)).0 += count;
        }
        if let Some(reached) = self.reached.get_mut(thread) {
            *reached = (*reached).max(batch.interval);
        }
        let complete_to = self.reached.iter().copied().min().unwrap_or(i64::MIN);
        let before = self.samples.len();
        while let Some((interval, _)) =
            self.open.first_key_value().filter(|(i, _)| **i <= complete_to)
        {
            let interval = *interval;
            self.close(interval);
        }
        &self.samples[before..]
    }

    fn close(&mut self, interval: i64) {
        let Some(slices) = self.open.remove(&interval) else { return };
        let t_s = (interval - self.first_measured) as f64 * INTERVAL_S;
        let mut rows: BTreeMap<(OperationKind, Phase), [u64; Fate::ALL.len()]> = BTreeMap::new();
        for ((kind, phase, fate), times) in &slices {
            rows.entry((*kind, *phase)).or_default()[*fate as usize] += times.latency.len();
        }
        for ((operation, phase), [ok, fail, unknown, missed]) in rows {
            let good = slices.get(&(operation, phase, Fate::Ok));
            self.samples.push(Sample {
                t_s,
                interval_s: INTERVAL_S,
                phase,
                operation,
                ok,
                fail,
                unknown,
                missed,
                latency: good.and_then(|times| LatencySummary::of(&times.latency)),
                service: good.and_then(|times| times.service.as_ref()).and_then(LatencySummary::of),
            });
        }
        for (key, times) in slices {
            add(&mut self.totals, key, &times);
            if key.1 == Phase::Measure {
                interval_log::write(&mut self.log, key.0, key.2, t_s, &times);
            }
        }
    }

    /// Ends the run at `end_s` seconds after the start of measuring: closes all intervals, and
    /// gives the last one its true length.
    pub fn finish(&mut self, end_s: f64) {
        while let Some((interval, _)) = self.open.first_key_value() {
            let interval = *interval;
            self.close(interval);
        }
        for sample in &mut self.samples {
            if sample.t_s + sample.interval_s > end_s && sample.t_s < end_s {
                sample.interval_s = end_s - sample.t_s;
            }
        }
    }

    /// The time series so far.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What was measured, by kind of operation. Warm-up isn't in it.
    #[must_use]
    pub fn totals(&self) -> BTreeMap<OperationKind, Total> {
        let mut totals: BTreeMap<OperationKind, Total> = BTreeMap::new();
        for ((kind, phase, fate), times) in &self.totals {
            if *phase == Phase::Measure {
                let total = totals.entry(*kind).or_default();
                if *fate == Fate::Ok {
                    total.ok = times.latency.len();
                    total.times = Some(times.clone());
                } else if *fate == Fate::Missed {
                    total.missed = times.latency.len();
                }
            }
        }
        for ((kind, phase, fate, error), (count, example)) in &self.errors {
            if *phase == Phase::Measure {
                let total = totals.entry(*kind).or_default();
                let counts = if *fate == Fate::Fail { &mut total.fail } else { &mut total.unknown };
                *counts.entry(*error).or_default() += count;
                total.examples.entry(*error).or_insert_with(|| example.clone());
            }
        }
        totals
    }

    /// The latency of every measured operation, whatever its kind, by fate.
    #[must_use]
    pub fn all_latencies(&self, fate: Fate) -> Histogram<u64> {
        let mut all = new_histogram();
        for ((_, phase, of), times) in &self.totals {
            if *phase == Phase::Measure && *of == fate {
                // All histograms have the same bounds, so that adding can't fail.
                let _ = all.add(&times.latency);
            }
        }
        all
    }

    /// The measured intervals as a HdrHistogram interval log: see [`interval_log`].
    #[must_use]
    pub fn interval_log(&self, measure_start: SystemTime) -> String {
        interval_log::header(measure_start) + &self.log
    }
}

fn add(to: &mut BTreeMap<SliceKey, Times>, key: SliceKey, from: &Times) {
    to.entry(key).or_insert_with(|| Times::new(false)).add(from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{INTERVAL_NS, Recorder, Span};
    use pacelc_core::Outcome;
    use proptest::prelude::*;

    const START: u64 = 10 * INTERVAL_NS;

    /// Plays operations (start, latency, ok) into `threads` recorders in turn.
    fn play(operations: &[(u64, u64, bool)], threads: usize) -> Collector {
        let mut collector = Collector::new(threads);
        let mut by_end = operations.to_vec();
        by_end.sort_by_key(|(start, latency, _)| start + latency);
        let mut recorders: Vec<_> = (0..threads).map(|_| Recorder::new(START, 0, false)).collect();
        for (i, (start, latency, ok)) in by_end.iter().enumerate() {
            let (thread, end) = (i % threads, start + latency);
            if recorders[thread].is_over(end) {
                collector.add(thread, recorders[thread].roll(end));
            }
            let outcome =
                if *ok { Outcome::Ok } else { Outcome::unknown(ErrorKind::Timeout, "late") };
            let span = Span { due_ns: *start, start_ns: *start, end_ns: end };
            recorders[thread].record(OperationKind::Read, &outcome, span);
        }
        for (thread, recorder) in recorders.iter_mut().enumerate() {
            collector.add(thread, recorder.roll(u64::MAX / 4));
        }
        collector.finish(1e6);
        collector
    }

    proptest! {
        #[test]
        fn samples_add_up_to_totals_and_nothing_is_lost(
            operations in prop::collection::vec((0u64..30 * INTERVAL_NS, 1u64..5 * INTERVAL_NS, any::<bool>()), 0..60),
            threads in 1usize..4,
        ) {
            let collector = play(&operations, threads);
            let measured = |ok| operations.iter().filter(|(start, _, o)| *start >= START && *o == ok).count() as u64;
            let sum = |f: fn(&Sample) -> u64| -> u64 {
                collector.samples().iter().filter(|s| s.phase == Phase::Measure).map(f).sum()
            };
            prop_assert_eq!(sum(|s| s.ok), measured(true));
            prop_assert_eq!(sum(|s| s.unknown), measured(false));
            let totals = collector.totals();
            let total = totals.get(&OperationKind::Read).cloned().unwrap_or_default();
            prop_assert_eq!(total.ok, measured(true));
            prop_assert_eq!(total.unknown.get(&ErrorKind::Timeout).copied().unwrap_or(0), measured(false));
        }

        #[test]
        fn threads_do_not_change_the_result(
            operations in prop::collection::vec((0u64..30 * INTERVAL_NS, 1u64..INTERVAL_NS, Just(true)), 1..60),
        ) {
            let (one, three) = (play(&operations, 1), play(&operations, 3));
            prop_assert_eq!(one.samples(), three.samples());
            prop_assert_eq!(one.all_latencies(Fate::Ok), three.all_latencies(Fate::Ok));
        }
    }

    #[test]
    fn a_start_that_is_late_counts_in_latency_and_not_in_service_time() {
        let mut recorder = Recorder::new(START, START, true);
        let span = Span { due_ns: START, start_ns: START + 9_000_000, end_ns: START + 10_000_000 };
        recorder.record(OperationKind::Read, &Outcome::Ok, span);
        let mut collector = Collector::new(1);
        collector.add(0, recorder.roll(START + INTERVAL_NS));
        collector.finish(1.0);
        let times = collector.totals()[&OperationKind::Read].times.clone().unwrap();
        assert!(times.latency.max().abs_diff(10_000_000) < 10_000);
        assert!(times.service.unwrap().max().abs_diff(1_000_000) < 1_000);
        let log = collector.interval_log(SystemTime::UNIX_EPOCH);
        assert!(log.contains("Tag=read.ok,") && log.contains("Tag=read.ok.service,"), "{log}");
    }

    #[test]
    fn a_read_that_finds_nothing_is_ok_and_counted_apart() {
        let mut recorder = Recorder::new(START, START, true);
        for (at, missed) in [(START - 5, true), (START, false), (START + 1, true)] {
            let span = Span { due_ns: at, start_ns: at, end_ns: START + 1_000 };
            recorder.record(OperationKind::Read, &Outcome::Ok, span);
            if missed {
                recorder.record_missed(OperationKind::Read, span);
            }
        }
        let mut collector = Collector::new(1);
        collector.add(0, recorder.roll(START + INTERVAL_NS));
        collector.finish(1.0);
        let counts: Vec<_> =
            collector.samples().iter().map(|s| (s.phase, s.ok, s.missed, s.fail)).collect();
        assert_eq!(counts, [(Phase::WarmUp, 1, 1, 0), (Phase::Measure, 2, 1, 0)]);
        let total = &collector.totals()[&OperationKind::Read];
        assert_eq!((total.ok, total.missed), (2, 1));
        // The log has it, so that several machines' can be put together.
        let mut again = Collector::new(1);
        for batch in interval_log::read(&collector.interval_log(SystemTime::UNIX_EPOCH)).unwrap() {
            again.add(0, batch);
        }
        again.finish(1.0);
        let total = &again.totals()[&OperationKind::Read];
        assert_eq!((total.ok, total.missed), (2, 1));
    }

    #[test]
    fn measuring_may_begin_later_than_the_recorders_were_told() {
        let mut recorder = Recorder::new(0, 0, false);
        let mut collector = Collector::new(1);
        recorder.measure_from(2 * INTERVAL_NS);
        collector.measure_from(2);
        for second in 0..4 {
            let at = second * INTERVAL_NS;
            if recorder.is_over(at) {
                collector.add(0, recorder.roll(at));
            }
            let span = Span { due_ns: at, start_ns: at, end_ns: at + 1 };
            recorder.record(OperationKind::Read, &Outcome::Ok, span);
        }
        collector.add(0, recorder.roll(4 * INTERVAL_NS));
        collector.finish(2.0);
        let times: Vec<_> = collector.samples().iter().map(|s| (s.t_s, s.phase)).collect();
        let (warm_up, measure) = (Phase::WarmUp, Phase::Measure);
        assert_eq!(times, [(-2.0, warm_up), (-1.0, warm_up), (0.0, measure), (1.0, measure)]);
    }

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let operations: Vec<_> = (1..=10_000u64).map(|i| (START, i * 1_000, true)).collect();
        let summary = LatencySummary::of(&play(&operations, 1).all_latencies(Fate::Ok)).unwrap();
        for (value, exact) in [(summary.p50, 5e6), (summary.p99, 9.9e6), (summary.p999, 9.99e6)] {
            assert!((value as f64 / exact - 1.0).abs() < 0.001, "{value} {exact}");
        }
    }

    #[test]
    fn the_interval_log_reads_back() {
        use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
        let operations: Vec<_> =
            (0..1_000).map(|i| (START + i * 5_000_000, 1_000 + i, true)).collect();
        let text = play(&operations, 2).interval_log(SystemTime::UNIX_EPOCH);
        let tags: Vec<_> = IntervalLogIterator::new(text.as_bytes())
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval.tag().unwrap().as_str().to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(tags, ["read.ok"; 5]);
    }
}
