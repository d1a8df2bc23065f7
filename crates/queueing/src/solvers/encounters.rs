//! Whom a customer finds where all are served in order, and differ in their service.
//!
//! There is no product form, and what is found isn't what is there in the mean: who waits behind a slow customer doesn't
//! come a second time before that one is gone. So encounters are counted, from either side: a customer that
//! waits for another's visit is one that arrived during it, and each of the others does so at most once. It does if
//! it is away for less time than the visit lasts, both without the waiting for each other, here and elsewhere;
//! with exponential times away the probability is 1 − E exp(−visit / away). A visit is its own service and, as in M/M/1,
//! with probability a / (1 + a) a wait, where a customers are found in the mean; the wait is exponential, longer by 1 +
//! a than the service of one of those found. Each of those found is then waited for as long as its mean service.
//!
//! That is mean value analysis with another arrival instant, made for this. It is exact for two customers with
//! exponential times away, in balanced networks of one class, and with ever more customers that hardly ever
//! come, where it is Pollaczek's and Khinchine's formula. Taking what is there in the mean with one customer less (Reiser, "A
//! queueing network analysis of computer communication networks with window flow control", IEEE Transactions on
//! Communications 27(8), 1979) gets a fast customer's time 38 % wrong where the only other one is twenty times slower.

use super::{Problem, suited};

/// A station whose one server serves in order classes that differ.
pub struct Ordered {
    /// By chain.
    visits: Vec<f64>,
    kinds: Vec<Kind>,
}

/// A class that comes there.
struct Kind {
    chain: usize,
    visits: f64,
    service_s: f64,
}

/// What is known of everyone, from step to step.
pub struct Known<'a> {
    /// By chain.
    pub users: &'a [f64],
    /// Of cycles, by chain.
    pub throughput_per_s: &'a [f64],
    /// How long one of a chain waits for another in a cycle: here, and at all stations.
    pub due_s: [&'a Due; 2],
}

/// `[chain][other]`: for how long a customer waits for each one of the other chain (or of its own).
pub type Due = Vec<Vec<f64>>;

/// `[chain][kind]`: how many of a kind a customer finds, for each one that it may find.
pub type Met = Vec<Vec<f64>>;

impl Ordered {
    /// A station, if it is such a one.
    pub fn of(problem: &Problem<'_>, index: usize) -> Option<Self> {
        Self::with(problem, index, |class| problem.station(index).mean_s(class))
    }

    /// As if all services were equally long there.
    pub fn alike(problem: &Problem<'_>, index: usize, service_s: f64) -> Option<Self> {
        Self::with(problem, index, |_| service_s)
    }

    fn with(problem: &Problem<'_>, index: usize, service_s: impl Fn(usize) -> f64) -> Option<Self> {
        // Where there are several servers one may come and go while others are served.
        if !suited::mixed(problem, index) || problem.station(index).servers > 1 {
            return None;
        }
        let mut kinds = Vec::new();
        for (chain, it) in problem.chains.iter().enumerate() {
            for (class, visits) in it.visits[index].iter().enumerate().filter(|(_, v)| **v > 0.0) {
                kinds.push(Kind { chain, visits: *visits, service_s: service_s(class) });
            }
        }
        Some(Self { visits: problem.visits[index].clone(), kinds })
    }

    /// Whether a chain's customers come here.
    pub fn comes(&self, chain: usize) -> bool {
        self.visits[chain] > 0.0
    }

    /// Nobody was met.
    pub fn nobody(&self) -> Met {
        vec![vec![0.0; self.kinds.len()]; self.visits.len()]
    }

    /// How long a customer of a chain waits here in a cycle; whom it meets, and into `due_s`, which is all 0,
    /// how long it waits for whom.
    pub fn wait(&self, own: usize, known: &Known<'_>, met: &mut Met, due_s: &mut [f64]) -> f64 {
        let Known { users, throughput_per_s, due_s: [here, all] } = known;
        let others = |of: usize, but: usize| users[of] - f64::from(u8::from(of == but));
        let visits = self.visits[own];
        let cycle_s = users[own] / throughput_per_s[own];
        let waited_s: f64 =
            here[own].iter().enumerate().map(|(of, due)| due * others(of, own).max(0.0)).sum();
        let served_s: f64 = self.kinds.iter().filter(|k| k.chain == own).map(Kind::demand_s).sum();
        let mut now = vec![0.0; self.kinds.len()];
        for (kind, now) in self.kinds.iter().zip(&mut now) {
            let come = others(own, kind.chain);
            let there = others(kind.chain, own);
            if come <= 0.0 || there <= 0.0 {
                continue;
            }
            // Of this customer's time away, none is spent waiting for that one.
            let elsewhere_s = all[own][kind.chain] - here[own][kind.chain];
            let away_s = ((cycle_s - served_s - waited_s - elsewhere_s) / visits).max(0.0);
            let over = self.over(kind, own, users, &met[kind.chain], away_s);
            let encounters = throughput_per_s[kind.chain] * kind.visits * (1.0 - over);
            *now = encounters * come / users[own] * cycle_s / visits / there;
        }
        met[own] = now;
        let mut wait_s = 0.0;
        for (kind, each) in self.kinds.iter().zip(&met[own]) {
            let due = each * kind.service_s * visits;
            due_s[kind.chain] += due;
            wait_s += due * others(kind.chain, own).max(0.0);
        }
        wait_s
    }

    /// The probability that a visit is over before one that is away so long comes, without waiting for that one.
    fn over(&self, of: &Kind, without: usize, users: &[f64], met: &[f64], away_s: f64) -> f64 {
        let ends_first = |mean_s: f64| {
            if away_s > 0.0 {
                1.0 / (1.0 + mean_s / away_s)
            } else {
                f64::from(u8::from(mean_s == 0.0))
            }
        };
        let found = || {
            self.kinds.iter().zip(met).map(|(kind, each)| {
                let but = u8::from(kind.chain == of.chain) + u8::from(kind.chain == without);
                (kind, each * (users[kind.chain] - f64::from(but)).max(0.0))
            })
        };
        let number: f64 = found().map(|(_, number)| number).sum();
        // No one is found with probability 1 / (1 + number).
        let waits: f64 = found().map(|(k, n)| n * ends_first(k.service_s * (1.0 + number))).sum();
        (1.0 + waits) / (1.0 + number) * ends_first(of.service_s)
    }
}

impl Kind {
    fn demand_s(&self) -> f64 {
        self.visits * self.service_s
    }
}
