//! One replication: jobs move from node to node, and time jumps from event to event.
//!
//! An event is the end of a service, an arrival from outside, or a fork's time-out. Whatever follows
//! from it in no time happens at once; what concerns other jobs than the one that moves (siblings
//! that set out, a customer whose join is complete, those for whom a place in a pool became free) is put in `moves` and
//! happens before time goes on, in that order.

use super::calendar::{Times, Tournament};
use super::gathering::Gathering;
use super::histogram::Histogram;
use super::jobs::{Jobs, State};
use super::places::Places;
use super::plan::{At, NONE, Plan, Step, Way};
use super::random::{Random, below};
use super::station::Station;
use super::tally::Totals;
use super::watch::{Deed, Watch};
use crate::QueueingError;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::VecDeque;

/// After so many nodes without a station a job is believed to run in a circle.
const MOST_HOPS: u32 = 10_000;
/// How often somebody is asked whether to go on.
const CHUNK: u32 = 1 << 18;

/// A replication.
#[derive(Debug)]
pub(crate) struct Engine<'p, W> {
    pub(super) plan: &'p Plan<'p>,
    pub(super) random: Random,
    pub(super) now: f64,
    pub(super) calendar: Tournament,
    pub(super) stations: Vec<Station>,
    pub(super) jobs: Jobs,
    pub(super) gatherings: Vec<Gathering>,
    pub(super) free_gatherings: Vec<u32>,
    /// When forks' time is out, by gathering.
    pub(super) timeouts: Times,
    pub(super) pools: Vec<Places>,
    pub(super) moves: VecDeque<(u32, At)>,
    pub(super) branches: Vec<usize>,
    turns: Vec<usize>,
    pub(super) totals: Totals,
    /// By class: times of cycles.
    pub(super) cycles: Vec<Histogram>,
    /// By chain: how many users are to leave.
    surplus: Vec<u32>,
    /// Something that can't go on, to be told once the event is over.
    pub(super) trouble: Option<QueueingError>,
    pub(super) watch: W,
}

impl<'p, W: Watch> Engine<'p, W> {
    /// Everybody is at the reference, and begins there.
    pub(crate) fn new(plan: &'p Plan<'p>, seed: u64, watch: W) -> Self {
        let turns = plan.routes.iter().filter(|way| matches!(way, Way::RoundRobin(..))).count();
        let sources = plan.stations.len() + plan.arrivals.len() + 1;
        let mut engine = Self {
            plan,
            random: Random::seed_from_u64(seed),
            now: 0.0,
            calendar: Tournament::new(if plan.timeouts { sources } else { sources - 1 }),
            stations: plan.stations.iter().map(Station::new).collect(),
            jobs: Jobs::default(),
            gatherings: Vec::new(),
            free_gatherings: Vec::new(),
            timeouts: Times::default(),
            pools: plan.pools.iter().map(|_| Places::default()).collect(),
            moves: VecDeque::new(),
            branches: Vec::new(),
            turns: vec![0; turns],
            totals: Totals::new(plan),
            cycles: vec![Histogram::default(); plan.classes],
            surplus: vec![0; plan.chains.len()],
            trouble: None,
            watch,
        };
        for source in 0..plan.arrivals.len() {
            engine.expect_arrival(source);
        }
        for (class, it) in plan.model.classes.iter().enumerate() {
            engine.add_users(class as u32, it.users);
        }
        engine
    }

    /// Time goes on until `end`; `stopped` is asked now and then.
    ///
    /// # Errors
    ///
    /// If it was stopped, or can't go on.
    pub(crate) fn run_until(
        &mut self,
        end: f64,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), QueueingError> {
        loop {
            if stopped() {
                return Err(QueueingError::Stopped);
            }
            if self.run_events(CHUNK, end)? {
                self.now = end;
                return Ok(());
            }
        }
    }

    /// So many events, but none after `end`; whether that was reached.
    ///
    /// # Errors
    ///
    /// If it can't go on.
    pub(crate) fn run_events(&mut self, events: u32, end: f64) -> Result<bool, QueueingError> {
        let from = self.now;
        for _ in 0..events {
            let (time, source) = self.calendar.first();
            if time > end || time == f64::INFINITY {
                return Ok(true);
            }
            self.now = time;
            if (source as usize) < self.stations.len() {
                self.finish_service(source);
            } else {
                self.other_event(source as usize - self.stations.len());
            }
            while let Some((id, to)) = self.moves.pop_front() {
                self.go(id, to);
            }
            if let Some(trouble) = self.trouble.take() {
                return Err(trouble);
            }
        }
        if events == CHUNK && self.now <= from {
            return Err(QueueingError::Unsuited(format!(
                "time stands still: {CHUNK} events at {from} s; some customers' cycles take no time"
            )));
        }
        Ok(false)
    }

    /// Whether nothing will ever happen again.
    pub(crate) fn is_over(&self) -> bool {
        self.calendar.first().0 == f64::INFINITY
    }

    fn other_event(&mut self, source: usize) {
        if source < self.plan.arrivals.len() {
            self.expect_arrival(source);
            let class = self.plan.arrivals[source].0;
            let id = self.jobs.create(class, self.now);
            self.begin_cycle(id);
            let to = self.route(self.plan.source, class);
            self.go(id, to);
        } else {
            self.time_out();
        }
    }

    fn expect_arrival(&mut self, source: usize) {
        let time = self.now + self.plan.arrivals[source].1.draw(&mut self.random);
        self.calendar.set(self.stations.len() + source, time);
    }

    #[inline]
    fn finish_service(&mut self, at: u32) {
        let now = self.now;
        let station = &mut self.stations[at as usize];
        let id = station.finish(now);
        let began = station.begin_next(&mut self.jobs, &mut self.random);
        let next = station.next();
        self.calendar.set(at as usize, next);
        if let Some(other) = began {
            self.note(other, Deed::Begins);
        }
        let job = &mut self.jobs[id];
        job.state = State::Moving;
        let (class, fork) = (job.class, job.fork);
        let visits = &mut self.totals.visits[self.plan.cell(at, class)];
        visits.done += 1.0;
        visits.stayed += now - job.arrived;
        visits.work += job.need;
        self.note(id, Deed::Leaves);
        if fork == NONE {
            if !self.jobs[id].cycling && at == self.plan.references[class as usize] {
                if self.leaves_for_good(class) {
                    return self.end_job(id);
                }
                self.begin_cycle(id);
            }
        } else if self.gatherings[fork as usize].over {
            return self.end_sibling(id);
        }
        let to = self.route(at, class);
        self.go(id, to);
    }

    #[inline]
    fn leaves_for_good(&mut self, class: u32) -> bool {
        let surplus = &mut self.surplus[self.plan.chain_of[class as usize] as usize];
        let leaves = *surplus > 0;
        *surplus -= u32::from(leaves);
        leaves
    }

    #[inline]
    fn begin_cycle(&mut self, id: u32) {
        let job = &mut self.jobs[id];
        job.left = self.now;
        job.since = self.now;
        job.cycling = true;
        self.note(id, Deed::Sets);
    }

    /// A customer is back at its reference, or at the sink; whether it did what it came for.
    #[inline]
    fn end_cycle(&mut self, id: u32, done: bool) {
        let job = &mut self.jobs[id];
        job.cycling = false;
        let class = job.class as usize;
        let cycles = &mut self.totals.cycles[class];
        cycles.away += self.now - job.since;
        if done {
            let took = self.now - job.left;
            cycles.done += 1.0;
            cycles.took += took;
            self.cycles[class].record(took);
        }
        self.note(id, if done { Deed::IsBack } else { Deed::IsTurnedAway });
    }

    /// Where a job goes from a node.
    #[inline]
    pub(super) fn route(&mut self, node: u32, class: u32) -> At {
        let plan = self.plan;
        match &plan.routes[plan.cell(node, class)] {
            Way::To(to) => *to,
            Way::Random(alias, places) => places[alias.draw(&mut self.random)],
            rule => self.route_by_rule(rule),
        }
    }

    #[inline(never)]
    fn route_by_rule(&mut self, rule: &'p Way) -> At {
        match rule {
            Way::RoundRobin(turn, places) => {
                let turn = &mut self.turns[*turn as usize];
                let to = places[*turn];
                *turn = (*turn + 1) % places.len();
                to
            }
            Way::Shortest(places) => self.shortest(places),
            Way::To(_) | Way::Random(..) | Way::Nowhere => {
                unreachable!("checked: customers that get somewhere have a way on")
            }
        }
    }

    fn shortest(&mut self, places: &[(At, u32)]) -> At {
        let (mut least, mut equal, mut to) = (usize::MAX, 0, places[0].0);
        for (place, station) in places {
            let present =
                if *station == NONE { 0 } else { self.stations[*station as usize].present() };
            if present < least {
                (least, equal) = (present, 0);
            }
            if present == least {
                equal += 1;
                if below(&mut self.random, equal) == 0 {
                    to = *place;
                }
            }
        }
        to
    }

    /// A job moves on until time has to pass.
    #[inline]
    pub(super) fn go(&mut self, id: u32, to: At) {
        if let Step::Station = self.plan.nodes[to.node as usize] {
            self.arrive(id, to);
        } else {
            self.pass(id, to);
        }
    }

    #[inline(never)]
    fn pass(&mut self, id: u32, mut to: At) {
        for _ in 0..MOST_HOPS {
            match self.plan.nodes[to.node as usize] {
                Step::Station => return self.arrive(id, to),
                Step::Router => to = self.route(to.node, to.class),
                Step::Fork(fork) => {
                    self.become_class(id, to.class);
                    return self.fork(id, fork);
                }
                Step::Join(fork) => {
                    if self.belongs_to(id, fork) {
                        return self.join(id);
                    }
                    to = self.route(to.node, to.class);
                }
                Step::Sink => {
                    self.become_class(id, to.class);
                    self.end_cycle(id, true);
                    return self.end_job(id);
                }
                Step::Source => unreachable!("nobody can be sent to the source"),
            }
        }
        let name = &self.plan.model.nodes[to.node as usize].name;
        self.trouble = Some(QueueingError::Unsuited(format!(
            "{name}: customers run in a circle of routers that takes no time"
        )));
    }

    #[inline]
    fn become_class(&mut self, id: u32, class: u32) {
        let job = &mut self.jobs[id];
        if job.class != class {
            if job.cycling {
                self.totals.cycles[job.class as usize].away += self.now - job.since;
                job.since = self.now;
            }
            job.class = class;
        }
    }

    /// A job gets to a station, and in if its pools have a place.
    #[inline]
    pub(super) fn arrive(&mut self, id: u32, to: At) {
        self.become_class(id, to.class);
        if self.plan.pools_of[to.node as usize] | self.jobs[id].holds == 0 || self.admit(id, to) {
            self.enter(id, to);
        }
    }

    #[inline]
    fn enter(&mut self, id: u32, to: At) {
        if self.jobs[id].cycling && to.node == self.plan.references[to.class as usize] {
            self.end_cycle(id, true);
        }
        let plan = self.plan;
        let cell = plan.cell(to.node, to.class);
        let job = &mut self.jobs[id];
        job.station = to.node;
        job.arrived = self.now;
        job.need = plan.services[cell].draw(&mut self.random);
        self.note(id, Deed::Arrives);
        let station = &mut self.stations[to.node as usize];
        let begins = station.enter(&mut self.jobs, id, plan.lines[cell], self.now);
        let next = station.next();
        self.calendar.set(to.node as usize, next);
        if begins {
            self.note(id, Deed::Begins);
        }
    }

    /// Who was turned away goes back to where it came from; siblings to their join.
    pub(super) fn turn_away(&mut self, id: u32) {
        let class = self.jobs[id].class as usize;
        self.totals.cycles[class].rejected += 1.0;
        self.release_all(id);
        if self.jobs[id].fork != NONE {
            self.note(id, Deed::IsTurnedAway);
            return self.join(id);
        }
        self.end_cycle(id, false);
        match self.plan.references[class] {
            NONE => self.end_job(id),
            node => {
                self.arrive(id, At { node, class: self.plan.back[class] });
            }
        }
    }

    pub(super) fn end_job(&mut self, id: u32) {
        self.release_all(id);
        self.note(id, Deed::Ends);
        self.jobs.end(id, self.now);
    }

    /// A job stops being where it is: a late sibling, cancelled.
    pub(super) fn stop(&mut self, id: u32) {
        let (state, at, class) = (self.jobs[id].state, self.jobs[id].station, self.jobs[id].class);
        match state {
            State::Serving | State::Waiting => {
                let cell = self.plan.cell(at, class);
                let station = &mut self.stations[at as usize];
                let work = station.abandon(&mut self.jobs, id, self.plan.lines[cell], self.now);
                let began = station.begin_next(&mut self.jobs, &mut self.random);
                let next = station.next();
                self.calendar.set(at as usize, next);
                let visits = &mut self.totals.visits[cell];
                visits.present += self.now - self.jobs[id].arrived;
                visits.work += work;
                if let Some(other) = began {
                    self.note(other, Deed::Begins);
                }
            }
            State::Pool(pool) => self.leave_line(id, pool),
            State::Forked => self.abandon_siblings(id),
            // Its slot may be used again before its move would be made.
            State::Moving => self.moves.retain(|(other, _)| *other != id),
            State::Dead => unreachable!("who has ended is no sibling any more"),
        }
        self.note(id, Deed::IsCancelled);
        self.end_sibling(id);
    }

    /// More customers, at their reference.
    pub(crate) fn add_users(&mut self, class: u32, users: u32) {
        for _ in 0..users {
            let id = self.jobs.create(class, self.now);
            self.arrive(id, At { node: self.plan.references[class as usize], class });
        }
    }

    /// Fewer customers: each leaves when it would next set out from its reference.
    pub(crate) fn remove_users(&mut self, class: u32, users: u32) {
        self.surplus[self.plan.chain_of[class as usize] as usize] += users;
    }

    /// A station has another number of servers.
    pub(crate) fn change_servers(&mut self, at: usize, servers: u32) {
        let plan = self.plan;
        let visits = &mut self.totals.visits;
        let station = &mut self.stations[at];
        let mut stopped = Vec::new();
        let line_of = |class| plan.lines[plan.cell(at as u32, class)];
        station.change_servers(&mut self.jobs, servers, self.now, line_of, |id, work| {
            stopped.push((id, work));
        });
        for (id, work) in stopped {
            visits[plan.cell(at as u32, self.jobs[id].class)].work += work;
        }
        while let Some(id) = self.stations[at].begin_next(&mut self.jobs, &mut self.random) {
            self.note(id, Deed::Begins);
        }
        let next = self.stations[at].next();
        self.calendar.set(at, next);
    }

    /// Everything so far, what isn't finished included.
    pub(crate) fn totals(&mut self) -> Totals {
        let mut totals = self.totals.clone();
        totals.time = self.now;
        for visits in &mut totals.visits {
            visits.present += visits.stayed;
        }
        for (at, station) in self.stations.iter_mut().enumerate() {
            station.read_clock(self.now);
            totals.busy[at] = station.busy();
        }
        for (_, job) in self.jobs.alive() {
            if matches!(job.state, State::Serving | State::Waiting) {
                let visits = &mut totals.visits[self.plan.cell(job.station, job.class)];
                visits.present += self.now - job.arrived;
                if job.state == State::Serving {
                    visits.work += self.stations[job.station as usize].attained(job.began);
                }
            }
            if job.cycling {
                totals.cycles[job.class as usize].away += self.now - job.since;
            }
        }
        for (it, pool) in totals.pools.iter_mut().zip(&self.pools) {
            *it = pool.so_far(self.now);
        }
        totals.jobs = self.jobs.area(self.now);
        totals
    }

    #[inline]
    pub(super) fn note(&mut self, id: u32, deed: Deed) {
        if W::WATCHES {
            self.watch.note(self.now, id, &self.jobs[id], deed);
        }
    }
}
