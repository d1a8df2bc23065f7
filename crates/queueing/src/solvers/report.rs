//! From chains' throughputs and queues to a solution by class and station.

use super::Problem;
use crate::network::StationKind;
use crate::solution::{ChainResult, ClassResult, Solution, StationResult, VisitResult};

/// What solvers of product forms find.
pub struct Found {
    /// By chain.
    pub throughput_per_s: Vec<f64>,
    /// `queue[station][chain]`.
    pub queue: Vec<Vec<f64>>,
    /// By station with load-dependent rates: the probability that someone is there.
    pub busy: Vec<Option<f64>>,
}

/// Share chains' results among their classes.
///
/// Where customers share servers, or don't wait, by demand. Where they are served in order, all
/// classes of a chain wait equally long: what of its time there isn't service.
pub fn solution(
    problem: &Problem<'_>,
    solver: &str,
    approximate: bool,
    assumes: Vec<String>,
    found: &Found,
) -> Solution {
    let classes = problem.model.classes.len();
    let mut visits = Visits::new(problem);
    for station in 0..problem.stations {
        for (index, chain) in problem.chains.iter().enumerate() {
            let x = found.throughput_per_s[index];
            let demand = problem.demands_s[station][index];
            let all = problem.visits[station][index];
            let queue = found.queue[station][index];
            if all == 0.0 {
                continue;
            }
            // Rounding must not make anyone wait less than not at all.
            let wait_s = ((queue - x * demand) / (x * all)).max(0.0);
            let stretch = if demand == 0.0 { 1.0 } else { queue / (x * demand) };
            for class in 0..classes {
                let flow = x * chain.visits[station][class];
                let service_s = problem.station(station).mean_s(class);
                let response_s =
                    if problem.in_order(station) && problem.station(station).rates.is_empty() {
                        service_s + wait_s
                    } else {
                        service_s * stretch
                    };
                visits.add(station, class, flow, flow * response_s);
            }
        }
    }
    let stations = visits.stations(problem, &found.busy);
    let elsewhere = |class: usize, reference: usize| -> f64 {
        (0..problem.stations)
            .filter(|station| *station != reference)
            .map(|station| stations[station].classes[class].queue)
            .sum()
    };
    let chains = problem
        .chains
        .iter()
        .enumerate()
        .map(|(index, chain)| {
            let x = found.throughput_per_s[index];
            let away: f64 = (0..problem.stations)
                .filter(|station| *station != chain.reference)
                .map(|station| found.queue[station][index])
                .sum();
            chain_result(problem, index, x, away / x)
        })
        .collect();
    let results = (0..classes).map(|class| {
        let Some(index) = problem.chains.iter().position(|c| c.classes.contains(&class)) else {
            return class_result(problem, class, 0.0, None);
        };
        let x = found.throughput_per_s[index] * ending(problem, index, class);
        let response_s = (x > 0.0 && problem.model.forks().next().is_none())
            .then(|| elsewhere(class, problem.chains[index].reference) / x);
        class_result(problem, class, x, response_s)
    });
    Solution {
        solver: solver.to_owned(),
        exact: !approximate && assumes.is_empty(),
        classes: results.collect(),
        assumes,
        chains,
        stations,
    }
}

/// Visits to the reference that end in a class (open: departures by the sink), in a cycle.
pub fn ending(problem: &Problem<'_>, chain: usize, class: usize) -> f64 {
    let chain = &problem.chains[chain];
    if chain.open {
        // The sink is the last node, always.
        chain.visits[problem.model.nodes.len() - 1][class]
    } else {
        chain.visits[chain.reference][class]
    }
}

/// One chain's line.
pub fn chain_result(problem: &Problem<'_>, chain: usize, x: f64, response_s: f64) -> ChainResult {
    let classes = &problem.chains[chain].classes;
    ChainResult {
        classes: classes.iter().map(|class| problem.model.classes[*class].name.clone()).collect(),
        throughput_per_s: x,
        response_s,
    }
}

/// One class's line.
pub fn class_result(
    problem: &Problem<'_>,
    class: usize,
    throughput_per_s: f64,
    response_s: Option<f64>,
) -> ClassResult {
    ClassResult { name: problem.model.classes[class].name.clone(), throughput_per_s, response_s }
}

/// Flows and queues by station and class, as they add up.
pub struct Visits(Vec<Vec<(f64, f64)>>);

impl Visits {
    /// Nothing yet.
    pub fn new(problem: &Problem<'_>) -> Self {
        Self(vec![vec![(0.0, 0.0); problem.model.classes.len()]; problem.stations])
    }

    /// A flow of visits, and how many of them are there.
    pub fn add(&mut self, station: usize, class: usize, flow: f64, queue: f64) {
        let (flows, queues) = &mut self.0[station][class];
        *flows += flow;
        *queues += queue;
    }

    /// The stations' results; utilisation by the utilisation law, but where rates depend on the load.
    pub fn stations(&self, problem: &Problem<'_>, busy: &[Option<f64>]) -> Vec<StationResult> {
        let all = self.0.iter().enumerate();
        all.map(|(index, by_class)| {
            let station = problem.station(index);
            let offered = |class: usize| by_class[class].0 * station.mean_s(class);
            let total: f64 = (0..by_class.len()).map(offered).sum();
            let scale = match (station.kind, busy[index]) {
                (StationKind::Delay, _) => 1.0,
                (StationKind::Queue, Some(busy)) if total > 0.0 => busy / total,
                (StationKind::Queue, _) => 1.0 / f64::from(station.servers),
            };
            let classes: Vec<VisitResult> = by_class
                .iter()
                .enumerate()
                .map(|(class, (flow, queue))| VisitResult {
                    class: problem.model.classes[class].name.clone(),
                    throughput_per_s: *flow,
                    response_s: if *flow > 0.0 { queue / flow } else { 0.0 },
                    queue: *queue,
                    utilisation: offered(class) * scale,
                })
                .collect();
            StationResult {
                name: problem.name(index).to_owned(),
                utilisation: classes.iter().map(|class| class.utilisation).sum(),
                queue: classes.iter().map(|class| class.queue).sum(),
                classes,
            }
        })
        .collect()
    }
}
