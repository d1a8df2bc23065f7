//! When a beginning is over, and whether queues grow for ever.

use super::plan::Plan;
use super::tally::Totals;
use crate::network::StationKind;
use pacelc_measure::steady;

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
        longest = longest.max(steady::transient(&series(ends, away))?);
    }
    longest = longest.max(steady::transient(&series(ends, |totals| totals.jobs))?);
    let queue = |totals: &Totals, at: usize| {
        totals.visits[at * plan.classes..][..plan.classes].iter().map(|v| v.present).sum::<f64>()
    };
    let last = &ends[0][ends[0].len() - 1];
    let mut stations: Vec<_> = (0..plan.stations.len()).collect();
    stations.sort_by(|a, b| queue(last, *b).total_cmp(&queue(last, *a)));
    for at in stations.into_iter().take(STATIONS) {
        longest = longest.max(steady::transient(&series(ends, |totals| queue(totals, at)))?);
    }
    Some(longest)
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
    // Means over the replications from the stretch after `from` to the stretch `to`.
    let mean = |from: usize, to: usize, of: &dyn Fn(&Totals) -> f64| {
        let change = |one: &&[Totals]| of(&one[to - 1].since(&one[from - 1]));
        ends.iter().map(change).sum::<f64>() / ends.len() as f64
    };
    let grows = |of: &dyn Fn(&Totals) -> f64| {
        let (before, after) = (mean(n / 4, n / 2, of), mean(n / 2, n, of));
        (after > GROWTH * before && after - before > MORE + f64::from(users))
            .then(|| format!("{before:.0} were there in the second quarter of the simulated time, and {after:.0} in its second half"))
    };
    for (at, station) in plan.stations.iter().enumerate() {
        if station.kind == StationKind::Delay {
            continue;
        }
        let name = &plan.model.nodes[at].name;
        if let Some(text) = grows(&|change| change.solution(plan).stations[at].queue)
            && mean(n / 2, n, &|change| change.solution(plan).stations[at].utilisation) > BUSY
        {
            return Some(format!(
                "station {name}: more work comes than it can do, so there is no steady state: {text}"
            ));
        }
    }
    for (number, pool) in plan.pools.iter().enumerate() {
        if let Some(text) = grows(&|change| change.pools[number].waiting / change.time)
            && mean(n / 2, n, &|change| change.pools[number].taken / change.time)
                > BUSY * f64::from(pool.places)
        {
            return Some(format!(
                "pool {}: more customers come than it lets through, so there is no steady state: waiting, {text}",
                pool.name
            ));
        }
    }
    None
}
