//! Means from the probabilities of states.

use super::States;
use super::moves::Moves;
use super::state::Owner;
use crate::network::{Discipline, StationKind};
use crate::solution::{Solution, StationResult, VisitResult};
use crate::solvers::Problem;
use crate::solvers::report::{chain_result, class_result};

/// Sums over all states.
struct Sums {
    /// By station and class.
    visits: Vec<Vec<VisitResult>>,
    /// Customers (not siblings) away from their reference, split ones included, by class.
    away: Vec<f64>,
    /// Customers that leave their reference, a second, by class.
    cycles: Vec<f64>,
}

/// The means of a network.
pub fn solution(problem: &Problem<'_>, chain: &States, probabilities: &[f64]) -> Solution {
    let sums = sums(problem, chain, probabilities);
    let stations: Vec<StationResult> = sums
        .visits
        .into_iter()
        .enumerate()
        .map(|(index, classes)| StationResult {
            name: problem.name(index).to_owned(),
            utilisation: classes.iter().map(|class| class.utilisation).sum(),
            queue: classes.iter().map(|class| class.queue).sum(),
            classes,
        })
        .collect();
    let chains = problem.chains.iter().enumerate().map(|(index, chain)| {
        let x: f64 = chain.classes.iter().map(|class| sums.cycles[*class]).sum();
        let away: f64 = chain.classes.iter().map(|class| sums.away[*class]).sum();
        chain_result(problem, index, x, away / x)
    });
    let classes =
        sums.cycles.iter().zip(&sums.away).enumerate().map(|(class, (x, away))| {
            class_result(problem, class, *x, (*x > 0.0).then(|| away / x))
        });
    Solution {
        solver: "ctmc".to_owned(),
        exact: true,
        assumes: Vec::new(),
        classes: classes.collect(),
        chains: chains.collect(),
        stations,
    }
}

fn sums(problem: &Problem<'_>, chain: &States, probabilities: &[f64]) -> Sums {
    let model = problem.model;
    let moves = Moves::new(problem);
    let names = model
        .classes
        .iter()
        .map(|class| VisitResult { class: class.name.clone(), ..VisitResult::default() });
    let mut sums = Sums {
        visits: vec![names.collect(); problem.stations],
        away: vec![0.0; model.classes.len()],
        cycles: vec![0.0; model.classes.len()],
    };
    // A class's reference is its chain's, also where customers only become of it.
    let reference = |class: usize| {
        problem.chains.iter().find(|c| c.classes.contains(&class)).map(|chain| chain.reference)
    };
    for ((state, instant), p) in chain.all.iter().zip(&chain.instant).zip(probabilities) {
        if *p == 0.0 {
            continue;
        }
        for (index, here) in state.stations.iter().enumerate() {
            let station = problem.station(index);
            let speed = moves.speed(index, here);
            let there = here.serving.len() + here.waiting.len();
            for token in &here.serving {
                let class = token.class as usize;
                let part = match (station.kind, station.discipline) {
                    (StationKind::Delay, _) => 1.0,
                    (StationKind::Queue, Discipline::Ps) => {
                        let busy = there.min(station.servers as usize) as f64;
                        busy / f64::from(station.servers) / there as f64
                    }
                    (StationKind::Queue, _) if !station.rates.is_empty() => {
                        1.0 / here.serving.len() as f64
                    }
                    (StationKind::Queue, _) => 1.0 / f64::from(station.servers),
                };
                sums.visits[index][class].utilisation += p * part;
                let done = p * speed * moves.completion(index, *token);
                sums.visits[index][class].throughput_per_s += done;
                if token.owner == Owner::Customer && reference(class) == Some(index) {
                    sums.cycles[class] += done;
                }
            }
            for token in here.serving.iter().chain(&here.waiting) {
                let class = token.class as usize;
                sums.visits[index][class].queue += p;
                if token.owner == Owner::Customer && reference(class) != Some(index) {
                    sums.away[class] += p;
                }
            }
        }
        for split in state.splits.iter().flatten() {
            if split.of.owner == Owner::Customer {
                sums.away[split.of.class as usize] += p;
            }
        }
        for (station, class, rate) in instant {
            sums.visits[*station][*class].throughput_per_s += p * rate;
            // Siblings never get to a reference.
            if reference(*class) == Some(*station) {
                sums.cycles[*class] += p * rate;
            }
        }
    }
    for visit in sums.visits.iter_mut().flatten() {
        if visit.throughput_per_s > 0.0 {
            visit.response_s = visit.queue / visit.throughput_per_s;
        }
    }
    sums
}
