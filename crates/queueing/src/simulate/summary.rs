//! Replications as one result: means, half-widths, percentiles.

use super::histogram::Histogram;
use super::interval::{Estimate, Intervals};
use super::plan::Plan;
use super::tally::{PoolResult, Totals};
use crate::solution::{ChainResult, ClassResult, Solution, StationResult};
use serde::{Deserialize, Serialize};

/// What a simulation found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// Means.
    pub solution: Solution,
    /// How far they may be off.
    pub half_widths: HalfWidths,
    /// How sure that is.
    pub confidence: f64,
    /// The largest half-width of a class' or chain's throughput or response, as a share of it.
    pub precision: f64,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// Times between leaving the reference (open: arriving) and coming back (leaving), by the class
    /// in which customers come back.
    pub percentiles: Vec<ClassPercentiles>,
    /// Customers and siblings that were turned away from pools, a second, by class.
    pub rejected_per_s: Vec<f64>,
    /// In the order of the network.
    pub pools: Vec<PoolResult>,
    /// How many independent runs.
    pub replications: u32,
    /// What was cut off at the beginning of each, in simulated seconds. `None` if no steady state was reached: means
    /// are of each run's second half, then.
    pub warm_up_s: Option<f64>,
    /// How long each ran, in simulated seconds, warm-up included.
    pub run_s: f64,
    /// Visits to stations completed in all of them.
    pub events: u64,
}

/// Why a simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// The asked precision is reached.
    Precision,
    /// There were as many events as allowed, and the precision is what it is.
    Events,
    /// There were, and the beginning wasn't over.
    NotSteady,
}

/// Half the widths of intervals, where [`Solution`] has the means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HalfWidths {
    /// See [`Solution::classes`].
    pub classes: Vec<ClassResult>,
    /// See [`Solution::chains`].
    pub chains: Vec<ChainResult>,
    /// See [`Solution::stations`].
    pub stations: Vec<StationResult>,
}

/// Percentiles of a class' responses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassPercentiles {
    /// The class.
    pub class: String,
    /// In the order asked for.
    pub percentiles: Vec<Percentile>,
}

/// A percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Such as 99.
    pub percent: f64,
    /// So many percent of responses are at most this; `None` where fewer than a hundred in a
    /// replication lie beyond it, so that it can't be told.
    pub response_s: Option<f64>,
    /// Of its interval; see [`Percentile::response_s`].
    pub half_width_s: Option<f64>,
}

/// Fewer responses beyond a percentile don't tell where it is.
const BEYOND: f64 = 100.0;

pub(crate) struct Summary {
    pub solution: Solution,
    pub half_widths: HalfWidths,
    pub rejected_per_s: Vec<f64>,
    pub pools: Vec<PoolResult>,
    /// See [`Simulated::precision`].
    pub reached: f64,
}

impl Summary {
    /// Of what happened in each replication.
    pub(crate) fn of(plan: &Plan, changes: &[Totals], intervals: &Intervals) -> Self {
        let mut all: Vec<_> = changes.iter().map(|change| change.solution(plan)).collect();
        let mut means = all[0].clone();
        let mut widths = all[0].clone();
        let columns: Vec<_> = all.iter_mut().map(numbers).collect();
        for (number, (mean, width)) in
            numbers(&mut means).into_iter().zip(numbers(&mut widths)).enumerate()
        {
            let values: Vec<f64> = columns
                .iter()
                .filter_map(|column| Some(*column[number]).filter(|value| !value.is_nan()))
                .collect();
            let found = if values.is_empty() {
                Estimate { mean: f64::NAN, half_width: f64::NAN }
            } else {
                intervals.estimate(&values)
            };
            (*mean, *width) = (found.mean, found.half_width);
        }
        for solution in [&mut means, &mut widths] {
            for class in &mut solution.classes {
                class.response_s = class.response_s.filter(|value| !value.is_nan());
            }
            for chain in &mut solution.chains {
                chain.response_s = told(chain.response_s);
            }
            for visits in solution.stations.iter_mut().flat_map(|station| &mut station.classes) {
                visits.response_s = told(visits.response_s);
            }
        }
        let average = |values: &dyn Fn(&Totals) -> Vec<f64>| -> Vec<f64> {
            let all: Vec<_> = changes.iter().map(values).collect();
            (0..all[0].len())
                .map(|i| all.iter().map(|one| one[i]).sum::<f64>() / all.len() as f64)
                .collect()
        };
        let pool = |of: fn(&PoolResult) -> f64| {
            average(&|change| change.pools(plan).iter().map(of).collect())
        };
        let (taken, waiting, rejected) =
            (pool(|it| it.taken), pool(|it| it.waiting), pool(|it| it.rejected_per_s));
        let pools = plan.pools.iter().enumerate().map(|(number, it)| PoolResult {
            name: it.name.clone(),
            taken: taken[number],
            waiting: waiting[number],
            rejected_per_s: rejected[number],
        });
        Self {
            reached: largest_share(&means, &widths),
            pools: pools.collect(),
            rejected_per_s: average(&Totals::rejected_per_s),
            solution: means,
            half_widths: HalfWidths {
                classes: widths.classes,
                chains: widths.chains,
                stations: widths.stations,
            },
        }
    }
}

/// Every number in a solution, always in the same order; NaN for a response that there isn't.
fn numbers(solution: &mut Solution) -> Vec<&mut f64> {
    let mut all = Vec::new();
    for class in &mut solution.classes {
        all.push(&mut class.throughput_per_s);
        all.push(class.response_s.get_or_insert(f64::NAN));
    }
    for chain in &mut solution.chains {
        all.extend([&mut chain.throughput_per_s, &mut chain.response_s]);
    }
    for station in &mut solution.stations {
        all.extend([&mut station.utilisation, &mut station.queue]);
        for visit in &mut station.classes {
            all.extend([&mut visit.throughput_per_s, &mut visit.response_s]);
            all.extend([&mut visit.queue, &mut visit.utilisation]);
        }
    }
    all
}

/// A response, or 0 where there is none.
fn told(response_s: f64) -> f64 {
    if response_s.is_nan() { 0.0 } else { response_s }
}

fn largest_share(means: &Solution, widths: &Solution) -> f64 {
    let share = |mean: f64, width: f64| if mean > 0.0 { width / mean } else { 0.0 };
    let mut largest = 0f64;
    for (mean, width) in means.classes.iter().zip(&widths.classes) {
        largest = largest.max(share(mean.throughput_per_s, width.throughput_per_s));
        if let (Some(mean), Some(width)) = (mean.response_s, width.response_s) {
            largest = largest.max(share(mean, width));
        }
    }
    for (mean, width) in means.chains.iter().zip(&widths.chains) {
        largest = largest.max(share(mean.throughput_per_s, width.throughput_per_s));
        largest = largest.max(share(mean.response_s, width.response_s));
    }
    largest
}

/// How many times as many cycles, which are `[replication][class]`, there should have been, so that percentiles of
/// the classes that they end in can be told; at most 1 if they can.
pub(crate) fn missing(cycles: &[&[Histogram]], percents: &[f64]) -> f64 {
    let wanted = percents.iter().map(|percent| BEYOND / share_beyond(*percent)).fold(0.0, f64::max);
    let classes = 0..cycles[0].len();
    let fewest = classes.filter_map(|class| {
        let counts = cycles.iter().map(|one| one[class].count());
        counts.clone().any(|count| count > 0).then(|| counts.min().unwrap_or(0))
    });
    fewest.map(|count| wanted / count as f64).fold(0.0, f64::max)
}

/// Of a percentile, in the shorter direction.
fn share_beyond(percent: f64) -> f64 {
    let share = percent / 100.0;
    share.min(1.0 - share)
}

/// Percentiles of the times of cycles, which are `[replication][class]`: one of each replication, and the interval
/// of their mean.
pub(crate) fn percentiles(
    plan: &Plan,
    cycles: &[&[Histogram]],
    percents: &[f64],
    intervals: &Intervals,
) -> Vec<ClassPercentiles> {
    let found = |class: usize, percent: f64| {
        let share = percent / 100.0;
        let beyond = share_beyond(percent);
        let values: Option<Vec<f64>> = cycles
            .iter()
            .map(|one| {
                let histogram = &one[class];
                // Not less by rounding alone.
                let enough = histogram.count() as f64 * beyond > BEYOND - 1e-6;
                histogram.quantile(share).filter(|_| enough)
            })
            .collect();
        let found = values.map(|values| intervals.estimate(&values));
        Percentile {
            percent,
            response_s: found.map(|it| it.mean),
            half_width_s: found.map(|it| it.half_width),
        }
    };
    plan.model
        .classes
        .iter()
        .enumerate()
        .map(|(class, it)| ClassPercentiles {
            class: it.name.clone(),
            percentiles: percents.iter().map(|percent| found(class, *percent)).collect(),
        })
        .collect()
}
