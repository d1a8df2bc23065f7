//! Is a register whose values are distinct linearizable, and if not, by how much isn't it?
//!
//! A history is linearizable (Herlihy and Wing 1990) exactly where no two versions of a register are
//! in conflict, as [`zones`](crate::zones) has it, and no read ended before its version's write began
//! (Gibbons and Korach 1997, theorem 4.4; log-linear: Han and Mathur 2025). With *s* for a version's
//! last start and *f* for its first end, versions *i* and *j* are in conflict by
//! `min(s_i − f_j, s_j − f_i)`, if that is positive. Which of the two is less is told by `s + f`: so
//! in the order of `s + f`, a version's worst conflict with those before it is the one with the largest
//! *s* among them. One sort and one pass find all there is.
//!
//! The largest conflict is Γ (Golab, Rahman and others 2014): with each operation
//! widened by Γ/2 at either end, the history is linearizable. Δ (Golab, Li and Shah 2011) lets reads
//! alone begin earlier. It is Γ or more: where the write of *j* began after the first end of *i*, no
//! read of *j* can be moved before it, so those of *i* have to move before `f_j`.

use crate::finding::duration;
use crate::zones::{NONE, Zone, Zones};
use crate::{BadHistory, Checker, Fate, Finding, History, Operation, Witness};
use serde::Serialize;

/// The checker: each register by itself, since linearizability is local.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinearizableRegister;

impl Checker for LinearizableRegister {
    fn name(&self) -> &'static str {
        "linearizable"
    }

    fn check(&self, history: &History) -> Result<Finding, BadHistory> {
        Ok(find(&Zones::of(history)?))
    }
}

/// How far a history is from a linearizable one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Distance {
    /// Γ, nanoseconds; 0 where the history is linearizable. `None` where no widening helps: somebody
    /// read what nobody wrote, or what had failed.
    pub gamma_ns: Option<i64>,
    /// Δ, nanoseconds. `None`, too, where a read ended before its version's write began.
    pub delta_ns: Option<i64>,
    /// Whether both are only bounds from below: what was read had been overwritten before the history
    /// began, and nobody knows when.
    pub at_least: bool,
}

/// Why no order of a register's operations respects real time.
#[derive(Debug, Clone, Copy)]
enum Cause<'z> {
    /// Somebody read what nobody wrote.
    Unwritten(&'z Zone),
    /// Somebody read what had failed to be written.
    Aborted(&'z Zone),
    /// A read ended before its version's write began.
    Early(&'z Zone),
    /// Each of two versions comes before the other.
    Conflict(&'z Zone, &'z Zone),
}

pub(crate) fn find(zones: &Zones<'_>) -> Finding {
    let Some((numbers, cause)) = smallest(zones) else { return Finding::Holds };
    let operations = zones.operations_of(&numbers);
    let fewest = without_needless_reads(zones.history, operations.clone());
    let explanation = if fewest.len() == operations.len() {
        explain(zones, cause)
    } else {
        explanation_of(zones.history, &fewest).unwrap_or_else(|| explain(zones, cause))
    };
    Finding::Violated { witness: Witness { explanation, operations: fewest } }
}

/// The cause that takes the fewest operations to show, and those.
fn smallest<'z>(zones: &'z Zones<'_>) -> Option<(Numbers, Cause<'z>)> {
    let mut smallest: Option<(Numbers, Cause<'_>)> = None;
    each_cause(zones, |cause| {
        // No conflict takes fewer than three.
        if smallest.as_ref().is_some_and(|(best, _)| best.len() < 4) {
            return;
        }
        let numbers = operations_of(cause);
        if smallest.as_ref().is_none_or(|(best, _)| numbers.len() < best.len()) {
            smallest = Some((numbers, cause));
        }
    });
    smallest
}

/// `operations`, a violation, without the reads that it doesn't take to be one.
fn without_needless_reads(whole: &History, mut operations: Vec<Operation>) -> Vec<Operation> {
    for place in (0..operations.len()).rev() {
        let mut rest = operations.clone();
        if !rest.remove(place).writes() && explanation_of(whole, &rest).is_some() {
            operations = rest;
        }
    }
    operations
}

fn explanation_of(whole: &History, operations: &[Operation]) -> Option<String> {
    let history = whole.part(operations.to_vec()).ok()?;
    let zones = Zones::of(&history).ok()?;
    smallest(&zones).map(|(_, cause)| explain(&zones, cause))
}

/// Γ and Δ.
///
/// # Errors
/// As [`LinearizableRegister`]'s.
pub fn distance(history: &History) -> Result<Distance, BadHistory> {
    Ok(distance_of(&Zones::of(history)?))
}

pub(crate) fn distance_of(zones: &Zones<'_>) -> Distance {
    let mut all = Distance { gamma_ns: Some(0), delta_ns: Some(0), at_least: false };
    let mut gamma_ns = 0;
    each_cause(zones, |cause| match cause {
        Cause::Unwritten(_) | Cause::Aborted(_) => all.gamma_ns = None,
        Cause::Early(zone) => {
            all.delta_ns = None;
            gamma_ns = gamma_ns.max(zone.write_start_ns - zone.first_end_ns);
        }
        Cause::Conflict(one, other) => {
            all.at_least |= one.version.is_initial() && other.version.is_initial();
            gamma_ns = gamma_ns.max(conflict_ns(one, other));
        }
    });
    all.gamma_ns = all.gamma_ns.map(|_| gamma_ns);
    all.delta_ns = match (all.gamma_ns, all.delta_ns) {
        (Some(_), Some(_)) if gamma_ns > 0 => Some(gamma_ns.max(stalest_ns(zones))),
        (Some(gamma_ns), Some(_)) => Some(gamma_ns),
        _ => None,
    };
    all
}

/// How many registers aren't linearizable.
pub(crate) fn violated_registers(zones: &Zones<'_>) -> u64 {
    let mut violated = vec![false; zones.keys.len()];
    each_cause(zones, |cause| match cause {
        Cause::Unwritten(zone)
        | Cause::Aborted(zone)
        | Cause::Early(zone)
        | Cause::Conflict(zone, _) => violated[zone.register as usize] = true,
    });
    violated.into_iter().filter(|violated| *violated).count() as u64
}

/// Calls `found` with at least one cause a register that isn't linearizable, the worst conflict among
/// them.
fn each_cause<'z>(zones: &'z Zones<'_>, mut found: impl FnMut(Cause<'z>)) {
    let mut order: Vec<(i64, u32)> = Vec::new();
    for register in zones.registers() {
        order.clear();
        for place in register {
            let zone = &zones.all[*place as usize];
            if !zone.took_effect() {
                continue;
            }
            if zone.is_read() && zone.fate == Fate::Failed {
                found(if zone.is_unwritten() {
                    Cause::Unwritten(zone)
                } else {
                    Cause::Aborted(zone)
                });
            } else if zone.first_end_ns < zone.write_start_ns {
                found(Cause::Early(zone));
            }
            order.push((zone.last_start_ns.saturating_add(zone.first_end_ns), *place));
        }
        if order.len() < 2 {
            continue;
        }
        // Writes come nearly in this order, of which a stable sort makes use.
        order.sort_by_key(|(middle_ns, _)| *middle_ns);
        let mut latest = &zones.all[order[0].1 as usize];
        for (_, place) in &order[1..] {
            let zone = &zones.all[*place as usize];
            if conflict_ns(latest, zone) > 0 {
                found(Cause::Conflict(latest, zone));
            }
            if zone.last_start_ns > latest.last_start_ns {
                latest = zone;
            }
        }
    }
}

/// By how much each of the two comes before the other; not positive where one can be put first.
fn conflict_ns(one: &Zone, other: &Zone) -> i64 {
    let before = |a: &Zone, b: &Zone| b.last_start_ns.saturating_sub(a.first_end_ns);
    before(one, other).min(before(other, one))
}

/// The longest time from when a version that had certainly been replaced was over to when a read of it
/// began; 0 for none.
fn stalest_ns(zones: &Zones<'_>) -> i64 {
    let mut stalest_ns = 0;
    for register in zones.registers() {
        let versions = register.iter().map(|place| &zones.all[*place as usize]);
        let mut by_first_end: Vec<&Zone> = versions.filter(|zone| zone.took_effect()).collect();
        let mut by_start = by_first_end.clone();
        by_first_end.sort_by_key(|zone| zone.first_end_ns);
        by_start.sort_by_key(|zone| zone.write_start_ns);
        let mut replaced = by_first_end.into_iter().peekable();
        let mut last_start_ns = i64::MIN;
        for later in by_start {
            while let Some(zone) = replaced.next_if(|zone| zone.first_end_ns < later.write_start_ns)
            {
                last_start_ns = last_start_ns.max(zone.last_start_ns);
            }
            stalest_ns = stalest_ns.max(last_start_ns.saturating_sub(later.first_end_ns));
        }
    }
    stalest_ns
}

/// Of up to six operations.
type Numbers = Vec<u32>;

/// The fewest operations that show `cause`.
fn operations_of(cause: Cause<'_>) -> Numbers {
    let distinct = |mut numbers: Numbers| {
        numbers.retain(|number| *number != NONE);
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    match cause {
        Cause::Unwritten(zone) => vec![zone.first_read],
        Cause::Aborted(zone) | Cause::Early(zone) => distinct(vec![zone.write, zone.first_read]),
        Cause::Conflict(one, other) => {
            let mut fewest: Option<Numbers> = None;
            for (one_before, other_after) in pairs(one, other) {
                for (other_before, one_after) in pairs(other, one) {
                    let shown = [one_before, other_after, other_before, one_after];
                    let numbers = distinct([&shown[..], &[one.write, other.write]].concat());
                    if fewest.as_ref().is_none_or(|best| numbers.len() < best.len()) {
                        fewest = Some(numbers);
                    }
                }
            }
            fewest.unwrap_or_default()
        }
    }
}

/// An operation of `first` that ended before one of `second` began, with that one: all such pairs of
/// writes and outermost reads.
fn pairs(first: &Zone, second: &Zone) -> impl Iterator<Item = (u32, u32)> {
    let ends = [(first.write, first.write_end_ns), (first.first_read, first.first_end_ns)];
    let starts = [(second.write, second.write_start_ns), (second.last_read, second.last_start_ns)];
    ends.into_iter().flat_map(move |(before, end_ns)| {
        starts
            .into_iter()
            .filter(move |(_, start_ns)| end_ns < *start_ns)
            .map(move |(after, _)| (before, after))
    })
}

fn explain(zones: &Zones<'_>, cause: Cause<'_>) -> String {
    let session = |number: u32| zones.operations[number as usize].session;
    match cause {
        Cause::Unwritten(zone) => {
            format!("session {} read a value that nobody wrote", session(zone.first_read))
        }
        Cause::Aborted(zone) => format!(
            "session {} read a value whose write, by session {}, had failed",
            session(zone.first_read),
            session(zone.write)
        ),
        Cause::Early(zone) => format!(
            "session {} had read a value {} before session {} began to write it",
            session(zone.first_read),
            duration(zone.write_start_ns - zone.first_end_ns),
            session(zone.write)
        ),
        Cause::Conflict(one, other) => {
            let (old, new) = if other.written_before(one) { (other, one) } else { (one, other) };
            if !old.written_before(new) {
                return "two values that were written at the same time were read in an order that \
                        neither order of the writes allows"
                    .into();
            }
            let replaced = if new.write != NONE && new.first_end_ns == new.write_end_ns {
                format!("session {} had written its successor", session(new.write))
            } else if new.is_read() && new.first_end_ns != new.write_end_ns {
                format!("session {} had read its successor", session(new.first_read))
            } else {
                "the history had begun with its successor".into()
            };
            let what = if old.version == crate::Version::ABSENT { "nothing" } else { "a value" };
            format!(
                "session {} read {what} {} after {replaced}",
                session(old.last_read),
                duration(old.last_start_ns - new.first_end_ns)
            )
        }
    }
}
