//! Open networks: every station alone, fed by all that gets there.
//!
//! Jackson, "Networks of waiting lines", Operations Research 5(4), 1957; with classes, and with processor sharing, Baskett,
//! Chandy, Muntz and Palacios, JACM 22(2), 1975; Lazowska et al., chapter 6. Where customers are served
//! in order and their service isn't one exponential for all, waiting is as long as in M/M/c times (1 + scv) / 2
//! of the service of all that come: with one server Pollaczek's and Khinchine's formula (if arrivals were
//! Poisson), with several Allen's and Cunneen's (Bolch et al., chapter 6).

use super::report::{Visits, chain_result, class_result, ending};
use super::{Problem, Solver, suited, waiting};
use crate::network::StationKind;
use crate::{QueueingError, Solution};

/// Nearer to its limit than this, a station has no steady state that rounding could tell from none.
const FULL: f64 = 1.0 - 1e-12;

/// See the module.
pub struct Jackson;

impl Solver for Jackson {
    fn name(&self) -> &'static str {
        "jackson"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        suited::obstacle(problem, true)
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let model = problem.model;
        let mut visits = Visits::new(problem);
        let mut busy = vec![None; problem.stations];
        let mut away = vec![0.0; problem.chains.len()];
        for (station, busy) in busy.iter_mut().enumerate() {
            let found = alone(problem, station)?;
            *busy = found.busy;
            for (index, chain) in problem.chains.iter().enumerate() {
                for class in 0..model.classes.len() {
                    let flow = chain.arrivals_per_s * chain.visits[station][class];
                    let response_s = found.response_s(problem.station(station).mean_s(class));
                    visits.add(station, class, flow, flow * response_s);
                    away[index] += flow * response_s;
                }
            }
        }
        let stations = visits.stations(problem, &busy);
        let classes = (0..model.classes.len()).map(|class| {
            let chain = problem.chains.iter().position(|c| c.classes.contains(&class));
            let x = chain.map_or(0.0, |chain| {
                problem.chains[chain].arrivals_per_s * ending(problem, chain, class)
            });
            let there: f64 = stations.iter().map(|station| station.classes[class].queue).sum();
            let siblings = model.forks().next().is_some();
            class_result(problem, class, x, (x > 0.0 && !siblings).then(|| there / x))
        });
        // Where there are servers, waiting follows from the variation: an approximation of its own.
        let by_rates = |station: usize| !problem.station(station).rates.is_empty();
        let mut assumes = suited::assumed_at(problem, by_rates);
        let varied: Vec<_> = (0..problem.stations)
            .filter(|station| {
                problem.in_order(*station)
                    && !by_rates(*station)
                    && (variation(problem, *station) - 1.0).abs() > 1e-9
            })
            .map(|station| problem.name(station))
            .collect();
        if !varied.is_empty() {
            assumes.push(format!(
                "arrivals at {} are Poisson, and waiting there grows with the variation of service",
                varied.join(", ")
            ));
        }
        assumes.extend(suited::poisson(problem));
        Ok(Solution {
            solver: self.name().to_owned(),
            exact: assumes.is_empty(),
            assumes,
            classes: classes.collect(),
            chains: (0..problem.chains.len())
                .map(|chain| {
                    let x = problem.chains[chain].arrivals_per_s;
                    chain_result(problem, chain, x, away[chain] / x)
                })
                .collect(),
            stations,
        })
    }
}

/// What a visit to one station is like.
pub struct Alone {
    wait_s: f64,
    stretch: f64,
    /// Of a station with load-dependent rates.
    pub busy: Option<f64>,
}

impl Alone {
    /// Of a class of this mean service.
    #[must_use]
    pub fn response_s(&self, service_s: f64) -> f64 {
        service_s * self.stretch + self.wait_s
    }
}

/// One station under all that gets to it; stable if less than its servers can do.
pub fn alone(problem: &Problem<'_>, index: usize) -> Result<Alone, QueueingError> {
    let station = problem.station(index);
    if station.kind == StationKind::Delay {
        return Ok(Alone { wait_s: 0.0, stretch: 1.0, busy: None });
    }
    let load = load(problem, index)?;
    let flow = arriving(problem, &problem.visits[index]);
    if load == 0.0 {
        return Ok(Alone { wait_s: 0.0, stretch: 1.0, busy: station.rates.first().map(|_| 0.0) });
    }
    if !station.rates.is_empty() {
        let (queue, empty) = birth_and_death(load, &station.rates);
        return Ok(Alone { wait_s: 0.0, stretch: queue / load, busy: Some(1.0 - empty) });
    }
    let c = f64::from(station.servers);
    // Erlang's C formula, and the wait that belongs to it, in services.
    let wait_services = (1.0 - waiting::free(load, station.servers)) / (c - load);
    if problem.in_order(index) {
        let service_s = load / flow;
        let wait_s = wait_services * service_s * f64::midpoint(1.0, variation(problem, index));
        Ok(Alone { wait_s, stretch: 1.0, busy: None })
    } else {
        Ok(Alone { wait_s: 0.0, stretch: 1.0 + wait_services, busy: None })
    }
}

/// The work that open customers bring to a queue, in servers; less than it can do.
pub(super) fn load(problem: &Problem<'_>, index: usize) -> Result<f64, QueueingError> {
    let station = problem.station(index);
    let load = arriving(problem, &problem.demands_s[index]);
    let most = station.rates.last().copied().unwrap_or(f64::from(station.servers));
    if load >= most * FULL {
        return Err(QueueingError::Diverges(format!(
            "station {}: {load:.4} servers' work arrives, and {most} can be done: there is no steady state",
            problem.name(index)
        )));
    }
    Ok(load)
}

/// What open customers bring a second, where those of each chain bring so much.
fn arriving(problem: &Problem<'_>, by_chain: &[f64]) -> f64 {
    problem.chains.iter().zip(by_chain).map(|(chain, each)| chain.arrivals_per_s * each).sum()
}

/// The mean number at a station with such rates, and the probability of none.
fn birth_and_death(load: f64, rates: &[f64]) -> (f64, f64) {
    let last = rates[rates.len() - 1];
    let (mut weight, mut sum, mut queue) = (1.0, 0.0, 0.0);
    for (n, rate) in rates.iter().enumerate() {
        sum += weight;
        queue += n as f64 * weight;
        weight *= load / rate;
    }
    // From here on each is `ratio` of the one before.
    let ratio = load / last;
    let tail = weight / (1.0 - ratio);
    sum += tail;
    queue += tail * (rates.len() as f64 + ratio / (1.0 - ratio));
    (queue / sum, 1.0 / sum)
}

/// The squared coefficient of variation of the service of all that come to a station.
fn variation(problem: &Problem<'_>, index: usize) -> f64 {
    let (mut flows, mut first, mut second) = (0.0, 0.0, 0.0);
    for chain in &problem.chains {
        for (class, visits) in chain.visits[index].iter().enumerate() {
            if let Some(service) = &problem.station(index).service[class] {
                let flow = chain.arrivals_per_s * visits;
                flows += flow;
                first += flow * service.mean_s();
                second += flow * service.mean_s() * service.mean_s() * (1.0 + service.scv());
            }
        }
    }
    if first == 0.0 { 1.0 } else { second * flows / (first * first) - 1.0 }
}
