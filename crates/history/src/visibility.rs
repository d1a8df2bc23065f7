//! How soon a write is seen: of the reads that began so long after a record's newest acknowledged
//! write, how many returned it or something newer.
//!
//! The newest of a read is the write that was acknowledged last among those acknowledged before the
//! read began. Whether a version that was written at the same time is newer can't be told.

use crate::zones::{Zone, Zones};
use crate::{BadHistory, Fate, History};
use serde::Serialize;

/// Bins a decade.
const BINS_A_DECADE: i32 = 4;
/// The first bin ends there: a microsecond.
const FIRST_EXPONENT: i32 = 3;
/// The last one begins there: a thousand seconds.
const LAST_EXPONENT: i32 = 12;
/// How many there are.
pub const BINS: usize = ((LAST_EXPONENT - FIRST_EXPONENT) * BINS_A_DECADE) as usize + 2;

/// The bin that a duration belongs to: logarithmic, four a decade, below 1 µs and above 1,000 s one
/// each.
#[must_use]
pub fn bin(ns: i64) -> usize {
    let place = (ns.max(1) as f64).log10() * f64::from(BINS_A_DECADE);
    let bin = place.floor() as i32 - FIRST_EXPONENT * BINS_A_DECADE + 1;
    (bin.max(0) as usize).min(BINS - 1)
}

/// Where a bin begins, nanoseconds.
#[must_use]
pub fn bin_begin_ns(bin: usize) -> f64 {
    if bin == 0 {
        return 0.0;
    }
    10_f64.powf(f64::from(FIRST_EXPONENT) + (bin as f64 - 1.0) / f64::from(BINS_A_DECADE))
}

/// The reads that began so long after the newest acknowledged write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Returned it, or something newer.
    pub seen: u64,
    /// Returned something older.
    pub unseen: u64,
    /// Returned what was written at the same time.
    pub untold: u64,
}

/// By bin of the time since then: see [`bin`].
///
/// # Errors
/// [`BadHistory`] where a version is written twice.
pub fn visibility(history: &History) -> Result<Vec<Seen>, BadHistory> {
    Ok(of(&Zones::of(history)?))
}

pub(crate) fn of(zones: &Zones<'_>) -> Vec<Seen> {
    let mut bins = vec![Seen::default(); BINS];
    let reads = zones.reads_by_register();
    for (versions, reads) in zones.registers().zip(reads.iter()) {
        let mut written: Vec<&Zone> = versions
            .iter()
            .map(|place| &zones.all[*place as usize])
            .filter(|zone| zone.fate == Fate::Ok && !zone.version.is_initial())
            .collect();
        written.sort_by_key(|zone| zone.write_end_ns);
        for read in reads.iter().map(|read| zones.reads[*read as usize]) {
            let (zone, start_ns) =
                (&zones.all[read.zone as usize], zones.operation_of(read).start_ns);
            let before = written.partition_point(|write| write.write_end_ns < start_ns);
            let Some(newest) = before.checked_sub(1).map(|last| written[last]) else { continue };
            if zone.is_unwritten() || !zones.counts(read) {
                continue;
            }
            let bin = &mut bins[bin(start_ns - newest.write_end_ns)];
            if zone.version == newest.version || newest.written_before(zone) {
                bin.seen += 1;
            } else if zone.written_before(newest) {
                bin.unseen += 1;
            } else {
                bin.untold += 1;
            }
        }
    }
    bins
}
