//! What Schweitzer's approximation and Linearizer share: the fixed point at one population.
//!
//! Both take the exact equations of mean value analysis, and estimate the queues with one customer less from those
//! with all. Several servers are in `waiting`, order where classes differ in their service in `encounters`; where several
//! servers serve such classes in order, one waits for the service of those that it finds, in the mean (Reiser 1979).

use super::encounters::{Due, Known, Met, Ordered};
use super::{Problem, suited, waiting};
use crate::QueueingError;
use crate::network::StationKind;

const MOST_STEPS: usize = 100_000;
/// Of the change of a queue from step to step, in customers of all.
const CONVERGED: f64 = 1e-8;

/// Why neither can solve this.
pub fn unsuited(problem: &Problem<'_>) -> Option<String> {
    suited::obstacle(problem, false).or_else(|| suited::rates(problem))
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
    found.extend(suited::assumed_in_order(problem));
    found
}

/// A station as the fixed point sees it.
struct At {
    /// 0 where no one waits.
    servers: u32,
    ordered: Option<Ordered>,
    demands_s: Vec<f64>,
    /// By chain, where several servers serve in order: the service of those before is waited for, not one's own.
    services_s: Option<Vec<f64>>,
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
    /// By station; none where order is no matter anywhere.
    due_s: Vec<Due>,
    met: Vec<Met>,
}

/// `fractions[station][chain][less]`: how much the share of a chain's customers that is at a station changes
/// with one customer of `less` less. Empty: not at all.
pub type Fractions = Vec<Vec<Vec<f64>>>;

impl Equations {
    /// Of a problem that none of these is unsuited for.
    pub fn new(problem: &Problem<'_>) -> Self {
        Self::with(problem, |index| Ordered::of(problem, index))
    }

    /// As if at stations that serve in order all services were as long as these.
    pub fn alike(problem: &Problem<'_>, services_s: &[f64]) -> Self {
        Self::with(problem, |index| Ordered::alike(problem, index, services_s[index]))
    }

    fn with(problem: &Problem<'_>, ordered: impl Fn(usize) -> Option<Ordered>) -> Self {
        let stations = (0..problem.stations).map(|index| {
            let station = problem.station(index);
            let queue = station.kind == StationKind::Queue && problem.waits(index);
            At {
                servers: if queue { station.servers } else { 0 },
                ordered: ordered(index),
                demands_s: problem.demands_s[index].clone(),
                services_s: (suited::mixed(problem, index) && station.servers > 1).then(|| {
                    (0..problem.chains.len()).map(|it| problem.service_s(index, it)).collect()
                }),
            }
        });
        Self { stations: stations.collect(), chains: problem.chains.len() }
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
        let ordered = self.stations.iter().any(|station| station.ordered.is_some());
        let stations = self.stations.iter().filter(|_| ordered);
        let none = vec![vec![0.0; self.chains]; self.chains];
        Point {
            queue: queue.collect(),
            throughput_per_s: (0..self.chains).map(|chain| 1.0 / slowest(chain)).collect(),
            due_s: stations.clone().map(|_| none.clone()).collect(),
            met: stations.map(|s| s.ordered.as_ref().map_or(Met::new(), Ordered::nobody)).collect(),
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
        let mut due_s = vec![0.0; self.chains];
        for _ in 0..MOST_STEPS {
            let mut all_due_s = sum(&point.due_s, self.chains);
            for own in (0..self.chains).filter(|chain| users[*chain] > 0.0) {
                for (index, station) in self.stations.iter().enumerate() {
                    let demand = station.demands_s[own];
                    if station.servers == 0 {
                        residence[index][own] = demand;
                        continue;
                    }
                    due_s.fill(0.0);
                    let wait_s = match &station.ordered {
                        Some(ordered) if ordered.comes(own) => {
                            let known = Known {
                                users,
                                throughput_per_s: &point.throughput_per_s,
                                due_s: [&point.due_s[index], &all_due_s],
                            };
                            ordered.wait(own, &known, &mut point.met[index], &mut due_s)
                        }
                        None if demand > 0.0 => {
                            let found = self.found(index, own, users, fractions, &point, &mut less);
                            let wait_s =
                                demand * found.stretch * found.before / f64::from(station.servers);
                            if !point.due_s.is_empty() && found.queue > 0.0 {
                                for (chain, due) in due_s.iter_mut().enumerate() {
                                    let there = users[chain] - f64::from(u8::from(chain == own));
                                    if there > 0.0 {
                                        *due = wait_s * less[chain] / found.queue / there;
                                    }
                                }
                            }
                            wait_s
                        }
                        _ => 0.0,
                    };
                    residence[index][own] = demand + wait_s;
                    if let Some(here) = point.due_s.get_mut(index) {
                        for ((due, all), now) in
                            here[own].iter_mut().zip(&mut all_due_s[own]).zip(&due_s)
                        {
                            *all += now - *due;
                            *due = *now;
                        }
                    }
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

    /// Whom a customer finds that comes to a station where order is no matter; into `less`, of each chain.
    fn found(
        &self,
        index: usize,
        own: usize,
        users: &[f64],
        fractions: &Fractions,
        point: &Point,
        less: &mut [f64],
    ) -> Found {
        let station = &self.stations[index];
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
            busy += point.throughput_per_s[chain] * station.demands_s[chain] * there / users[chain];
        }
        let queue: f64 = less.iter().sum();
        let stretch = match &station.services_s {
            Some(services_s) if queue > 0.0 => {
                let work: f64 = less.iter().zip(services_s).map(|(n, s)| n * s).sum();
                work / queue / services_s[own]
            }
            _ => 1.0,
        };
        Found { queue, before: waiting::before(queue, busy, station.servers), stretch }
    }
}

/// What an arrival finds.
struct Found {
    queue: f64,
    /// Departures that it waits for.
    before: f64,
    /// How much longer one of those is served than oneself.
    stretch: f64,
}

/// Of all stations together.
fn sum(due_s: &[Due], chains: usize) -> Due {
    let mut all = vec![vec![0.0; chains]; chains];
    for here in due_s {
        for (all, due) in all.iter_mut().flatten().zip(here.iter().flatten()) {
            *all += due;
        }
    }
    all
}
