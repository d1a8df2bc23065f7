//! Moments and percentiles of a histogram.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Latencies of one kind of operation, in nanoseconds; `None` where there were none.
///
/// Percentiles are the histogram's: within 0.1 % of the value, and never below it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names say it
pub struct LatencySummary {
    pub n: u64,
    pub mean: f64,
    pub stdev: f64,
    pub min: u64,
    pub max: u64,
    pub p50: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub p9999: u64,
}

impl LatencySummary {
    /// The summary of a histogram that isn't empty.
    #[must_use]
    pub fn of(latencies: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| latencies.value_at_quantile(quantile);
        (!latencies.is_empty()).then(|| Self {
            n: latencies.len(),
            mean: latencies.mean(),
            stdev: latencies.stdev(),
            min: latencies.min(),
            max: latencies.max(),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
        })
    }
}
