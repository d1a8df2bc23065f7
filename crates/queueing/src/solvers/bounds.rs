//! What throughput and response can't cross.
//!
//! Asymptotic bounds: Denning and Buzen 1978; Lazowska et al., chapter 5. Balanced job bounds: Zahorjan, Sevcik, Eager and
//! Galler, "Balanced job bound analysis of queueing networks", CACM 25(2), 1982; with think time Lazowska et
//! al., chapter 5. The latter hold for product forms, one set of users. Several servers are, for the
//! better, one that is as fast as all of them, and for the worse one of these after a delay of the rest of a service
//! (Seidmann, Schweitzer and Shalev-Oren 1987).

use super::{Problem, suited};
use crate::network::{Discipline, StationKind};
use crate::{Model, QueueingError};
use serde::Serialize;

/// Of one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounds {
    /// Its classes' names.
    pub classes: Vec<String>,
    /// Of cycles a second.
    pub throughput_per_s: Interval,
    /// Between leaving the reference and coming back, in seconds.
    pub response_s: Interval,
    /// Whether they are balanced job bounds; else asymptotic.
    pub balanced: bool,
    /// The station that throughput is limited by, with enough users.
    pub bottleneck: String,
}

/// From least to most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Not less.
    pub least: f64,
    /// Not more.
    pub most: f64,
}

/// The bounds of every chain.
///
/// # Errors
///
/// [`QueueingError::Unsuited`] where customers split or are open.
pub fn bounds(model: &Model) -> Result<Vec<Bounds>, QueueingError> {
    let problem = Problem::new(model)?;
    let obstacle = suited::obstacle(&problem, false);
    let product_form = suited::assumed(&problem).is_empty();
    if let Some(why) = obstacle.or_else(|| boundless(&problem, product_form)) {
        return Err(QueueingError::Unsuited(format!("there are no bounds for this: {why}")));
    }
    let chains = 0..problem.chains.len();
    Ok(chains.map(|chain| of_chain(&problem, chain, product_form)).collect())
}

/// A station where it isn't known how long one set of users waits for another.
///
/// Of one set no more than all others wait while servers are busy, which bounds the mean wait whatever the order and
/// the variation (Little's law). Of several, nobody shares a processor with more than all others, and who is served in
/// order of arrival waits for their services at most; but for what is left of the service that is found that has to be
/// exponential.
fn boundless(problem: &Problem<'_>, product_form: bool) -> Option<String> {
    if problem.chains.len() == 1 || product_form {
        return None;
    }
    let station = (0..problem.stations).find(|station| {
        let random = problem.station(*station).discipline == Discipline::Siro;
        suited::shaped(problem, *station) || (random && suited::mixed(problem, *station))
    })?;
    Some(format!(
        "station {}: with several sets of users, order of arrival and exponential service are needed",
        problem.name(station)
    ))
}

/// A chain's demands as bounds see them.
#[allow(clippy::struct_field_names)] // each says its unit
struct Demands {
    /// Of everything without waiting.
    cycle_s: f64,
    /// The same where stations are at their slowest.
    worst_s: f64,
    /// At delay stations.
    delay_s: f64,
    /// By queue: the least time between departures, with all its servers.
    fast_s: Vec<f64>,
    /// By queue, at its slowest with customers waiting.
    slow_s: Vec<f64>,
}

fn of_chain(problem: &Problem<'_>, chain: usize, product_form: bool) -> Bounds {
    let it = &problem.chains[chain];
    let users = f64::from(it.users);
    let demands = demands(problem, chain);
    let slowest = demands.slow_s.iter().copied().fold(0.0, f64::max);
    // By the arrival theorem all others are somewhere; else one may meet them at every station.
    let met_s = if product_form { slowest } else { demands.slow_s.iter().sum() };
    let fastest = demands.fast_s.iter().copied().fold(0.0, f64::max);
    let everyone = f64::from(problem.users());
    let mut least = users / (demands.worst_s + (everyone - 1.0) * met_s);
    let mut most = (users / demands.cycle_s).min(1.0 / fastest);
    let balanced = problem.chains.len() == 1 && product_form && plain(problem);
    if balanced && fastest > 0.0 {
        // For the worse: what of several servers' services isn't one's share is a delay.
        let queued: f64 = demands.slow_s.iter().sum();
        let delay = demands.cycle_s - queued;
        let waiting = (users - 1.0) * slowest / (1.0 + delay / (users * queued));
        least = least.max(users / (demands.cycle_s + waiting));
        // For the better: only shares are served, and there is no rest.
        let queued: f64 = demands.fast_s.iter().sum();
        let average = queued / demands.fast_s.iter().filter(|demand| **demand > 0.0).count() as f64;
        let waiting = (users - 1.0) * average / (1.0 + demands.delay_s / queued);
        most = most.min(users / (demands.delay_s + queued + waiting));
    }
    // The time at the reference is part of the cycle; it is known where no one waits there.
    let own = station_demands(problem, it.reference, chain);
    let longest = own.worst_s + (everyone - 1.0) * own.slow_s;
    let bottleneck = (0..problem.stations)
        .filter(|station| problem.station(*station).kind == StationKind::Queue)
        .max_by(|a, b| share(problem, *a, chain).total_cmp(&share(problem, *b, chain)));
    Bounds {
        classes: it
            .classes
            .iter()
            .map(|class| problem.model.classes[*class].name.clone())
            .collect(),
        throughput_per_s: Interval { least, most },
        response_s: Interval {
            least: (users / most - longest).max(0.0),
            most: users / least - own.best_s,
        },
        balanced,
        bottleneck: bottleneck.map_or(String::new(), |s| problem.name(s).to_owned()),
    }
}

/// Whether all queues have servers and no rates of their own.
fn plain(problem: &Problem<'_>) -> bool {
    (0..problem.stations).all(|s| problem.station(s).rates.is_empty())
}

/// The time between departures at a station's best.
fn share(problem: &Problem<'_>, index: usize, chain: usize) -> f64 {
    let station = problem.station(index);
    let rates = station.rates.iter().copied();
    let most = if station.rates.is_empty() {
        f64::from(station.servers)
    } else {
        rates.fold(0.0, f64::max)
    };
    problem.demands_s[index][chain] / most
}

/// Of one station.
#[allow(clippy::struct_field_names)] // each says its unit
struct Own {
    best_s: f64,
    worst_s: f64,
    slow_s: f64,
}

fn station_demands(problem: &Problem<'_>, index: usize, chain: usize) -> Own {
    let station = problem.station(index);
    let demand = problem.demands_s[index][chain];
    if !problem.waits(index) {
        return Own { best_s: demand, worst_s: demand, slow_s: 0.0 };
    }
    if !station.rates.is_empty() {
        let least = station.rates.iter().copied().fold(f64::INFINITY, f64::min);
        let worst_s = demand / least;
        return Own { best_s: share(problem, index, chain), worst_s, slow_s: worst_s };
    }
    let servers = f64::from(station.servers);
    // In order, each of those before may take as long as the longest service there is.
    let slow_s = if problem.in_order(index) {
        let longest = problem.services_s(index).fold(0.0, f64::max);
        problem.visits[index][chain] * longest / servers
    } else {
        demand / servers
    };
    Own { best_s: demand, worst_s: demand, slow_s }
}

fn demands(problem: &Problem<'_>, chain: usize) -> Demands {
    let mut found = Demands {
        cycle_s: 0.0,
        worst_s: 0.0,
        delay_s: 0.0,
        fast_s: Vec::new(),
        slow_s: Vec::new(),
    };
    for index in 0..problem.stations {
        let own = station_demands(problem, index, chain);
        found.cycle_s += own.best_s;
        found.worst_s += own.worst_s;
        if problem.waits(index) {
            found.fast_s.push(share(problem, index, chain));
            found.slow_s.push(own.slow_s);
        } else {
            found.delay_s += own.best_s;
        }
    }
    found
}
