//! Mean value analysis: exact means of closed product-form networks, population by population.
//!
//! Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 27(2), 1980;
//! Lazowska et al., *Quantitative System Performance*, 1984, chapters 6 and 7. At a station with c servers a
//! customer that comes finds the means of the network without it, and probabilities of idle servers. The
//! textbook gets the probability of an empty station by subtraction, and loses all its digits; here it is p(0|n) =
//! p(0|n−1) · X(n) / X′(n), where X′ is the throughput of the network without that station (Reiser,
//! "Mean-value analysis and convolution method for queue-dependent servers in closed queueing networks",
//! Performance Evaluation 1, 1981). That takes a solution for each subset of such stations, so few of them.

use super::lattice::Lattice;
use super::report::{Found, solution};
use super::{Problem, Solver, suited};
use crate::{QueueingError, Solution};

/// A solution for each subset of them.
const MOST_MANY_SERVERS: usize = 4;
/// Subsets times populations times stations times chains, in about so many nanoseconds.
const MOST_STEPS: f64 = 1e9;
/// Subsets times populations times stations and servers: numbers that are held.
const MOST_CELLS: f64 = 16e6;

/// See the module.
pub struct Mva;

impl Solver for Mva {
    fn name(&self) -> &'static str {
        "mva"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        suited::obstacle(problem, false)
            .or_else(|| suited::chains_differ(problem))
            .or_else(|| suited::rates(problem))
            .or_else(|| too_large(problem))
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        Ok(solution(problem, self.name(), false, suited::assumed(problem), &found(problem)))
    }
}

/// Why a network has too many populations or stations with several servers, if it has.
pub(super) fn too_large(problem: &Problem<'_>) -> Option<String> {
    let stations = many_servers(problem);
    let many = stations.len();
    if many > MOST_MANY_SERVERS {
        return Some(format!(
            "{many} stations have several servers, and it takes {MOST_MANY_SERVERS}"
        ));
    }
    let users: Vec<u32> = problem.chains.iter().map(|chain| chain.users).collect();
    let cells = Lattice::size(&users).map_or(f64::INFINITY, |size| size as f64)
        * (problem.stations as f64
            + stations.iter().map(|s| f64::from(problem.station(*s).servers)).sum::<f64>())
        * f64::from(1 << many);
    (cells > MOST_CELLS || cells * users.len() as f64 > MOST_STEPS).then(|| {
        format!(
            "{} classes with users of their own have too many populations for an exact solution",
            users.len()
        )
    })
}

/// The product form of a network that isn't too large, and has no rates, whatever the order of service.
pub(super) fn found(problem: &Problem<'_>) -> Found {
    let many = many_servers(problem);
    let mut without: Vec<Vec<Vec<f64>>> = Vec::new();
    let mut last = Subset::default();
    for subset in 0..1_usize << many.len() {
        last = Subset::solve(problem, &many, subset, &without);
        without.push(std::mem::take(&mut last.throughputs));
    }
    Found {
        throughput_per_s: without[without.len() - 1][last.everyone].clone(),
        queue: last.queue,
        busy: vec![None; problem.stations],
    }
}

fn many_servers(problem: &Problem<'_>) -> Vec<usize> {
    (0..problem.stations)
        .filter(|index| problem.waits(*index) && problem.station(*index).servers > 1)
        .collect()
}

/// The network with all stations but those of several servers that aren't in the subset.
#[derive(Default)]
struct Subset {
    /// By population and chain.
    throughputs: Vec<Vec<f64>>,
    everyone: usize,
    /// `queue[station][chain]` with everyone.
    queue: Vec<Vec<f64>>,
}

impl Subset {
    fn solve(
        problem: &Problem<'_>,
        many: &[usize],
        subset: usize,
        without: &[Vec<Vec<f64>>],
    ) -> Self {
        let users: Vec<u32> = problem.chains.iter().map(|chain| chain.users).collect();
        let chains = users.len();
        let size = Lattice::size(&users).expect("checked: not too many");
        let present: Vec<usize> = (0..problem.stations)
            .filter(|s| many.iter().position(|m| m == s).is_none_or(|at| subset >> at & 1 == 1))
            .collect();
        let mut throughputs = vec![vec![0.0; chains]; size];
        // Customers in all, by population and station.
        let mut queues = vec![vec![0.0; problem.stations]; size];
        // p(0), …, p(servers − 2) by population, of stations with several servers in the subset.
        let mut idle: Vec<Vec<Vec<f64>>> = many
            .iter()
            .enumerate()
            .map(|(at, station)| {
                let there = subset >> at & 1 == 1;
                let mut by_population = vec![Vec::new(); if there { size } else { 0 }];
                if let Some(empty) = by_population.first_mut() {
                    let states = problem.station(*station).servers as usize - 1;
                    *empty = (0..states).map(|n| f64::from(u8::from(n == 0))).collect();
                }
                by_population
            })
            .collect();
        let mut residence = vec![vec![0.0; chains]; problem.stations];
        let mut population = vec![0_u32; chains];
        let strides = Lattice::strides(&users);
        for at in 1..size {
            step(&mut population, &users);
            for chain in (0..chains).filter(|chain| population[*chain] > 0) {
                let before = at - strides[chain];
                let mut cycle = 0.0;
                for station in &present {
                    let found = if problem.waits(*station) {
                        let servers = problem.station(*station).servers;
                        let unused: f64 = match many.iter().position(|m| m == station) {
                            Some(which) => idle[which][before]
                                .iter()
                                .enumerate()
                                .map(|(n, p)| (f64::from(servers) - 1.0 - n as f64) * p)
                                .sum(),
                            None => 0.0,
                        };
                        (1.0 + queues[before][*station] + unused) / f64::from(servers)
                    } else {
                        1.0
                    };
                    residence[*station][chain] = problem.demands_s[*station][chain] * found;
                    cycle += residence[*station][chain];
                }
                throughputs[at][chain] = f64::from(population[chain]) / cycle;
            }
            for station in &present {
                // Whoever comes to no station of the subset goes round infinitely often, and is nowhere.
                queues[at][*station] = (0..chains)
                    .filter(|chain| population[*chain] > 0 && residence[*station][*chain] > 0.0)
                    .map(|chain| throughputs[at][chain] * residence[*station][chain])
                    .sum();
            }
            for (which, station) in many.iter().enumerate() {
                if subset >> which & 1 == 0 {
                    continue;
                }
                let comes = |chain: &usize| {
                    population[*chain] > 0 && problem.demands_s[*station][*chain] > 0.0
                };
                // Any chain that comes there says how likely it is that nobody is there.
                let Some(chain) = (0..chains).find(comes) else {
                    let nobody = idle[which][0].clone();
                    idle[which][at] = nobody;
                    continue;
                };
                let other = &without[subset & !(1 << which)][at][chain];
                let mut p =
                    vec![idle[which][at - strides[chain]][0] * throughputs[at][chain] / other];
                for n in 1..problem.station(*station).servers as usize - 1 {
                    let from: f64 = (0..chains)
                        .filter(comes)
                        .map(|chain| {
                            throughputs[at][chain]
                                * problem.demands_s[*station][chain]
                                * idle[which][at - strides[chain]][n - 1]
                        })
                        .sum();
                    p.push(from / n as f64);
                }
                idle[which][at] = p;
            }
        }
        let everyone = size - 1;
        for by_chain in &mut residence {
            for (time, x) in by_chain.iter_mut().zip(&throughputs[everyone]) {
                *time *= x;
            }
        }
        Self { throughputs, everyone, queue: residence }
    }
}

/// The next population, in the order in which they are numbered.
fn step(population: &mut [u32], users: &[u32]) {
    for (there, users) in population.iter_mut().zip(users) {
        if *there < *users {
            *there += 1;
            return;
        }
        *there = 0;
    }
}
