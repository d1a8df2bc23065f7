//! What a run measured: histograms, one-second samples, counts of outcomes.
//!
//! Start with [`Recorder`]: each engine thread has one, records into it without locks, and hands
//! over a [`Batch`] a second. [`Collector`] puts the batches of all threads together, and is where
//! the run's [`Sample`]s, [`Total`]s and interval log come from.
//!
//! | module | holds |
//! |---|---|
//! | [`recorder`] | the per-thread side |
//! | [`collector`] | the per-run side |
//! | [`interval_log`] | histograms over time, as text that HdrHistogram's tools read |
//! | [`summary`] | moments and percentiles of a histogram |
//! | [`steady`] | when a warm-up is over |
//!
//! All times are nanoseconds since the run's origin; nothing here reads a clock or knows a driver.
//! An operation belongs to the *phase* in which it was due and to the *interval* in which it
//! completed. So the totals are those of operations that were due while measuring, the slow last
//! ones included, and samples always add up to totals. In a closed loop an operation is due when it
//! starts; where there is a schedule, latency counts from the moment it was due, and its *service
//! time*, from its start, is kept beside it.

pub mod collector;
pub mod interval_log;
pub mod recorder;
pub mod steady;
pub mod summary;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

pub use collector::{Collector, Sample, Total};
pub use recorder::{Batch, Recorder, Span, Times};
pub use summary::LatencySummary;

/// Nanoseconds in an interval of the time series.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// The same in seconds.
pub const INTERVAL_S: f64 = INTERVAL_NS as f64 / 1e9;

/// Significant decimal digits that histograms keep: values are within 0.1 %.
const DIGITS: u8 = 3;

/// The longest latency that is told apart from longer ones: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The part of a run in which an operation was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before measuring: kept apart, reported only as a time series.
    WarmUp,
    /// What the results are made of.
    Measure,
}

/// Where a latency is counted: the three outcomes without their error kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// See [`pacelc_core::Outcome::Ok`].
    Ok,
    /// See [`pacelc_core::Outcome::Fail`].
    Fail,
    /// See [`pacelc_core::Outcome::Unknown`].
    Unknown,
    /// A read that was answered and found no record, or a scan that found too few: counted here beside
    /// [`Fate::Ok`].
    Missed,
}

impl Fate {
    /// Every fate, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Fail, Self::Unknown, Self::Missed];

    /// The name used in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
            Self::Missed => "missed",
        }
    }
}

/// An empty histogram of latencies.
#[must_use]
pub fn new_histogram() -> Histogram<u64> {
    // The bounds are constants that the constructor accepts, so the fallback never runs.
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
        .unwrap_or_else(|_| unreachable!("constant histogram bounds are valid"))
}
