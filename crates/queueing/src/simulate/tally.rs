//! What is counted while time passes, and the means of what happened between two moments.

use super::plan::Plan;
use crate::network::StationKind;
use crate::solution::{ChainResult, ClassResult, Solution, StationResult, VisitResult};
use serde::{Deserialize, Serialize};

/// Visits of a class at a station.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Visits {
    pub done: f64,
    /// Their times, waiting included, summed.
    pub stayed: f64,
    /// Integral of the number of customers there.
    pub present: f64,
    /// Work done, in seconds of one server.
    pub work: f64,
}

/// Cycles of customers that end in a class.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cycles {
    pub done: f64,
    /// Their times, summed.
    pub took: f64,
    /// Integral of the number of customers in this class that are away from their reference.
    pub away: f64,
    /// Jobs of this class that were turned away from a pool.
    pub rejected: f64,
}

/// Of a pool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PoolUse {
    /// Integral of the number of places taken.
    pub taken: f64,
    /// Integral of the number of those that wait for one.
    pub waiting: f64,
    pub rejected: f64,
}

/// Totals since the beginning, at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub time: f64,
    /// By [`Plan::cell`].
    pub visits: Vec<Visits>,
    /// By class.
    pub cycles: Vec<Cycles>,
    /// By station: how long somebody was there; only where the clock is scaled.
    pub busy: Vec<f64>,
    pub pools: Vec<PoolUse>,
    /// Integral of the number of all jobs.
    pub jobs: f64,
}

/// A pool, on average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolResult {
    /// The pool.
    pub name: String,
    /// Mean number of places taken.
    pub taken: f64,
    /// Mean number of those that wait for one.
    pub waiting: f64,
    /// Customers and siblings turned away, a second.
    pub rejected_per_s: f64,
}

impl Totals {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            time: 0.0,
            visits: vec![Visits::default(); plan.stations.len() * plan.classes],
            cycles: vec![Cycles::default(); plan.classes],
            busy: vec![0.0; plan.stations.len()],
            pools: vec![PoolUse::default(); plan.pools.len()],
            jobs: 0.0,
        }
    }

    /// What happened since `from`.
    pub(crate) fn since(&self, from: &Self) -> Self {
        let mut change = self.clone();
        change.time -= from.time;
        change.jobs -= from.jobs;
        for (it, from) in change.visits.iter_mut().zip(&from.visits) {
            it.done -= from.done;
            it.stayed -= from.stayed;
            it.present -= from.present;
            it.work -= from.work;
        }
        for (it, from) in change.cycles.iter_mut().zip(&from.cycles) {
            it.done -= from.done;
            it.took -= from.took;
            it.away -= from.away;
            it.rejected -= from.rejected;
        }
        for (it, from) in change.busy.iter_mut().zip(&from.busy) {
            *it -= from;
        }
        for (it, from) in change.pools.iter_mut().zip(&from.pools) {
            it.taken -= from.taken;
            it.waiting -= from.waiting;
            it.rejected -= from.rejected;
        }
        change
    }

    /// Visits completed.
    pub(crate) fn events(&self) -> u64 {
        self.visits.iter().map(|visits| visits.done).sum::<f64>() as u64
    }

    /// Jobs turned away a second, by class.
    pub(crate) fn rejected_per_s(&self) -> Vec<f64> {
        self.cycles.iter().map(|cycles| cycles.rejected / self.time).collect()
    }

    pub(crate) fn pools(&self, plan: &Plan) -> Vec<PoolResult> {
        plan.pools
            .iter()
            .zip(&self.pools)
            .map(|(pool, it)| PoolResult {
                name: pool.name.clone(),
                taken: it.taken / self.time,
                waiting: it.waiting / self.time,
                rejected_per_s: it.rejected / self.time,
            })
            .collect()
    }

    /// The means of a stretch of time; a response of nobody is NaN.
    pub(crate) fn solution(&self, plan: &Plan) -> Solution {
        let name = |class: usize| plan.model.classes[class].name.clone();
        let classes = self.cycles.iter().enumerate().map(|(class, cycles)| ClassResult {
            name: name(class),
            throughput_per_s: cycles.done / self.time,
            response_s: (cycles.done > 0.0).then(|| cycles.away / cycles.done),
        });
        let chains = plan.chains.iter().map(|chain| {
            let sum = |of: fn(&Cycles) -> f64| {
                chain.classes.iter().map(|class| of(&self.cycles[*class])).sum::<f64>()
            };
            let done = sum(|cycles| cycles.done);
            ChainResult {
                classes: chain.classes.iter().map(|class| name(*class)).collect(),
                throughput_per_s: done / self.time,
                response_s: sum(|cycles| cycles.took) / done,
            }
        });
        Solution {
            solver: "simulation".into(),
            exact: false,
            assumes: Vec::new(),
            classes: classes.collect(),
            chains: chains.collect(),
            stations: (0..plan.stations.len()).map(|at| self.station(plan, at)).collect(),
        }
    }

    fn station(&self, plan: &Plan, at: usize) -> StationResult {
        let station = &plan.stations[at];
        let visits = &self.visits[at * plan.classes..][..plan.classes];
        let work: f64 = visits.iter().map(|visits| visits.work).sum();
        let classes: Vec<_> = visits
            .iter()
            .enumerate()
            .map(|(class, visits)| VisitResult {
                class: plan.model.classes[class].name.clone(),
                throughput_per_s: visits.done / self.time,
                response_s: visits.stayed / visits.done,
                queue: visits.present / self.time,
                utilisation: match station.kind {
                    StationKind::Delay => visits.present / self.time,
                    StationKind::Queue if station.rates.is_empty() => {
                        visits.work / (f64::from(station.servers) * self.time)
                    }
                    // The time that somebody is there, shared among classes as its work is.
                    StationKind::Queue => ratio(visits.work, work) * self.busy[at] / self.time,
                },
            })
            .collect();
        StationResult {
            name: plan.model.nodes[at].name.clone(),
            utilisation: classes.iter().map(|class| class.utilisation).sum(),
            queue: classes.iter().map(|class| class.queue).sum(),
            classes,
        }
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}
