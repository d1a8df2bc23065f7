//! Spawn → warm-up → measure, agreed between threads.
//!
//! Users start one by one at the spawn rate. When the last one is in, warm-up begins. How long it
//! lasts is fixed, or found while it lasts ([`warm_up`](crate::warm_up)), or follows from a moment
//! that several machines have agreed on. Threads learn of it through atomics.

use crate::LoadSpec;
use pacelc_measure::INTERVAL_NS;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

const UNKNOWN: u64 = u64::MAX;

/// From the last user's start to the first due time of a schedule: enough for every thread to hear
/// of it, so that no schedule begins with a backlog.
const LEAD_NS: u64 = 100_000_000;

/// The phases of one run, in nanoseconds since its origin.
#[derive(Debug)]
pub struct Timeline {
    origin: Instant,
    origin_utc: SystemTime,
    lead_ns: u64,
    warm_up: WarmUp,
    measure_ns: u64,
    users: u32,
    users_in: AtomicU32,
    ready_ns: AtomicU64,
    measure_start_ns: AtomicU64,
    ended_ns: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
enum WarmUp {
    /// It lasts so long.
    Fixed(u64),
    /// It ends when it has been found to be over, after a whole number of intervals, of which it may
    /// take at most so many.
    UntilSteady { ceiling_intervals: u64 },
    /// It ends at a moment agreed on.
    Until(u64),
}

impl Timeline {
    /// The origin is now, or the moment at which the run is to start.
    #[must_use]
    pub fn new(spec: &LoadSpec) -> Self {
        let (now, now_utc) = (Instant::now(), SystemTime::now());
        let unix_s = now_utc.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let wait = spec
            .start_unix_s
            .and_then(|start_s| Duration::try_from_secs_f64(start_s).ok())
            .map_or(Duration::ZERO, |start| start.saturating_sub(unix_s));
        let origin_unix_s = (unix_s + wait).as_secs_f64();
        let warm_up_ns = ns(spec.warm_up_s);
        let warm_up = match (&spec.steady, spec.measure_start_unix_s) {
            (Some(steady), _) => WarmUp::UntilSteady {
                ceiling_intervals: ns(steady.ceiling_s).div_ceil(INTERVAL_NS),
            },
            (None, Some(at_s)) => WarmUp::Until(ns((at_s - origin_unix_s).max(0.0))),
            (None, None) => WarmUp::Fixed(warm_up_ns),
        };
        Self {
            origin: now + wait,
            origin_utc: now_utc + wait,
            lead_ns: if spec.arrivals.scheduled() { LEAD_NS } else { 0 },
            warm_up,
            measure_ns: ns(spec.measure_s),
            users: spec.users,
            users_in: AtomicU32::new(0),
            ready_ns: AtomicU64::new(UNKNOWN),
            measure_start_ns: AtomicU64::new(UNKNOWN),
            ended_ns: AtomicU64::new(0),
        }
    }

    /// Nanoseconds from the origin to `at`.
    #[must_use]
    pub fn ns(&self, at: Instant) -> u64 {
        at.duration_since(self.origin).as_nanos() as u64
    }

    /// The moment `ns` nanoseconds after the origin.
    #[must_use]
    pub fn at(&self, ns: u64) -> Instant {
        self.origin + Duration::from_nanos(ns)
    }

    /// A user is in. With the last one, warm-up begins.
    pub fn user_is_in(&self) {
        if self.users_in.fetch_add(1, Ordering::Relaxed) + 1 == self.users {
            let ready = self.ns(Instant::now()) + self.lead_ns;
            match self.warm_up {
                WarmUp::Fixed(ns) => self.begin_measuring(ready + ns),
                WarmUp::Until(at) => self.begin_measuring(at),
                WarmUp::UntilSteady { .. } => {}
            }
            self.ready_ns.store(ready, Ordering::Release);
        }
    }

    /// Users that are in.
    #[must_use]
    pub fn users_in(&self) -> u32 {
        self.users_in.load(Ordering::Relaxed)
    }

    /// When warm-up, and a schedule, begins; `None` until the last user is in.
    #[must_use]
    pub fn ready_ns(&self) -> Option<u64> {
        known(&self.ready_ns)
    }

    /// Where intervals are counted from; `None` until the last user is in.
    ///
    /// Measuring begins here unless the warm-up is over earlier, which it then is by whole
    /// intervals.
    #[must_use]
    pub fn intervals_origin_ns(&self) -> Option<u64> {
        let ready = self.ready_ns()?;
        match self.warm_up {
            WarmUp::UntilSteady { ceiling_intervals } => {
                Some(ready + ceiling_intervals * INTERVAL_NS)
            }
            WarmUp::Fixed(_) | WarmUp::Until(_) => self.measure_start_ns(),
        }
    }

    /// Fixes when measuring begins.
    pub(crate) fn begin_measuring(&self, at_ns: u64) {
        self.measure_start_ns.store(at_ns, Ordering::Release);
    }

    /// When measuring starts; `None` until that is known.
    #[must_use]
    pub fn measure_start_ns(&self) -> Option<u64> {
        known(&self.measure_start_ns)
    }

    /// When measuring ends: nothing is due at or after it.
    #[must_use]
    pub fn measure_end_ns(&self) -> Option<u64> {
        self.measure_start_ns().map(|start| start + self.measure_ns)
    }

    /// A thread has started its last operation, whose number was limited, and it ended at `at_ns`.
    pub(crate) fn ended_early(&self, at_ns: u64) {
        self.ended_ns.fetch_max(at_ns, Ordering::Relaxed);
    }

    /// Seconds of measuring: as planned, or until the last of a limited number of operations.
    #[must_use]
    pub fn measured_s(&self) -> f64 {
        let planned = self.measure_ns;
        let measured = match (self.ended_ns.load(Ordering::Relaxed), self.measure_start_ns()) {
            (ended, Some(start)) if ended > start => planned.min(ended - start),
            _ => planned,
        };
        measured as f64 / 1e9
    }

    /// Measuring's start by the calendar.
    #[must_use]
    pub fn measure_start_utc(&self) -> SystemTime {
        self.origin_utc + Duration::from_nanos(self.measure_start_ns().unwrap_or(0))
    }

    /// A moment by the calendar, in seconds since 1970.
    #[must_use]
    pub fn unix_s(&self, ns: u64) -> f64 {
        let at = self.origin_utc + Duration::from_nanos(ns);
        at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }

    /// Seconds from the origin to the start of measuring.
    #[must_use]
    pub fn before_measure_s(&self) -> f64 {
        self.measure_start_ns().unwrap_or(0) as f64 / 1e9
    }

    /// Seconds of warm-up; `None` where it was to be over before the last user was in.
    #[must_use]
    pub fn warmed_up_s(&self) -> Option<f64> {
        let (ready, start) = (self.ready_ns()?, self.measure_start_ns()?);
        start.checked_sub(ready).map(|ns| ns as f64 / 1e9)
    }
}

fn known(ns: &AtomicU64) -> Option<u64> {
    match ns.load(Ordering::Acquire) {
        UNKNOWN => None,
        ns => Some(ns),
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
