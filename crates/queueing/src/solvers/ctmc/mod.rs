//! The Markov chain of a small network, solved as it is: exact for all that is exponential, or made of such phases.
//!
//! Order of service, priorities, several servers, forks with siblings that are served, discarded or cancelled after
//! the join, round robin and the shortest queue: every rule is in the states, so this is the oracle for all
//! other solvers. Late siblings that are served have no bound; only so many are let in, and the probability of
//! having reached that many must be next to nothing. States are enumerated from the beginning; balance equations as in
//! Stewart, *Introduction to the Numerical Solution of Markov Chains*, 1994.
//!
//! | module | holds |
//! |---|---|
//! | `state` | who is where |
//! | `phases` | service times as exponential phases |
//! | `instant` | ways round that take no time |
//! | `moves` | what happens when a phase ends |
//! | `steady` | balance equations |
//! | `measure` | means from probabilities |

mod instant;
mod measure;
mod moves;
mod phases;
mod state;
mod steady;

use super::{Problem, Solver, suited};
use crate::model::{NodeKind, Route};
use crate::network::{Choice, Late};
use crate::{QueueingError, Solution};
use moves::Moves;
use state::State;
use std::collections::HashMap;

/// More of them take too long.
const MOST_STATES: usize = 30_000;
/// More ways to choose a fork's branches take too long, too.
const MOST_CHOICES: usize = 5_040;
/// The probability of states in which a late sibling was kept out.
const CUT_OFF: f64 = 1e-9;

/// See the module.
pub struct Ctmc;

impl Solver for Ctmc {
    fn name(&self) -> &'static str {
        "ctmc"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        let model = problem.model;
        if let Some(chain) = problem.chains.iter().find(|chain| chain.open) {
            let class = &model.classes[chain.classes[0]].name;
            return Some(format!("class {class} is open: its customers have no bound"));
        }
        suited::binding_pool(problem)
            .or_else(|| too_many(problem))
            .or_else(|| instant::endless(problem))
            .or_else(|| phases::unsuited(problem))
            .or_else(|| unsuited_fork(problem))
            .or_else(|| {
                let routes = model.routes.iter().flatten().flatten();
                let mut to = routes.filter_map(|route| match route {
                    Route::Chosen(Choice::ShortestQueue, to) => Some(to),
                    _ => None,
                });
                let other = to.find_map(|to| to.iter().find(|p| p.node >= problem.stations))?;
                Some(format!(
                    "node {}: it isn't a station, and has no queue that could be the shortest",
                    model.nodes[other.node].name
                ))
            })
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let unbounded = problem.model.forks().any(|(_, fork)| {
            fork.wait_for < fork.copies && matches!(fork.late, Late::Serve | Late::Discard)
        });
        let mut most_late = if unbounded { 8 } else { usize::MAX };
        loop {
            let chain = enumerate(problem, most_late).ok_or_else(|| {
                QueueingError::Unsuited(format!(
                    "ctmc can't solve this: it has more than {MOST_STATES} states{}; simulate it",
                    if unbounded { ", or late siblings pile up without end" } else { "" }
                ))
            })?;
            let probabilities = steady::solve(&chain.rates)?;
            let cut: f64 =
                chain.cut.iter().zip(&probabilities).filter(|(cut, _)| **cut).map(|(_, p)| p).sum();
            if cut <= CUT_OFF {
                return Ok(measure::solution(problem, &chain, &probabilities));
            }
            most_late *= 2;
        }
    }
}

/// Users of whom it is clear without looking that they may be in too many states.
fn too_many(problem: &Problem<'_>) -> Option<String> {
    // At each of two stations may be any number of a chain's.
    let moves = |chain: usize| {
        (0..problem.stations).filter(|station| problem.demands_s[*station][chain] > 0.0).count() > 1
    };
    let chains = problem.chains.iter().enumerate();
    let moving = chains.filter(|(chain, _)| moves(*chain));
    let least = moving.map(|(_, chain)| f64::from(chain.users) + 1.0).product::<f64>();
    (least > MOST_STATES as f64).then(|| format!("it has more than {MOST_STATES} states"))
}

fn unsuited_fork(problem: &Problem<'_>) -> Option<String> {
    let model = problem.model;
    for (index, fork) in model.forks() {
        if moves::ways(fork) > MOST_CHOICES as f64 {
            let name = &model.nodes[index].name;
            return Some(format!(
                "fork {name}: it has more than {MOST_CHOICES} ways to choose its branches"
            ));
        }
    }
    let (index, fork) = model.forks().find(|(_, fork)| {
        let nested = model.forks().count() > 1 && matches!(fork.late, Late::Discard | Late::Cancel);
        fork.late == Late::Timeout || nested
    })?;
    debug_assert!(matches!(model.nodes[index].kind, NodeKind::Fork(_)));
    let name = &model.nodes[index].name;
    Some(match fork.late {
        Late::Timeout => format!("fork {name}: a time-out isn't exponential"),
        _ => format!("fork {name}: late siblings may have siblings of their own"),
    })
}

/// The states that customers get to, and how.
pub(crate) struct States {
    /// Each once, the beginning first.
    pub all: Vec<State>,
    /// `rates[from]`: to which, and how often a second.
    pub rates: Vec<Vec<(usize, f64)>>,
    /// Whether a late sibling was kept out there.
    pub cut: Vec<bool>,
    /// By state: visits that took no time, by station and class, a second.
    pub instant: Vec<Vec<(usize, usize, f64)>>,
}

/// All states from the beginning; `None` if they are too many.
fn enumerate(problem: &Problem<'_>, most_late: usize) -> Option<States> {
    let moves = Moves::new(problem);
    let begin = moves.beginning();
    let mut numbers = HashMap::from([(begin.clone(), 0)]);
    let mut found =
        States { all: vec![begin], rates: Vec::new(), cut: Vec::new(), instant: Vec::new() };
    let mut at = 0;
    while at < found.all.len() {
        let mut rates: Vec<(usize, f64)> = Vec::new();
        let mut instant = Vec::new();
        let mut cut = false;
        for (rate, outcomes) in moves.from(&found.all[at]) {
            for outcome in outcomes {
                let rate = rate * outcome.probability;
                if outcome.state.late() > most_late {
                    cut = true;
                    continue;
                }
                instant
                    .extend(outcome.passed.iter().map(|(station, class)| (*station, *class, rate)));
                let next = numbers.len();
                let to = *numbers.entry(outcome.state.clone()).or_insert(next);
                if to == next {
                    found.all.push(outcome.state);
                }
                if to != at {
                    rates.push((to, rate));
                }
            }
        }
        if found.all.len() > MOST_STATES {
            return None;
        }
        found.rates.push(rates);
        found.cut.push(cut);
        found.instant.push(instant);
        at += 1;
    }
    Some(found)
}
