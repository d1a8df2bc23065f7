//! Forks and joins: siblings set out, meet again, and come late.

use super::engine::Engine;
use super::gathering::Gathering;
use super::jobs::State;
use super::plan::{At, NONE};
use super::random::below;
use super::watch::{Deed, Watch};
use crate::network::Late;

impl<W: Watch> Engine<'_, W> {
    /// A job is split into siblings, and waits for them.
    pub(super) fn fork(&mut self, id: u32, number: u32) {
        self.release_all(id);
        let fork = self.plan.forks[number as usize];
        let gathering = Gathering {
            fork: number,
            parent: id,
            arrived: 0,
            alive: 0,
            first: NONE,
            due: self.now + fork.timeout_s,
            expired: false,
            over: false,
        };
        let record = if let Some(free) = self.free_gatherings.pop() {
            self.gatherings[free as usize] = gathering;
            free
        } else {
            self.gatherings.push(gathering);
            self.gatherings.len() as u32 - 1
        };
        let job = &mut self.jobs[id];
        job.state = State::Forked;
        job.children = record;
        let (class, root) = (job.class, job.root);
        self.note(id, Deed::Forks(number));
        self.branches.clear();
        self.branches.extend(0..fork.branches.len());
        let by_chance = fork.copies < fork.branches.len() || fork.classes.is_some();
        for copy in 0..fork.copies {
            if by_chance {
                let other = copy + below(&mut self.random, self.branches.len() - copy);
                self.branches.swap(copy, other);
            }
            let (node, own) = fork.branches[self.branches[copy]];
            let chosen = fork.classes.as_ref().map(|classes| classes[copy]);
            let class = chosen.or(own).map_or(class, |class| class as u32);
            let sibling = self.jobs.create(class, self.now);
            self.jobs[sibling].root = root;
            self.link(sibling, record);
            self.note(sibling, Deed::Sets);
            self.moves.push_back((sibling, At { node: node as u32, class }));
        }
        if fork.timeout_s.is_finite() {
            self.timeouts.push(self.now + fork.timeout_s, record);
            self.expect_time_out();
        }
    }

    fn link(&mut self, sibling: u32, record: u32) {
        let gathering = &mut self.gatherings[record as usize];
        let next = gathering.first;
        gathering.first = sibling;
        gathering.alive += 1;
        self.jobs[sibling].fork = record;
        self.jobs[sibling].next_sibling = next;
        if next != NONE {
            self.jobs[next].previous_sibling = sibling;
        }
    }

    /// Whether a job is a sibling from this fork.
    pub(super) fn belongs_to(&self, id: u32, fork: u32) -> bool {
        let record = self.jobs[id].fork;
        record != NONE && self.gatherings[record as usize].fork == fork
    }

    /// A sibling gets to its join.
    pub(super) fn join(&mut self, id: u32) {
        let record = self.jobs[id].fork;
        let gathering = &mut self.gatherings[record as usize];
        gathering.arrived += 1;
        let fork = self.plan.forks[gathering.fork as usize];
        let complete = gathering.arrived as usize == fork.wait_for;
        let parent = gathering.parent;
        self.note(id, Deed::Joins);
        if !complete || parent == NONE {
            return self.end_sibling(id);
        }
        self.gatherings[record as usize].parent = NONE;
        let expired = self.gatherings[record as usize].expired;
        self.end_sibling(id);
        self.jobs[parent].state = State::Moving;
        self.jobs[parent].children = NONE;
        self.note(parent, Deed::GoesOn);
        let to = self.route(fork.join as u32, self.jobs[parent].class);
        self.moves.push_back((parent, to));
        match fork.late {
            Late::Discard => self.discard(record),
            Late::Cancel => self.cancel(record),
            Late::Timeout if expired => self.cancel(record),
            Late::Serve | Late::Timeout => {}
        }
    }

    /// A sibling is no more.
    pub(super) fn end_sibling(&mut self, id: u32) {
        let job = &self.jobs[id];
        let (record, previous, next) = (job.fork, job.previous_sibling, job.next_sibling);
        if previous != NONE {
            self.jobs[previous].next_sibling = next;
        }
        if next != NONE {
            self.jobs[next].previous_sibling = previous;
        }
        let gathering = &mut self.gatherings[record as usize];
        if previous == NONE {
            gathering.first = next;
        }
        gathering.alive -= 1;
        if gathering.alive == 0 {
            self.free_gatherings.push(record);
        }
        self.end_job(id);
    }

    /// Siblings end at once.
    fn cancel(&mut self, record: u32) {
        while self.gatherings[record as usize].first != NONE {
            self.stop(self.gatherings[record as usize].first);
        }
    }

    /// Siblings end unless they are served; those that are, after this visit.
    fn discard(&mut self, record: u32) {
        self.gatherings[record as usize].over = true;
        let mut id = self.gatherings[record as usize].first;
        while id != NONE {
            let next = self.jobs[id].next_sibling;
            match self.jobs[id].state {
                State::Serving => {}
                State::Forked => {
                    let inner = self.jobs[id].children;
                    self.gatherings[inner as usize].parent = NONE;
                    self.discard(inner);
                    self.note(id, Deed::IsCancelled);
                    self.end_sibling(id);
                }
                _ => self.stop(id),
            }
            id = next;
        }
    }

    /// A job that waits for siblings is cancelled, and they with it.
    pub(super) fn abandon_siblings(&mut self, id: u32) {
        let record = self.jobs[id].children;
        self.gatherings[record as usize].parent = NONE;
        self.cancel(record);
    }

    /// The first of the time-outs is due. Where the join has gone on, those that haven't come are
    /// cancelled; else they will be when it does.
    pub(super) fn time_out(&mut self) {
        if let Some((due, record)) = self.timeouts.pop() {
            let gathering = &mut self.gatherings[record as usize];
            // The record may serve another job by now.
            if gathering.due.to_bits() == due.to_bits() && gathering.alive > 0 {
                gathering.expired = true;
                if gathering.parent == NONE {
                    self.cancel(record);
                }
            }
        }
        self.expect_time_out();
    }

    fn expect_time_out(&mut self) {
        let next = self.timeouts.first().map_or(f64::INFINITY, |(time, _)| time);
        self.calendar.set(self.plan.stations.len() + self.plan.arrivals.len(), next);
    }
}
