//! Spawn → warm-up → measure, agreed between threads.
//!
//! Users start one by one at the spawn rate. When the last one is in, warm-up begins, and with it
//! the times at which measuring starts and ends are fixed. Threads learn of it through one atomic.

use crate::Plan;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

const UNKNOWN: u64 = u64::MAX;

/// The phases of one run, in nanoseconds since its origin.
#[derive(Debug)]
pub struct Timeline {
    origin: Instant,
    origin_utc: SystemTime,
    warm_up_ns: u64,
    measure_ns: u64,
    users: u32,
    users_in: AtomicU32,
    measure_start_ns: AtomicU64,
}

impl Timeline {
    /// The origin is now.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            origin: Instant::now(),
            origin_utc: SystemTime::now(),
            warm_up_ns: (plan.spec.warm_up_s * 1e9) as u64,
            measure_ns: (plan.spec.measure_s * 1e9) as u64,
            users: plan.spec.users,
            users_in: AtomicU32::new(0),
            measure_start_ns: AtomicU64::new(UNKNOWN),
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

    /// A user is in. The last one fixes when measuring starts.
    pub fn user_is_in(&self) {
        if self.users_in.fetch_add(1, Ordering::Relaxed) + 1 == self.users {
            let start = self.ns(Instant::now()) + self.warm_up_ns;
            self.measure_start_ns.store(start, Ordering::Release);
        }
    }

    /// Users that are in.
    #[must_use]
    pub fn users_in(&self) -> u32 {
        self.users_in.load(Ordering::Relaxed)
    }

    /// When measuring starts; `None` until the last user is in.
    #[must_use]
    pub fn measure_start_ns(&self) -> Option<u64> {
        match self.measure_start_ns.load(Ordering::Acquire) {
            UNKNOWN => None,
            ns => Some(ns),
        }
    }

    /// When measuring ends: no operation starts at or after it.
    #[must_use]
    pub fn measure_end_ns(&self) -> Option<u64> {
        self.measure_start_ns().map(|start| start + self.measure_ns)
    }

    /// Measuring's start by the calendar.
    #[must_use]
    pub fn measure_start_utc(&self) -> SystemTime {
        self.origin_utc + Duration::from_nanos(self.measure_start_ns().unwrap_or(0))
    }

    /// Seconds from the origin to the start of measuring.
    #[must_use]
    pub fn before_measure_s(&self) -> f64 {
        self.measure_start_ns().unwrap_or(0) as f64 / 1e9
    }
}
