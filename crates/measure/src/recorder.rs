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
    /// When it was due.
    pub phase: Phase,
    /// What came of it.
    pub fate: Fate,
    /// How long it took.
    pub times: Times,
}

/// Histograms in nanoseconds.
#[derive(Debug, Clone)]
pub struct Times {
    /// From the moment an operation was due to its completion.
    pub latency: Histogram<u64>,
    /// From its start, where there is a schedule that the start can be late on.
    pub service: Option<Histogram<u64>>,
}

impl Times {
    /// Empty ones; `scheduled` where there is a schedule.
    #[must_use]
    pub fn new(scheduled: bool) -> Self {
        Self { latency: new_histogram(), service: scheduled.then(new_histogram) }
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        // All histograms have the same bounds, so that adding can't fail.
        let _ = self.latency.add(&other.latency);
        if let Some(service) = &other.service {
            let _ = self.service.get_or_insert_with(new_histogram).add(service);
        }
    }

    fn reset(&mut self) {
        self.latency.reset();
        if let Some(service) = &mut self.service {
            service.reset();
        }
    }
}

/// What one thread saw in one interval.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Number of the interval; that which begins at the recorder's origin is 0.
    pub interval: i64,
    /// What was seen; empty for an interval in which nothing completed.
    pub slices: Vec<Slice>,
    /// Errors of the interval.
    pub errors: Errors,
}

/// Errors by kind of operation, phase, fate and kind of error, with one example of each.
pub type Errors = BTreeMap<(OperationKind, Phase, Fate, ErrorKind), (u64, String)>;

/// One operation's times, in nanoseconds since the run's origin.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// When it was to start; in a closed loop, when it did.
    pub due_ns: u64,
    /// When it started.
    pub start_ns: u64,
    /// When it completed.
    pub end_ns: u64,
}

const KINDS: usize = OperationKind::ALL.len();
const FATES: usize = Fate::ALL.len();
const SLOTS: usize = KINDS * 2 * FATES;

/// One thread's records of the current interval.
#[derive(Debug)]
pub struct Recorder {
    /// Where interval 0 begins.
    origin_ns: u64,
    /// What is due from here on is measured.
    measure_start_ns: u64,
    scheduled: bool,
    interval: i64,
    interval_end_ns: u64,
    /// By kind, phase and fate; made when first needed, since most are never used.
    times: [Option<Box<Times>>; SLOTS],
    errors: Errors,
}

impl Recorder {
    /// A recorder whose intervals are counted from `origin_ns`, and which measures what is due from
    /// there on; the current interval is the one that holds `now_ns`.
    #[must_use]
    pub fn new(origin_ns: u64, now_ns: u64, scheduled: bool) -> Self {
        let mut recorder = Self {
            origin_ns,
            measure_start_ns: origin_ns,
            scheduled,
            interval: 0,
            interval_end_ns: 0,
            times: [const { None }; SLOTS],
            errors: Errors::new(),
        };
        recorder.enter_interval(now_ns);
        recorder
    }

    /// What is due from `at_ns` on is measured. To be said before anything that is due then starts.
    pub const fn measure_from(&mut self, at_ns: u64) {
        self.measure_start_ns = at_ns;
    }

    fn enter_interval(&mut self, now_ns: u64) {
        let since = now_ns.cast_signed() - self.origin_ns.cast_signed();
        self.interval = since.div_euclid(INTERVAL_NS.cast_signed());
        self.interval_end_ns = (self.origin_ns.cast_signed()
            + (self.interval + 1) * INTERVAL_NS.cast_signed())
        .cast_unsigned();
    }

    /// Counts an operation of `kind`.
    ///
    /// Call [`Recorder::roll`] first where it ended past the interval: [`Recorder::is_over`].
    pub fn record(&mut self, kind: OperationKind, outcome: &Outcome, span: Span) {
        debug_assert!(!self.is_over(span.end_ns), "roll first");
        let phase = self.phase(span);
        let fate = match outcome {
            Outcome::Ok => Fate::Ok,
            Outcome::Fail(_) => Fate::Fail,
            Outcome::Unknown(_) => Fate::Unknown,
        };
        self.count(kind, phase, fate, span);
        if let Some(failure) = outcome.failure() {
            self.errors
                .entry((kind, phase, fate, failure.kind))
                .or_insert_with(|| (0, failure.detail.clone()))
                .0 += 1;
        }
    }

    /// Counts an operation that was recorded as ok as one that found nothing, too.
    pub fn record_missed(&mut self, kind: OperationKind, span: Span) {
        self.count(kind, self.phase(span), Fate::Missed, span);
    }

    fn phase(&self, span: Span) -> Phase {
        if span.due_ns >= self.measure_start_ns { Phase::Measure } else { Phase::WarmUp }
    }

    fn count(&mut self, kind: OperationKind, phase: Phase, fate: Fate, span: Span) {
        let slot = (kind as usize * 2 + phase as usize) * FATES + fate as usize;
        let scheduled = self.scheduled;
        let times = self.times[slot].get_or_insert_with(|| Box::new(Times::new(scheduled)));
        times.latency.saturating_record(span.end_ns.saturating_sub(span.due_ns).max(1));
        if let Some(service) = &mut times.service {
            service.saturating_record(span.end_ns.saturating_sub(span.start_ns).max(1));
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
        for (slot, times) in self.times.iter_mut().enumerate() {
            let Some(times) = times.as_mut().filter(|t| !t.latency.is_empty()) else { continue };
            slices.push(Slice {
                kind: OperationKind::ALL[slot / (2 * FATES)],
                phase: [Phase::WarmUp, Phase::Measure][slot / FATES % 2],
                fate: Fate::ALL[slot % FATES],
                times: (**times).clone(),
            });
            times.reset();
        }
        let batch =
            Batch { interval: self.interval, slices, errors: std::mem::take(&mut self.errors) };
        self.enter_interval(now_ns);
        batch
    }
}
