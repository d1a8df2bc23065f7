//! Which records there are, while users insert: what the users of a process share.
//!
//! Records are counted by *index*: those loaded come first, then this process's inserts in the
//! order in which their numbers were taken. Only inserts that were acknowledged are read, and
//! only up to the first that still is under way, as YCSB has it. The number of an insert that
//! failed is a hole that no reader chooses.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Holes that are kept. With more, the frontier stays before the next one: readers then choose
/// among fewer records, never among missing ones.
const MOST_HOLES: usize = 1 << 16;

/// How far the inserts of a process have come.
#[derive(Debug)]
pub struct Frontier {
    /// The first record's number.
    start: u64,
    /// Records loaded.
    loaded: u64,
    worker: u64,
    workers: u64,
    /// Inserts whose numbers are given out.
    taken: AtomicU64,
    /// Inserts that are done, without a gap.
    done: AtomicU64,
    /// Whether there are any holes: what readers look at before they take the lock.
    has_holes: AtomicBool,
    window: Mutex<Window>,
    /// Sequential readers' turns.
    turns: AtomicU64,
}

#[derive(Debug, Default)]
struct Window {
    /// What became of the inserts after the frontier, its next one first.
    after: VecDeque<Fate>,
    holes: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Inserted,
    Missing,
}

impl Frontier {
    pub(crate) fn new(start: u64, loaded: u64, worker: u32, workers: u32) -> Self {
        Self {
            start,
            loaded,
            worker: u64::from(worker),
            workers: u64::from(workers.max(1)),
            taken: AtomicU64::new(0),
            done: AtomicU64::new(0),
            has_holes: AtomicBool::new(false),
            window: Mutex::default(),
            turns: AtomicU64::new(0),
        }
    }

    /// The number of the record with this index. Processes insert into interleaved numbers.
    pub(crate) fn number(&self, index: u64) -> u64 {
        match index.checked_sub(self.loaded) {
            None => self.start + index,
            Some(insert) => self.start + self.loaded + insert * self.workers + self.worker,
        }
    }

    /// Records that may be read: indices 0 to this − 1, but for holes.
    pub(crate) fn records(&self) -> u64 {
        self.loaded + self.done.load(Ordering::Acquire)
    }

    /// An index for a new record.
    pub(crate) fn take(&self) -> u64 {
        self.loaded + self.taken.fetch_add(1, Ordering::Relaxed)
    }

    /// The next turn of sequential readers, over the records loaded.
    pub(crate) fn turn(&self) -> u64 {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        turn.wrapping_mul(self.workers).wrapping_add(self.worker) % self.loaded
    }

    pub(crate) fn is_hole(&self, index: u64) -> bool {
        index >= self.loaded
            && self.has_holes.load(Ordering::Acquire)
            && self.window().holes.contains(&index)
    }

    /// The insert of `index` has ended; `inserted` when its record is certainly there.
    pub(crate) fn completed(&self, index: u64, inserted: bool) {
        let mut window = self.window();
        let mut done = self.done.load(Ordering::Relaxed);
        let Some(place) = (index - self.loaded).checked_sub(done) else { return };
        let place = place as usize;
        if window.after.len() <= place {
            window.after.resize(place + 1, Fate::UnderWay);
        }
        window.after[place] = if inserted { Fate::Inserted } else { Fate::Missing };
        while let Some(fate) = window.after.front() {
            match fate {
                Fate::UnderWay => break,
                Fate::Missing if window.holes.len() >= MOST_HOLES => break,
                Fate::Missing => {
                    window.holes.insert(self.loaded + done);
                    self.has_holes.store(true, Ordering::Release);
                }
                Fate::Inserted => {}
            }
            window.after.pop_front();
            done += 1;
        }
        self.done.store(done, Ordering::Release);
    }

    fn window(&self) -> std::sync::MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_is_readable_once_all_before_it_are_acknowledged() {
        let frontier = Frontier::new(0, 10, 0, 1);
        let indices: Vec<_> = (0..4).map(|_| frontier.take()).collect();
        assert_eq!(indices, [10, 11, 12, 13]);
        frontier.completed(11, true);
        assert_eq!(frontier.records(), 10);
        frontier.completed(10, true);
        assert_eq!(frontier.records(), 12);
        frontier.completed(12, false);
        frontier.completed(13, true);
        assert_eq!(frontier.records(), 14);
        assert!(frontier.is_hole(12) && !frontier.is_hole(13) && !frontier.is_hole(3));
    }

    #[test]
    fn with_too_many_holes_the_frontier_stays() {
        let frontier = Frontier::new(0, 1, 0, 1);
        for _ in 0..MOST_HOLES + 5 {
            let index = frontier.take();
            frontier.completed(index, false);
        }
        assert_eq!(frontier.records(), 1 + MOST_HOLES as u64);
        assert!((1..frontier.records()).all(|index| frontier.is_hole(index)));
    }

    #[test]
    fn workers_insert_into_disjoint_numbers_without_gaps() {
        let mut numbers: Vec<u64> = (0..3)
            .flat_map(|worker| {
                let frontier = Frontier::new(100, 50, worker, 3);
                (0..20).map(|_| frontier.number(frontier.take())).collect::<Vec<_>>()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (150..210).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn in_whatever_order_inserts_end_all_are_seen(
            order in Just((0..200_u64).collect::<Vec<_>>()).prop_shuffle(),
            failed in prop::collection::btree_set(0..200_u64, 0..50),
        ) {
            let frontier = Frontier::new(7, 3, 0, 1);
            (0..200).for_each(|_| { frontier.take(); });
            for insert in order {
                frontier.completed(3 + insert, !failed.contains(&insert));
            }
            prop_assert_eq!(frontier.records(), 203);
            for insert in 0..200 {
                prop_assert_eq!(frontier.is_hole(3 + insert), failed.contains(&insert));
            }
        }
    }
}
