//! All that the checkers say of one run.

use crate::finding::{Finding, Witness};
use crate::register::{self, Distance};
use crate::sessions::{self, Kept};
use crate::staleness::{self, Staleness};
use crate::visibility::{self, bin, bin_begin_ns};
use crate::zones::{Zone, Zones};
use crate::{BadHistory, Fate, General, Initial, Limits, NEVER_NS, Names, Operation, log};
use serde::Serialize;
use std::collections::BTreeMap;

/// What clients observed.
#[derive(Debug, Clone, Serialize)]
pub struct Observed {
    /// Operations on registers that were checked; a read-modify-write is two.
    pub operations: u64,
    /// Registers that they are on.
    pub registers: u64,
    /// One entry a question, the session guarantees last.
    pub findings: Vec<Answer>,
    /// Γ and Δ of the whole.
    pub distance: Distance,
    /// Of the reads that count.
    pub staleness: Summary,
    /// By the time since the newest acknowledged write.
    pub visibility: Vec<SeenBin>,
    /// Reads that found nothing.
    pub missed: u64,
    /// Registers that somebody deleted: they are searched for whether they are linearizable, and are in
    /// nothing else.
    pub deleted_records: u64,
}

/// How often something that has to hold did.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// What.
    pub name: String,
    /// `holds`, `violated` or `unknown`.
    pub verdict: &'static str,
    /// How many reads, or for linearizability registers, could have violated it.
    pub eligible: u64,
    /// And did.
    pub violated: u64,
    /// Of how many that can't be told.
    pub untold: u64,
    /// The smallest violation.
    pub witness: Option<Witness>,
}

/// The staleness of many reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Reads that returned something whose write is known.
    pub reads: u64,
    /// Of these, the ones that were stale for certain.
    pub stale: u64,
    /// And the ones that were fresh for certain.
    pub fresh: u64,
    /// Share of the reads of all records that were stale for certain, of the sample or whole log.
    pub stale_share: Option<f64>,
    /// And that were fresh for certain.
    pub fresh_share: Option<f64>,
    /// The standard error that the first has because other records aren't in the sample; 0 for a whole log.
    pub stale_share_error: f64,
    /// Quantiles over all these reads, fresh ones included as 0.
    pub quantiles: Vec<Quantile>,
    /// How many were stale by how much.
    pub bins: Vec<StaleBin>,
    /// How many were so many versions behind.
    pub versions: Vec<VersionsBin>,
}

/// A quantile of staleness: at least, and at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantile {
    /// Which: 0.5 for the median.
    pub q: f64,
    /// Nanoseconds.
    pub least_ns: i64,
    /// `None` where nothing says.
    pub most_ns: Option<i64>,
    /// Versions behind.
    pub least_versions: u32,
    /// And at most.
    pub most_versions: u32,
}

/// Reads whose staleness, at least and at most, is of this length or more, and less than the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StaleBin {
    /// Nanoseconds; 0 for the fresh ones.
    pub from_ns: f64,
    /// Reads by their least staleness.
    pub least: u64,
    /// And by their most; the last bin has those of which nothing says.
    pub most: u64,
}

/// Reads that many versions behind, at least and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VersionsBin {
    /// So many versions, or more, and less than the next.
    pub from: u32,
    /// Reads by their least.
    pub least: u64,
    /// And by their most.
    pub most: u64,
}

/// See [`visibility`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeenBin {
    /// Nanoseconds since the write was acknowledged.
    pub from_ns: f64,
    /// How many saw it.
    #[serde(flatten)]
    pub seen: visibility::Seen,
}

const QUANTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// Asks the checkers for registers of distinct values all they know of `log`.
///
/// # Errors
/// [`BadHistory`], with a row's number, where a version is written twice.
pub fn observe(log: &log::Log, logged: &log::Logged) -> Result<Observed, BadHistory> {
    let in_rows =
        |bad: BadHistory| BadHistory { operation: log.rows[bad.operation] as usize, ..bad };
    let zones = Zones::of(&log.history).map_err(in_rows)?;
    let deleted = by_register(&log.deleted);
    let reads: Vec<Staleness> = staleness::of(&zones)
        .into_iter()
        .filter(|s| log.history.counted_ns.contains(&zones.operations[s.operation].start_ns))
        .collect();
    let mut findings = vec![linearizable(&zones, &deleted)];
    findings.push(reads_of(&zones, "no_aborted_reads", |zone| {
        (zone.is_read() && zone.fate == Fate::Failed && !zone.is_unwritten()).then(|| {
            ("a read returned a value whose write had failed".into(), [zone.write, zone.first_read])
        })
    }));
    findings.push(reads_of(&zones, "no_unwritten_reads", |zone| {
        zone.is_unwritten()
            .then(|| ("a read returned a value that nobody wrote".into(), [zone.first_read; 2]))
    }));
    let counted = zones.reads.iter().filter(|read| zones.counts(**read)).count() as u64;
    findings.push(Answer {
        name: "no_torn_rows".into(),
        verdict: verdict(log.torn.len() as u64, counted),
        eligible: counted,
        violated: log.torn.len() as u64,
        untold: 0,
        witness: log.torn.first().map(|row| torn(log, *row)),
    });
    findings.extend(sessions::of(&zones).into_iter().map(Answer::from));
    let stale = share(&zones, &reads, logged, |s| s.least_ns > 0);
    Ok(Observed {
        operations: zones.operations.len() as u64,
        registers: zones.keys.len() as u64,
        findings,
        distance: register::distance_of(&zones),
        staleness: Summary {
            stale_share: stale.map(|(share, _)| share),
            stale_share_error: stale.map_or(0.0, |(_, error)| error),
            fresh_share: share(&zones, &reads, logged, |s| s.most_versions == 0)
                .map(|(share, _)| share),
            ..summary(&reads)
        },
        visibility: visibility::of(&zones)
            .into_iter()
            .enumerate()
            .map(|(bin, seen)| SeenBin { from_ns: bin_begin_ns(bin), seen })
            .collect(),
        missed: log.missed,
        deleted_records: deleted.len() as u64,
    })
}

const fn verdict(violated: u64, eligible: u64) -> &'static str {
    match (violated, eligible) {
        (0, 0) => "unknown",
        (0, _) => "holds",
        _ => "violated",
    }
}

/// The operations on each register.
fn by_register(operations: &[Operation]) -> Vec<Vec<Operation>> {
    let mut registers: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
    for operation in operations {
        registers.entry(operation.key).or_default().push(*operation);
    }
    registers.into_values().collect()
}

/// A search of one register remembers so many states at most, about 4 MiB.
const STATES: usize = 1 << 14;

/// Of registers of distinct values, and by a search of those that somebody `deleted`.
fn linearizable(zones: &Zones<'_>, deleted: &[Vec<Operation>]) -> Answer {
    let mut violated = register::violated_registers(zones);
    let mut witness = match register::find(zones) {
        Finding::Violated { witness } => Some(witness),
        _ => None,
    };
    let mut untold = 0;
    let limits = Limits { states: STATES, give_up: &|| false };
    let search = General { initial: Initial::Earlier, limits, names: &Names::of_log() };
    for operations in deleted {
        match zones.history.part(operations.clone()).map(|history| search.answer(&history)) {
            Ok(Finding::Holds) => {}
            Ok(Finding::Violated { witness: found }) => {
                violated += 1;
                witness = witness.or(Some(found));
            }
            Ok(Finding::Unknown { .. }) | Err(_) => untold += 1,
        }
    }
    let eligible = (zones.keys.len() + deleted.len()) as u64;
    let verdict = if untold > 0 && violated == 0 { "unknown" } else { verdict(violated, eligible) };
    Answer { name: "linearizable".into(), verdict, eligible, violated, untold, witness }
}

/// Of the reads of those versions for which `wrong` has an explanation and the operations that show it.
fn reads_of(
    zones: &Zones<'_>,
    name: &str,
    wrong: impl Fn(&Zone) -> Option<(String, [u32; 2])>,
) -> Answer {
    let is_wrong: Vec<bool> = zones.all.iter().map(|zone| wrong(zone).is_some()).collect();
    let violated = zones.reads.iter().filter(|read| is_wrong[read.zone as usize]).count() as u64;
    let eligible = zones.reads.len() as u64;
    let witness = zones.all.iter().find_map(wrong).map(|(explanation, numbers)| Witness {
        explanation,
        operations: zones.operations_of(&numbers),
    });
    let verdict = verdict(violated, eligible);
    Answer { name: name.into(), verdict, eligible, violated, untold: 0, witness }
}

fn torn(log: &log::Log, row: u32) -> Witness {
    let of_row = |(_, of): &(_, &u32)| **of == row;
    let operations = log.history.operations().iter().zip(&log.rows).filter(of_row);
    Witness {
        explanation: "a read returned fields of several writes, each of which writes all of them"
            .into(),
        operations: operations.map(|(operation, _)| *operation).collect(),
    }
}

impl From<Kept> for Answer {
    fn from(kept: Kept) -> Self {
        let name = serde_json::to_value(kept.guarantee)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default();
        Self {
            name,
            verdict: verdict(kept.violated, kept.eligible - kept.untold),
            eligible: kept.eligible,
            violated: kept.violated,
            untold: kept.untold,
            witness: kept.witness,
        }
    }
}

/// The share of reads that `is_it` says yes to, and its standard error over samples of records: a
/// ratio of totals, each record weighing one over its chance to be in the sample (Cochran 1977, section
/// 6.3; Horvitz and Thompson 1952).
fn share(
    zones: &Zones<'_>,
    reads: &[Staleness],
    logged: &log::Logged,
    is_it: impl Fn(&Staleness) -> bool,
) -> Option<(f64, f64)> {
    let mut records: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for read in reads {
        let record = zones.operations[read.operation].key / u64::from(logged.fields.max(1));
        let (all, such) = records.entry(record).or_default();
        *all += 1.0;
        *such += f64::from(is_it(read));
    }
    let chance = |record: &u64| match &logged.sample {
        Some(sample) if !sample.hot_records.contains(record) => sample.threshold,
        _ => 1.0,
    };
    let total = |of: fn(&(f64, f64)) -> f64| -> f64 {
        records.iter().map(|(record, counts)| of(counts) / chance(record)).sum()
    };
    let (all, such) = (total(|counts| counts.0), total(|counts| counts.1));
    if all == 0.0 {
        return None;
    }
    let share = such / all;
    let variance: f64 = records
        .iter()
        .map(|(record, (all, such))| {
            let chance = chance(record);
            (1.0 - chance) * ((such - share * all) / chance).powi(2)
        })
        .sum();
    Some((share, variance.sqrt() / all))
}

fn summary(reads: &[Staleness]) -> Summary {
    let sorted = |of: fn(&Staleness) -> i64| {
        let mut all: Vec<i64> = reads.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let (least, most) = (sorted(|s| s.least_ns), sorted(|s| s.most_ns));
    let versions = [sorted(|s| s.least_versions.into()), sorted(|s| s.most_versions.into())];
    let at = |sorted: &[i64], q: f64| {
        let rank = (q * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
    };
    let quantiles = QUANTILES.map(|q| Quantile {
        q,
        least_ns: at(&least, q),
        most_ns: Some(at(&most, q)).filter(|ns| *ns != NEVER_NS),
        least_versions: at(&versions[0], q) as u32,
        most_versions: at(&versions[1], q) as u32,
    });
    let time_bin = |ns: &i64| if *ns == 0 { 0 } else { bin(*ns) + 1 };
    let version_bin = |versions: &i64| (i64::BITS - versions.leading_zeros()) as usize;
    Summary {
        reads: reads.len() as u64,
        stale: reads.iter().filter(|s| s.least_ns > 0).count() as u64,
        fresh: reads.iter().filter(|s| s.most_versions == 0).count() as u64,
        quantiles: if reads.is_empty() { vec![] } else { quantiles.to_vec() },
        bins: counted(&least, &most, time_bin)
            .map(|(bin, least, most)| StaleBin {
                from_ns: if bin == 0 { 0.0 } else { bin_begin_ns(bin - 1).max(1.0) },
                least,
                most,
            })
            .collect(),
        versions: counted(&versions[0], &versions[1], version_bin)
            .map(|(bin, least, most)| VersionsBin {
                from: if bin == 0 { 0 } else { 1 << (bin - 1) },
                least,
                most,
            })
            .collect(),
        ..Summary::default()
    }
}

/// How many of two lists are in each bin, up to the last that isn't empty.
fn counted(
    least: &[i64],
    most: &[i64],
    bin: impl Fn(&i64) -> usize,
) -> impl Iterator<Item = (usize, u64, u64)> {
    let bins =
        least.last().into_iter().chain(most.last()).map(&bin).max().map_or(0, |last| last + 1);
    let mut counts = vec![(0, 0); bins];
    for (least, most) in least.iter().zip(most) {
        counts[bin(least)].0 += 1;
        counts[bin(most)].1 += 1;
    }
    counts.into_iter().enumerate().map(|(bin, (least, most))| (bin, least, most))
}
