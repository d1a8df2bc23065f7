//! Watching single jobs; nobody does unless a trace is asked for, and then it costs nothing.

use super::jobs::Job;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// A customer leaves its reference, or enters from outside; a sibling its fork.
    Sets,
    Arrives,
    Begins,
    Leaves,
    /// For a place in the pool of this number.
    WaitsFor(u32),
    IsTurnedAway,
    /// At the fork of this number.
    Forks(u32),
    /// A sibling at its join.
    Joins,
    /// Who was forked, from the join.
    GoesOn,
    IsCancelled,
    /// A customer is at its reference or at the sink.
    IsBack,
    Ends,
}

/// Somebody who watches.
pub(crate) trait Watch {
    /// Whether there is anything to be told.
    const WATCHES: bool;

    fn note(&mut self, now: f64, id: u32, job: &Job, deed: Deed);
}

/// Nobody watches.
impl Watch for () {
    const WATCHES: bool = false;

    fn note(&mut self, _: f64, _: u32, _: &Job, _: Deed) {}
}
