//! The per-thread side: counts and histograms, without locks.

use crate::{Fate, INTERVAL_NS, Phase, new_histogram};
use hdrhistogram::Histogram;
use pacelc_core::{ErrorKind, OperationKind, Outcome};
use std::collections::BTreeMap;

/// What one thread saw in one interval, of one kind of operation, phase and fate.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Kind of operation.
    pub kind: OperationKind,
    /// When it started.
    pub phase: Phase,
    /// What came of it.
    pub fate: Fate,
    /// Latencies in nanoseconds.
    pub latencies: Histogram<u64>,
}

/// What one thread saw in one interval.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Number of the interval; that which begins when measuring begins is 0, warm-up's are negative.
    pub interval: i64,
    /// What was seen; empty for an interval in which nothing completed.
    pub slices: Vec<Slice>,
    /// Errors of the interval.
    pub errors: Errors,
}

/// Errors by kind of operation, phase, fate and kind of error, with one example of each.
pub type Errors = BTreeMap<(OperationKind, Phase, Fate, ErrorKind), (u64, String)>;

const KINDS: usize = OperationKind::ALL.len();
const SLOTS: usize = KINDS * 2 * 3;

/// One thread's records of the current interval.
#[derive(Debug)]
pub struct Recorder {
    /// When measuring begins; unknown until every user is in.
    measure_start_ns: u64,
    interval: i64,
    interval_end_ns: u64,
    /// By kind, phase and fate; made when first needed, since most are never used.
    histograms: [Option<Histogram<u64>>; SLOTS],
    errors: Errors,
}

impl Recorder {
    /// A recorder for a run that begins to measure at `measure_start_ns`; the current interval is
    /// the one that holds `now_ns`.
    #[must_use]
    pub fn new(measure_start_ns: u64, now_ns: u64) -> Self {
        let mut recorder = Self {
            measure_start_ns,
            interval: 0,
            interval_end_ns: 0,
            histograms: [const { None }; SLOTS],
            errors: Errors::new(),
        };
        recorder.enter_interval(now_ns);
        recorder
    }

    fn enter_interval(&mut self, now_ns: u64) {
        let since = now_ns.cast_signed() - self.measure_start_ns.cast_signed();
        self.interval = since.div_euclid(INTERVAL_NS.cast_signed());
        self.interval_end_ns = (self.measure_start_ns.cast_signed()
            + (self.interval + 1) * INTERVAL_NS.cast_signed())
        .cast_unsigned();
    }

    /// Counts an operation of `kind` that started at `start_ns` and completed at `end_ns`.
    ///
    /// Call [`Recorder::roll`] first where `end_ns` is past the interval: [`Recorder::is_over`].
    pub fn record(
        &mut self,
        kind: OperationKind,
        outcome: &Outcome,
        start_ns: u64,
        end_ns: u64,
        latency_ns: u64,
    ) {
        debug_assert!(!self.is_over(end_ns), "roll first");
        let phase = if start_ns >= self.measure_start_ns { Phase::Measure } else { Phase::WarmUp };
        let fate = match outcome {
            Outcome::Ok => Fate::Ok,
            Outcome::Fail(_) => Fate::Fail,
            Outcome::Unknown(_) => Fate::Unknown,
        };
        let slot = (kind as usize * 2 + phase as usize) * 3 + fate as usize;
        self.histograms[slot]
            .get_or_insert_with(new_histogram)
            .saturating_record(latency_ns.max(1));
        if let Some(failure) = outcome.failure() {
            self.errors
                .entry((kind, phase, fate, failure.kind))
                .or_insert_with(|| (0, failure.detail.clone()))
                .0 += 1;
        }
    }

    /// Whether the current interval ended before `now_ns`.
    #[must_use]
    pub const fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.interval_end_ns
    }

    /// Hands over the current interval and begins the one that holds `now_ns`. Intervals between
    /// them, in which nothing completed, are the collector's to fill in.
    pub fn roll(&mut self, now_ns: u64) -> Batch {
        let mut slices = Vec::new();
        for (slot, histogram) in self.histograms.iter_mut().enumerate() {
            let Some(histogram) = histogram.as_mut().filter(|h| !h.is_empty()) else { continue };
            slices.push(Slice {
                kind: OperationKind::ALL[slot / 6],
                phase: [Phase::WarmUp, Phase::Measure][slot / 3 % 2],
                fate: [Fate::Ok, Fate::Fail, Fate::Unknown][slot % 3],
                latencies: histogram.clone(),
            });
            histogram.reset();
        }
        let batch =
            Batch { interval: self.interval, slices, errors: std::mem::take(&mut self.errors) };
        self.enter_interval(now_ns);
        batch
    }
}
