//! Steady state: how many replications run how long.
//!
//! Replications, rather than batches of one long run, are the unit: they are independent without any test, run on all
//! cores, and give percentiles their intervals. All run to the same simulated time, in rounds:
//! as long as the warm-up isn't over by half of it, twice as long; then as long as intervals ask for.

use super::engine::Engine;
use super::histogram::Histogram;
use super::interval::Intervals;
use super::plan::Plan;
use super::summary::{Simulated, StoppedBy, Summary};
use super::tally::Totals;
use super::warm_up;
use crate::{Model, QueueingError};
use pacelc_core::seed;
use serde::{Deserialize, Serialize};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

/// How a network is simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The same seed gives the same result.
    pub seed: u64,
    /// Independent runs; at least 2.
    pub replications: u32,
    /// How sure intervals are; more than 0 and less than 1.
    pub confidence: f64,
    /// Go on until the half-widths of all classes' throughput and response are at most this share of
    /// them…
    pub precision: f64,
    /// … and, if `tails`, until percentiles of all classes in which cycles end can be told, too…
    pub tails: bool,
    /// … or this many visits to stations were completed, in all.
    pub max_events: u64,
    /// All cores, unless said.
    pub threads: Option<NonZero<usize>>,
    /// Which percentiles of response times.
    pub percentiles: Vec<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            replications: 10,
            confidence: 0.95,
            precision: 0.01,
            tails: false,
            max_events: 200_000_000,
            threads: None,
            percentiles: vec![50.0, 95.0, 99.0],
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), QueueingError> {
        let fine = |share: f64| share > 0.0 && share < 1.0;
        let problem = if self.replications < 2 {
            format!("replications {}: there should be at least 2", self.replications)
        } else if !fine(self.confidence) {
            format!("confidence {}: it should be between 0 and 1", self.confidence)
        } else if !(self.precision.is_finite() && self.precision > 0.0) {
            format!("precision {}: it should be more than 0", self.precision)
        } else if let Some(percent) = self.percentiles.iter().find(|p| !fine(**p / 100.0)) {
            format!("percentile {percent}: it should be between 0 and 100")
        } else {
            return Ok(());
        };
        Err(QueueingError::Unsuited(problem))
    }
}

/// Visits of the first round, in each replication.
const FIRST_EVENTS: u64 = 20_000;
/// So many times as many events may pass until then.
const PROBES: usize = 50;
/// Stretches of the first round; when there are twice as many, two become one.
const STRETCHES: usize = 200;
/// A round is at most so much longer than the one before, since what it is based on is uncertain.
const LONGER: f64 = 4.0;

/// Simulate a network's steady state. `stopped` is asked now and then whether somebody wants an end.
///
/// ```
/// use pacelc_queueing::Network;
/// use pacelc_queueing::simulate::{Options, simulate};
/// let network = r#"{
///   "classes": [{"name": "request", "interarrival": "2ms"}],
///   "stations": [{"name": "server", "service": {"request": "1ms"}}],
///   "routing": {"source": {"request": "server"}, "server": {"request": "sink"}}
/// }"#;
/// let model = Network::from_json(network).unwrap().compile().unwrap();
/// let found = simulate(&model, &Options::default(), &|| false).unwrap();
/// // M/M/1 at half load: twice the service time.
/// assert!((found.solution.chains[0].response_s / 2e-3 - 1.0).abs() < 0.03);
/// ```
///
/// # Errors
///
/// [`QueueingError::Diverges`] if queues grow for ever; [`QueueingError::Unsuited`] for options that make no
/// sense and networks in which time stands still or nothing can happen any more; [`QueueingError::Stopped`].
pub fn simulate(
    model: &Model,
    options: &Options,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Simulated, QueueingError> {
    options.check()?;
    let plan = Plan::new(model)?;
    let mut run = Run::new(&plan, options, stopped)?;
    run.warm_up()?;
    run.refine()
}

/// A replication, and its totals at the end of each stretch.
struct Replication<'p> {
    engine: Engine<'p, ()>,
    ends: Vec<Totals>,
    /// Where its warm-up was cut.
    begin: Totals,
}

struct Run<'p> {
    plan: &'p Plan<'p>,
    options: &'p Options,
    stopped: &'p (dyn Fn() -> bool + Sync),
    replications: Vec<Replication<'p>>,
    stretch_s: f64,
    /// `None` until it is over.
    warm_up_s: Option<f64>,
    /// Whether queues grew in the last round.
    grew: bool,
}

impl<'p> Run<'p> {
    fn new(
        plan: &'p Plan<'p>,
        options: &'p Options,
        stopped: &'p (dyn Fn() -> bool + Sync),
    ) -> Result<Self, QueueingError> {
        let count = u64::from(options.replications);
        // One more replication tells how long it takes.
        let mut probe = Engine::new(plan, seed::stream(options.seed, count), ());
        let events = FIRST_EVENTS.min(options.max_events / count).max(STRETCHES as u64);
        // Not for ever: where all wait for each other, arrivals may still be events.
        for _ in 0..PROBES {
            let over = probe.run_events(events as u32, f64::MAX)?;
            if over || probe.totals().events() >= events {
                break;
            }
        }
        if probe.is_over() {
            return Err(stuck(probe.now));
        }
        let engine = |number| Engine::new(plan, seed::stream(options.seed, number), ());
        Ok(Self {
            plan,
            options,
            stopped,
            replications: (0..count)
                .map(|number| Replication {
                    engine: engine(number),
                    ends: Vec::new(),
                    begin: Totals::new(plan),
                })
                .collect(),
            stretch_s: probe.now / STRETCHES as f64,
            warm_up_s: None,
            grew: false,
        })
    }

    fn stretches(&self) -> usize {
        self.replications[0].ends.len()
    }

    fn time_s(&self) -> f64 {
        self.stretches() as f64 * self.stretch_s
    }

    fn events(&self) -> u64 {
        self.replications.iter().filter_map(|one| one.ends.last()).map(Totals::events).sum()
    }

    /// All replications go on for so many stretches.
    fn go_on(&mut self, stretches: usize) -> Result<(), QueueingError> {
        let (from, each_s, stopped) = (self.stretches(), self.stretch_s, self.stopped);
        in_parallel(&mut self.replications, self.options.threads, |replication| {
            for number in from..from + stretches {
                let engine = &mut replication.engine;
                engine.run_until((number + 1) as f64 * each_s, stopped)?;
                if engine.is_over() {
                    return Err(stuck(engine.now));
                }
                replication.ends.push(engine.totals());
            }
            Ok(())
        })?;
        while self.stretches() >= 2 * STRETCHES && self.stretches().is_multiple_of(2) {
            for replication in &mut self.replications {
                let mut number = 0;
                replication.ends.retain(|_| {
                    number += 1;
                    number % 2 == 0
                });
            }
            self.stretch_s *= 2.0;
        }
        let growing = warm_up::growing(self.plan, &self.ends());
        match growing {
            Some(text) if self.grew || self.events() >= self.options.max_events => {
                Err(QueueingError::Diverges(text))
            }
            growing => {
                self.grew = growing.is_some();
                Ok(())
            }
        }
    }

    fn ends(&self) -> Vec<&[Totals]> {
        self.replications.iter().map(|one| one.ends.as_slice()).collect()
    }

    fn forget_cycles(&mut self) {
        for replication in &mut self.replications {
            for histogram in &mut replication.engine.cycles {
                histogram.clear();
            }
        }
    }

    /// Twice as long until the beginning is over by half of it, or there were too many events. The second half is
    /// always good, then, and response times are kept from there on.
    fn warm_up(&mut self) -> Result<(), QueueingError> {
        self.go_on(STRETCHES / 2)?;
        self.forget_cycles();
        self.go_on(STRETCHES / 2)?;
        loop {
            let cut = if self.grew { None } else { warm_up::over(self.plan, &self.ends()) };
            let enough = 2 * self.events() > self.options.max_events;
            if cut.is_some() || enough {
                self.warm_up_s = cut.map(|stretches| stretches as f64 * self.stretch_s);
                let cut = cut.unwrap_or(self.stretches() / 2);
                for replication in &mut self.replications {
                    if let Some(end) = cut.checked_sub(1) {
                        replication.begin = replication.ends[end].clone();
                    }
                }
                return Ok(());
            }
            self.forget_cycles();
            self.go_on(self.stretches())?;
        }
    }

    /// How many times as long it should have taken, for what is asked; at most 1 if it is there.
    fn missing(&self, reached: f64) -> f64 {
        let of_means = (reached / self.options.precision).powi(2);
        if !self.options.tails {
            return of_means;
        }
        let of_tails = super::summary::missing(&self.cycles(), &self.options.percentiles);
        of_means.max(of_tails)
    }

    fn cycles(&self) -> Vec<&[Histogram]> {
        self.replications.iter().map(|one| one.engine.cycles.as_slice()).collect()
    }

    /// As long as intervals, and tails, ask for.
    fn refine(&mut self) -> Result<Simulated, QueueingError> {
        let intervals = Intervals::new(self.options.confidence, self.replications.len());
        loop {
            let changes: Vec<_> =
                self.replications.iter().map(|one| one.engine_totals().since(&one.begin)).collect();
            let summary = Summary::of(self.plan, &changes, &intervals);
            let events = self.events();
            let room = self.options.max_events as f64 / events as f64;
            let missing = self.missing(summary.reached);
            let stopped_by = if self.warm_up_s.is_none() {
                Some(StoppedBy::NotSteady)
            } else if missing <= 1.0 {
                Some(StoppedBy::Precision)
            } else if room < 1.05 {
                Some(StoppedBy::Events)
            } else {
                None
            };
            if let Some(stopped_by) = stopped_by {
                return Ok(Simulated {
                    percentiles: super::summary::percentiles(
                        self.plan,
                        &self.cycles(),
                        &self.options.percentiles,
                        &intervals,
                    ),
                    solution: summary.solution,
                    half_widths: summary.half_widths,
                    rejected_per_s: summary.rejected_per_s,
                    pools: summary.pools,
                    confidence: self.options.confidence,
                    precision: summary.reached,
                    stopped_by,
                    replications: self.options.replications,
                    warm_up_s: self.warm_up_s,
                    run_s: self.time_s(),
                    events,
                });
            }
            // A tenth more: the next round's intervals are uncertain, too.
            let factor = (1.1 * missing).clamp(1.2, LONGER).min(room);
            let more = (self.stretches() as f64 * (factor - 1.0)).ceil();
            self.go_on((more as usize).max(1))?;
        }
    }
}

impl Replication<'_> {
    fn engine_totals(&self) -> &Totals {
        &self.ends[self.ends.len() - 1]
    }
}

fn stuck(now: f64) -> QueueingError {
    QueueingError::Unsuited(format!(
        "after {now} s nothing can happen any more: customers wait for each other's places in pools"
    ))
}

/// Work on each item, on so many threads; the first error in the items' order.
///
/// # Errors
///
/// The work's.
pub(super) fn in_parallel<T: Send>(
    items: &mut [T],
    threads: Option<NonZero<usize>>,
    work: impl Fn(&mut T) -> Result<(), QueueingError> + Sync,
) -> Result<(), QueueingError> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok());
    let threads = threads.map_or(1, NonZero::get).min(items.len());
    let mut results: Vec<_> = items.iter().map(|_| Ok(())).collect();
    let queue = Mutex::new(items.iter_mut().zip(&mut results));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((item, result)) = next else { break };
                    *result = work(item);
                }
            });
        }
    });
    results.into_iter().collect()
}
