//! Small random histories of one register, by seed, and their verdicts by brute force.
//!
//! A register is played through, and in two of three histories some reads are then changed, so that
//! both verdicts are common.
#![allow(dead_code)] // each test that shares this uses a part

use pacelc_history::{Action, Fate, NEVER_NS, Operation, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use std::fmt::Write as _;

/// What histories are like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// At most so many operations.
    pub operations: usize,
    /// No value is written twice, and none is compared and set.
    pub distinct: bool,
}

/// A history and what its register held before.
#[derive(Debug, Clone)]
pub struct Made {
    pub operations: Vec<Operation>,
    pub initial: Version,
}

impl Made {
    /// As our program around Porcupine reads it.
    pub fn line(&self) -> String {
        let mut line = self.initial.0.to_string();
        for one in &self.operations {
            let (action, expected) = match one.action {
                Action::Read => (0, 0),
                Action::Write => (1, 0),
                Action::CompareAndSet { expected } => (2, expected.0),
            };
            let (session, fate, version) = (one.session, one.fate as u8, one.version.0);
            let (start_ns, end_ns) = (one.start_ns, one.end_ns);
            write!(line, " {session} {action} {fate} {version} {expected} {start_ns} {end_ns}")
                .expect("a string");
        }
        line + "\n"
    }
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// The history of this seed.
pub fn history(seed: u64, shape: Shape) -> Made {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let initial = Version(0);
    let sessions = 2 + dice.below(3);
    let mut free_from = vec![0; sessions as usize];
    let mut played = Vec::new();
    for written in 1..=4 + dice.below(shape.operations as u64 - 3) {
        let session = dice.below(sessions);
        let start_ns = free_from[session as usize] + dice.below(4).cast_signed();
        let end_ns = start_ns + dice.below(6).cast_signed();
        free_from[session as usize] = end_ns + 1 + dice.below(3).cast_signed();
        let value = Version(if shape.distinct { written } else { dice.below(4) });
        let action = match dice.below(if shape.distinct { 4 } else { 5 }) {
            0 | 1 => Action::Read,
            2 | 3 => Action::Write,
            _ => Action::CompareAndSet { expected: Version(dice.below(4)) },
        };
        let fate = match dice.below(8) {
            0 => Fate::Unknown,
            1 => Fate::Failed,
            _ => Fate::Ok,
        };
        let effect_ns = match fate {
            Fate::Ok => Some(start_ns + dice.below((end_ns - start_ns + 1) as u64).cast_signed()),
            Fate::Unknown if dice.one_in(2) => Some(start_ns + dice.below(30).cast_signed()),
            _ => None,
        };
        let end_ns = if fate == Fate::Unknown { NEVER_NS } else { end_ns };
        let operation = Operation {
            session: session as u32,
            action,
            fate,
            key: 0,
            version: value,
            start_ns,
            end_ns,
        };
        played.push((effect_ns.unwrap_or(start_ns), effect_ns.is_some(), operation));
    }
    let mut order: Vec<_> = (0..played.len()).collect();
    order.sort_by_key(|at| played[*at].0);
    let mut held = initial;
    for at in order {
        let (_, has_effect, operation) = &mut played[at];
        match operation.action {
            Action::Read => operation.version = held,
            Action::Write if *has_effect => held = operation.version,
            Action::CompareAndSet { expected } if *has_effect => {
                if expected == held {
                    held = operation.version;
                } else if operation.fate == Fate::Ok {
                    operation.fate = Fate::Failed;
                }
            }
            _ => {}
        }
    }
    let mut operations: Vec<_> = played.into_iter().map(|(_, _, operation)| operation).collect();
    if !dice.one_in(3) {
        let values: Vec<_> = operations.iter().map(|o| o.version).chain([initial]).collect();
        for read in operations.iter_mut().filter(|o| o.is_answered_read()) {
            if dice.one_in(2) {
                read.version = values[dice.below(values.len() as u64) as usize];
            }
        }
    }
    Made { operations, initial }
}

/// Whether some order of one register's operations is one that it allows: all are tried.
pub fn is_linearizable(made: &Made) -> bool {
    let operations: Vec<_> = made
        .operations
        .iter()
        .filter(|o| o.fate == Fate::Ok || o.fate == Fate::Unknown && o.writes())
        .collect();
    try_all(&operations, &mut vec![false; operations.len()], made.initial)
}

fn try_all(operations: &[&Operation], done: &mut Vec<bool>, held: Version) -> bool {
    let open = |done: &[bool], at: usize| !done[at] && operations[at].fate == Fate::Ok;
    if !(0..operations.len()).any(|at| open(done, at)) {
        return true;
    }
    for at in 0..operations.len() {
        let operation = operations[at];
        let is_first = !done[at]
            && (0..operations.len())
                .all(|other| !open(done, other) || operations[other].end_ns >= operation.start_ns);
        let fits = match operation.action {
            Action::Read => operation.version == held,
            Action::Write => true,
            Action::CompareAndSet { expected } => expected == held,
        };
        if is_first && fits {
            done[at] = true;
            if try_all(operations, done, operation.version) {
                return true;
            }
            done[at] = false;
        }
    }
    false
}
