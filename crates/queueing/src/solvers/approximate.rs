//! What Schweitzer's approximation and Linearizer share: the fixed point at one population.
//!
//! Both take the exact equations of mean value analysis, and estimate the queues with one customer less from those
//! with all. Several servers are in `waiting`; where classes are served in order and differ in their service, a customer waits for
//! the service of those that it finds, not for so many of its own (Reiser 1979; Bolch et al., chapter 9): 5 % off in
//! the mean of small random networks, and up to 70 % where few users differ twenty-fold; simulate those.

use super::{Problem, suited, waiting};
use crate::QueueingError;
use crate::network::{Discipline, StationKind};

const MOST_STEPS: usize = 100_000;
/// Of the change of a queue from step to step, in customers of all.
const CONVERGED: f64 = 1e-8;

/// Why neither can solve this.
pub fn unsuited(problem: &Problem<'_>) -> Option<String> {
    suited::obstacle(problem, false).or_else(|| {
        let station = (0..problem.stations)
            .find(|s| problem.waits(*s) && !problem.station(*s).rates.is_empty())?;
        Some(format!("station {}: its rate depends on its load", problem.name(station)))
    })
}

/// What both assume.
pub fn assumed(problem: &Problem<'_>, queues: &str) -> Vec<String> {
    let mut found = vec![queues.to_owned()];
    let many: Vec<_> = (0..problem.stations)
        .filter(|s| problem.waits(*s) && problem.station(*s).servers > 1)
        .map(|s| problem.name(s))
        .collect();
    if !many.is_empty() {
        found.push(format!(
            "how many servers are idle at {} follows from the mean",
            many.join(", ")
        ));
    }
    found.extend(suited::assumed(problem));
    found
}

/// A station as the fixed point sees it.
struct At {
    /// 0 where no one waits.
    servers: u32,
    in_order: bool,
    demands_s: Vec<f64>,
    services_s: Vec<f64>,
}

/// The equations of a network.
pub struct Equations {
    stations: Vec<At>,
    chains: usize,
}

/// Queues and throughputs at one population.
#[derive(Clone)]
pub struct Point {
    /// By chain.
    pub throughput_per_s: Vec<f64>,
    /// `queue[station][chain]`.
    pub queue: Vec<Vec<f64>>,
}

/// `fractions[station][chain][less]`: how much the share of a chain's customers that is at a station changes
/// with one customer of `less` less. Empty: not at all.
pub type Fractions = Vec<Vec<Vec<f64>>>;

impl Equations {
    /// Of a problem that none of these is unsuited for.
    pub fn new(problem: &Problem<'_>) -> Self {
        let chains = problem.chains.len();
        let stations = (0..problem.stations).map(|index| {
            let station = problem.station(index);
            let queue = station.kind == StationKind::Queue && problem.waits(index);
            At {
                servers: if queue { station.servers } else { 0 },
                in_order: queue && station.discipline != Discipline::Ps,
                demands_s: problem.demands_s[index].clone(),
                services_s: (0..chains).map(|chain| problem.service_s(index, chain)).collect(),
            }
        });
        Self { stations: stations.collect(), chains }
    }

    /// Everyone spread evenly over the stations they visit.
    pub fn begin(&self, users: &[f64]) -> Point {
        let visited = |chain: usize| self.stations.iter().filter(move |s| s.demands_s[chain] > 0.0);
        let queue = self.stations.iter().map(|station| {
            let share = |chain: usize| {
                let here = station.demands_s[chain] > 0.0;
                if here { users[chain] / visited(chain).count() as f64 } else { 0.0 }
            };
            (0..self.chains).map(share).collect()
        });
        // Any throughput that no station is too slow for.
        let slowest = |chain: usize| self.stations.iter().map(|s| s.demands_s[chain]).sum::<f64>();
        Point {
            queue: queue.collect(),
            throughput_per_s: (0..self.chains).map(|chain| 1.0 / slowest(chain)).collect(),
        }
    }

    /// Solve for the queues with so many users.
    pub fn solve(
        &self,
        users: &[f64],
        fractions: &Fractions,
        mut point: Point,
    ) -> Result<Point, QueueingError> {
        let everyone: f64 = users.iter().sum();
        let mut residence = vec![vec![0.0; self.chains]; self.stations.len()];
        let mut less = vec![0.0; self.chains];
        for _ in 0..MOST_STEPS {
            for own in (0..self.chains).filter(|chain| users[*chain] > 0.0) {
                for (index, station) in self.stations.iter().enumerate() {
                    let demand = station.demands_s[own];
                    if demand == 0.0 {
                        continue;
                    }
                    residence[index][own] = demand;
                    if station.servers == 0 {
                        continue;
                    }
                    let mut busy = 0.0;
                    for (chain, less) in less.iter_mut().enumerate() {
                        let there = users[chain] - f64::from(u8::from(chain == own));
                        if there <= 0.0 {
                            *less = 0.0;
                            continue;
                        }
                        let change = fractions.get(index).map_or(0.0, |by| by[chain][own]);
                        let share = point.queue[index][chain] / users[chain];
                        *less = (there * (share + change)).max(0.0);
                        busy += point.throughput_per_s[chain] * station.demands_s[chain] * there
                            / users[chain];
                    }
                    let queue: f64 = less.iter().sum();
                    let before = waiting::before(queue, busy, station.servers);
                    // Whose service is waited for: one's own, where servers are shared.
                    let stretch = if station.in_order && queue > 0.0 {
                        let work: f64 =
                            less.iter().zip(&station.services_s).map(|(n, s)| n * s).sum();
                        work / queue / station.services_s[own]
                    } else {
                        1.0
                    };
                    residence[index][own] += demand * stretch * before / f64::from(station.servers);
                }
            }
            let mut change = 0.0_f64;
            for chain in (0..self.chains).filter(|chain| users[*chain] > 0.0) {
                let cycle: f64 = residence.iter().map(|by_chain| by_chain[chain]).sum();
                let x = users[chain] / cycle;
                point.throughput_per_s[chain] = x;
                for (queue, residence) in point.queue.iter_mut().zip(&residence) {
                    let next = x * residence[chain];
                    change = change.max((next - queue[chain]).abs());
                    queue[chain] = next;
                }
            }
            if change <= CONVERGED * everyone {
                return Ok(point);
            }
        }
        Err(QueueingError::Unsuited(format!(
            "the approximation doesn't settle in {MOST_STEPS} steps: simulate it"
        )))
    }
}
