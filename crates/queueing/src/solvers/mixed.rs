//! Networks with open and closed classes: what open ones take from a station leaves closed ones a slower one.
//!
//! Lazowska et al., *Quantitative System Performance*, section 7.4; Reiser and Kobayashi, "Queuing networks with multiple
//! closed chains: theory and computational algorithms", IBM Journal of Research and Development 19(3), 1975. With an
//! open load ρ a single server is slower by 1 − ρ for closed customers, and an open one stays its
//! service times (1 + closed queue) / (1 − ρ). With several servers, or rates of its own, it holds for each number
//! of customers: of W(z) = Σ zᵏ / (rate 1 · … · rate k) the coefficients around ρ, w(n), take the place of
//! those around 0. So closed customers see the rates w(n − 1) / w(n), and among n of them an open one stays
//! (n + 1) w(n + 1) / w(n) services. Exact wherever the product form is; the closed part by convolution.

use super::convolution::{Closed, Means};
use super::jackson;
use super::report::{Found, solution};
use super::wide::Wide;
use super::{Problem, Solver, suited};
use crate::network::StationKind;
use crate::{QueueingError, Solution};

/// See the module.
pub struct Mixed;

impl Solver for Mixed {
    fn name(&self) -> &'static str {
        "mixed"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        let open = problem.chains.iter().filter(|chain| chain.open).count();
        if open == 0 || open == problem.chains.len() {
            let are = if open == 0 { "closed" } else { "open" };
            return Some(format!("all classes are {are}"));
        }
        suited::forks(problem)
            .or_else(|| suited::order(problem))
            .or_else(|| suited::chains_differ(problem))
            .or_else(|| Slowed::of(problem).ok()?.closed.too_large())
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let slowed = Slowed::of(problem)?;
        let means = slowed.closed.means();
        let mut found = Found {
            throughput_per_s: problem.chains.iter().map(|chain| chain.arrivals_per_s).collect(),
            queue: vec![vec![0.0; problem.chains.len()]; problem.stations],
            busy: vec![None; problem.stations],
        };
        for (at, chain) in slowed.chains.iter().enumerate() {
            found.throughput_per_s[*chain] = means.throughput_per_s[at];
            for (station, queue) in found.queue.iter_mut().enumerate() {
                queue[*chain] = means.queue[station][at];
            }
        }
        for station in 0..problem.stations {
            let stretch = slowed.stretch(station, &means);
            for (index, chain) in problem.chains.iter().enumerate().filter(|(_, c)| c.open) {
                let demand = problem.demands_s[station][index];
                found.queue[station][index] = chain.arrivals_per_s * demand * stretch;
            }
            if !problem.station(station).rates.is_empty() && problem.waits(station) {
                // Of those times without closed customers the share without open ones, too.
                let empty = means.few[station][0] * slowed.empty[station];
                found.busy[station] = Some(1.0 - empty);
            }
        }
        let mut assumes = suited::assumed(problem);
        assumes.extend(suited::poisson(problem));
        Ok(solution(problem, self.name(), false, assumes, &found))
    }
}

/// The closed part, beside the open load.
struct Slowed {
    /// Which chains are closed.
    chains: Vec<usize>,
    closed: Closed,
    /// By station, of those times at which no closed customer is there: the share without open ones.
    empty: Vec<f64>,
}

impl Slowed {
    fn of(problem: &Problem<'_>) -> Result<Self, QueueingError> {
        let chains: Vec<usize> =
            (0..problem.chains.len()).filter(|chain| !problem.chains[*chain].open).collect();
        let users = problem.users() as usize;
        let (mut rates, mut few, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..problem.stations {
            let station = problem.station(index);
            if station.kind == StationKind::Delay {
                rates.push(None);
                few.push(0);
                empty.push(1.0);
                continue;
            }
            let load = jackson::load(problem, index)?;
            let own: Vec<f64> = if station.rates.is_empty() {
                (1..=station.servers).map(f64::from).collect()
            } else {
                station.rates.clone()
            };
            let around = around(load, &own, users + 1);
            // All but the last rate may differ from those of greater numbers.
            let differ = around.rates.len() - 1;
            few.push(differ.max(usize::from(!station.rates.is_empty())));
            rates.push(Some(around.rates));
            empty.push(around.empty);
        }
        let demands = problem.demands_s.iter();
        let closed = Closed {
            users: chains.iter().map(|chain| problem.chains[*chain].users).collect(),
            demands_s: demands
                .map(|by_chain| chains.iter().map(|chain| by_chain[*chain]).collect())
                .collect(),
            rates,
            few,
        };
        Ok(Self { chains, closed, empty })
    }

    /// How many services an open customer stays: the mean of (n + 1) / rate n + 1, where it finds n closed ones.
    fn stretch(&self, station: usize, means: &Means) -> f64 {
        let Some(rates) = &self.closed.rates[station] else { return 1.0 };
        let last = rates[rates.len() - 1];
        let queue: f64 = means.queue[station].iter().sum();
        let few = means.few[station].iter().zip(rates).enumerate();
        // With many of them as if all rates were the last, and with few what that misses.
        let missed = few.map(|(n, (p, rate))| p * (n as f64 + 1.0) * (1.0 / rate - 1.0 / last));
        (1.0 + queue) / last + missed.sum::<f64>()
    }
}

/// A station beside an open load.
struct Around {
    /// As closed customers see them; the last holds for all greater numbers.
    rates: Vec<f64>,
    /// The share of times without open customers among those without closed ones.
    empty: f64,
}

/// Coefficients of W around the load, all of positive terms: of the polynomial that W begins with, and of its
/// geometric rest z^(L − 1) / (1 − z / r), where L rates are given and r is the last. No more of them than closed
/// customers can come to, since each is a sum over all rates.
fn around(load: f64, rates: &[f64], most: usize) -> Around {
    let last = rates[rates.len() - 1];
    let degree = rates.len() - 1;
    // 1 / (rate 1 · … · rate k).
    let mut weights = vec![Wide::ONE];
    for rate in &rates[..degree] {
        weights.push(weights[weights.len() - 1] * (1.0 / rate));
    }
    // (load + u)^degree.
    let mut powers = vec![Wide::ONE; degree + 1];
    for n in (0..degree).rev() {
        powers[n] = powers[n + 1] * (load * (n + 1) as f64 / (degree - n) as f64);
    }
    let ratio = 1.0 / (last - load);
    let mut rest = Wide::ZERO;
    let coefficients: Vec<Wide> = (0..=rates.len().min(most))
        .map(|n| {
            rest = rest * ratio;
            if let Some(power) = powers.get(n) {
                rest = rest + *power;
            }
            let mut sum = rest * weights[degree] * (last * ratio);
            let mut term = weights[n.min(degree)];
            for (k, rate) in rates.iter().enumerate().take(degree).skip(n) {
                sum = sum + term;
                term = term * (load * (k + 1) as f64 / ((k + 1 - n) as f64 * rate));
            }
            sum
        })
        .collect();
    let rates = coefficients.windows(2).map(|pair| pair[0].over(pair[1])).collect();
    Around { rates, empty: Wide::ONE.over(coefficients[0]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_is_slower_by_what_is_taken() {
        let found = around(0.75, &[1.0], 9);
        assert!((found.rates[0] - 0.25).abs() < 1e-15 && found.rates.len() == 1);
        assert!((found.empty - 0.25).abs() < 1e-15);
    }

    #[test]
    fn coefficients_are_those_of_the_series() {
        for (load, rates) in [
            (1.3, vec![1.0, 2.0, 3.0]),
            (0.0, vec![1.0, 1.7, 1.2]),
            (0.9, vec![2.0, 0.5, 1.0]),
            (2.0, (1..=64).map(f64::from).collect()),
        ] {
            let rate = |k: usize| rates[(k - 1).min(rates.len() - 1)];
            // Σ over k ≥ n of C(k, n) load^(k − n) / (rate 1 · … · rate k), term by term.
            let coefficient = |n: usize| {
                let mut term = (1..=n).fold(1.0, |product, k| product / rate(k));
                let mut sum = 0.0;
                for k in n..n + 4_000 {
                    sum += term;
                    term *= load * (k + 1) as f64 / ((k + 1 - n) as f64 * rate(k + 1));
                }
                sum
            };
            let found = around(load, &rates, rates.len());
            assert!((found.empty * coefficient(0) - 1.0).abs() < 1e-12);
            for (n, found) in found.rates.iter().enumerate() {
                let expected = coefficient(n) / coefficient(n + 1);
                assert!((found / expected - 1.0).abs() < 1e-12, "{load} {n}: {found} {expected}");
            }
        }
    }

    #[test]
    fn thousands_of_servers_stay_finite() {
        let rates: Vec<f64> = (1..=3_000).map(f64::from).collect();
        let found = around(2_900.0, &rates, 3_000);
        assert!((found.rates[2_999] - 100.0).abs() < 1e-6, "{}", found.rates[2_999]);
    }

    #[test]
    fn fewer_rates_are_the_first_of_all() {
        let rates: Vec<f64> = (1..=3_000).map(f64::from).collect();
        let (all, few) = (around(2_900.0, &rates, 3_000), around(2_900.0, &rates, 7));
        assert_eq!(few.rates, all.rates[..7]);
        assert!((few.empty - all.empty).abs() < 1e-300);
    }
}
