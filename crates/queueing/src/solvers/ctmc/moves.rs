//! What happens when a phase ends: customers move, until everyone is served or waits.

use super::phases::Phases;
use super::state::{Here, Owner, Split, State, Token};
use crate::model::{Fork, NodeKind, Place, Route};
use crate::network::{Choice, Discipline, Late, StationKind};
use crate::solvers::Problem;
use std::collections::HashMap;

/// The rules of one network.
pub struct Moves<'a> {
    problem: &'a Problem<'a>,
    /// `phases[station][class]`; `None` for what takes no time.
    phases: Vec<Vec<Option<Phases>>>,
    /// Round-robin routes, numbered.
    turns: HashMap<(usize, usize), usize>,
    /// Whether late siblings are discarded.
    discards: bool,
}

/// One of the states that may follow.
pub struct Outcome {
    /// How likely.
    pub probability: f64,
    /// Which.
    pub state: State,
    /// Visits on the way that took no time: station and class.
    pub passed: Vec<(usize, usize)>,
}

/// What is still to be done before time goes on.
#[derive(Clone, Copy)]
enum Event {
    Arrive { place: Place, owner: Owner },
    Leave { place: Place, owner: Owner },
    Promote { station: usize },
}

/// A state on its way to the next.
#[derive(Clone)]
struct Draft {
    probability: f64,
    state: State,
    passed: Vec<(usize, usize)>,
    events: Vec<Event>,
}

impl<'a> Moves<'a> {
    /// Of a network that suits.
    pub fn new(problem: &'a Problem<'a>) -> Self {
        let model = problem.model;
        let phases = (0..problem.stations).map(|station| {
            let services = problem.station(station).service.iter();
            services.map(|service| service.as_ref().and_then(Phases::of)).collect()
        });
        let mut turns = HashMap::new();
        for (node, routes) in model.routes.iter().enumerate() {
            for (class, route) in routes.iter().enumerate() {
                if matches!(route, Some(Route::Chosen(Choice::RoundRobin, _))) {
                    let number = turns.len();
                    turns.insert((node, class), number);
                }
            }
        }
        let discards = model.forks().any(|(_, fork)| fork.late == Late::Discard);
        Self { problem, phases: phases.collect(), turns, discards }
    }

    /// Everyone at their reference.
    pub fn beginning(&self) -> State {
        let mut events = Vec::new();
        for (class, it) in self.problem.model.classes.iter().enumerate() {
            let place = Place { node: it.reference, class };
            let arrive = Event::Arrive { place, owner: Owner::Customer };
            events.extend(std::iter::repeat_n(arrive, it.users as usize));
        }
        let state = State {
            stations: vec![Here::default(); self.problem.stations],
            splits: Vec::new(),
            turns: vec![0; self.turns.len()],
        };
        let draft = Draft { probability: 1.0, state, passed: Vec::new(), events };
        self.first(draft)
    }

    /// One of the states that a draft may end in.
    fn first(&self, mut draft: Draft) -> State {
        while let Some(event) = draft.events.pop() {
            draft = self.happen(draft, event).swap_remove(0);
        }
        draft.state.canonical()
    }

    /// The rates of all that may happen in a state, with what may follow.
    pub fn from(&self, state: &State) -> Vec<(f64, Vec<Outcome>)> {
        let mut found = Vec::new();
        for (index, here) in state.stations.iter().enumerate() {
            let speed = self.speed(index, here);
            // They are sorted: of equal ones each move is the same.
            for (at, alike) in runs(&here.serving) {
                let token = &here.serving[at];
                let class = token.class as usize;
                let phases = self.phases[index][class].as_ref().expect("it takes time");
                let rate = phases.rates[token.phase as usize] * speed * alike as f64;
                let mut next = state.clone();
                let serving = &mut next.stations[index].serving;
                let more = phases.chained && (token.phase as usize) + 1 < phases.rates.len();
                let events = if more {
                    serving[at].phase += 1;
                    Vec::new()
                } else {
                    serving.remove(at);
                    let place = Place { node: index, class };
                    let leave = Event::Leave { place, owner: token.owner };
                    vec![leave, Event::Promote { station: index }]
                };
                let draft = Draft { probability: 1.0, state: next, passed: Vec::new(), events };
                found.push((rate, self.settle(draft)));
            }
        }
        found
    }

    /// How fast each of those is served who are.
    pub fn speed(&self, index: usize, here: &Here) -> f64 {
        let station = self.problem.station(index);
        let served = here.serving.len();
        let there = served + here.waiting.len();
        if served == 0 {
            return 0.0;
        }
        station.rate(there as u32) / served as f64
    }

    /// The rate at which a token's service ends in its phase, were it served at full speed.
    pub fn completion(&self, station: usize, token: Token) -> f64 {
        let phases = self.phases[station][token.class as usize].as_ref().expect("it takes time");
        let more = phases.chained && (token.phase as usize) + 1 < phases.rates.len();
        if more { 0.0 } else { phases.rates[token.phase as usize] }
    }

    /// Let everything happen that takes no time.
    fn settle(&self, draft: Draft) -> Vec<Outcome> {
        let mut open = vec![draft];
        let mut found = Vec::new();
        while let Some(mut draft) = open.pop() {
            match draft.events.pop() {
                Some(event) => open.extend(self.happen(draft, event)),
                None => found.push(Outcome {
                    probability: draft.probability,
                    state: draft.state.canonical(),
                    passed: draft.passed,
                }),
            }
        }
        found
    }

    fn happen(&self, mut draft: Draft, event: Event) -> Vec<Draft> {
        match event {
            Event::Arrive { place, owner } => self.arrive(draft, place, owner),
            // A discarded sibling ends with the visit at which it is served.
            Event::Leave { owner: Owner::Late, .. } if self.discards => vec![draft],
            Event::Leave { place, owner } => self.leave(draft, place, owner),
            Event::Promote { station } => {
                let here = &mut draft.state.stations[station];
                let servers = self.problem.station(station).servers as usize;
                if here.waiting.is_empty() || here.serving.len() >= servers {
                    return vec![draft];
                }
                let next = match self.problem.station(station).discipline {
                    Discipline::Siro => 0..here.waiting.len(),
                    _ => 0..1,
                };
                draft.events.push(event);
                let share = 1.0 / next.len() as f64;
                next.flat_map(|at| {
                    let mut draft = draft.clone();
                    draft.probability *= share;
                    let token = draft.state.stations[station].waiting.remove(at);
                    self.serve(draft, station, token)
                })
                .collect()
            }
        }
    }

    /// Begin to serve: in one of the phases, or it is over at once.
    fn serve(&self, mut draft: Draft, station: usize, token: Token) -> Vec<Draft> {
        let class = token.class as usize;
        let Some(phases) = &self.phases[station][class] else {
            draft.passed.push((station, class));
            let place = Place { node: station, class };
            draft.events.push(Event::Leave { place, owner: token.owner });
            return vec![draft];
        };
        let begin = |(phase, probability): &(u16, f64)| {
            let mut draft = draft.clone();
            draft.probability *= probability;
            draft.state.stations[station].serving.push(Token { phase: *phase, ..token });
            draft
        };
        phases.begin.iter().map(begin).collect()
    }

    fn arrive(&self, mut draft: Draft, place: Place, owner: Owner) -> Vec<Draft> {
        match &self.problem.model.nodes[place.node].kind {
            NodeKind::Station(station) => {
                let token = Token { class: place.class as u16, phase: 0, owner };
                let here = &mut draft.state.stations[place.node];
                let shared =
                    station.kind == StationKind::Delay || station.discipline == Discipline::Ps;
                if shared || here.serving.len() < station.servers as usize {
                    return self.serve(draft, place.node, token);
                }
                let classes = &self.problem.model.classes;
                let first = |other: &Token| {
                    station.discipline != Discipline::Priority
                        || classes[other.class as usize].priority >= classes[place.class].priority
                };
                let at = here.waiting.iter().position(|other| !first(other));
                here.waiting.insert(at.unwrap_or(here.waiting.len()), token);
                vec![draft]
            }
            NodeKind::Fork(fork) => split(&draft, fork, place, owner),
            NodeKind::Join(of) => {
                let NodeKind::Fork(fork) = &self.problem.model.nodes[*of].kind else {
                    unreachable!("a join is of a fork")
                };
                vec![join(draft, fork, owner)]
            }
            NodeKind::Router | NodeKind::Cache(_) | NodeKind::Source | NodeKind::Sink => {
                self.leave(draft, place, owner)
            }
        }
    }

    /// Go on from a node.
    fn leave(&self, mut draft: Draft, place: Place, owner: Owner) -> Vec<Draft> {
        let arrive = |mut draft: Draft, probability: f64, place: Place| {
            draft.probability *= probability;
            draft.events.push(Event::Arrive { place, owner });
            draft
        };
        match &self.problem.model.routes[place.node][place.class] {
            Some(Route::Random(places)) => {
                places.iter().map(|(to, p)| arrive(draft.clone(), *p, *to)).collect()
            }
            Some(Route::Chosen(Choice::RoundRobin, places)) => {
                let turn = &mut draft.state.turns[self.turns[&(place.node, place.class)]];
                let to = places[*turn as usize];
                *turn = (*turn + 1) % places.len() as u16;
                vec![arrive(draft, 1.0, to)]
            }
            Some(Route::Chosen(Choice::ShortestQueue, places)) => {
                let length = |place: &Place| {
                    let here = &draft.state.stations[place.node];
                    here.serving.len() + here.waiting.len()
                };
                let least = places.iter().map(length).min().unwrap_or(0);
                let shortest: Vec<_> = places.iter().filter(|p| length(p) == least).collect();
                let share = 1.0 / shortest.len() as f64;
                shortest.into_iter().map(|to| arrive(draft.clone(), share, *to)).collect()
            }
            None => unreachable!("checked: there is a way on"),
        }
    }
}

/// The first of each run of equal neighbours, and how many they are.
fn runs(tokens: &[Token]) -> impl Iterator<Item = (usize, usize)> {
    tokens.chunk_by(|a, b| a == b).scan(0, |at, run| {
        let first = *at;
        *at += run.len();
        Some((first, run.len()))
    })
}

/// A customer becomes siblings.
fn split(draft: &Draft, fork: &Fork, place: Place, owner: Owner) -> Vec<Draft> {
    let of = Token { class: place.class as u16, phase: 0, owner };
    let number = draft.state.splits.len() as u16;
    let split = Split { fork: place.node as u16, of, arrived: 0, missing: fork.copies as u16 };
    let chosen = choices(fork.branches.len(), fork.copies, fork.classes.is_some());
    let share = 1.0 / chosen.len() as f64;
    let one = |branches: &Vec<usize>| {
        let mut draft = draft.clone();
        draft.probability *= share;
        draft.state.splits.push(Some(split));
        for (at, branch) in branches.iter().enumerate() {
            let (node, own) = fork.branches[*branch];
            let class = fork.classes.as_ref().map_or(own, |classes| Some(classes[at]));
            let place = Place { node, class: class.unwrap_or(place.class) };
            draft.events.push(Event::Arrive { place, owner: Owner::Split(number) });
        }
        draft
    };
    chosen.iter().map(one).collect()
}

/// A sibling comes to its join; if enough have, the customer goes on.
fn join(mut draft: Draft, fork: &Fork, owner: Owner) -> Draft {
    let Owner::Split(number) = owner else { return draft };
    let split = draft.state.splits[number as usize].as_mut().expect("it isn't over");
    split.arrived += 1;
    split.missing -= 1;
    if usize::from(split.arrived) < fork.wait_for {
        return draft;
    }
    let of = split.of;
    draft.state.splits[number as usize] = None;
    if matches!(fork.late, Late::Discard | Late::Cancel) {
        for (station, here) in draft.state.stations.iter_mut().enumerate() {
            here.waiting.retain(|token| token.owner != owner);
            if fork.late == Late::Cancel {
                let before = here.serving.len();
                here.serving.retain(|token| token.owner != owner);
                let freed = before - here.serving.len();
                draft.events.extend(std::iter::repeat_n(Event::Promote { station }, freed));
            }
        }
        draft.events.retain(|event| {
            !matches!(event, Event::Arrive { owner: of, .. } | Event::Leave { owner: of, .. } if *of == owner)
        });
    }
    let late = |other: Owner| if other == owner { Owner::Late } else { other };
    draft.state.rename(late);
    for event in &mut draft.events {
        if let Event::Arrive { owner, .. } | Event::Leave { owner, .. } = event {
            *owner = late(*owner);
        }
    }
    let place = Place { node: fork.join, class: of.class as usize };
    draft.events.push(Event::Leave { place, owner: of.owner });
    draft
}

/// How many ways there are to choose a fork's branches.
pub(super) fn ways(fork: &Fork) -> f64 {
    let ordered = fork.classes.is_some();
    (0..fork.copies)
        .map(|chosen| {
            let left = (fork.branches.len() - chosen) as f64;
            if ordered { left } else { left / (chosen + 1) as f64 }
        })
        .product()
}

/// All ways to choose so many branches, in order or not; each is as likely as the others.
fn choices(branches: usize, copies: usize, ordered: bool) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..copies {
        let extend = |chosen: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..branches)
                .filter(|branch| {
                    let after = chosen.last().is_none_or(|last| branch > last);
                    if ordered { !chosen.contains(branch) } else { after }
                })
                .map(|branch| chosen.iter().copied().chain([branch]).collect())
                .collect()
        };
        found = found.iter().flat_map(extend).collect();
    }
    found
}
