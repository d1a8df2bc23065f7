//! Which records' operations are kept: those whose hash is below a threshold, and the hottest.

use pacelc_core::seed;
use pacelc_history::log::ROW_BYTES;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A threshold below this keeps no record of any number that a database holds.
pub(crate) const MOST_HALVINGS: u32 = 63;

/// Which records' operations are kept.
#[derive(Debug)]
pub(crate) struct Sample {
    /// How often the threshold was halved: so many leading bits of a record's hash are zero.
    halvings: AtomicU32,
    /// So many of the hottest are kept whatever their hash.
    hot: AtomicUsize,
    /// The hottest first.
    hottest: Vec<u64>,
}

impl Sample {
    pub(crate) fn new(hottest: Vec<u64>) -> Self {
        let hot = AtomicUsize::new(hottest.len());
        Self { halvings: AtomicU32::new(0), hot, hottest }
    }

    /// Whether a record is in the sample. What threads see late is too much, never too little.
    #[inline]
    pub fn keeps(&self, record: u64) -> bool {
        let halvings = self.halvings.load(Ordering::Relaxed);
        halvings == 0 || seed::mix(record) >> (64 - halvings) == 0 || self.is_hot(record)
    }

    pub(crate) fn is_hot(&self, record: u64) -> bool {
        self.hot_records().contains(&record)
    }

    pub(crate) fn hot_records(&self) -> &[u64] {
        &self.hottest[..self.hot.load(Ordering::Relaxed)]
    }

    pub(crate) fn state(&self) -> (u32, usize) {
        (self.halvings.load(Ordering::Relaxed), self.hot.load(Ordering::Relaxed))
    }

    /// Halves the threshold.
    pub fn halve(&self) {
        let _ = self.halvings.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |halvings| {
            (halvings < MOST_HALVINGS).then_some(halvings + 1)
        });
    }

    pub(crate) fn halve_hot(&self) {
        let _ = self.hot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |hot| Some(hot / 2));
    }

    /// Drops the rows of records that aren't in the sample.
    pub fn filter(&self, rows: &mut Vec<u8>) {
        let mut kept = 0;
        for at in (0..rows.len()).step_by(ROW_BYTES) {
            if self.keeps(record_of(&rows[at..])) {
                rows.copy_within(at..at + ROW_BYTES, kept);
                kept += ROW_BYTES;
            }
        }
        rows.truncate(kept);
    }
}

/// The record number of a row.
pub(crate) fn record_of(row: &[u8]) -> u64 {
    row.get(24..32).and_then(|number| number.try_into().ok()).map_or(0, u64::from_le_bytes)
}
