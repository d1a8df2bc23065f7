//! How a run is watched and stopped from outside.

use crate::thread::Event;
use crate::timeline::Timeline;
use pacelc_core::OperationKind;
use pacelc_measure::Sample;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Progress {
    /// `open`, `spawn`, `warm-up`, `measure`, `drain`; for the load of records `load`.
    pub phase: String,
    /// Seconds since the run's origin.
    pub elapsed_s: f64,
    /// When measuring begins, or began, in seconds since 1970; `None` until that is known.
    pub measure_start_unix_s: Option<f64>,
    /// Users that are in.
    pub users: u32,
    /// Operations so far, warm-up included; for the load of records, records.
    pub ok: u64,
    /// Failures so far.
    pub fail: u64,
    /// Unknown outcomes so far.
    pub unknown: u64,
    /// Operations that were ok in the newest complete second.
    pub throughput_per_s: f64,
    /// Their worst kind's 99th percentile, nanoseconds.
    pub p99_ns: Option<u64>,
    /// By kind of operation.
    pub operations: BTreeMap<OperationKind, KindProgress>,
}

/// Where one kind of operation stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct KindProgress {
    /// So far, warm-up included.
    pub ok: u64,
    /// See [`KindProgress::ok`].
    pub fail: u64,
    /// See [`KindProgress::ok`].
    pub unknown: u64,
    /// Sum of the latencies of those that were ok.
    pub latency_sum_ns: u64,
    /// Median latency in the newest complete second.
    pub p50_ns: Option<u64>,
    /// 99th percentile in the newest complete second.
    pub p99_ns: Option<u64>,
}

/// A handle to a run, shared with whoever watches it.
#[derive(Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    progress: Mutex<Progress>,
}

impl Control {
    /// Asks the run to end now; what it measured so far is dropped.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) const fn stop_flag(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Where the run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Shows the samples of newly completed seconds.
    pub(crate) fn show(&self, samples: &[Sample]) {
        let Some(newest) = samples.iter().map(|s| s.t_s).max_by(f64::total_cmp) else { return };
        self.update(|progress| {
            for sample in samples {
                progress.ok += sample.ok;
                progress.fail += sample.fail;
                progress.unknown += sample.unknown;
                let kind = progress.operations.entry(sample.operation).or_default();
                kind.ok += sample.ok;
                kind.fail += sample.fail;
                kind.unknown += sample.unknown;
                let mean_ns = sample.latency.map_or(0.0, |latency| latency.mean);
                kind.latency_sum_ns += (mean_ns * sample.ok as f64) as u64;
                if sample.t_s >= newest {
                    kind.p50_ns = sample.latency.map(|latency| latency.p50);
                    kind.p99_ns = sample.latency.map(|latency| latency.p99);
                }
            }
            let latest = || samples.iter().filter(|s| s.t_s >= newest);
            progress.throughput_per_s = latest().map(|s| s.ok as f64 / s.interval_s).sum();
            progress.p99_ns = latest().filter_map(|s| s.latency.map(|l| l.p99)).max();
        });
    }
}

/// What was heard of the threads.
pub(crate) enum Heard {
    Event(Event),
    /// Nothing for a tenth of a second.
    Silence,
    /// All have ended.
    End,
}

/// What the threads say next. Keeps the progress's clock going.
pub(crate) fn next(events: &Receiver<Event>, control: &Control, timeline: &Timeline) -> Heard {
    let now = timeline.ns(Instant::now());
    control.update(|progress| {
        progress.elapsed_s = now as f64 / 1e9;
        progress.measure_start_unix_s = timeline.measure_start_ns().map(|ns| timeline.unix_s(ns));
        progress.users = timeline.users_in();
        progress.phase = match (timeline.measure_start_ns(), timeline.measure_end_ns()) {
            (Some(start), _) if now < start => "warm-up",
            (_, Some(end)) if now < end => "measure",
            (Some(_), _) => "drain",
            (None, _) if timeline.ready_ns().is_some() => "warm-up",
            (None, _) => "spawn",
        }
        .into();
    });
    match events.recv_timeout(Duration::from_millis(100)) {
        Ok(event) => Heard::Event(event),
        Err(RecvTimeoutError::Timeout) => Heard::Silence,
        Err(RecvTimeoutError::Disconnected) => Heard::End,
    }
}
