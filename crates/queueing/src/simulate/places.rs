//! The places of a pool: who has them, and who waits for one.

use super::jobs::Line;
use super::tally::PoolUse;

/// The places of a pool.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(super) taken: u32,
    pub(super) line: Line,
    pub(super) waiting: u32,
    pub(super) so_far: PoolUse,
    pub(super) changed: f64,
}

impl Default for Places {
    fn default() -> Self {
        Self { taken: 0, line: Line::EMPTY, waiting: 0, so_far: PoolUse::default(), changed: 0.0 }
    }
}

impl Places {
    pub(crate) fn so_far(&self, now: f64) -> PoolUse {
        let passed = now - self.changed;
        PoolUse {
            taken: self.so_far.taken + f64::from(self.taken) * passed,
            waiting: self.so_far.waiting + f64::from(self.waiting) * passed,
            ..self.so_far
        }
    }

    pub(super) fn touch(&mut self, now: f64) {
        self.so_far = self.so_far(now);
        self.changed = now;
    }
}
