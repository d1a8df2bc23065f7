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
use super::wide::Wide;
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
        suited::obstacle(problem, false)
            .or_else(|| suited::chains_differ(problem))
            .or_else(|| too_large(problem))
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        Ok(solution(problem, self.name(), false, suited::assumed(problem), &found(problem)))
    }
}

/// Why a network has too many populations, if it has.
pub(super) fn too_large(problem: &Problem<'_>) -> Option<String> {
    Closed::of(problem).too_large()
}

/// The product form of a network that isn't too large, whatever the order of service.
pub(super) fn found(problem: &Problem<'_>) -> Found {
    let means = Closed::of(problem).means();
    // The probability that no one is there is asked for where rates depend on the load alone.
    let busy = means.few.iter().map(|few| few.first().map(|empty| 1.0 - empty));
    Found { throughput_per_s: means.throughput_per_s, queue: means.queue, busy: busy.collect() }
}

/// A closed network as constants see it.
pub(super) struct Closed {
    /// By chain.
    pub users: Vec<u32>,
    /// `demands_s[station][chain]`.
    pub demands_s: Vec<Vec<f64>>,
    /// By station: how fast it works with 1, 2, … customers; none where they never wait for each other.
    pub rates: Vec<Option<Vec<f64>>>,
    /// By station: of how many probabilities of 0, 1, … customers are asked for.
    pub few: Vec<usize>,
}

/// Exact means of a closed network.
pub(super) struct Means {
    /// By chain.
    pub throughput_per_s: Vec<f64>,
    /// `queue[station][chain]`.
    pub queue: Vec<Vec<f64>>,
    /// By station: the probabilities that were asked for.
    pub few: Vec<Vec<f64>>,
}

impl Closed {
    fn of(problem: &Problem<'_>) -> Self {
        let stations = 0..problem.stations;
        let own = |index: usize| usize::from(!problem.station(index).rates.is_empty());
        Self {
            users: problem.chains.iter().map(|chain| chain.users).collect(),
            demands_s: problem.demands_s.clone(),
            few: stations.clone().map(own).collect(),
            rates: stations.map(|station| rates(problem, station)).collect(),
        }
    }

    /// Why there are no constants, if there aren't.
    pub(super) fn too_large(&self) -> Option<String> {
        let chains = self.users.len();
        let size = Lattice::size(&self.users).filter(|_| chains <= 64);
        let queues = self.rates.iter().flatten();
        let steps: usize = queues.clone().map(|rates| 2 + 2 * rates.len()).sum();
        let fits = size.is_some_and(|size| {
            size.saturating_mul(queues.count() + 1) <= MOST_CELLS
                && size as f64 * steps as f64 * chains as f64 <= MOST_STEPS
        });
        (!fits).then(|| {
            format!(
                "{chains} classes with users of their own have too many populations for an exact solution"
            )
        })
    }

    /// Of a network that isn't too large.
    pub(super) fn means(&self) -> Means {
        let lattice = Lattice::new(&self.users);
        let chains = self.users.len();
        let queues: Vec<(usize, &Vec<f64>)> = self
            .rates
            .iter()
            .enumerate()
            .filter_map(|(station, rates)| Some((station, rates.as_ref()?)))
            .collect();
        let mut delays = vec![0.0; chains];
        for (demands_s, _) in self.demands_s.iter().zip(&self.rates).filter(|(_, r)| r.is_none()) {
            for (sum, demand) in delays.iter_mut().zip(demands_s) {
                *sum += demand;
            }
        }
        // after[i]: of the queues from the i-th on.
        let mut after = vec![lattice.delays(&delays)];
        for (station, rates) in queues.iter().rev() {
            let served = Served { demands_s: &self.demands_s[*station], rates };
            let next = lattice.with(&after[after.len() - 1], &served);
            after.push(next);
        }
        after.reverse();
        let constant = after[0][lattice.everyone()];
        let mut one = lattice.zero();
        one[0] = Wide::ONE;
        let throughput_per_s: Vec<f64> = (0..chains)
            .map(|chain| lattice.product(&one, &after[0], Some(chain)).over(constant))
            .collect();
        let mut queue: Vec<Vec<f64>> = self
            .demands_s
            .iter()
            .map(|demands| demands.iter().zip(&throughput_per_s).map(|(d, x)| d * x).collect())
            .collect();
        let mut few = vec![Vec::new(); self.rates.len()];
        let mut before = one;
        for (at, (station, rates)) in queues.iter().enumerate() {
            let demands_s = &self.demands_s[*station];
            let served = Served { demands_s, rates };
            let derivative = lattice.with_derivative(&before, &served);
            for chain in (0..chains).filter(|chain| demands_s[*chain] > 0.0) {
                let there = lattice.product(&derivative, &after[at + 1], Some(chain));
                queue[*station][chain] = there.over(constant) * demands_s[chain];
            }
            // Those with n customers there: beside uⁿ / (rate 1 · … · rate n) the others' product.
            let mut there = (self.few[*station] > 0).then(|| before.clone());
            for n in 0..self.few[*station] {
                let Some(now) = there.take() else { break };
                few[*station].push(lattice.product(&now, &after[at + 1], None).over(constant));
                if n + 1 < self.few[*station] {
                    let rate = rates[n.min(rates.len() - 1)];
                    there = Some(lattice.times(&now, demands_s, 1.0 / rate));
                }
            }
            if at + 1 < queues.len() {
                before = lattice.with(&before, &served);
            }
        }
        Means { throughput_per_s, queue, few }
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
