//! A model with its chains and their demands: what all solvers work on.

use crate::QueueingError;
use crate::flow::{Chain, chains};
use crate::model::{Model, Station};
use crate::network::{Discipline, StationKind};

/// What is to be solved.
pub struct Problem<'a> {
    /// The network.
    pub model: &'a Model,
    /// Its chains.
    pub chains: Vec<Chain>,
    /// How many stations there are; they are the first nodes.
    pub stations: usize,
    /// `demands_s[station][chain]`: visits times mean service time.
    pub demands_s: Vec<Vec<f64>>,
    /// `visits[station][chain]`, of all classes.
    pub visits: Vec<Vec<f64>>,
}

impl<'a> Problem<'a> {
    /// Find chains and demands.
    ///
    /// # Errors
    ///
    /// [`QueueingError::Invalid`] as [`chains`] does; [`QueueingError::Diverges`] if a cycle takes no time at all.
    pub fn new(model: &'a Model) -> Result<Self, QueueingError> {
        let chains = chains(model)?;
        let stations = model.stations().count();
        let by_chain = |value: &dyn Fn(&Chain, usize) -> f64| -> Vec<Vec<f64>> {
            (0..stations).map(|s| chains.iter().map(|chain| value(chain, s)).collect()).collect()
        };
        let demands_s = by_chain(&|chain, station| chain.total_demand_s(model, station));
        let visits = by_chain(&|chain, station| chain.visits[station].iter().sum());
        for (index, chain) in chains.iter().enumerate() {
            if !chain.open && demands_s.iter().all(|by_chain| by_chain[index] == 0.0) {
                return Err(QueueingError::Diverges(format!(
                    "class {}: a cycle takes no time, so there is no end to how many there are",
                    model.classes[chain.classes[0]].name
                )));
            }
        }
        Ok(Self { model, chains, stations, demands_s, visits })
    }

    /// A station.
    #[must_use]
    pub fn station(&self, index: usize) -> &'a Station {
        self.model.station(index)
    }

    /// A station's name.
    #[must_use]
    pub fn name(&self, station: usize) -> &'a str {
        &self.model.nodes[station].name
    }

    /// Customers of all closed chains.
    #[must_use]
    pub fn users(&self) -> u32 {
        self.chains.iter().fold(0, |all, chain| all.saturating_add(chain.users))
    }

    /// Whether customers can wait for each other there: not where each finds a server.
    #[must_use]
    pub fn waits(&self, index: usize) -> bool {
        let station = self.station(index);
        let enough = station.rates.is_empty()
            && self.model.forks().all(|(_, fork)| fork.copies == 1)
            && self.chains.iter().all(|chain| !chain.open)
            && station.servers >= self.users();
        station.kind == StationKind::Queue && !enough
    }

    /// Whether each waits for those before it, and not for a share of the servers.
    #[must_use]
    pub fn in_order(&self, index: usize) -> bool {
        self.waits(index) && self.station(index).discipline != Discipline::Ps
    }

    /// Whether anybody gets to a node in a class, siblings included.
    #[must_use]
    pub fn visited(&self, node: usize, class: usize) -> bool {
        self.chains.iter().any(|chain| chain.visits[node][class] > 0.0)
    }

    /// Mean service times of the classes that get to a station.
    pub fn services_s(&self, index: usize) -> impl Iterator<Item = f64> + '_ {
        let station = self.station(index);
        (0..self.model.classes.len())
            .filter(move |class| self.visited(index, *class))
            .map(|class| station.mean_s(class))
    }

    /// The mean service time of a chain's visits to a station; 0 where it doesn't come.
    #[must_use]
    pub fn service_s(&self, station: usize, chain: usize) -> f64 {
        match self.visits[station][chain] {
            0.0 => 0.0,
            visits => self.demands_s[station][chain] / visits,
        }
    }
}
