//! Jobs (customers and siblings) in a table whose slots are used again, and the lines that they wait in.

use super::plan::NONE;

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// On its way, in no time.
    #[default]
    Moving,
    Serving,
    Waiting,
    /// For a place in the pool of this number.
    Pool(u32),
    /// Until its siblings meet.
    Forked,
    /// Ended on its way; its slot is free when the way would have ended.
    Dead,
}

/// A job. Times are the simulation's; `began` is its station's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Job {
    pub class: u32,
    pub station: u32,
    /// At the station.
    pub arrived: f64,
    /// Of this visit: how much service is left when it begins.
    pub need: f64,
    /// On the station's clock.
    pub began: f64,
    /// Of a customer: when its cycle began.
    pub left: f64,
    /// Of a customer away from its reference: since when in this class.
    pub since: f64,
    pub born: f64,
    /// The pools in which it has a place, a bit each.
    pub holds: u64,
    /// In a line.
    pub next: u32,
    pub previous: u32,
    /// Of a sibling: its fork's record.
    pub fork: u32,
    pub next_sibling: u32,
    pub previous_sibling: u32,
    /// Of a job that was forked: the record of that fork.
    pub children: u32,
    /// The customer that it is, or belongs to.
    pub root: u32,
    pub state: State,
    /// Whether it is a customer away from its reference.
    pub cycling: bool,
}

/// All jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jobs {
    table: Vec<Job>,
    free: Vec<u32>,
    /// The lifetimes of those that ended, summed.
    lived: f64,
}

impl Jobs {
    pub(crate) fn create(&mut self, class: u32, now: f64) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.table.push(Job::default());
            self.table.len() as u32 - 1
        });
        self.table[id as usize] = Job {
            class,
            born: now,
            station: NONE,
            fork: NONE,
            children: NONE,
            next_sibling: NONE,
            previous_sibling: NONE,
            root: id,
            ..Job::default()
        };
        id
    }

    pub(crate) fn end(&mut self, id: u32, now: f64) {
        let job = &mut self.table[id as usize];
        job.state = State::Dead;
        self.lived += now - job.born;
        self.free.push(id);
    }

    /// Those that are there.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (u32, &Job)> {
        let all = self.table.iter().enumerate().map(|(id, job)| (id as u32, job));
        all.filter(|(_, job)| job.state != State::Dead)
    }

    /// The integral of their number over time.
    pub(crate) fn area(&self, now: f64) -> f64 {
        self.lived + self.alive().map(|(_, job)| now - job.born).sum::<f64>()
    }
}

impl std::ops::Index<u32> for Jobs {
    type Output = Job;
    #[inline]
    fn index(&self, id: u32) -> &Job {
        &self.table[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Jobs {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Job {
        &mut self.table[id as usize]
    }
}

/// A line of jobs, linked through the table, so that any of them can leave it at once.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    first: u32,
    last: u32,
}

impl Line {
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE };

    #[inline]
    pub(crate) fn push(&mut self, jobs: &mut Jobs, id: u32) {
        jobs[id].next = NONE;
        jobs[id].previous = self.last;
        if self.last == NONE {
            self.first = id;
        } else {
            jobs[self.last].next = id;
        }
        self.last = id;
    }

    /// To its head: who was interrupted.
    pub(crate) fn push_first(&mut self, jobs: &mut Jobs, id: u32) {
        jobs[id].previous = NONE;
        jobs[id].next = self.first;
        if self.first == NONE {
            self.last = id;
        } else {
            jobs[self.first].previous = id;
        }
        self.first = id;
    }

    #[inline]
    pub(crate) fn pop(&mut self, jobs: &mut Jobs) -> Option<u32> {
        let id = self.first;
        if id == NONE {
            return None;
        }
        self.first = jobs[id].next;
        if self.first == NONE {
            self.last = NONE;
        } else {
            jobs[self.first].previous = NONE;
        }
        Some(id)
    }

    pub(crate) fn remove(&mut self, jobs: &mut Jobs, id: u32) {
        let (previous, next) = (jobs[id].previous, jobs[id].next);
        if previous == NONE {
            self.first = next;
        } else {
            jobs[previous].next = next;
        }
        if next == NONE {
            self.last = previous;
        } else {
            jobs[next].previous = previous;
        }
    }
}

/// Those who wait where any of them may be next. Each knows its place, so that it can leave at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crowd {
    ids: Vec<u32>,
}

impl Crowd {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn push(&mut self, jobs: &mut Jobs, id: u32) {
        jobs[id].previous = self.ids.len() as u32;
        self.ids.push(id);
    }

    /// The one at a place; the last comes to be there.
    pub(crate) fn take(&mut self, jobs: &mut Jobs, at: usize) -> u32 {
        let id = self.ids.swap_remove(at);
        if let Some(moved) = self.ids.get(at) {
            jobs[*moved].previous = at as u32;
        }
        id
    }

    pub(crate) fn remove(&mut self, jobs: &mut Jobs, id: u32) {
        self.take(jobs, jobs[id].previous as usize);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Exact by construction.
mod tests {
    use super::*;

    #[test]
    fn who_leaves_a_crowd_leaves_the_others() {
        let mut jobs = Jobs::default();
        let mut crowd = Crowd::default();
        for _ in 0..5 {
            let id = jobs.create(0, 0.0);
            crowd.push(&mut jobs, id);
        }
        crowd.remove(&mut jobs, 1);
        assert_eq!(crowd.take(&mut jobs, 0), 0);
        crowd.remove(&mut jobs, 4);
        let mut rest: Vec<_> = (0..crowd.len()).map(|_| crowd.take(&mut jobs, 0)).collect();
        rest.sort_unstable();
        assert_eq!(rest, [2, 3]);
    }

    #[test]
    fn who_leaves_a_line_leaves_the_others_in_order() {
        for gone in 0..3 {
            let mut jobs = Jobs::default();
            let mut line = Line::EMPTY;
            for _ in 0..3 {
                let id = jobs.create(0, 0.0);
                line.push(&mut jobs, id);
            }
            line.remove(&mut jobs, gone);
            line.push_first(&mut jobs, gone);
            let order: Vec<_> = std::iter::from_fn(|| line.pop(&mut jobs)).collect();
            let rest = (0..3).filter(|id| *id != gone);
            assert_eq!(order, std::iter::once(gone).chain(rest).collect::<Vec<_>>());
            assert_eq!(line.first, NONE);
        }
    }

    #[test]
    fn slots_are_used_again_and_lifetimes_add_up() {
        let mut jobs = Jobs::default();
        let first = jobs.create(0, 0.0);
        jobs.create(0, 1.0);
        jobs.end(first, 3.0);
        assert_eq!(jobs.create(0, 3.0), first);
        assert_eq!(jobs.area(4.0), 3.0 + 3.0 + 1.0);
        assert_eq!(jobs.alive().count(), 2);
    }
}
