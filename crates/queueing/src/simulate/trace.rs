//! Where one customer spends its time: every stay of it and of its siblings, cycle by cycle.

use super::engine::Engine;
use super::jobs::Job;
use super::plan::Plan;
use super::watch::{Deed, Watch};
use crate::time::Seconds;
use crate::{Model, QueueingError};
use pacelc_core::seed;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Who is followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceOptions {
    /// The same seed gives the same trace.
    #[serde(default = "one")]
    pub seed: u64,
    /// The customer that is the first to set out in this class…
    pub class: String,
    /// … at this time or later.
    #[serde(default = "nothing")]
    pub after: Seconds,
    /// For how many cycles; of an open class, so many customers one after the other.
    #[serde(default = "single")]
    pub cycles: usize,
}

fn one() -> u64 {
    1
}

fn single() -> usize {
    1
}

fn nothing() -> Seconds {
    Seconds(0.0)
}

/// From leaving the reference (open: from arriving) until coming back (leaving).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// When it began.
    pub from_s: f64,
    /// How long it took.
    pub response_s: f64,
    /// Whether the customer came back because it was turned away.
    pub turned_away: bool,
    /// In the order in which they began.
    pub stays: Vec<Stay>,
}

/// A stay somewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stay {
    /// 0 is the customer; its siblings are counted as they set out.
    pub job: u32,
    /// A station; `pool NAME`, where a place is waited for; `fork NAME`, where siblings are.
    pub at: String,
    /// In which class.
    pub class: String,
    /// When it began.
    pub from_s: f64,
    /// How long it waited; `None` if it was never served, or the cycle was over before.
    pub waited_s: Option<f64>,
    /// How long it was served, from begin to end; of a pool and a fork 0. `None` as above.
    pub served_s: Option<f64>,
    /// Whether it ended before its end, for a join had gone on.
    pub cancelled: bool,
}

struct Follower<'p> {
    plan: &'p Plan<'p>,
    class: u32,
    after_s: f64,
    wanted: usize,
    /// The customer.
    root: Option<u32>,
    /// Its jobs' numbers, and which stay each is at.
    jobs: HashMap<u32, (u32, usize)>,
    numbered: u32,
    began_s: f64,
    stays: Vec<Stay>,
    cycles: Vec<Cycle>,
}

/// Follow one customer.
///
/// # Errors
///
/// [`QueueingError::Unsuited`] where nobody sets out in that class.
pub fn trace(
    model: &Model,
    options: &TraceOptions,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<Cycle>, QueueingError> {
    const EVENTS: u32 = 1_000;
    let plan = Plan::new(model)?;
    let found = model.classes.iter().position(|class| class.name == options.class);
    let nobody = |why: &str| QueueingError::Unsuited(format!("class {}: {why}", options.class));
    let class = found.ok_or_else(|| nobody("there is none"))?;
    let begins = plan.chain_of[class] != super::plan::NONE;
    if !begins {
        return Err(nobody("only siblings are of it; follow their customer"));
    }
    let follower = Follower {
        plan: &plan,
        class: class as u32,
        after_s: options.after.0,
        wanted: options.cycles,
        root: None,
        jobs: HashMap::new(),
        numbered: 0,
        began_s: 0.0,
        stays: Vec::new(),
        cycles: Vec::new(),
    };
    let mut engine = Engine::new(&plan, seed::stream(options.seed, 0), follower);
    // Ten million events without a cycle of this class: nobody sets out in it.
    let mut idle = 0;
    while engine.watch.cycles.len() < options.cycles {
        let before = engine.watch.cycles.len();
        engine.run_events(EVENTS, f64::MAX)?;
        idle = if engine.watch.cycles.len() > before || engine.now < options.after.0 {
            0
        } else {
            idle + 1
        };
        if engine.is_over() || idle > 10_000 {
            return Err(nobody("no customer sets out in it"));
        }
        if stopped() {
            return Err(QueueingError::Stopped);
        }
    }
    Ok(engine.watch.cycles)
}

impl Follower<'_> {
    fn begin(&mut self, now: f64, id: u32) {
        self.jobs.clear();
        self.jobs.insert(id, (0, usize::MAX));
        self.numbered = 0;
        self.began_s = now;
    }

    fn stay(&mut self, now: f64, id: u32, job: &Job, at: String) {
        let Some((number, stay)) = self.jobs.get_mut(&id) else { return };
        *stay = self.stays.len();
        self.stays.push(Stay {
            job: *number,
            at,
            class: self.plan.model.classes[job.class as usize].name.clone(),
            from_s: now,
            waited_s: None,
            served_s: None,
            cancelled: false,
        });
    }

    fn current(&mut self, id: u32) -> Option<&mut Stay> {
        let (_, stay) = self.jobs.get(&id)?;
        self.stays.get_mut(*stay)
    }

    /// A stay that is only waiting is over.
    fn waited(&mut self, now: f64, id: u32) {
        if let Some(stay) = self.current(id) {
            stay.waited_s = Some(now - stay.from_s);
            stay.served_s = Some(0.0);
        }
    }

    fn finish(&mut self, now: f64, turned_away: bool) {
        self.cycles.push(Cycle {
            from_s: self.began_s,
            response_s: now - self.began_s,
            turned_away,
            stays: std::mem::take(&mut self.stays),
        });
        self.jobs.clear();
    }
}

impl Watch for Follower<'_> {
    const WATCHES: bool = true;

    fn note(&mut self, now: f64, id: u32, job: &Job, deed: Deed) {
        if self.cycles.len() == self.wanted {
            return;
        }
        let customer = job.root == id;
        match (deed, self.root) {
            (Deed::Sets, None) if customer && job.class == self.class && now >= self.after_s => {
                self.root = Some(id);
                self.begin(now, id);
            }
            (Deed::Sets, Some(root)) if root == id => self.begin(now, id),
            (Deed::Sets, Some(root)) if root == job.root && !self.jobs.is_empty() => {
                self.numbered += 1;
                self.jobs.insert(id, (self.numbered, usize::MAX));
            }
            (Deed::Ends, Some(root)) if root == id => self.root = None,
            _ => {}
        }
        if !self.jobs.contains_key(&id) {
            return;
        }
        match deed {
            Deed::Arrives => {
                let waited_for_a_place =
                    self.current(id).is_some_and(|stay| stay.waited_s.is_none());
                if waited_for_a_place {
                    self.waited(now, id);
                }
                let name = self.plan.model.nodes[job.station as usize].name.clone();
                self.stay(now, id, job, name);
            }
            Deed::Begins => {
                if let Some(stay) = self.current(id) {
                    stay.waited_s.get_or_insert(now - stay.from_s);
                }
            }
            Deed::Leaves => {
                if let Some(stay) = self.current(id) {
                    stay.served_s = stay.waited_s.map(|waited| now - stay.from_s - waited);
                }
            }
            Deed::WaitsFor(pool) => {
                let name = format!("pool {}", self.plan.pools[pool as usize].name);
                self.stay(now, id, job, name);
            }
            Deed::Forks(number) => {
                let fork = self.plan.model.forks().nth(number as usize);
                let name = fork.map_or("", |(node, _)| &self.plan.model.nodes[node].name);
                self.stay(now, id, job, format!("fork {name}"));
            }
            Deed::GoesOn => self.waited(now, id),
            Deed::IsCancelled => {
                if let Some(stay) = self.current(id) {
                    stay.cancelled = true;
                }
            }
            Deed::Joins | Deed::Ends if !customer => {
                self.jobs.remove(&id);
            }
            Deed::IsBack if customer => self.finish(now, false),
            Deed::IsTurnedAway if customer => self.finish(now, true),
            _ => {}
        }
    }
}
