//! Networks whose customers fork, and go on when k of n siblings are back: the others go on loading the stations.
//!
//! Mean value analysis in which a passage from fork to join takes the k-th order statistic of its siblings' times
//! (for k = n Varki, "Mean value technique for closed fork-join networks", SIGMETRICS 1999), which are nearly independent: a
//! little of the way to all being the same, as far as others keep the stations busy (Nelson and Tantawi, "Approximate
//! analysis of fork/join synchronization in parallel queues", IEEE Transactions on Computers 37(6), 1988). Late
//! siblings have no bound, as customers of an open class: they take their share of a station's servers, which
//! must be able to do what gets there, waited for or not. They are rather where many are than where few are, so that
//! siblings take longer than that, and those of the middle are held up by it most; by how much is fitted to simulations
//! of 3 and 5 equal nodes with 1 to 60 users ([`BEHIND`]). Against exact chains of three nodes throughput is
//! within 1.1 %, and response within 1.5 % for k ≥ 2, 2.3 and 4.3 % for k = 1; against simulations of five and of unequal
//! nodes, and of up to 60 users, within 2 and 3.5 % for k ≥ 2 (5 % where one user hardly thinks), 4.2 and 8 % for k = 1.
//! Open networks take stations as `jackson` does.

use super::jackson::alone;
use super::order::{Time, join};
use super::paths::{Path, Split};
use super::report::{Visits, chain_result, class_result, ending};
use super::{Problem, Solver, suited, waiting};
use crate::network::{self, Discipline, StationKind};
use crate::{QueueingError, Solution};

const MOST_STEPS: usize = 200;
const CONVERGED: f64 = 1e-7;
/// Visits that differ from one by rounding.
const ONCE: f64 = 1e-9;
/// In an open network a pair's join takes (12 − ρ)/8 of one's time (Nelson and Tantawi 1988), and 12/8 if they were
/// independent, 8/8 if they were the same.
const OPEN: f64 = 0.25;
/// In closed ones it is half of that, by comparison with exact chains of three siblings.
const CLOSED: f64 = 0.125;
/// How much longer a passage is for the late siblings of others, where stations are busy and half of the siblings
/// are waited for; nothing where all are, or only the first.
const BEHIND: f64 = 0.09;
/// Where more work is late than a station can do, the next try is what it can, but for this.
const ALMOST: f64 = 0.95;
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
            return Some(
                "forks are solved for one set of closed classes that become each other".to_owned(),
            );
        }
        if problem.users() > MOST_USERS {
            return Some(format!("it takes up to {MOST_USERS} users"));
        }
        let late = model
            .forks()
            .find(|(_, fork)| fork.wait_for < fork.copies && fork.late != network::Late::Serve);
        if let Some((index, _)) = late {
            return Some(format!(
                "fork {}: late siblings aren't served to their end",
                model.nodes[index].name
            ));
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

/// What visits are like.
struct Seen {
    /// By station and class.
    responses_s: Vec<Vec<f64>>,
    /// By station: from 0 where siblings' times are independent to 1 where they are the same.
    together: Vec<f64>,
    /// By station: the share of its servers that is busy, in a closed network.
    busy: Vec<f64>,
}

/// Throughputs by chain, and what visits are like.
struct Solved {
    throughput_per_s: Vec<f64>,
    seen: Seen,
}

fn open(problem: &Problem<'_>, paths: &[Path]) -> Result<Solved, QueueingError> {
    debug_assert_eq!(paths.len(), problem.chains.len());
    let stations = problem.stations;
    let mut seen =
        Seen { responses_s: Vec::new(), together: Vec::new(), busy: vec![0.0; stations] };
    for index in 0..problem.stations {
        let station = problem.station(index);
        let alone = alone(problem, index)?;
        let classes = 0..problem.model.classes.len();
        let responses = classes.map(|class| alone.response_s(station.mean_s(class)));
        seen.responses_s.push(responses.collect());
        let load: f64 = problem
            .chains
            .iter()
            .zip(&problem.demands_s[index])
            .map(|(chain, demand)| chain.arrivals_per_s * demand)
            .sum();
        seen.together.push(share(problem, index, load) * OPEN);
    }
    let throughput_per_s = problem.chains.iter().map(|chain| chain.arrivals_per_s).collect();
    Ok(Solved { throughput_per_s, seen })
}

/// What late siblings bring to a station in a cycle.
#[derive(Debug, Clone, Copy, Default)]
struct Late {
    /// Service, in seconds.
    load: f64,
    /// Time there, in seconds, and that times the service of each.
    time: f64,
    work: f64,
}

/// What a customer finds at a station, late siblings aside.
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
    let mut solved = Solved {
        throughput_per_s: vec![0.0],
        seen: seen(problem, &found, &vec![0.0; problem.stations], 1),
    };
    let mut times = Times::of(problem, path, &solved.seen);
    let mut x = 1.0 / times.cycle_s;
    for users in 1..=chain.users {
        settle(problem, path, users, &found, &mut solved, &mut times, &mut x)?;
        for (index, found) in found.iter_mut().enumerate() {
            let late = &times.late[index];
            *found = Found { queue: -x * late.time, work_s: -x * late.work, busy: -x * late.load };
            for (class, response_s) in solved.seen.responses_s[index].iter().enumerate() {
                let flow = x * chain.visits[index][class];
                let service_s = problem.station(index).mean_s(class);
                found.queue += flow * response_s;
                found.work_s += flow * response_s * service_s;
                found.busy += flow * service_s;
            }
            let servers = f64::from(problem.station(index).servers);
            let piles_up = found.busy + x * late.load >= servers * (1.0 - 1e-6);
            if problem.waits(index) && late.load > 0.0 && piles_up {
                return Err(diverges(problem, index));
            }
        }
    }
    solved.throughput_per_s = vec![x];
    Ok(solved)
}

/// Find the throughput `x` that goes with the times that go with it, for so many users.
fn settle(
    problem: &Problem<'_>,
    path: &Path,
    users: u32,
    found: &[Found],
    solved: &mut Solved,
    times: &mut Times,
    x: &mut f64,
) -> Result<(), QueueingError> {
    // The last try, and by how much what came out of it was more.
    let mut last: Option<(f64, f64)> = None;
    let mut full = None;
    for _ in 0..MOST_STEPS {
        let late: Vec<f64> = times.late.iter().map(|late| late.load * *x).collect();
        let most = (0..problem.stations)
            .filter(|station| problem.waits(*station))
            .map(|station| (station, late[station] / f64::from(problem.station(station).servers)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((station, most)) = most.filter(|(_, most)| *most >= 1.0) {
            (full, last) = (Some(station), None);
            *x *= ALMOST / most;
            continue;
        }
        solved.seen = seen(problem, found, &late, users);
        *times = Times::of(problem, path, &solved.seen);
        let next = f64::from(users) / times.cycle_s;
        // Nothing but what is late depends on the throughput.
        let punctual =
            late.iter().all(|late| *late == 0.0) && times.late.iter().all(|late| late.load == 0.0);
        let more = next - *x;
        if punctual || more.abs() <= CONVERGED * next {
            *x = next;
            return Ok(());
        }
        // Where both tries' straight line has it, if that isn't far.
        let line = last.map(|(before, by)| *x - more * (*x - before) / (more - by));
        last = Some((*x, more));
        *x = match line {
            Some(line) if line > 0.5 * *x && line < 2.0 * *x => line,
            _ => next,
        };
    }
    Err(match full {
        Some(station) => diverges(problem, station),
        None => QueueingError::Unsuited(format!(
            "fork_join can't solve this: with {users} users it doesn't settle in {MOST_STEPS} steps; simulate it"
        )),
    })
}

fn diverges(problem: &Problem<'_>, station: usize) -> QueueingError {
    QueueingError::Diverges(format!(
        "station {}: siblings that are waited for no longer pile up there without end; \
         let late ones be discarded or cancelled, or wait for more of them",
        problem.name(station)
    ))
}

/// The share of a station's servers that so much work keeps busy; of those that nobody waits for none.
fn share(problem: &Problem<'_>, index: usize, busy: f64) -> f64 {
    if !problem.waits(index) {
        return 0.0;
    }
    (busy / f64::from(problem.station(index).servers)).clamp(0.0, 1.0)
}

/// What visits are like. Late siblings are to others what an open class is in a mixed network
/// (Lazowska et al., chapter 7): they take their share of the servers.
fn seen(problem: &Problem<'_>, found: &[Found], late: &[f64], users: u32) -> Seen {
    let responses_s = (0..problem.stations)
        .map(|index| {
            let station = problem.station(index);
            let classes = 0..problem.model.classes.len();
            if station.kind == StationKind::Delay {
                return classes.map(|class| station.mean_s(class)).collect();
            }
            let servers = f64::from(station.servers);
            let Found { queue, work_s, busy } = found[index];
            let share = 1.0 / (1.0 - late[index] / servers);
            let before = waiting::before(queue, busy, station.servers) / servers;
            let mean_s = if queue > 0.0 { work_s / queue } else { 0.0 };
            let respond = |class: usize| {
                let service_s = station.mean_s(class);
                match station.discipline {
                    Discipline::Ps => service_s * (1.0 + before) * share,
                    Discipline::Fcfs | Discipline::Priority | Discipline::Siro => {
                        let behind_late_s = service_s * (share - 1.0);
                        service_s + mean_s * before * share + behind_late_s
                    }
                }
            };
            classes.map(respond).collect()
        })
        .collect();
    // Where others keep stations busy, those who come together find much the same.
    let others = 1.0 - 1.0 / f64::from(users);
    let all = || found.iter().zip(late).enumerate();
    let together =
        all().map(|(at, (found, late))| share(problem, at, found.busy + late * others) * CLOSED);
    let busy = all().map(|(at, (found, late))| share(problem, at, found.busy + late));
    Seen { responses_s, together: together.collect(), busy: busy.collect() }
}

/// How long a cycle takes, and what is late in it.
struct Times {
    cycle_s: f64,
    /// By station.
    late: Vec<Late>,
}

impl Times {
    fn of(problem: &Problem<'_>, path: &Path, seen: &Seen) -> Self {
        let mut late = vec![Late::default(); problem.stations];
        let mut add = |weight: f64, sibling: &Path, share: f64| {
            for (station, class, visits) in &sibling.visits {
                let flow = weight * visits * share;
                let service_s = problem.station(*station).mean_s(*class);
                let time = flow * seen.responses_s[*station][*class];
                let late = &mut late[*station];
                late.load += flow * service_s;
                late.time += time;
                late.work += time * service_s;
            }
        };
        let Passage { mean_s: cycle_s, .. } = passage(problem, path, seen, &mut add);
        Self { cycle_s, late }
    }
}

/// Told of each sibling's path: how often it is taken in a cycle, and which share of its time is late.
type OnSibling<'a> = &'a mut dyn FnMut(f64, &Path, f64);

/// The time that a path takes.
struct Passage {
    /// What is certain of it: delays that are always the same, on the way of everyone.
    least_s: f64,
    mean_s: f64,
    variance: f64,
}

fn passage(problem: &Problem<'_>, path: &Path, seen: &Seen, on_sibling: OnSibling<'_>) -> Passage {
    let (mut least_s, mut mean_s, mut variance) = (0.0, 0.0, 0.0);
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
        let each_s = seen.responses_s[*station][*class];
        if scv == 0.0 && (*visits - 1.0).abs() < ONCE {
            least_s += each_s;
        }
        add(*visits, each_s, scv);
    }
    for (flow, _, split) in &path.splits {
        let joined_s = passage_of_split(problem, split, seen, *flow, on_sibling);
        add(*flow, joined_s, 1.0);
    }
    Passage { least_s, mean_s, variance }
}

/// Mean time from fork to join.
fn passage_of_split(
    problem: &Problem<'_>,
    split: &Split,
    seen: &Seen,
    flow: f64,
    on_sibling: OnSibling<'_>,
) -> f64 {
    let mut means_s = Vec::with_capacity(split.siblings.len());
    let mut times = Vec::with_capacity(split.siblings.len());
    let taken = flow * split.copies as f64 / split.siblings.len() as f64;
    let (mut together, mut busy) = (0.0, 0.0);
    for ways in &split.siblings {
        let visited = || ways.iter().flat_map(|way| &way.visits).map(|(station, ..)| *station);
        together += visited().map(|station| seen.together[station]).fold(0.0, f64::max);
        busy += visited().map(|station| seen.busy[station]).fold(0.0, f64::max);
        let share = 1.0 / ways.len() as f64;
        let passages: Vec<Passage> = ways
            .iter()
            .map(|way| {
                passage(problem, way, seen, &mut |weight, sibling, late| {
                    on_sibling(weight * taken * share, sibling, late);
                })
            })
            .collect();
        means_s.push(passages.iter().map(|way| way.mean_s * share).sum::<f64>());
        let time = |way: &Passage| Time::new(way.least_s, way.mean_s, way.variance);
        times.push(passages.iter().map(time).collect::<Vec<_>>());
    }
    let joined = join(&times, &means_s, split.copies, split.wait_for);
    for ((ways, late_s), mean_s) in split.siblings.iter().zip(&joined.late_s).zip(&means_s) {
        if *mean_s > 0.0 {
            for way in ways {
                on_sibling(taken / ways.len() as f64, way, late_s / mean_s);
            }
        }
    }
    let siblings = split.siblings.len() as f64;
    let behind = BEHIND * middle(split.copies, split.wait_for) * evenness(&joined.late_s);
    let joined_s = joined.mean_s * (1.0 + behind * busy / siblings);
    joined_s + together / siblings * (all_the_same_s(&times, &means_s, split) - joined.mean_s)
}

/// When enough have come, if siblings are always long together: then they come in the order of their means.
fn all_the_same_s(times: &[Vec<Time>], means_s: &[f64], split: &Split) -> f64 {
    let mut means_s = match times {
        // Siblings that may go anywhere: what differs is where, and each place is taken once.
        [first, _, ..] if first.len() > 1 => (0..first.len())
            .map(|place| times.iter().map(|ways| ways[place].mean_s()).sum::<f64>())
            .map(|sum| sum / times.len() as f64)
            .collect(),
        _ => means_s.to_vec(),
    };
    means_s.sort_by(f64::total_cmp);
    let (n, copies, k) = (means_s.len(), split.copies, split.wait_for);
    // The k-th of those chosen is the j-th of all where k − 1 are chosen of those before it.
    let choices = |of: usize, chosen: usize| -> f64 {
        (0..chosen).map(|i| (of - i) as f64 / (i + 1) as f64).product()
    };
    let sum: f64 = (k..=n + k - copies)
        .map(|j| means_s[j - 1] * choices(j - 1, k - 1) * choices(n - j, copies - k))
        .sum();
    sum / choices(n, copies)
}

/// 1 where all siblings are late as often as each other, 0 where it is always the same one.
fn evenness(late_s: &[f64]) -> f64 {
    let n = late_s.len() as f64;
    let (sum, squares) = late_s.iter().fold((0.0, 0.0), |(a, b), late| (a + late, b + late * late));
    if squares == 0.0 { 0.0 } else { ((sum * sum / squares - 1.0) / (n - 1.0)).clamp(0.0, 1.0) }
}

/// From 0 where the first or all of n are waited for to 1 for the one in the middle.
fn middle(n: usize, k: usize) -> f64 {
    if n < 3 {
        return 0.0;
    }
    let most = ((n - 1) * (n - 1)) as f64 / 4.0;
    ((k - 1) * (n - k)) as f64 / most
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
                visits.add(station, class, flow, flow * solved.seen.responses_s[station][class]);
            }
        }
        for (station, class, times) in &path.visits {
            if *station != chain.reference {
                away[index][*class] += x * times * solved.seen.responses_s[*station][*class];
            }
        }
        for (flow, class, split) in &path.splits {
            let joined_s = passage_of_split(problem, split, &solved.seen, 1.0, &mut |_, _, _| {});
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
    let mut assumes = vec![
        "siblings' times are nearly independent, and each made of exponential phases".to_owned(),
    ];
    assumes.extend(suited::assumed_besides_order(problem));
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
