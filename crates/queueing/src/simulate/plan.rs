//! A model laid out for the simulator: samplers, routes and references by number, found without a search.

use super::random::{Alias, Sampler};
use crate::QueueingError;
use crate::flow::{Chain, chains};
use crate::model::{Fork, Model, NodeKind, Place, Pool, Route};
use crate::network::{Choice, Discipline, StationKind};
use std::cmp::Reverse;

/// No job, no station, no fork.
pub(crate) const NONE: u32 = u32::MAX;

/// What the replications of a model share.
#[derive(Debug)]
pub(crate) struct Plan<'m> {
    pub model: &'m Model,
    pub chains: Vec<Chain>,
    pub classes: usize,
    pub stations: Vec<StationPlan>,
    /// By [`Plan::cell`].
    pub services: Vec<Sampler>,
    /// By [`Plan::cell`]: which line of the station is waited in; the first goes first.
    pub lines: Vec<u32>,
    pub nodes: Vec<Step>,
    /// By node and class, as [`Plan::cell`].
    pub routes: Vec<Way>,
    pub forks: Vec<&'m Fork>,
    /// By station: a bit for each pool that it belongs to.
    pub pools_of: Vec<u64>,
    pub pools: &'m [Pool],
    /// By class of customers: the station where their cycles begin and end; [`NONE`] of open ones.
    pub references: Vec<u32>,
    /// By class of customers: in which class they come back to their reference when turned away.
    pub back: Vec<u32>,
    /// By class of customers; [`NONE`] for classes of siblings only.
    pub chain_of: Vec<u32>,
    /// The node where open customers come from, their classes and the times between them.
    pub source: u32,
    pub arrivals: Vec<(u32, Sampler)>,
    pub timeouts: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct StationPlan {
    pub kind: StationKind,
    pub sharing: bool,
    pub random: bool,
    pub servers: u32,
    pub rates: Vec<f64>,
    pub lines: usize,
}

/// What happens at a node.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Station,
    Router,
    /// Which fork.
    Fork(u32),
    /// Of which fork; others pass.
    Join(u32),
    Sink,
    /// Nobody gets there.
    Source,
}

/// Where customers go from a node in a class.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// Nobody goes.
    Nowhere,
    To(At),
    Random(Alias, Vec<At>),
    /// Which turn-taker it is, and among which places.
    RoundRobin(u32, Vec<At>),
    /// Places, and the station whose customers are counted for each ([`NONE`]: none are).
    Shortest(Vec<(At, u32)>),
}

/// A node and a class, compact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct At {
    pub node: u32,
    pub class: u32,
}

impl From<Place> for At {
    fn from(place: Place) -> Self {
        Self { node: place.node as u32, class: place.class as u32 }
    }
}

impl<'m> Plan<'m> {
    /// # Errors
    ///
    /// [`QueueingError::Unsuited`] for what can't be simulated, [`QueueingError::Invalid`] as [`chains`].
    pub(crate) fn new(model: &'m Model) -> Result<Self, QueueingError> {
        let chains = chains(model)?;
        let classes = model.classes.len();
        let mut references = vec![NONE; classes];
        let mut chain_of = vec![NONE; classes];
        let mut back: Vec<u32> = (0..classes as u32).collect();
        for (number, chain) in chains.iter().enumerate() {
            for class in &chain.classes {
                chain_of[*class] = number as u32;
                if !chain.open {
                    references[*class] = chain.reference as u32;
                    back[*class] = returning_class(model, chain, *class);
                }
            }
        }
        let stations: Vec<_> = model.stations().map(|(_, station)| station).collect();
        let priorities = priorities(model);
        let by_priority = |discipline| discipline == Discipline::Priority;
        let mut services = Vec::new();
        let mut lines = Vec::new();
        for station in &stations {
            for class in 0..classes {
                let service = station.service[class].as_ref();
                services.push(service.map_or(Sampler::Constant(0.0), Sampler::of));
                let own = model.classes[class].priority;
                let line = priorities.iter().position(|priority| *priority == own).unwrap_or(0);
                lines.push(if by_priority(station.discipline) { line as u32 } else { 0 });
            }
        }
        let mut plan = Self {
            model,
            classes,
            stations: stations
                .iter()
                .map(|station| StationPlan {
                    kind: station.kind,
                    sharing: station.discipline == Discipline::Ps,
                    random: station.discipline == Discipline::Siro,
                    servers: station.servers,
                    rates: station.rates.clone(),
                    lines: if by_priority(station.discipline) { priorities.len() } else { 1 },
                })
                .collect(),
            services,
            lines,
            nodes: Vec::new(),
            routes: Vec::new(),
            forks: model.forks().map(|(_, fork)| fork).collect(),
            pools_of: pools_of(model, stations.len())?,
            pools: &model.pools,
            references,
            back,
            chain_of,
            source: model.nodes.iter().position(|n| n.kind == NodeKind::Source).unwrap_or(0) as u32,
            arrivals: (0..classes)
                .filter_map(|class| {
                    let between = model.classes[class].interarrival.as_ref()?;
                    Some((class as u32, Sampler::of(between)))
                })
                .collect(),
            timeouts: model.forks().any(|(_, fork)| fork.timeout_s.is_finite()),
            chains,
        };
        plan.add_nodes();
        plan.refuse_endless_refusals()?;
        Ok(plan)
    }

    #[inline]
    pub(crate) fn cell(&self, node: u32, class: u32) -> usize {
        node as usize * self.classes + class as usize
    }

    fn add_nodes(&mut self) {
        let model = self.model;
        let mut forks = 0;
        let mut turns = 0;
        for (number, node) in model.nodes.iter().enumerate() {
            self.nodes.push(match node.kind {
                NodeKind::Station(_) => Step::Station,
                NodeKind::Router | NodeKind::Cache(_) => Step::Router,
                NodeKind::Fork(_) => {
                    forks += 1;
                    Step::Fork(forks - 1)
                }
                NodeKind::Join(fork) => {
                    let number = model.forks().position(|(index, _)| index == fork);
                    Step::Join(number.unwrap_or(0) as u32)
                }
                NodeKind::Sink => Step::Sink,
                NodeKind::Source => Step::Source,
            });
            for route in &model.routes[number] {
                self.routes.push(match route {
                    None => Way::Nowhere,
                    Some(Route::Random(places)) if places.len() == 1 => Way::To(places[0].0.into()),
                    Some(Route::Random(places)) => {
                        let weights: Vec<_> = places.iter().map(|(_, p)| *p).collect();
                        let to = places.iter().map(|(place, _)| (*place).into()).collect();
                        Way::Random(Alias::new(&weights), to)
                    }
                    Some(Route::Chosen(Choice::RoundRobin, places)) => {
                        turns += 1;
                        let to = places.iter().map(|place| (*place).into()).collect();
                        Way::RoundRobin(turns - 1, to)
                    }
                    Some(Route::Chosen(Choice::ShortestQueue, places)) => Way::Shortest(
                        places
                            .iter()
                            .map(|place| ((*place).into(), counted_station(model, place.node)))
                            .collect(),
                    ),
                });
            }
        }
    }

    /// Who is turned away at the reference would come back to it, and be turned away again.
    fn refuse_endless_refusals(&self) -> Result<(), QueueingError> {
        for (number, pool) in self.pools.iter().enumerate() {
            let holds = |station: u32| self.pools_of[station as usize] >> number & 1 == 1;
            if pool.waiting.is_some()
                && self.references.iter().any(|station| *station != NONE && holds(*station))
            {
                return Err(QueueingError::Unsuited(format!(
                    "pool {}: it turns customers away, and holds the reference that they would go back to; let any number wait, or leave the reference out",
                    pool.name
                )));
            }
        }
        Ok(())
    }
}

/// The priorities there are, the greatest first.
fn priorities(model: &Model) -> Vec<i32> {
    let mut priorities: Vec<_> = model.classes.iter().map(|class| class.priority).collect();
    priorities.sort_unstable_by_key(|priority| Reverse(*priority));
    priorities.dedup();
    priorities
}

fn pools_of(model: &Model, stations: usize) -> Result<Vec<u64>, QueueingError> {
    const MOST: usize = u64::BITS as usize;
    if model.pools.len() > MOST {
        let count = model.pools.len();
        return Err(QueueingError::Unsuited(format!("{count} pools: the simulator takes {MOST}")));
    }
    let mut pools_of = vec![0; stations];
    for (number, pool) in model.pools.iter().enumerate() {
        for station in &pool.stations {
            pools_of[*station] |= 1 << number;
        }
    }
    Ok(pools_of)
}

/// Its own where the reference serves that; else the first class of the chain that begins there.
fn returning_class(model: &Model, chain: &Chain, class: usize) -> u32 {
    let served = model.station(chain.reference).service[class].is_some()
        && model.routes[chain.reference][class].is_some();
    let begins = || chain.classes.iter().copied().find(|class| model.classes[*class].users > 0);
    (if served { class } else { begins().unwrap_or(class) }) as u32
}

/// The station whose customers are counted where a place competes for the shortest queue.
fn counted_station(model: &Model, node: usize) -> u32 {
    model.station_at(node).map_or(NONE, |index| index as u32)
}
