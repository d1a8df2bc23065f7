//! The search for an order of one register's operations.

use super::{Initial, Limits};
use crate::{Action, Fate, Operation, Version};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// How many steps lie between two questions whether to give up.
const STEPS_BETWEEN: u32 = 1024;

/// Numbers of open operations that take as much memory as a state.
const OPEN_PER_STATE: usize = super::STATE_BYTES / size_of::<u32>();

/// What a search has found.
pub(super) enum Outcome {
    Linearizable,
    Stuck(Stuck),
    GaveUp(String),
}

/// The end at which every order fails.
pub(super) struct Stuck {
    /// The operation that ends there, by its place among those searched.
    pub operation: usize,
    /// All that the register can have held when it was needed.
    pub held: Vec<Version>,
}

/// What an operation needs and does; values by their numbers in `Register::values`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Read(u32),
    Write(u32),
    Swap(u32, u32),
}

impl Step {
    /// What the register must hold.
    const fn needs(self) -> Option<u32> {
        match self {
            Self::Read(value) | Self::Swap(value, _) => Some(value),
            Self::Write(_) => None,
        }
    }

    /// What it holds afterwards.
    const fn leaves(self) -> u32 {
        match self {
            Self::Read(value) | Self::Write(value) | Self::Swap(_, value) => value,
        }
    }
}

/// An acknowledged operation.
struct Certain {
    step: Step,
    /// Its bit among the operations that are open with it.
    slot: u32,
}

/// Operations of unknown fate that do the same.
struct Alike {
    step: Step,
    /// Before which ends they begin, in order.
    from: Vec<u32>,
}

/// One register's operations, ready to be searched.
pub(super) struct Register {
    initial: Initial,
    values: Vec<Version>,
    certain: Vec<Certain>,
    /// The acknowledged operations in the order of their ends.
    ends: Vec<u32>,
    /// Those that are open at each end: `open[from[i]..from[i + 1]]`.
    open: Vec<u32>,
    open_from: Vec<usize>,
    /// The place of each acknowledged operation among those given.
    places: Vec<usize>,
    is_too_wide: bool,
    unknown: Vec<Alike>,
    /// By value: which of `unknown` leave it.
    sources: HashMap<u32, Vec<u32>>,
}

type Bits = SmallVec<[u64; 2]>;
type Used = SmallVec<[u32; 4]>;

/// Where a search stands: what its future depends on.
#[derive(Clone)]
struct State {
    at: Place,
    /// Of `Register::unknown`, those that are in the order, sorted, as often as they are.
    used: Used,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    end: u32,
    value: u32,
    /// Slots of the open operations that are in the order.
    done: Bits,
}

/// The value of a register of which nothing is known yet.
const UNSET: u32 = u32::MAX;

/// Whether an operation can matter to an order.
pub(super) const fn matters(operation: &Operation) -> bool {
    match operation.fate {
        Fate::Ok => true,
        Fate::Failed => false,
        Fate::Unknown => operation.writes(),
    }
}

impl Register {
    /// Of operations on one register; those that don't matter are left out. What is open at each end
    /// may take as much memory as `states` of the search do.
    pub(super) fn new(operations: &[Operation], initial: Initial, states: usize) -> Self {
        let mut numbers = HashMap::new();
        let mut values = Vec::new();
        let mut number = |version: Version| {
            *numbers.entry(version).or_insert_with(|| {
                values.push(version);
                values.len() as u32 - 1
            })
        };
        if let Initial::Known(version) = initial {
            number(version);
        }
        let mut steps = Vec::with_capacity(operations.len());
        for operation in operations {
            let value = number(operation.version);
            steps.push(match operation.action {
                Action::Read => Step::Read(value),
                Action::Write => Step::Write(value),
                Action::CompareAndSet { expected } => Step::Swap(number(expected), value),
            });
        }

        // At equal times starts come first: such operations overlap.
        let mut moments = Vec::with_capacity(operations.len() * 2);
        for (place, operation) in operations.iter().enumerate().filter(|(_, o)| matters(o)) {
            moments.push((operation.start_ns, false, place));
            if operation.fate == Fate::Ok {
                moments.push((operation.end_ns, true, place));
            }
        }
        moments.sort_unstable();

        let mut register = Self {
            initial,
            values,
            certain: Vec::new(),
            ends: Vec::new(),
            open: Vec::new(),
            open_from: vec![0],
            places: Vec::new(),
            is_too_wide: false,
            unknown: Vec::new(),
            sources: HashMap::new(),
        };
        register.follow(operations, &steps, &moments, states.saturating_mul(OPEN_PER_STATE));
        register
    }

    fn follow(
        &mut self,
        operations: &[Operation],
        steps: &[Step],
        moments: &[(i64, bool, usize)],
        open_at_most: usize,
    ) {
        let mut alike = HashMap::new();
        let mut names = vec![0; operations.len()];
        let mut open: Vec<u32> = Vec::new();
        let mut free = BinaryHeap::new();
        let mut slots = 0;
        for &(_, is_end, place) in moments {
            let step = steps[place];
            if is_end {
                let name = names[place];
                self.ends.push(name);
                self.open.extend_from_slice(&open);
                if self.open.len() > open_at_most {
                    self.is_too_wide = true;
                    return;
                }
                self.open_from.push(self.open.len());
                open.retain(|other| *other != name);
                free.push(Reverse(self.certain[name as usize].slot));
            } else if operations[place].fate == Fate::Ok {
                let slot = free.pop().map_or(slots, |Reverse(slot)| slot);
                slots = slots.max(slot + 1);
                names[place] = self.certain.len() as u32;
                open.push(names[place]);
                self.certain.push(Certain { step, slot });
                self.places.push(place);
            } else {
                let at = *alike.entry(step).or_insert_with(|| {
                    self.unknown.push(Alike { step, from: Vec::new() });
                    let at = self.unknown.len() as u32 - 1;
                    self.sources.entry(step.leaves()).or_default().push(at);
                    at
                });
                self.unknown[at as usize].from.push(self.ends.len() as u32);
            }
        }
    }

    /// Looks for an order.
    pub(super) fn search(&self, limits: Limits<'_>) -> Outcome {
        let too_much = || Outcome::GaveUp("the memory limit was reached".into());
        if self.is_too_wide {
            return too_much();
        }
        let value = match self.initial {
            Initial::Known(_) => 0,
            Initial::Earlier | Initial::Any => UNSET,
        };
        let place = Place { end: 0, value, done: Bits::new() };
        let mut stack = vec![State { at: place, used: Used::new() }];
        let mut seen: HashMap<Place, SmallVec<[Used; 1]>> = HashMap::new();
        let mut remembered = 0;
        let mut steps = 0_u32;
        let mut next = Vec::new();
        while let Some(mut state) = stack.pop() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS_BETWEEN) && (limits.give_up)() {
                return Outcome::GaveUp("the time limit was reached".into());
            }
            if !self.advance(&mut state) {
                return Outcome::Linearizable;
            }
            let known = seen.entry(state.at.clone()).or_default();
            if known.iter().any(|used| is_part(used, &state.used)) {
                continue;
            }
            known.push(state.used.clone());
            remembered += 1;
            if remembered + stack.len() > limits.states {
                return too_much();
            }
            if !self.expand(&state, &mut next) {
                return Outcome::GaveUp(
                    "too many ways lead through operations of unknown outcome".into(),
                );
            }
            stack.append(&mut next);
        }
        Outcome::Stuck(self.stuck(&seen))
    }

    /// Puts in what costs nothing and passes the ends that are met; false after the last.
    fn advance(&self, state: &mut State) -> bool {
        let place = &mut state.at;
        while let Some(ending) = self.ends.get(place.end as usize) {
            for name in self.open_at(place.end) {
                let operation = &self.certain[*name as usize];
                if operation.step == Step::Read(place.value) {
                    put(&mut place.done, operation.slot);
                }
            }
            let slot = self.certain[*ending as usize].slot;
            if !has(&place.done, slot) {
                return true;
            }
            take(&mut place.done, slot);
            place.end += 1;
        }
        false
    }

    /// All states that one more acknowledged operation leads to; the most promising one last. False
    /// where there are too many to look at.
    fn expand(&self, state: &State, next: &mut Vec<State>) -> bool {
        let ending = self.ends[state.at.end as usize];
        let others = self.open_at(state.at.end).iter().copied().filter(|name| *name != ending);
        others.chain([ending]).all(|name| self.put_in(state, name, next))
    }

    fn put_in(&self, state: &State, name: u32, next: &mut Vec<State>) -> bool {
        let operation = &self.certain[name as usize];
        if has(&state.at.done, operation.slot) {
            return true;
        }
        let mut then = |used: Used| {
            let mut at = Place { value: operation.step.leaves(), ..state.at.clone() };
            put(&mut at.done, operation.slot);
            next.push(State { at, used });
        };
        match operation.step.needs() {
            Some(value) if !self.is(state.at.value, value) => {
                let mut chains = Vec::new();
                let used = state.used.clone();
                let mut chain = Chain { used, values: vec![value], looks: MOST_LOOKS };
                let all = self.lead_to(value, state, &mut chain, &mut chains);
                chains.into_iter().for_each(then);
                return all;
            }
            _ => then(state.used.clone()),
        }
        true
    }

    /// The ways in which operations of unknown fate make a register hold `value`.
    ///
    /// A way that comes to a value twice is longer than it needs to be. False where there are too many
    /// ways, or longer ones than are followed.
    fn lead_to(&self, value: u32, state: &State, chain: &mut Chain, found: &mut Vec<Used>) -> bool {
        if chain.looks == 0 || chain.values.len() > MOST_VALUES {
            return false;
        }
        chain.looks -= 1;
        for &source in self.sources.get(&value).into_iter().flatten() {
            let alike = &self.unknown[source as usize];
            let begun = alike.from.partition_point(|from| *from <= state.at.end);
            let place = chain.used.partition_point(|used| *used < source);
            if chain.used[place..].iter().take_while(|used| **used == source).count() >= begun {
                continue;
            }
            chain.used.insert(place, source);
            match alike.step.needs() {
                Some(needed) if !self.is(state.at.value, needed) => {
                    if !chain.values.contains(&needed) {
                        chain.values.push(needed);
                        let all = self.lead_to(needed, state, chain, found);
                        chain.values.pop();
                        if !all {
                            return false;
                        }
                    }
                }
                _ => found.push(chain.used.clone()),
            }
            chain.used.remove(place);
        }
        true
    }

    /// Whether a register whose value is `held` can be found to hold `value`.
    fn is(&self, held: u32, value: u32) -> bool {
        held == value || held == UNSET && self.initial.may_be(self.values[value as usize])
    }

    fn open_at(&self, end: u32) -> &[u32] {
        &self.open[self.open_from[end as usize]..self.open_from[end as usize + 1]]
    }

    /// Where the orders that came furthest fail.
    fn stuck(&self, seen: &HashMap<Place, SmallVec<[Used; 1]>>) -> Stuck {
        let end = seen.keys().map(|place| place.end).max().unwrap_or_default();
        let ending = self.ends[end as usize];
        let needed = self.certain[ending as usize].step.needs();
        let held = seen.keys().filter(|place| place.end == end).map(|place| place.value);
        let mut held: BTreeSet<u32> = held.filter(|value| *value != UNSET).collect();
        // What operations of unknown fate may have left there meanwhile, at most.
        loop {
            let begun = self.unknown.iter().filter(|alike| alike.from[0] <= end);
            let more = begun.filter(|alike| alike.step.needs().is_none_or(|v| held.contains(&v)));
            let before = held.len();
            let more: Vec<_> = more.map(|alike| alike.step.leaves()).collect();
            held.extend(more.into_iter().filter(|value| Some(*value) != needed));
            if held.len() == before {
                break;
            }
        }
        let mut held: Vec<_> = held.into_iter().map(|value| self.values[value as usize]).collect();
        held.sort_unstable();
        Stuck { operation: self.places[ending as usize], held }
    }
}

struct Chain {
    used: Used,
    /// What it leads through, from its end.
    values: Vec<u32>,
    /// How often it may be lengthened still.
    looks: u32,
}

/// Ways from one value to another are looked for so often, for one state of a search.
const MOST_LOOKS: u32 = 20_000;

/// And through so many values at most.
const MOST_VALUES: usize = 200;

/// Whether all of `part` is in `whole`, as often; both are sorted.
fn is_part(part: &[u32], whole: &[u32]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|wanted| rest.any(|other| other == wanted))
}

fn has(bits: &Bits, slot: u32) -> bool {
    bits.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
}

fn put(bits: &mut Bits, slot: u32) {
    let word = slot as usize / 64;
    if bits.len() <= word {
        bits.resize(word + 1, 0);
    }
    bits[word] |= 1 << (slot % 64);
}

/// Sets of equal slots are equal as words: none ends in zeros.
fn take(bits: &mut Bits, slot: u32) {
    bits[slot as usize / 64] &= !(1 << (slot % 64));
    while bits.last() == Some(&0) {
        bits.pop();
    }
}
