//! A warm-up that ends when throughput and latency are steady.
//!
//! Ten times a second the operations that completed, and their mean latency, become an observation
//! each. Once the floor is passed, both series are asked at each whole second whether they have left
//! their transient behind ([`pacelc_measure::steady`]); if so, measuring begins with the next second.
//! At the ceiling it begins in any case, and the result says that nothing steady was seen.

use crate::timeline::Timeline;
use pacelc_measure::{INTERVAL_NS, steady};
use std::sync::atomic::{AtomicU64, Ordering};

const OBSERVATION_NS: u64 = 100_000_000;

/// How long before its beginning threads must know when measuring begins: they look twenty times a
/// second.
const NOTICE_NS: u64 = 250_000_000;

/// What the threads have completed so far.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    operations: AtomicU64,
    latency_ns: AtomicU64,
}

impl Pulse {
    pub(crate) fn add(&self, operations: u64, latency_ns: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
        self.latency_ns.fetch_add(latency_ns, Ordering::Relaxed);
    }
}

/// Watches a warm-up.
#[derive(Debug)]
pub(crate) struct Watch {
    floor_ns: u64,
    ceiling_ns: u64,
    last: Option<Seen>,
    rates: Vec<f64>,
    latencies: Vec<f64>,
    asked_second: u64,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at_ns: u64,
    operations: u64,
    latency_ns: u64,
}

/// What a watch decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The interval that measuring begins with, counted from [`Timeline::intervals_origin_ns`].
    pub first_interval: i64,
    /// Whether throughput and latency were steady.
    pub steady: bool,
}

impl Watch {
    pub(crate) fn new(floor_s: f64, ceiling_s: f64) -> Self {
        Self {
            floor_ns: (floor_s * 1e9) as u64,
            ceiling_ns: ((ceiling_s * 1e9) as u64).next_multiple_of(INTERVAL_NS),
            last: None,
            rates: Vec::new(),
            latencies: Vec::new(),
            asked_second: 0,
        }
    }

    /// Looks at the pulse; fixes the start of measuring once it is known.
    pub(crate) fn look(
        &mut self,
        now_ns: u64,
        pulse: &Pulse,
        timeline: &Timeline,
    ) -> Option<Decision> {
        let since_ns = now_ns.checked_sub(timeline.ready_ns()?)?;
        let seen = Seen {
            at_ns: now_ns,
            operations: pulse.operations.load(Ordering::Relaxed),
            latency_ns: pulse.latency_ns.load(Ordering::Relaxed),
        };
        self.observe(seen);
        let decision = self.decide(since_ns)?;
        let origin = timeline.intervals_origin_ns()?;
        timeline.begin_measuring(
            origin.saturating_add_signed(decision.first_interval * INTERVAL_NS.cast_signed()),
        );
        Some(decision)
    }

    fn observe(&mut self, seen: Seen) {
        let Some(last) = self.last else {
            self.last = Some(seen);
            return;
        };
        let elapsed_ns = seen.at_ns.saturating_sub(last.at_ns);
        if elapsed_ns < OBSERVATION_NS {
            return;
        }
        let operations = seen.operations.saturating_sub(last.operations);
        self.rates.push(operations as f64 * 1e9 / elapsed_ns as f64);
        // Where nothing completed the latency isn't zero: it is what it was, until more is known.
        let latency = match operations {
            0 => self.latencies.last().copied().unwrap_or(0.0),
            n => seen.latency_ns.saturating_sub(last.latency_ns) as f64 / n as f64,
        };
        self.latencies.push(latency);
        self.last = Some(seen);
    }

    fn decide(&mut self, since_ns: u64) -> Option<Decision> {
        let interval_at = |at_ns: u64| {
            let intervals = at_ns.min(self.ceiling_ns).div_ceil(INTERVAL_NS);
            intervals.cast_signed() - (self.ceiling_ns / INTERVAL_NS).cast_signed()
        };
        if since_ns + NOTICE_NS + OBSERVATION_NS >= self.ceiling_ns {
            return Some(Decision { first_interval: 0, steady: self.is_steady() });
        }
        let second = since_ns / INTERVAL_NS;
        if since_ns + NOTICE_NS < self.floor_ns || second == self.asked_second {
            return None;
        }
        self.asked_second = second;
        self.is_steady()
            .then(|| Decision { first_interval: interval_at(since_ns + NOTICE_NS), steady: true })
    }

    fn is_steady(&self) -> bool {
        steady::transient(&self.rates).is_some() && steady::transient(&self.latencies).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pacelc_core::seed;

    /// Plays a server whose rate follows `rate_at` through a watch; the second at which measuring
    /// begins, and whether it was called steady.
    fn play(floor_s: f64, ceiling_s: f64, rate_at: impl Fn(f64) -> f64) -> (f64, bool) {
        let mut watch = Watch::new(floor_s, ceiling_s);
        let mut seen = Seen { at_ns: 0, operations: 0, latency_ns: 0 };
        for tick in 1.. {
            seen.at_ns = tick * OBSERVATION_NS;
            let jitter = 0.95 + 0.1 * (seed::mix(tick) >> 11) as f64 / (1u64 << 53) as f64;
            let operations = (rate_at(seen.at_ns as f64 / 1e9) * jitter * 0.1) as u64;
            seen.operations += operations;
            seen.latency_ns += 100_000_000; // one user is busy all the time
            watch.observe(seen);
            if let Some(decision) = watch.decide(seen.at_ns) {
                let before = decision.first_interval as f64 + ceiling_s.ceil();
                assert!(before * 1e9 >= seen.at_ns as f64 + 0.1e9, "decided too late");
                return (before, decision.steady);
            }
        }
        unreachable!()
    }

    #[test]
    fn a_server_that_is_steady_at_once_costs_the_floor() {
        let (began_s, steady) = play(6.0, 60.0, |_| 5_000.0);
        assert!((6.0..12.0).contains(&began_s) && steady, "{began_s}");
    }

    #[test]
    fn a_compiler_that_warms_up_is_waited_for() {
        let (began_s, steady) =
            play(5.0, 120.0, |t_s| 10_000.0 * (1.0 - 0.8 * (-t_s / 10.0).exp()));
        // After 30 s the rate is within 4 % of its last; after 90 s within a hundredth of one.
        assert!((25.0..90.0).contains(&began_s) && steady, "{began_s}");
    }

    #[test]
    fn one_that_never_settles_ends_at_the_ceiling_and_says_so() {
        assert_eq!(play(5.0, 40.0, |t_s| 1_000.0 * t_s), (40.0, false));
    }
}
