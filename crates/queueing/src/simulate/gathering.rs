//! The siblings of a job that was forked, as data.

/// The siblings of one job that was forked.
#[derive(Debug, Clone)]
pub(crate) struct Gathering {
    /// Which fork.
    pub(super) fork: u32,
    /// Who waits at the join; [`NONE`](super::plan::NONE) once it has gone on.
    pub(super) parent: u32,
    pub(super) arrived: u32,
    /// Siblings that haven't ended.
    pub(super) alive: u32,
    /// The first of them; the others are linked to it.
    pub(super) first: u32,
    /// When its time is out.
    pub(super) due: f64,
    pub(super) expired: bool,
    /// Whether siblings end with the visit that they are at.
    pub(super) over: bool,
}
