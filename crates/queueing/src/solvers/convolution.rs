//! Convolution: normalising constants of closed product-form networks, exact for any number of servers.
//!
//! Buzen, "Computational algorithms for closed queueing networks with exponential servers", CACM 16(9),
//! 1973; several chains as in Bolch, Greiner, de Meer and Trivedi, *Queueing Networks and Markov
//! Chains*, section 8.1. Throughput is a ratio of constants. A mean queue is a chain's demand times the constant
//! of the network in which the station's generating function is replaced by its derivative, got from the
//! product of all stations before it and that of all after it: sums of what is positive, whereas
//! the mean value recursion for many servers subtracts, and explodes with 8 servers and 100 customers.

use super::lattice::{Lattice, Served};
use super::report::{Found, solution};
use super::{Problem, Solver, suited};
use crate::{QueueingError, Solution};

/// Populations times stations: 16 bytes each.
const MOST_CELLS: usize = 8_000_000;
/// Populations times stations times servers times chains, in about so many nanoseconds.
const MOST_STEPS: f64 = 4e9;

/// See the module.
pub struct Convolution;

impl Solver for Convolution {
    fn name(&self) -> &'static str {
        "convolution"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        suited::obstacle(problem, false).or_else(|| suited::chains_differ(problem)).or_else(|| {
            let queues: Vec<Vec<f64>> =
                (0..problem.stations).filter_map(|station| rates(problem, station)).collect();
            let users: Vec<u32> = problem.chains.iter().map(|chain| chain.users).collect();
            let size = Lattice::size(&users).filter(|_| users.len() <= 64);
            let fits = size.is_some_and(|size| {
                let servers: usize = queues.iter().map(|rates| 2 + 2 * rates.len()).sum();
                size.saturating_mul(queues.len() + 1) <= MOST_CELLS
                    && size as f64 * servers as f64 * users.len() as f64 <= MOST_STEPS
            });
            (!fits).then(|| {
                format!(
                    "{} classes with users of their own have too many populations for an exact solution",
                    users.len()
                )
            })
        })
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let users: Vec<u32> = problem.chains.iter().map(|chain| chain.users).collect();
        let lattice = Lattice::new(&users);
        let chains = users.len();
        let queues: Vec<(usize, Vec<f64>)> = (0..problem.stations)
            .filter_map(|station| Some((station, rates(problem, station)?)))
            .collect();
        let mut delays = vec![0.0; chains];
        for station in 0..problem.stations {
            if rates(problem, station).is_none() {
                for (sum, demand) in delays.iter_mut().zip(&problem.demands_s[station]) {
                    *sum += demand;
                }
            }
        }
        // after[i]: of the queues from the i-th on.
        let mut after = vec![lattice.delays(&delays)];
        for (station, rates) in queues.iter().rev() {
            let served = Served { demands_s: &problem.demands_s[*station], rates };
            let next = lattice.with(&after[after.len() - 1], &served);
            after.push(next);
        }
        after.reverse();
        let everyone = lattice.everyone();
        let constant = after[0][everyone];
        let one = {
            let mut one = lattice.zero();
            one[0] = super::wide::Wide::ONE;
            one
        };
        let throughput_per_s: Vec<f64> = (0..chains)
            .map(|chain| lattice.product(&one, &after[0], Some(chain)).over(constant))
            .collect();
        let mut queue: Vec<Vec<f64>> = problem
            .demands_s
            .iter()
            .map(|demands| demands.iter().zip(&throughput_per_s).map(|(d, x)| d * x).collect())
            .collect();
        let mut busy = vec![None; problem.stations];
        let mut before = one;
        for (at, (station, rates)) in queues.iter().enumerate() {
            let demands_s = &problem.demands_s[*station];
            let served = Served { demands_s, rates };
            let derivative = lattice.with_derivative(&before, &served);
            for chain in (0..chains).filter(|chain| demands_s[*chain] > 0.0) {
                let there = lattice.product(&derivative, &after[at + 1], Some(chain));
                queue[*station][chain] = there.over(constant) * demands_s[chain];
            }
            if !problem.station(*station).rates.is_empty() {
                let empty = lattice.product(&before, &after[at + 1], None).over(constant);
                busy[*station] = Some(1.0 - empty);
            }
            if at + 1 < queues.len() {
                before = lattice.with(&before, &served);
            }
        }
        let found = Found { throughput_per_s, queue, busy };
        Ok(solution(problem, self.name(), false, suited::assumed(problem), &found))
    }
}

/// How fast a station works with 1, 2, … customers; none where they never wait for each other.
fn rates(problem: &Problem<'_>, index: usize) -> Option<Vec<f64>> {
    let station = problem.station(index);
    if !problem.waits(index) {
        None
    } else if station.rates.is_empty() {
        Some((1..=station.servers).map(f64::from).collect())
    } else {
        // No more of them than there are customers.
        let users = problem.users() as usize;
        Some(station.rates[..station.rates.len().min(users)].to_vec())
    }
}
