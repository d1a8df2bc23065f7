//! A network that was checked, its parts numbered: what solvers and the simulator work on.

use crate::distribution::Distribution;
use crate::network::{Choice, Discipline, Late, StationKind};

/// A node and the class in which a customer gets there, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index into [`Model::nodes`].
    pub node: usize,
    /// Index into [`Model::classes`].
    pub class: usize,
}

/// A checked network.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// For people.
    pub name: String,
    /// In the order of the network.
    pub classes: Vec<Class>,
    /// Stations in the order of the network first, then all others.
    pub nodes: Vec<Node>,
    /// `routes[node][class]`; `None` where no customer leaves in that class.
    pub routes: Vec<Vec<Option<Route>>>,
    /// In the order of the network.
    pub pools: Vec<Pool>,
}

/// A class.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// As in the network.
    pub name: String,
    /// Customers that begin in it; 0 for open classes and for those that others become.
    pub users: u32,
    /// The station where a cycle begins and ends. Of open classes: the node [`NodeKind::Source`].
    pub reference: usize,
    /// Of open classes.
    pub interarrival: Option<Distribution>,
    /// The greater goes first.
    pub priority: i32,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// As in the network, or of one that the network implies (`NAME.join`, `NAME.cache`).
    pub name: String,
    /// What it does.
    pub kind: NodeKind,
}

/// What a node does.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// Serves.
    Station(Station),
    /// Takes no time.
    Router,
    /// A router before a station whose visits may take no time. Holds the station's index.
    Cache(usize),
    /// Splits.
    Fork(Fork),
    /// Where a fork's siblings end and its customer goes on. Holds the fork's index.
    Join(usize),
    /// Where open customers come from.
    Source,
    /// Where they leave.
    Sink,
}

/// A station.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Delay or queue.
    pub kind: StationKind,
    /// Of a queue; at least 1.
    pub servers: u32,
    /// Of a queue.
    pub discipline: Discipline,
    /// With 1, 2, … customers, in multiples of one server's rate, which those share who are served;
    /// empty: as the servers say.
    pub rates: Vec<f64>,
    /// By class; `None` where no customer of it comes.
    pub service: Vec<Option<Distribution>>,
}

impl Station {
    /// How fast it works with `customers` of them, in multiples of one server's rate.
    #[must_use]
    pub fn rate(&self, customers: u32) -> f64 {
        match (self.kind, self.rates.as_slice()) {
            (StationKind::Delay, _) => f64::from(customers),
            (StationKind::Queue, []) => f64::from(customers.min(self.servers)),
            (StationKind::Queue, [.., last]) => match customers {
                0 => 0.0,
                n => self.rates.get(n as usize - 1).copied().unwrap_or(*last),
            },
        }
    }

    /// The mean service time of a class, in seconds; 0 where it doesn't come.
    #[must_use]
    pub fn mean_s(&self, class: usize) -> f64 {
        self.service[class].as_ref().map_or(0.0, Distribution::mean_s)
    }
}

/// A fork.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    /// Where siblings may begin. `None`: in the class of the customer.
    pub branches: Vec<(usize, Option<usize>)>,
    /// How many of the branches get one.
    pub copies: usize,
    /// The siblings' classes in the order of choice, over what the branches say.
    pub classes: Option<Vec<usize>>,
    /// How many are waited for; 1 to `copies`.
    pub wait_for: usize,
    /// What becomes of the others.
    pub late: Late,
    /// After the fork, in seconds; infinite unless `late` is a time-out.
    pub timeout_s: f64,
    /// Its join.
    pub join: usize,
}

/// Where customers go from a node in a class.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// By chance; the probabilities add up to 1.
    Random(Vec<(Place, f64)>),
    /// By a rule.
    Chosen(Choice, Vec<Place>),
}

impl Route {
    /// Where it may go, with the long-run share of each; of the shortest queue an assumption.
    pub fn shares(&self) -> impl Iterator<Item = (Place, f64)> + '_ {
        let (random, chosen) = match self {
            Self::Random(places) => (places.as_slice(), [].as_slice()),
            Self::Chosen(_, places) => ([].as_slice(), places.as_slice()),
        };
        let share = 1.0 / chosen.len() as f64;
        random.iter().copied().chain(chosen.iter().map(move |place| (*place, share)))
    }
}

/// Stations that only so many customers may be in.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// As in the network.
    pub name: String,
    /// Indices of stations.
    pub stations: Vec<usize>,
    /// How many.
    pub places: u32,
    /// How many may wait; `None` for any number.
    pub waiting: Option<u32>,
}

impl Model {
    /// The stations, with their indices, which are the first.
    pub fn stations(&self) -> impl Iterator<Item = (usize, &Station)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| match &node.kind {
            NodeKind::Station(station) => Some((index, station)),
            _ => None,
        })
    }

    /// The index of the station whose queue is at a node: a cache's is behind it.
    pub(crate) fn station_at(&self, node: usize) -> Option<usize> {
        match &self.nodes[node].kind {
            NodeKind::Station(_) => Some(node),
            NodeKind::Cache(station) => Some(*station),
            _ => None,
        }
    }

    /// The station of an index that belongs to one.
    ///
    /// # Panics
    ///
    /// If it belongs to another node.
    #[must_use]
    pub fn station(&self, index: usize) -> &Station {
        match &self.nodes[index].kind {
            NodeKind::Station(station) => station,
            other => panic!("node {index} is {other:?}"),
        }
    }

    /// Whether a class is open.
    #[must_use]
    pub fn is_open(&self, class: usize) -> bool {
        self.classes[class].interarrival.is_some()
    }

    /// The forks, with their indices.
    pub fn forks(&self) -> impl Iterator<Item = (usize, &Fork)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| match &node.kind {
            NodeKind::Fork(fork) => Some((index, fork)),
            _ => None,
        })
    }

    /// The places a customer may be in next, from a place that it leaves, and the share of each. At a
    /// fork that is its join, where the same customer goes on; of its siblings tells [`Model::siblings`].
    #[must_use]
    pub fn next(&self, place: Place) -> Vec<(Place, f64)> {
        if let NodeKind::Fork(fork) = &self.nodes[place.node].kind {
            return vec![(Place { node: fork.join, ..place }, 1.0)];
        }
        self.routes[place.node][place.class].iter().flat_map(Route::shares).collect()
    }

    /// Where siblings begin, of a customer that gets to a fork in a class, with the mean number of them.
    #[must_use]
    pub fn siblings(&self, place: Place) -> Vec<(Place, f64)> {
        let NodeKind::Fork(fork) = &self.nodes[place.node].kind else { return Vec::new() };
        let branches = fork.branches.len() as f64;
        let mut found = Vec::new();
        for (node, own) in &fork.branches {
            match &fork.classes {
                // Each sibling's class gets to each branch equally often.
                Some(classes) => found.extend(
                    classes
                        .iter()
                        .map(|class| (Place { node: *node, class: *class }, 1.0 / branches)),
                ),
                None => found.push((
                    Place { node: *node, class: own.unwrap_or(place.class) },
                    fork.copies as f64 / branches,
                )),
            }
        }
        found
    }
}
