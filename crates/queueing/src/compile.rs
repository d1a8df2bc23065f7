//! From a network, as it was written, to a model: names become numbers, defaults are filled in.

use crate::QueueingError;
use crate::check;
use crate::model::{Class, Fork, Model, Node, NodeKind, Place, Pool, Route, Station};
use crate::network::{self, EVERY_CLASS, Late, Network, SINK, SOURCE};
use std::collections::{BTreeMap, HashMap};

/// Probabilities written with few digits add up to 1 within this.
const ROUNDING: f64 = 1e-6;

impl Network {
    /// Check it, and number its parts.
    ///
    /// # Errors
    ///
    /// [`QueueingError::Invalid`] with everything that is wrong, each named. Of parts that depend on each other the
    /// first that is wrong hides what follows from it.
    pub fn compile(&self) -> Result<Model, QueueingError> {
        let mut names = Names::of(self);
        names.refuse_any()?;
        let model = names.model(self);
        names.refuse_any()?;
        let problems = check::problems(&model);
        if problems.is_empty() { Ok(model) } else { Err(QueueingError::Invalid(problems)) }
    }
}

/// The node that stands before a station whose visits may take no time.
fn cache_of(station: &str) -> String {
    format!("{station}.cache")
}

/// The node where visits end, those that took no time, too.
fn after(station: &str) -> String {
    format!("{station}.after")
}

/// What is called what, and what is wrong.
struct Names {
    nodes: HashMap<String, usize>,
    /// Where a route to a station leads: to its cache, if it has one.
    entrances: HashMap<usize, usize>,
    classes: HashMap<String, usize>,
    problems: Vec<String>,
}

impl Names {
    fn of(network: &Network) -> Self {
        let mut names = Self {
            nodes: HashMap::new(),
            entrances: HashMap::new(),
            classes: HashMap::new(),
            problems: Vec::new(),
        };
        for (number, class) in network.classes.iter().enumerate() {
            names.check_name("class", &class.name);
            if names.classes.insert(class.name.clone(), number).is_some() {
                names.problem(format!("two classes are called {:?}", class.name));
            }
        }
        let joins = network.forks.iter().map(|fork| format!("{}.join", fork.name));
        let written = network.stations.iter().map(|station| &station.name);
        let written =
            written.chain(&network.routers).chain(network.forks.iter().map(|fork| &fork.name));
        for name in written.clone() {
            names.check_name("node", name);
        }
        let with_cache = network.stations.iter().filter(|station| !station.cached.is_empty());
        let caches = with_cache.flat_map(|s| [cache_of(&s.name), after(&s.name)]);
        let all = written.cloned().chain(joins).chain(caches);
        for (number, name) in all.chain([SOURCE.to_owned(), SINK.to_owned()]).enumerate() {
            if names.nodes.insert(name.clone(), number).is_some() {
                names.problem(format!("two nodes are called {name:?}"));
            }
        }
        for (number, station) in network.stations.iter().enumerate() {
            if let Some(cache) = names.nodes.get(&cache_of(&station.name)) {
                names.entrances.insert(number, *cache);
            }
        }
        if network.classes.is_empty() {
            names.problem("there are no classes".to_owned());
        }
        if network.stations.is_empty() {
            names.problem("there are no stations".to_owned());
        }
        names
    }

    fn check_name(&mut self, what: &str, name: &str) {
        if name.is_empty() || name.contains('/') || [EVERY_CLASS, SOURCE, SINK].contains(&name) {
            self.problem(format!(
                "a {what} can't be called {name:?}: it should not be empty, hold '/', or be '*', 'source' or 'sink'"
            ));
        }
    }

    fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    fn refuse_any(&mut self) -> Result<(), QueueingError> {
        let problems = std::mem::take(&mut self.problems);
        if problems.is_empty() { Ok(()) } else { Err(QueueingError::Invalid(problems)) }
    }

    fn class(&mut self, name: &str, of: &str) -> Option<usize> {
        let found = self.classes.get(name).copied();
        if found.is_none() {
            self.problem(format!("{of}: there is no class {name:?}"));
        }
        found
    }

    fn node(&mut self, name: &str, of: &str) -> Option<usize> {
        let found = self.nodes.get(name).copied();
        if found.is_none() {
            self.problem(format!("{of}: there is no node {name:?}"));
        }
        found
    }

    fn station(&mut self, name: &str, of: &str, count: usize) -> Option<usize> {
        let found = self.nodes.get(name).copied().filter(|node| *node < count);
        if found.is_none() {
            self.problem(format!("{of}: there is no station {name:?}"));
        }
        found
    }

    /// `NODE` or `NODE/CLASS`, at the node's entrance.
    fn place(&mut self, text: &str, of: &str) -> Option<(usize, Option<usize>)> {
        let (node, class) = match text.split_once('/') {
            Some((node, class)) => (node, Some(class)),
            None => (text, None),
        };
        let node = self.node(node, of)?;
        let class = match class {
            Some(class) => Some(self.class(class, of)?),
            None => None,
        };
        Some((self.entrances.get(&node).copied().unwrap_or(node), class))
    }

    fn model(&mut self, network: &Network) -> Model {
        let mut nodes: Vec<(String, NodeKind)> = Vec::new();
        for station in &network.stations {
            let kind = NodeKind::Station(self.compiled_station(station));
            nodes.push((station.name.clone(), kind));
        }
        nodes.extend(network.routers.iter().map(|name| (name.clone(), NodeKind::Router)));
        let first_fork = nodes.len();
        for fork in &network.forks {
            let kind = NodeKind::Fork(self.compiled_fork(fork));
            nodes.push((fork.name.clone(), kind));
        }
        for (number, fork) in network.forks.iter().enumerate() {
            nodes.push((format!("{}.join", fork.name), NodeKind::Join(first_fork + number)));
        }
        for (number, station) in network.stations.iter().enumerate() {
            if !station.cached.is_empty() {
                nodes.push((cache_of(&station.name), NodeKind::Cache(number)));
                nodes.push((after(&station.name), NodeKind::Router));
            }
        }
        nodes.push((SOURCE.to_owned(), NodeKind::Source));
        nodes.push((SINK.to_owned(), NodeKind::Sink));
        Model {
            name: network.name.clone(),
            classes: self.compiled_classes(network),
            routes: self.compiled_routes(network, nodes.len()),
            pools: network.pools.iter().map(|pool| self.compiled_pool(network, pool)).collect(),
            nodes: nodes.into_iter().map(|(name, kind)| Node { name, kind }).collect(),
        }
    }

    fn compiled_classes(&mut self, network: &Network) -> Vec<Class> {
        let count = network.stations.len();
        let mut classes = Vec::new();
        for class in &network.classes {
            let of = format!("class {}", class.name);
            let reference = match (&class.interarrival, &class.reference) {
                (Some(_), None) => self.nodes[SOURCE],
                (None, Some(name)) => self.station(name, &of, count).unwrap_or(0),
                (None, None) => 0,
                (Some(_), Some(_)) => {
                    self.problem(format!("{of}: an open class has no reference"));
                    0
                }
            };
            let begins = class.users > 0 || class.reference.is_some();
            if begins && self.entrances.contains_key(&reference) {
                self.problem(format!("{of}: its reference can't have a cache"));
            }
            if let Some(interarrival) = &class.interarrival {
                if class.users > 0 {
                    self.problem(format!("{of}: an open class has no users"));
                }
                if let Some(problem) = interarrival.problem() {
                    self.problem(format!("{of}: interarrival: {problem}"));
                } else if interarrival.mean_s() == 0.0 {
                    self.problem(format!("{of}: interarrival: its mean should be more than 0"));
                }
            }
            classes.push(Class {
                name: class.name.clone(),
                users: class.users,
                reference,
                interarrival: class.interarrival.clone(),
                priority: class.priority,
            });
        }
        if network.classes.iter().map(|class| u64::from(class.users)).sum::<u64>()
            > u64::from(u32::MAX)
        {
            self.problem(format!("there are more than {} users in all", u32::MAX));
        }
        classes
    }

    fn compiled_station(&mut self, station: &network::Station) -> Station {
        let of = format!("station {}", station.name);
        if station.servers == 0 {
            self.problem(format!("{of}: it should have at least one server"));
        }
        let shared = station.discipline == network::Discipline::Ps;
        if shared && !station.rates.is_empty() && station.servers != 1 {
            self.problem(format!(
                "{of}: rates of a shared server are for a single one; they say what more of them do"
            ));
        }
        if station.rates.iter().any(|rate| !rate.is_finite() || *rate <= 0.0) {
            self.problem(format!("{of}: rates should be more than 0"));
        }
        for (class, service) in &station.service {
            if let Some(problem) = service.problem() {
                self.problem(format!("{of}: service of {class}: {problem}"));
            }
        }
        Station {
            kind: station.kind,
            servers: station.servers,
            discipline: station.discipline,
            rates: station.rates.clone(),
            service: self.by_class(&station.service, &of),
        }
    }

    /// What is written by class, `*` for all that aren't named, by number.
    fn by_class<T: Clone>(&mut self, written: &BTreeMap<String, T>, of: &str) -> Vec<Option<T>> {
        let mut values = vec![written.get(EVERY_CLASS).cloned(); self.classes.len()];
        for (name, value) in written.iter().filter(|(name, _)| *name != EVERY_CLASS) {
            if let Some(class) = self.class(name, of) {
                values[class] = Some(value.clone());
            }
        }
        values
    }

    fn compiled_fork(&mut self, fork: &network::Fork) -> Fork {
        let of = format!("fork {}", fork.name);
        let branches: Vec<_> = fork.branches.iter().filter_map(|b| self.place(b, &of)).collect();
        let copies = fork.copies.map_or(fork.branches.len(), |copies| copies as usize);
        let wait_for = fork.join.map_or(copies, |join| join as usize);
        if copies == 0 || copies > fork.branches.len() {
            self.problem(format!(
                "{of}: {copies} copies on {} branches: it should be 1 to {0}",
                fork.branches.len()
            ));
        }
        if wait_for == 0 || wait_for > copies {
            self.problem(format!("{of}: join {wait_for} of {copies}: it should be 1 to {copies}"));
        }
        let classes = fork
            .classes
            .as_ref()
            .map(|names| names.iter().filter_map(|name| self.class(name, &of)).collect::<Vec<_>>());
        if let Some(names) = fork.classes.as_ref().filter(|names| names.len() != copies) {
            self.problem(format!("{of}: {} classes for {copies} copies", names.len()));
        }
        let timeout_s = match (fork.late, fork.timeout) {
            (Late::Timeout, Some(timeout)) if timeout.0.is_finite() && timeout.0 > 0.0 => timeout.0,
            (Late::Timeout, _) => {
                self.problem(format!("{of}: late: timeout needs a timeout of more than 0"));
                f64::INFINITY
            }
            (_, Some(_)) => {
                self.problem(format!("{of}: a timeout is for late: timeout"));
                f64::INFINITY
            }
            (_, None) => f64::INFINITY,
        };
        let join = self.nodes[&format!("{}.join", fork.name)];
        Fork { branches, copies, classes, wait_for, late: fork.late, timeout_s, join }
    }

    fn compiled_pool(&mut self, network: &Network, pool: &network::Pool) -> Pool {
        let of = format!("pool {}", pool.name);
        let count = network.stations.len();
        let stations: Vec<_> =
            pool.stations.iter().filter_map(|name| self.station(name, &of, count)).collect();
        if pool.places == 0 || stations.is_empty() {
            self.problem(format!("{of}: it should have places and stations"));
        }
        Pool { name: pool.name.clone(), stations, places: pool.places, waiting: pool.waiting }
    }

    fn compiled_routes(&mut self, network: &Network, nodes: usize) -> Vec<Vec<Option<Route>>> {
        let mut routes = vec![vec![None; self.classes.len()]; nodes];
        for (name, by_class) in &network.routing {
            let of = format!("routing of {name}");
            let Some(node) = self.node(name, &of) else { continue };
            for (class, route) in self.by_class(by_class, &of).into_iter().enumerate() {
                routes[node][class] =
                    route.and_then(|route| self.compiled_route(&route, class, &of));
            }
        }
        for station in network.stations.iter().filter(|station| !station.cached.is_empty()) {
            self.add_cache(station, &mut routes);
        }
        routes
    }

    fn compiled_route(&mut self, route: &network::Route, class: usize, of: &str) -> Option<Route> {
        let source = self.nodes[SOURCE];
        let mut read = |text: &str| {
            let (node, to) = self.place(text, of)?;
            if node == source {
                self.problem(format!("{of}: customers come from {SOURCE}, and none goes there"));
                return None;
            }
            Some(Place { node, class: to.unwrap_or(class) })
        };
        match route {
            network::Route::Certain(to) => Some(Route::Random(vec![(read(to)?, 1.0)])),
            network::Route::Chosen { choose, to } => {
                let places: Vec<_> = to.iter().filter_map(|text| read(text)).collect();
                if to.is_empty() {
                    self.problem(format!("{of}: there is nothing to choose from"));
                }
                Some(Route::Chosen(*choose, places))
            }
            network::Route::Random(to) => {
                let places: Vec<_> =
                    to.iter().filter_map(|(text, p)| Some((read(text)?, *p))).collect();
                let sum: f64 = to.values().sum();
                if to.values().any(|p| !(0.0..=1.0).contains(p)) || (sum - 1.0).abs() > ROUNDING {
                    self.problem(format!("{of}: probabilities add up to {sum}, not 1"));
                }
                Some(Route::Random(
                    places
                        .into_iter()
                        .filter(|(_, p)| *p > 0.0)
                        .map(|(place, p)| (place, p / sum))
                        .collect(),
                ))
            }
        }
    }

    /// Customers get to a station's cache first; who finds an answer there goes on as from the station.
    fn add_cache(&mut self, station: &network::Station, routes: &mut [Vec<Option<Route>>]) {
        let of = format!("station {}: cached", station.name);
        let node = self.nodes[&station.name];
        let cache = self.nodes[&cache_of(&station.name)];
        let after = self.nodes[&after(&station.name)];
        for (class, hit) in self.by_class(&station.cached, &of).into_iter().enumerate() {
            let hit = hit.unwrap_or(0.0);
            if !(0.0..=1.0).contains(&hit) {
                self.problem(format!("{of}: {hit} is no probability"));
            }
            let at = |node: usize| Place { node, class };
            let ways = [(at(node), 1.0 - hit), (at(after), hit)];
            routes[cache][class] =
                Some(Route::Random(ways.into_iter().filter(|(_, p)| *p > 0.0).collect()));
            routes[after][class] = routes[node][class].take();
            routes[node][class] = Some(Route::Random(vec![(at(after), 1.0)]));
        }
    }
}
