//! Networks whose customers fork, and go on when k of n siblings are back: the others go on loading the stations.
//!
//! Mean value analysis in which a passage from fork to join takes the k-th order statistic of its siblings' times, as if
//! these were independent (for k = n Varki, "Mean value technique for closed fork-join networks", SIGMETRICS
//! 1999; Bolch et al., section 11.3). A customer that comes to a station finds what the others left there, as
//! in mean value analysis, and its own late siblings: these have no bound, so a station has to be able to do what
//! gets to it, waited for or not. Open networks take stations as `jackson` does.

use super::jackson::alone;
use super::order::{Time, join};
use super::paths::{Path, Split};
use super::report::{Visits, chain_result, class_result, ending};
use super::{Problem, Solver, suited, waiting};
use crate::network::{Discipline, Late, StationKind};
use crate::{QueueingError, Solution};

const MOST_STEPS: usize = 200;
const CONVERGED: f64 = 1e-7;
/// The recursion takes a step for each.
const MOST_USERS: u32 = 20_000;

/// See the module.
pub struct ForkJoin;

impl Solver for ForkJoin {
    fn name(&self) -> &'static str {
        "fork_join"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        let model = problem.model;
        if model.forks().all(|(_, fork)| fork.copies == 1) {
            return Some("there is no fork whose siblings meet".to_owned());
        }
        let open = problem.chains[0].open;
        if !open && problem.chains.len() > 1 {
            return Some("forks are solved for one set of closed classes that become each other".to_owned());
        }
        if problem.users() > MOST_USERS {
            return Some(format!("it takes up to {MOST_USERS} users"));
        }
        let late = model.forks().find(|(_, fork)| {
            fork.wait_for < fork.copies && fork.late != Late::Serve
        });
        if let Some((index, _)) = late {
            return Some(format!("fork {}: late siblings aren't served to their end", model.nodes[index].name));
        }
        suited::other_than_forks(problem, open).or_else(|| {
            let station = (0..problem.stations).find(|s| !problem.station(*s).rates.is_empty())?;
            Some(format!("station {}: its rate depends on its load", problem.name(station)))
        })
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let paths: Vec<Path> =
            (0..problem.chains.len()).map(|chain| Path::of_chain(problem, chain)).collect();
        let solved = if problem.chains[0].open {
            open(problem, &paths)?
        } else {
            closed(problem, &paths[0])?
        };
        Ok(report(problem, &paths, &solved))
    }
}

/// Throughputs by chain, and responses of visits by station and class.
struct Solved {
    throughput_per_s: Vec<f64>,
    responses_s: Vec<Vec<f64>>,
}

fn open(problem: &Problem<'_>, paths: &[Path]) -> Result<Solved, QueueingError> {
    debug_assert_eq!(paths.len(), problem.chains.len());
    let mut responses_s = Vec::new();
    for index in 0..problem.stations {
        let station = problem.station(index);
        let alone = alone(problem, index)?;
        let classes = 0..problem.model.classes.len();
        responses_s.push(classes.map(|class| alone.response_s(station.mean_s(class))).collect());
    }
    let throughput_per_s = problem.chains.iter().map(|chain| chain.arrivals_per_s).collect();
    Ok(Solved { throughput_per_s, responses_s })
}

/// One customer's late siblings: by station their visits and the work that these bring.
struct Own {
    flow: Vec<f64>,
    load: Vec<f64>,
}

impl Own {
    fn scaled(&self, by: f64) -> Self {
        let scale = |values: &[f64]| values.iter().map(|value| value * by).collect();
        Self { flow: scale(&self.flow), load: scale(&self.load) }
    }
}

/// What a customer finds at a station.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    queue: f64,
    /// Mean service of those, times how many.
    work_s: f64,
    busy: f64,
}

fn closed(problem: &Problem<'_>, path: &Path) -> Result<Solved, QueueingError> {
    let chain = &problem.chains[0];
    let mut found = vec![Found::default(); problem.stations];
    let mut solved =
        Solved { throughput_per_s: vec![0.0], responses_s: responses(problem, &found, None) };
    let mut late = Times::of(problem, path, &solved.responses_s).late;
    let mut x = 1.0 / Times::of(problem, path, &solved.responses_s).cycle_s;
    for users in 1..=chain.users {
        let mut settled = false;
        for _ in 0..MOST_STEPS {
            // One customer's own late siblings, by Little's law.
            let own = late.scaled(x / f64::from(users));
            if let Some(station) = (0..problem.stations).find(|s| {
                problem.waits(*s) && own.load[*s] >= f64::from(problem.station(*s).servers)
            }) {
                return Err(diverges(problem, station));
            }
            solved.responses_s = responses(problem, &found, Some(&own));
            let times = Times::of(problem, path, &solved.responses_s);
            let next = f64::from(users) / times.cycle_s;
            settled = (next - x).abs() <= CONVERGED * next;
            (x, late) = (next, times.late);
            if settled {
                break;
            }
        }
        for (index, found) in found.iter_mut().enumerate() {
            *found = Found::default();
            for (class, response_s) in solved.responses_s[index].iter().enumerate() {
                let flow = x * chain.visits[index][class];
                let service_s = problem.station(index).mean_s(class);
                found.queue += flow * response_s;
                found.work_s += flow * response_s * service_s;
                found.busy += flow * service_s;
            }
            let servers = f64::from(problem.station(index).servers);
            if problem.waits(index) && found.busy >= servers * (1.0 - 1e-6) {
                return Err(diverges(problem, index));
            }
        }
        if !settled {
            return Err(QueueingError::Unsuited(format!(
                "fork_join can't solve this: with {users} users it doesn't settle in {MOST_STEPS} steps; simulate it"
            )));
        }
    }
    solved.throughput_per_s = vec![x];
    Ok(solved)
}

fn diverges(problem: &Problem<'_>, station: usize) -> QueueingError {
    QueueingError::Diverges(format!(
        "station {}: siblings that are waited for no longer pile up there without end; \
         let late ones be discarded or cancelled, or wait for more of them",
        problem.name(station)
    ))
}

/// Responses of visits, by station and class.
fn responses(problem: &Problem<'_>, found: &[Found], own: Option<&Own>) -> Vec<Vec<f64>> {
    (0..problem.stations)
        .map(|index| {
            let station = problem.station(index);
            let classes = 0..problem.model.classes.len();
            if station.kind == StationKind::Delay {
                return classes.map(|class| station.mean_s(class)).collect();
            }
            let servers = f64::from(station.servers);
            let Found { mut queue, mut work_s, mut busy } = found[index];
            if let Some(own) = own {
                // Own late siblings wait as long as others do, behind each other.
                let service_s = if own.flow[index] > 0.0 { own.load[index] / own.flow[index] } else { 0.0 };
                let before = waiting::before(queue, busy, station.servers) / servers;
                let there = own.load[index] * (1.0 + before) / (1.0 - own.load[index] / servers);
                queue += there;
                work_s += there * service_s;
                busy += own.load[index];
            }
            let before = waiting::before(queue, busy, station.servers) / servers;
            let mean_s = if queue > 0.0 { work_s / queue } else { 0.0 };
            let respond = |class: usize| {
                let service_s = station.mean_s(class);
                match station.discipline {
                    Discipline::Ps => service_s * (1.0 + before),
                    Discipline::Fcfs | Discipline::Priority => service_s + mean_s * before,
                }
            };
            classes.map(respond).collect()
        })
        .collect()
}

/// How long a cycle takes, and what is late in it.
struct Times {
    cycle_s: f64,
    late: Own,
}

impl Times {
    fn of(problem: &Problem<'_>, path: &Path, responses_s: &[Vec<f64>]) -> Self {
        let none = vec![0.0; problem.stations];
        let mut late = Own { flow: none.clone(), load: none };
        let (cycle_s, _) = passage(problem, path, responses_s, &mut |weight, sibling, share| {
            for (station, class, visits) in &sibling.visits {
                let flow = weight * visits * share;
                late.flow[*station] += flow;
                late.load[*station] += flow * problem.station(*station).mean_s(*class);
            }
        });
        Self { cycle_s, late }
    }
}

/// Told of each sibling's path: how often it is taken in a cycle, and which share of its time is late.
type OnSibling<'a> = &'a mut dyn FnMut(f64, &Path, f64);

/// Mean and variance of the time that a path takes.
fn passage(
    problem: &Problem<'_>,
    path: &Path,
    responses_s: &[Vec<f64>],
    on_sibling: OnSibling<'_>,
) -> (f64, f64) {
    let (mut mean_s, mut variance) = (0.0, 0.0);
    // Of something that happens so often: once, by chance, or again and again.
    let mut add = |times: f64, each_s: f64, scv: f64| {
        mean_s += times * each_s;
        let chance = if times < 1.0 { times * (1.0 - times) } else { 0.0 };
        variance += (times * scv + chance) * each_s * each_s;
    };
    for (station, class, visits) in &path.visits {
        let it = problem.station(*station);
        let scv = match (&it.service[*class], it.kind) {
            (Some(service), StationKind::Delay) => service.scv(),
            // With others in the queue a response is nearly exponential, as it is in M/M/1.
            _ => 1.0,
        };
        add(*visits, responses_s[*station][*class], scv);
    }
    for (flow, _, split) in &path.splits {
        let joined_s = passage_of_split(problem, split, responses_s, *flow, on_sibling);
        add(*flow, joined_s, 1.0);
    }
    (mean_s, variance)
}

/// Mean time from fork to join.
fn passage_of_split(
    problem: &Problem<'_>,
    split: &Split,
    responses_s: &[Vec<f64>],
    flow: f64,
    on_sibling: OnSibling<'_>,
) -> f64 {
    let mut means_s = Vec::with_capacity(split.siblings.len());
    let mut times = Vec::with_capacity(split.siblings.len());
    let taken = flow * split.copies as f64 / split.siblings.len() as f64;
    for ways in &split.siblings {
        let share = 1.0 / ways.len() as f64;
        let moments: Vec<(f64, f64)> = ways
            .iter()
            .map(|way| {
                passage(problem, way, responses_s, &mut |weight, sibling, late| {
                    on_sibling(weight * taken * share, sibling, late);
                })
            })
            .collect();
        means_s.push(moments.iter().map(|(mean, _)| mean * share).sum::<f64>());
        times.push(moments.into_iter().map(|(mean, var)| Time::new(mean, var)).collect::<Vec<_>>());
    }
    let joined = join(&times, &means_s, split.copies, split.wait_for);
    for ((ways, late_s), mean_s) in split.siblings.iter().zip(&joined.late_s).zip(&means_s) {
        if *mean_s > 0.0 {
            for way in ways {
                on_sibling(taken / ways.len() as f64, way, late_s / mean_s);
            }
        }
    }
    joined.mean_s
}

fn report(problem: &Problem<'_>, paths: &[Path], solved: &Solved) -> Solution {
    let model = problem.model;
    let classes = model.classes.len();
    let mut visits = Visits::new(problem);
    let mut away = vec![vec![0.0; classes]; paths.len()];
    for (index, (chain, path)) in problem.chains.iter().zip(paths).enumerate() {
        let x = solved.throughput_per_s[index];
        for station in 0..problem.stations {
            for class in 0..classes {
                let flow = x * chain.visits[station][class];
                visits.add(station, class, flow, flow * solved.responses_s[station][class]);
            }
        }
        for (station, class, times) in &path.visits {
            if *station != chain.reference {
                away[index][*class] += x * times * solved.responses_s[*station][*class];
            }
        }
        for (flow, class, split) in &path.splits {
            let joined_s =
                passage_of_split(problem, split, &solved.responses_s, 1.0, &mut |_, _, _| {});
            away[index][*class] += x * flow * joined_s;
        }
    }
    let results = (0..classes).map(|class| {
        let Some(index) = problem.chains.iter().position(|c| c.classes.contains(&class)) else {
            return class_result(problem, class, 0.0, None);
        };
        let x = solved.throughput_per_s[index] * ending(problem, index, class);
        class_result(problem, class, x, (x > 0.0).then(|| away[index][class] / x))
    });
    let mut assumes = vec!["siblings take independent times".to_owned()];
    assumes.extend(suited::assumed(problem).into_iter().filter(|text| !text.starts_with("at ")));
    Solution {
        solver: "fork_join".to_owned(),
        exact: false,
        assumes,
        classes: results.collect(),
        chains: (0..paths.len())
            .map(|chain| {
                let x = solved.throughput_per_s[chain];
                chain_result(problem, chain, x, away[chain].iter().sum::<f64>() / x)
            })
            .collect(),
        stations: visits.stations(problem, &vec![None; problem.stations]),
    }
}
