//! When operations are due.
//!
//! A *closed* loop has no schedule: a user's next operation is due when the last is answered, and
//! perhaps after some time to think. A slow server is asked less, and what would have been asked
//! meanwhile is never measured. An *open* loop has one: operations are due at their times, however
//! long the server takes. Latency then counts from the due time, so that a stall is felt by all
//! operations that were due in it, and not only by the one that met it.
//!
//! A schedule is *shared* by the users of a thread (whoever is free takes what is due next: a queue
//! with as many servers as users), or each *user* has one of its own and catches up with it (a
//! closed loop held to a rate, YCSB's `-target`).
//!
//! A shared schedule is pulled by users, not pushed by a dispatcher: arrivals stay in order, none
//! is lost, and those that never started are counted.
//!
//! Lateness has an owner. From when an operation was due until a user was free, it is the server's,
//! or there were too few users. From then to the operation's start it is the client's, or its
//! machine's where the client had nothing else to do. Results keep both.
//!
//! Source: Schroeder, Wierman, Harchol-Balter, "Open versus closed: a cautionary tale", NSDI 2006.

use pacelc_core::seed;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How operations arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// When the user is free.
    Closed {
        /// Mean time between an answer and the next operation.
        #[serde(default)]
        think_s: f64,
        /// How that time varies.
        #[serde(default)]
        think: Spread,
    },
    /// By a schedule.
    Open {
        /// Operations due a second, of all users together.
        rate_per_s: f64,
        /// How the times between them vary.
        #[serde(default)]
        spread: Spread,
        /// Whose schedule it is.
        #[serde(default)]
        schedule: Whose,
    },
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::Closed { think_s: 0.0, think: Spread::Constant }
    }
}

impl Arrivals {
    /// Whether there is a schedule that a start can be late on.
    #[must_use]
    pub const fn scheduled(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

/// How times vary about their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Not at all.
    #[default]
    Constant,
    /// Exponentially: arrivals are then a Poisson process.
    Exponential,
}

/// Whose a schedule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The users': whoever is free takes what is due next.
    #[default]
    Shared,
    /// Each user's own.
    User,
}

/// Times with a mean, drawn one after another.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    mean_ns: f64,
    spread: Spread,
    rng: Xoshiro256PlusPlus,
}

impl Times {
    /// `stream` tells users apart; it is none of those that choose their operations.
    pub(crate) fn new(mean_s: f64, spread: Spread, run_seed: u64, stream: u64) -> Self {
        let own = seed::stream(run_seed ^ 0x5343_4845_4455_4C45, stream);
        Self { mean_ns: mean_s * 1e9, spread, rng: Xoshiro256PlusPlus::seed_from_u64(own) }
    }

    /// The next one, in nanoseconds.
    pub(crate) fn draw_ns(&mut self) -> f64 {
        match self.spread {
            Spread::Constant => self.mean_ns,
            Spread::Exponential => {
                // Uniform above 0 and up to 1, whose logarithm is finite.
                let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                -uniform.ln() * self.mean_ns
            }
        }
    }
}

/// Due times, in nanoseconds since the schedule began.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    gaps: Times,
    /// Where the first gap begins: streams of constant gaps are spread evenly over one.
    offset_ns: f64,
    number: u64,
    sum_ns: f64,
}

impl Schedule {
    /// The schedule of stream `stream` of `streams`, at `rate_per_s` of its own.
    pub(crate) fn new(
        rate_per_s: f64,
        spread: Spread,
        run_seed: u64,
        stream: u64,
        streams: u64,
    ) -> Self {
        let gaps = Times::new(1.0 / rate_per_s, spread, run_seed, stream);
        let offset_ns = match spread {
            Spread::Constant => gaps.mean_ns * (stream as f64 / streams as f64),
            Spread::Exponential => 0.0,
        };
        Self { gaps, offset_ns, number: 0, sum_ns: 0.0 }
    }

    /// When the next operation is due.
    pub(crate) fn next_ns(&mut self) -> u64 {
        let due = match self.gaps.spread {
            Spread::Constant => self.constant_ns(self.number),
            Spread::Exponential => {
                self.sum_ns += self.gaps.draw_ns();
                self.sum_ns as u64
            }
        };
        self.number += 1;
        due
    }

    /// When number `number` is due, where gaps are constant.
    fn constant_ns(&self, number: u64) -> u64 {
        // Multiplied, not summed up: an error of rounding must not become a drift.
        (self.offset_ns + number as f64 * self.gaps.mean_ns) as u64
    }

    /// How many of those that follow are due within `range_ns`; the schedule ends with them.
    pub(crate) fn count_left(&mut self, range_ns: Range<u64>) -> u64 {
        match self.gaps.spread {
            Spread::Constant => {
                let first_from = |ns: u64| {
                    let mut number =
                        ((ns as f64 - self.offset_ns) / self.gaps.mean_ns).max(0.0) as u64;
                    // The division's rounding isn't the multiplication's.
                    while number > 0 && self.constant_ns(number - 1) >= ns {
                        number -= 1;
                    }
                    while self.constant_ns(number) < ns {
                        number += 1;
                    }
                    number.max(self.number)
                };
                first_from(range_ns.end) - first_from(range_ns.start)
            }
            Spread::Exponential => {
                let mut count = 0;
                loop {
                    let due_ns = self.next_ns();
                    if due_ns >= range_ns.end {
                        return count;
                    }
                    count += u64::from(due_ns >= range_ns.start);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dues(spread: Spread, streams: u64, rate_per_s: f64, until_s: f64) -> Vec<u64> {
        let mut all = Vec::new();
        for stream in 0..streams {
            let mut schedule =
                Schedule::new(rate_per_s / streams as f64, spread, 1, stream, streams);
            all.extend(
                std::iter::repeat_with(|| schedule.next_ns())
                    .take_while(|due| (*due as f64) < until_s * 1e9),
            );
        }
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn constant_streams_interleave_to_the_whole_rate(streams in 1u64..9, rate in 1.0f64..1e5) {
            let all = dues(Spread::Constant, streams, rate, 2.0);
            let gap = 1e9 / rate;
            for (i, due) in all.iter().enumerate() {
                prop_assert!((*due as f64 - i as f64 * gap).abs() < 2.0);
            }
            prop_assert!((all.len() as f64 - 2.0 * rate).abs() <= 1.0);
        }

        #[test]
        fn what_is_left_is_counted_as_it_would_be_drawn(
            constant: bool, rate in 1.0f64..1e6, stream in 0u64..9, drawn in 0usize..50,
            from in 0u64..20_000_000, length in 1u64..20_000_000,
        ) {
            let spread = if constant { Spread::Constant } else { Spread::Exponential };
            let mut schedule = Schedule::new(rate, spread, 1, stream, 9);
            (0..drawn).for_each(|_| { schedule.next_ns(); });
            let mut same = schedule.clone();
            let range = from..from + length;
            let expected = std::iter::repeat_with(|| same.next_ns())
                .take_while(|due| *due < range.end)
                .filter(|due| range.contains(due))
                .count();
            prop_assert_eq!(schedule.count_left(range), expected as u64);
        }

        #[test]
        fn the_same_seed_gives_the_same_times(seed: u64, stream in 0u64..100) {
            let times = || {
                let mut s = Schedule::new(1_000.0, Spread::Exponential, seed, stream, 100);
                (0..50).map(|_| s.next_ns()).collect::<Vec<_>>()
            };
            prop_assert_eq!(times(), times());
        }
    }

    #[test]
    fn exponential_streams_are_a_poisson_process() {
        // Counts in bins of a Poisson process have a variance equal to their mean: 1,000 bins of
        // mean 100 put the ratio within 1 ± 0.2 (4.5 standard deviations of chi-square's).
        let all = dues(Spread::Exponential, 4, 100_000.0, 1.0);
        let mut bins = vec![0f64; 1_000];
        for due in &all {
            bins[(*due / 1_000_000) as usize] += 1.0;
        }
        let mean = bins.iter().sum::<f64>() / 1_000.0;
        let variance = bins.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 999.0;
        assert!((mean - 100.0).abs() < 5.0, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.2, "{}", variance / mean);
    }
}
