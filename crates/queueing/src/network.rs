//! A queueing network as data: what a file holds, before anything is checked.
//!
//! Customers (jobs) of classes move between nodes: stations, routers, forks with their joins, and
//! for open classes `source` and `sink`. A job may change its class on its way.
//!
//! ```
//! let text = r#"{
//!   "name": "single node",
//!   "classes": [{"name": "read", "users": 20, "reference": "client"}],
//!   "stations": [
//!     {"name": "client", "kind": "delay", "service": {"read": "1ms"}},
//!     {"name": "cpu", "servers": 2, "discipline": "ps", "service": {"read": "1.15ms"}},
//!     {"name": "disk", "service": {"read": "170us"}}],
//!   "routing": {"client": {"read": "cpu"}, "cpu": {"read": "disk"}, "disk": {"read": "client"}}
//! }"#;
//! let network = pacelc_queueing::Network::from_json(text).unwrap();
//! let model = network.compile().unwrap();
//! assert_eq!(model.stations().count(), 3);
//! ```

use crate::QueueingError;
use crate::distribution::Distribution;
use crate::time::Seconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Stands for every class that isn't named beside it.
pub const EVERY_CLASS: &str = "*";
/// Where customers of open classes come from.
pub const SOURCE: &str = "source";
/// Where they leave.
pub const SINK: &str = "sink";

/// A queueing network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// For people.
    #[serde(default)]
    pub name: String,
    /// What customers there are.
    pub classes: Vec<Class>,
    /// Where they are served.
    pub stations: Vec<Station>,
    /// Nodes that take no time and only have routes, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<String>,
    /// Where a customer is split into siblings; each has a join of its own, the node `NAME.join`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forks: Vec<Fork>,
    /// Stations that only so many customers may be in at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// Node → class (or `*`) → where customers go from there.
    pub routing: BTreeMap<String, BTreeMap<String, Route>>,
}

/// A class of customers: closed (a number of users that stay) or open (they arrive and leave).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Unlike all others.
    pub name: String,
    /// Of a closed class: those that are of this class at the beginning, all at the reference.
    /// 0 for a class that customers of others become.
    #[serde(default)]
    pub users: u32,
    /// Of a closed class with users: the station where a cycle begins and ends; responses are
    /// what lies between. The first station, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Makes it an open class: the time between arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interarrival: Option<Distribution>,
    /// At stations whose discipline is priority: the greater goes first.
    #[serde(default)]
    pub priority: i32,
}

/// A place where customers are served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Unlike all other nodes' names.
    pub name: String,
    /// Whether customers wait for each other there.
    #[serde(default)]
    pub kind: StationKind,
    /// Of a queue.
    #[serde(default = "one")]
    pub servers: u32,
    /// Of a queue.
    #[serde(default)]
    pub discipline: Discipline,
    /// How fast it works with 1, 2, … customers, as a multiple of one server's rate; the last
    /// holds for all greater numbers. Empty: as its servers say. Where servers are shared only with
    /// a single one; else as many are served at once as there are servers, each equally fast.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<f64>,
    /// Class (or `*`) → how long a visit is served.
    pub service: BTreeMap<String, Distribution>,
    /// Class (or `*`) → probability that a visit is answered from a cache and takes no time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cached: BTreeMap<String, f64>,
}

fn one() -> u32 {
    1
}

/// Whether customers wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StationKind {
    /// A server for everyone: think time, a network.
    Delay,
    /// A number of servers.
    #[default]
    Queue,
}

/// Who is served next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Processor sharing: all at once, each at most as fast as one server.
    Ps,
    /// The greatest priority first; who is being served is never interrupted.
    Priority,
    /// Service in random order: any of those who wait.
    Siro,
}

/// Where customers go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Route {
    /// To one place. A place is `NODE`, or `NODE/CLASS` where the customer changes its class.
    Certain(String),
    /// By another rule than chance.
    Chosen {
        /// Which rule.
        choose: Choice,
        /// Among which places.
        to: Vec<String>,
    },
    /// Place → probability.
    Random(BTreeMap<String, f64>),
}

/// A rule by which one of several places is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// One after the other.
    RoundRobin,
    /// Where the fewest customers are, by chance among equals.
    ShortestQueue,
}

/// A customer becomes siblings, which meet again at the node `NAME.join`: when so many of them
/// have arrived, the customer goes on from there, in the class in which it came to the fork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// Unlike all other nodes' names.
    pub name: String,
    /// Where siblings may begin: `NODE` or `NODE/CLASS`.
    pub branches: Vec<String>,
    /// How many of the branches get one, chosen by chance; all, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u32>,
    /// The classes of the siblings, in the order in which branches are chosen; over what the
    /// branches say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<String>>,
    /// How many siblings are waited for; all, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<u32>,
    /// What becomes of the others.
    #[serde(default)]
    pub late: Late,
    /// With `timeout`: how long after the fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
}

/// What becomes of siblings after the join has gone on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// They are served to their end, and load the stations.
    #[default]
    Serve,
    /// Those being served are finished; the others end where they wait.
    Discard,
    /// They end at once, wherever they are.
    Cancel,
    /// They are cancelled so long after the fork, unless they have come.
    Timeout,
}

/// Only so many customers may be at a group of stations at a time, such as the threads of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// For people.
    pub name: String,
    /// Which stations; a customer that goes from one to another keeps its place.
    pub stations: Vec<String>,
    /// How many.
    pub places: u32,
    /// How many may wait for a place, first come, first served; any number, unless said. Who finds no
    /// room goes back to its reference (an open one to `sink`), and is counted as rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u32>,
}

impl Network {
    /// Read a network.
    ///
    /// # Errors
    ///
    /// [`QueueingError::Json`] if it is of another shape; nothing else is checked here.
    pub fn from_json(text: &str) -> Result<Self, QueueingError> {
        Ok(serde_json::from_str(text)?)
    }
}
