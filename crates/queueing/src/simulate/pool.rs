//! Pools: only so many jobs may be at a group of stations; others wait for a place, or are turned away.
//!
//! A job that is split at a fork gives its places back: it isn't at a station while its siblings work.

use super::engine::Engine;
use super::jobs::State;
use super::plan::At;
use super::watch::{Deed, Watch};

impl<W: Watch> Engine<'_, W> {
    /// A job is to get to a station: it gives back the places that it needs no more, and takes those that it needs, in
    /// the order of the network. Whether it has them all; if not, it waits, or was turned away.
    #[inline(never)]
    pub(super) fn admit(&mut self, id: u32, to: At) -> bool {
        let needs = self.plan.pools_of[to.node as usize];
        self.release(id, !needs);
        let mut missing = needs & !self.jobs[id].holds;
        while missing != 0 {
            let number = missing.trailing_zeros();
            missing &= missing - 1;
            let limits = &self.plan.pools[number as usize];
            let pool = &mut self.pools[number as usize];
            pool.touch(self.now);
            if pool.taken < limits.places {
                pool.taken += 1;
                self.jobs[id].holds |= 1 << number;
            } else if limits.waiting.is_some_and(|most| pool.waiting >= most) {
                pool.so_far.rejected += 1.0;
                self.turn_away(id);
                return false;
            } else {
                pool.waiting += 1;
                pool.line.push(&mut self.jobs, id);
                self.jobs[id].state = State::Pool(number);
                self.jobs[id].station = to.node;
                self.note(id, Deed::WaitsFor(number));
                return false;
            }
        }
        true
    }

    pub(super) fn release_all(&mut self, id: u32) {
        if self.jobs[id].holds != 0 {
            self.release(id, u64::MAX);
        }
    }

    /// A job gives back those of its places that are in `pools`; who waits longest for one gets it.
    fn release(&mut self, id: u32, pools: u64) {
        let mut back = self.jobs[id].holds & pools;
        self.jobs[id].holds &= !pools;
        while back != 0 {
            let number = back.trailing_zeros();
            back &= back - 1;
            let pool = &mut self.pools[number as usize];
            pool.touch(self.now);
            if let Some(next) = pool.line.pop(&mut self.jobs) {
                pool.waiting -= 1;
                let job = &mut self.jobs[next];
                job.holds |= 1 << number;
                job.state = State::Moving;
                let to = At { node: job.station, class: job.class };
                self.moves.push_back((next, to));
            } else {
                pool.taken -= 1;
            }
        }
    }

    /// A job that waits for a place stops waiting.
    pub(super) fn leave_line(&mut self, id: u32, number: u32) {
        let pool = &mut self.pools[number as usize];
        pool.touch(self.now);
        pool.line.remove(&mut self.jobs, id);
        pool.waiting -= 1;
    }
}
