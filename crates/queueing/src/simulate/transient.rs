//! What happens when something changes at a given time: a station dies and comes back, users come and go.

use super::engine::Engine;
use super::interval::Intervals;
use super::plan::{NONE, Plan};
use super::run::in_parallel;
use super::summary::{HalfWidths, Summary};
use super::tally::{PoolResult, Totals};
use crate::network::StationKind;
use crate::solution::Solution;
use crate::time::Seconds;
use crate::{Model, QueueingError};
use pacelc_core::seed;
use serde::{Deserialize, Serialize};
use std::num::NonZero;

/// What changes when, and what is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransientOptions {
    /// The same seed gives the same result.
    #[serde(default = "one")]
    pub seed: u64,
    /// Independent runs; at least 2.
    #[serde(default = "hundred")]
    pub replications: u32,
    /// How sure intervals are.
    #[serde(default = "usual")]
    pub confidence: f64,
    /// All cores, unless said.
    #[serde(default)]
    pub threads: Option<NonZero<usize>>,
    /// How long it runs before time 0; it begins with everybody at the reference.
    #[serde(default = "nothing")]
    pub warm_up: Seconds,
    /// How long, from time 0.
    pub until: Seconds,
    /// Into how many intervals of time that is divided.
    pub intervals: usize,
    /// From time 0.
    #[serde(default)]
    pub changes: Vec<Change>,
}

fn one() -> u64 {
    1
}

fn hundred() -> u32 {
    100
}

fn usual() -> f64 {
    0.95
}

fn nothing() -> Seconds {
    Seconds(0.0)
}

/// Something changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Change {
    /// A queue has so many servers from then on; with none it is dead. One with rates has all or none.
    Servers {
        /// When.
        at: Seconds,
        /// Which.
        station: String,
        /// How many.
        servers: u32,
    },
    /// A closed class has so many users from then on. New ones begin at the reference; who is too many leaves when it would
    /// next set out from there.
    Users {
        /// When.
        at: Seconds,
        /// Which.
        class: String,
        /// How many.
        users: u32,
    },
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transient {
    /// One after the other.
    pub intervals: Vec<Interval>,
    /// How many independent runs.
    pub replications: u32,
    /// How sure half-widths are.
    pub confidence: f64,
    /// Visits to stations completed in all of them, warm-up included.
    pub events: u64,
}

/// An interval of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its begin, from time 0.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Means within it. A chain's response is that of cycles that end in it; a class' is by Little's law, which only
    /// holds where nothing changes. Utilisations are shares of the servers that the network says.
    pub solution: Solution,
    /// How far they may be off.
    pub half_widths: HalfWidths,
    /// In the order of the network.
    pub pools: Vec<PoolResult>,
}

/// A change, its parts found.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Servers(usize, u32),
    More(u32, u32),
    Fewer(u32, u32),
}

/// Let changes happen in many replications, and average what is seen.
///
/// # Errors
///
/// [`QueueingError::Unsuited`] for changes that can't be; [`QueueingError::Stopped`].
pub fn transient(
    model: &Model,
    options: &TransientOptions,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Transient, QueueingError> {
    let plan = Plan::new(model)?;
    let turns = turns(&plan, options)?;
    let ends: Vec<f64> = (0..=options.intervals)
        .map(|number| options.until.0 * number as f64 / options.intervals as f64)
        .collect();
    let mut runs: Vec<(u64, Vec<Totals>)> =
        (0..u64::from(options.replications)).map(|number| (number, Vec::new())).collect();
    in_parallel(&mut runs, options.threads, |(number, totals)| {
        let mut engine = Engine::new(&plan, seed::stream(options.seed, *number), ());
        let mut turns = turns.iter().peekable();
        for end in &ends {
            while let Some((at, turn)) = turns.next_if(|(at, _)| at < end) {
                engine.run_until(options.warm_up.0 + at, stopped)?;
                match *turn {
                    Turn::Servers(station, servers) => engine.change_servers(station, servers),
                    Turn::More(class, users) => engine.add_users(class, users),
                    Turn::Fewer(class, users) => engine.remove_users(class, users),
                }
            }
            engine.run_until(options.warm_up.0 + end, stopped)?;
            totals.push(engine.totals());
        }
        Ok(())
    })?;
    let by_replication = Intervals::new(options.confidence, runs.len());
    let intervals = ends.windows(2).enumerate().map(|(number, pair)| {
        let change = |(_, totals): &(u64, Vec<Totals>)| totals[number + 1].since(&totals[number]);
        let changes: Vec<_> = runs.iter().map(change).collect();
        let summary = Summary::of(&plan, &changes, &by_replication);
        Interval {
            from_s: pair[0],
            to_s: pair[1],
            solution: summary.solution,
            half_widths: summary.half_widths,
            pools: summary.pools,
        }
    });
    Ok(Transient {
        intervals: intervals.collect(),
        replications: options.replications,
        confidence: options.confidence,
        events: runs.iter().map(|(_, totals)| totals[options.intervals].events()).sum(),
    })
}

/// The changes in their order, checked.
fn turns(plan: &Plan, options: &TransientOptions) -> Result<Vec<(f64, Turn)>, QueueingError> {
    let refuse = |text: String| Err(QueueingError::Unsuited(text));
    let time = |Seconds(s): Seconds| s.is_finite() && s >= 0.0;
    if options.replications < 2 || !(options.confidence > 0.0 && options.confidence < 1.0) {
        return refuse(
            "there should be at least 2 replications, and a confidence between 0 and 1".into(),
        );
    }
    if options.intervals == 0
        || !time(options.until)
        || options.until.0 == 0.0
        || !time(options.warm_up)
    {
        return refuse(
            "a transient should have an end, and at least one interval until then".into(),
        );
    }
    let mut changes: Vec<&Change> = options.changes.iter().collect();
    let at = |change: &Change| match change {
        Change::Servers { at, .. } | Change::Users { at, .. } => *at,
    };
    if let Some(change) = changes.iter().find(|change| !time(at(change))) {
        return refuse(format!("a change at {} s: times are 0 or more", at(change).0));
    }
    changes.sort_by(|a, b| at(a).0.total_cmp(&at(b).0));
    let mut users: Vec<u32> = plan.model.classes.iter().map(|class| class.users).collect();
    let mut turns = Vec::new();
    for change in changes {
        turns.push((
            at(change).0,
            match change {
                Change::Servers { station: name, servers, .. } => {
                    let nodes = &plan.model.nodes[..plan.stations.len()];
                    let Some(station) = nodes.iter().position(|node| node.name == *name) else {
                        return refuse(format!("a change: there is no station {name:?}"));
                    };
                    let it = &plan.stations[station];
                    if it.kind == StationKind::Delay {
                        return refuse(format!("a change: {name} is a delay, and has no servers"));
                    }
                    if !it.rates.is_empty() && ![0, it.servers].contains(servers) {
                        return refuse(format!(
                            "a change: {name} has rates of its own, so it has all its servers or none"
                        ));
                    }
                    Turn::Servers(station, *servers)
                }
                Change::Users { class: name, users: to, .. } => {
                    let Some(class) = plan.model.classes.iter().position(|it| it.name == *name)
                    else {
                        return refuse(format!("a change: there is no class {name:?}"));
                    };
                    let reference = plan.references[class];
                    let begins = reference != NONE
                        && plan.model.station(reference as usize).service[class].is_some()
                        && plan.model.routes[reference as usize][class].is_some();
                    if !begins {
                        return refuse(format!(
                            "a change: customers of class {name} don't begin at a reference"
                        ));
                    }
                    let from = std::mem::replace(&mut users[class], *to);
                    if *to >= from {
                        Turn::More(class as u32, to - from)
                    } else {
                        Turn::Fewer(class as u32, from - to)
                    }
                }
            },
        ));
    }
    Ok(turns)
}
