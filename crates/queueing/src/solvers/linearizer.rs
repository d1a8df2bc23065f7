//! Linearizer: one customer less changes the shares of all others linearly.
//!
//! Chandy and Neuse, "Linearizer: a heuristic algorithm for queueing network models of computing systems", CACM 25(2),
//! 1982. It solves Schweitzer's equations with everyone and with one customer less of each chain, takes from
//! these how the shares change, and again; three rounds, as published.

use super::approximate::{self, Equations, Fractions, Point};
use super::report::{Found, solution};
use super::{Problem, Solver};
use crate::{QueueingError, Solution};

const ROUNDS: usize = 3;

/// See the module.
pub struct Linearizer;

impl Solver for Linearizer {
    fn name(&self) -> &'static str {
        "linearizer"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        approximate::unsuited(problem)
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let found = found(problem, &Equations::new(problem))?;
        let queues = "with one customer less, shares of all others at a station change linearly";
        Ok(solution(problem, self.name(), true, approximate::assumed(problem, queues), &found))
    }
}

/// What the equations of a network come to.
pub(super) fn found(problem: &Problem<'_>, equations: &Equations) -> Result<Found, QueueingError> {
    let users: Vec<f64> = problem.chains.iter().map(|c| f64::from(c.users)).collect();
    let chains = users.len();
    let mut fractions: Fractions = vec![vec![vec![0.0; chains]; chains]; problem.stations];
    let mut point = equations.solve(&users, &fractions, equations.begin(&users))?;
    let mut fewer: Vec<Option<Point>> = vec![None; chains];
    for _ in 0..ROUNDS {
        for less in 0..chains {
            let mut left = users.clone();
            left[less] -= 1.0;
            if left.iter().all(|users| *users == 0.0) {
                continue;
            }
            let begin = fewer[less].take().unwrap_or_else(|| point.clone());
            let begin = scaled(begin, &left);
            fewer[less] = Some(equations.solve(&left, &fractions, begin)?);
        }
        for (station, by_chain) in fractions.iter_mut().enumerate() {
            for (chain, by_less) in by_chain.iter_mut().enumerate() {
                for (less, change) in by_less.iter_mut().enumerate() {
                    let left = users[chain] - f64::from(u8::from(chain == less));
                    if let Some(fewer) = &fewer[less]
                        && left > 0.0
                    {
                        *change = fewer.queue[station][chain] / left
                            - point.queue[station][chain] / users[chain];
                    }
                }
            }
        }
        point = equations.solve(&users, &fractions, point)?;
    }
    Ok(Found {
        throughput_per_s: point.throughput_per_s,
        queue: point.queue,
        busy: vec![None; problem.stations],
    })
}

/// A point with so many users in it.
fn scaled(mut point: Point, users: &[f64]) -> Point {
    for (chain, users) in users.iter().enumerate() {
        let there: f64 = point.queue.iter().map(|by_chain| by_chain[chain]).sum();
        let by = if there > 0.0 { users / there } else { 0.0 };
        point.queue.iter_mut().for_each(|by_chain| by_chain[chain] *= by);
    }
    point
}
