//! How stale each read was, in time and in versions: at least, and at most.
//!
//! A read returned the version of write *v*. In every order of the writes that real time allows, *v*
//! was written between its start and its first end (see [`zones`](crate::zones)), and the read took
//! place between its own start and end. Staleness in time is how long before the read *v* had been
//! replaced; in versions, how many had been written after it: 0 for a read of the newest. Over all
//! those orders:
//!
//! - least: the writes that began after the first end of *v* followed it for certain. Each was there at
//!   its first end. The time since the first of these, and the number of those before the read's start;
//! - most: a write may have followed *v* unless its first end came before the start of *v*, and may
//!   have done so as soon as both had begun, up to the read's end.
//!
//! Each of the two is reached by some order (the tests try them all), so no closer answer can be had
//! without asking the database. A read is *stale for certain* where the least isn't 0. It is Δ of
//! Golab, Li and Shah (2011) and *k* of Aiyer, Alvisi and Bazzi (2005), asked of a single read.

use crate::zones::{Zone, Zones};
use crate::{BadHistory, History, NEVER_NS};

/// How stale one read was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    /// The read's place in the history.
    pub operation: usize,
    /// For so long, at least, the version that it returned had been replaced, nanoseconds.
    pub least_ns: i64,
    /// And at most; [`NEVER_NS`] where nothing says: it was replaced before the history began.
    pub most_ns: i64,
    /// So many versions had been written after it, at least.
    pub least_versions: u32,
    /// And at most.
    pub most_versions: u32,
}

/// The staleness of every read that returned what somebody had written, register by register.
///
/// # Errors
/// [`BadHistory`] where a version is written twice.
pub fn of_reads(history: &History) -> Result<Vec<Staleness>, BadHistory> {
    Ok(of(&Zones::of(history)?))
}

pub(crate) fn of(zones: &Zones<'_>) -> Vec<Staleness> {
    let mut found = Vec::with_capacity(zones.reads.len());
    let mut reads = zones.reads_by_register();
    for (register, versions) in zones.registers().enumerate() {
        let order = Order::of(versions.iter().map(|place| &zones.all[*place as usize]));
        let mut counter = None;
        let reads = reads.of_mut(register);
        reads.sort_by_key(|read| zones.operation_of(zones.reads[*read as usize]).start_ns);
        for read in reads.iter().map(|read| zones.reads[*read as usize]) {
            let (zone, operation) = (&zones.all[read.zone as usize], zones.operation_of(read));
            if zone.is_unwritten() {
                continue;
            }
            let least_ns = operation.start_ns.saturating_sub(order.replaced_by_ns(zone)).max(0);
            let least_versions = if least_ns == 0 {
                0
            } else {
                let counter = counter.get_or_insert_with(|| Counter::new(&order));
                counter.between(zone.settled_ns(), operation.start_ns)
            };
            found.push(Staleness {
                operation: read.operation as usize,
                least_ns,
                most_ns: order.most_ns(zone, operation.end_ns),
                least_versions,
                most_versions: order.possible_by(zone, operation.end_ns),
            });
        }
    }
    found
}

/// The versions of one register, sorted in each of the ways that are asked for.
#[derive(Debug)]
struct Order {
    /// Of those that took effect, by the starts of their writes: these, and when each was there.
    starts: Vec<i64>,
    there: Vec<i64>,
    /// By place in `starts`: when the first of those from there on was there.
    first_there: Vec<i64>,
    /// The starts of all that may have taken effect, in order.
    possible_starts: Vec<i64>,
    /// When those that took effect were settled, in order.
    settled: Vec<i64>,
}

impl Order {
    fn of<'z>(versions: impl Iterator<Item = &'z Zone>) -> Self {
        let mut versions: Vec<&Zone> = versions.filter(|zone| zone.may_take_effect()).collect();
        versions.sort_by_key(|zone| zone.write_start_ns);
        let certain = || versions.iter().filter(|zone| zone.took_effect());
        let there: Vec<i64> = certain().map(|zone| zone.there_ns()).collect();
        let mut first_there = there.clone();
        for place in (1..first_there.len()).rev() {
            first_there[place - 1] = first_there[place - 1].min(first_there[place]);
        }
        let mut settled: Vec<i64> = certain().map(|zone| zone.settled_ns()).collect();
        settled.sort_unstable();
        Self {
            starts: certain().map(|zone| zone.write_start_ns).collect(),
            there,
            first_there,
            possible_starts: versions.iter().map(|zone| zone.write_start_ns).collect(),
            settled,
        }
    }

    /// By when the version had been replaced for certain.
    fn replaced_by_ns(&self, zone: &Zone) -> i64 {
        let followers = self.starts.partition_point(|start_ns| *start_ns <= zone.settled_ns());
        self.first_there.get(followers).copied().unwrap_or(NEVER_NS)
    }

    /// How many other versions may have followed this one by `end_ns`.
    fn possible_by(&self, zone: &Zone, end_ns: i64) -> u32 {
        let begun = self.possible_starts.partition_point(|start_ns| *start_ns <= end_ns);
        let before = self.settled.partition_point(|settled| *settled < zone.write_start_ns);
        begun.saturating_sub(before + 1) as u32
    }

    /// For how long the version may have been replaced at `end_ns`.
    fn most_ns(&self, zone: &Zone, end_ns: i64) -> i64 {
        let at_once = self.possible_by(zone, zone.write_start_ns) > 0;
        let next =
            self.possible_starts.partition_point(|start_ns| *start_ns <= zone.write_start_ns);
        let replaced_ns = match self.possible_starts.get(next) {
            _ if at_once => zone.write_start_ns,
            Some(start_ns) => *start_ns,
            None => return 0,
        };
        if replaced_ns < i64::MIN >> 4 { NEVER_NS } else { (end_ns - replaced_ns).max(0) }
    }
}

/// Counts versions by their starts among those that were there by some moment, which only grows: a
/// tree of partial sums (Fenwick 1994).
#[derive(Debug)]
struct Counter<'o> {
    starts: &'o [i64],
    /// When each was there, and its place in `starts`, in order; and how many are counted.
    there: Vec<(i64, u32)>,
    counted: usize,
    sums: Vec<u32>,
}

impl<'o> Counter<'o> {
    fn new(order: &'o Order) -> Self {
        let mut there: Vec<(i64, u32)> = order.there.iter().copied().zip(0..).collect();
        there.sort_unstable();
        Self { starts: &order.starts, there, counted: 0, sums: vec![0; order.starts.len() + 1] }
    }

    /// Those that began after `after_ns` and were there before `before_ns`, which may not be less than
    /// the last time.
    fn between(&mut self, after_ns: i64, before_ns: i64) -> u32 {
        while let Some((there_ns, place)) = self.there.get(self.counted)
            && *there_ns < before_ns
        {
            let mut node = *place as usize + 1;
            while node < self.sums.len() {
                self.sums[node] += 1;
                node += node & node.wrapping_neg();
            }
            self.counted += 1;
        }
        let mut node = self.starts.partition_point(|start_ns| *start_ns <= after_ns);
        let mut earlier = 0;
        while node > 0 {
            earlier += self.sums[node];
            node &= node - 1;
        }
        self.counted as u32 - earlier
    }
}
