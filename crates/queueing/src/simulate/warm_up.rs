//! When a beginning is over, and whether queues grow for ever.

use super::plan::Plan;
use super::tally::Totals;
use crate::network::StationKind;
use pacelc_measure::steady;

/// Halves whose means differ by less are the same: MSER-5 finds no end in what is constant, or repeats itself.
const SAME: f64 = 1e-3;

/// How many stretches belong to the warm-up; `None` if they don't end by half.
///
/// MSER-5 on what is averaged over the replications: the number of customers away from their reference in each
/// chain, the number of all jobs, and the queues of the stations where most are. The longest of their warm-ups counts.
pub(crate) fn over(plan: &Plan, ends: &[&[Totals]]) -> Option<usize> {
    const STATIONS: usize = 3;
    let mut longest = 0;
    for chain in &plan.chains {
        let away = |totals: &Totals| {
            chain.classes.iter().map(|class| totals.cycles[*class].away).sum::<f64>()
        };
        longest = longest.max(end_of_transient(&series(ends, away))?);
    }
    longest = longest.max(end_of_transient(&series(ends, |totals| totals.jobs))?);
    let last = &ends[0][ends[0].len() - 1];
    let mut stations: Vec<_> = (0..plan.stations.len()).collect();
    stations.sort_by(|a, b| queue(plan, last, *b).total_cmp(&queue(plan, last, *a)));
    for at in stations.into_iter().take(STATIONS) {
        longest = longest.max(end_of_transient(&series(ends, |totals| queue(plan, totals, at)))?);
    }
    Some(longest)
}

/// The integral of a station's queue.
fn queue(plan: &Plan, totals: &Totals, at: usize) -> f64 {
    let visits = &totals.visits[at * plan.classes..][..plan.classes];
    visits.iter().map(|visits| visits.present).sum()
}

fn end_of_transient(series: &[f64]) -> Option<usize> {
    steady::transient(series).or_else(|| {
        let half = series.len() / 2;
        let sum = |part: &[f64]| part.iter().sum::<f64>();
        let (before, after) =
            (sum(&series[series.len() - 2 * half..][..half]), sum(&series[series.len() - half..]));
        ((before - after).abs() <= SAME * after.abs()).then_some(half / 2)
    })
}

/// What an integral grows by in each stretch, on average over the replications.
fn series(ends: &[&[Totals]], integral: impl Fn(&Totals) -> f64) -> Vec<f64> {
    let mut before = 0.0;
    (0..ends[0].len())
        .map(|number| {
            let now: f64 = ends.iter().map(|one| integral(&one[number])).sum();
            (now - std::mem::replace(&mut before, now)) / ends.len() as f64
        })
        .collect()
}

/// Busy for at least so much of the time is busy for ever.
const BUSY: f64 = 0.98;
/// A queue that grows steadily is twice as long in the second half as in the second quarter; one that
/// wanders off without a drift 1.4 times.
const GROWTH: f64 = 1.7;
/// Fewer customers more may be by chance.
const MORE: f64 = 100.0;

/// What grows as if it would for ever, in words.
pub(crate) fn growing(plan: &Plan, ends: &[&[Totals]]) -> Option<String> {
    let n = ends[0].len();
    if n < 4 {
        return None;
    }
    let users: u32 = plan.chains.iter().map(|chain| chain.users).sum();
    // What an integral grows by in a second, from the stretch after `from` to the stretch `to`.
    let mean = |from: usize, to: usize, integral: &dyn Fn(&Totals) -> f64| {
        let rate = |one: &&[Totals]| {
            let (from, to) = (&one[from - 1], &one[to - 1]);
            (integral(to) - integral(from)) / (to.time - from.time)
        };
        ends.iter().map(rate).sum::<f64>() / ends.len() as f64
    };
    let grows = |integral: &dyn Fn(&Totals) -> f64| {
        let (before, after) = (mean(n / 4, n / 2, integral), mean(n / 2, n, integral));
        (after > GROWTH * before && after - before > MORE + f64::from(users))
            .then(|| format!("{before:.0} were there in the second quarter of the simulated time, and {after:.0} in its second half"))
    };
    for (at, station) in plan.stations.iter().enumerate() {
        if station.kind == StationKind::Delay {
            continue;
        }
        if let Some(text) = grows(&|totals| queue(plan, totals, at)) {
            let used = |one: &&[Totals]| {
                one[n - 1].since(&one[n / 2 - 1]).solution(plan).stations[at].utilisation
            };
            if ends.iter().map(used).sum::<f64>() > BUSY * ends.len() as f64 {
                return Some(format!(
                    "station {}: more work comes than it can do, so there is no steady state: {text}",
                    plan.model.nodes[at].name
                ));
            }
        }
    }
    for (number, pool) in plan.pools.iter().enumerate() {
        if let Some(text) = grows(&|totals| totals.pools[number].waiting)
            && mean(n / 2, n, &|totals| totals.pools[number].taken) > BUSY * f64::from(pool.places)
        {
            return Some(format!(
                "pool {}: more customers come than it lets through, so there is no steady state: waiting, {text}",
                pool.name
            ));
        }
    }
    None
}
