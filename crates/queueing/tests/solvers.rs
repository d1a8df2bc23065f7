//! Laws of queueing that every solver keeps, in random networks.

mod random;

use pacelc_queueing::solution::Solution;
use pacelc_queueing::solvers::bounds::bounds;
use pacelc_queueing::solvers::{ALL, Problem, solve};
use pacelc_queueing::{Distribution, Model, Network};
use proptest::prelude::*;
use random::{Limits, closed};

/// Small enough for the Markov chain of all states.
const SMALL: Limits = Limits { stations: 3, chains: 2, users: 2, mixed_fcfs: false };
const LARGER: Limits = Limits { stations: 8, chains: 3, users: 12, mixed_fcfs: false };
const CROWDED: Limits = Limits { stations: 6, chains: 3, users: 40, mixed_fcfs: true };
const MIXED: Limits = Limits { stations: 3, chains: 2, users: 2, mixed_fcfs: true };

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs()).max(1e-9)
}

/// The greatest relative difference of throughputs, and of responses.
fn differences(a: &Solution, b: &Solution) -> (f64, f64) {
    let off = |a: f64, b: f64| if b == 0.0 { a.abs() } else { (a / b - 1.0).abs() };
    let pairs = a.chains.iter().zip(&b.chains);
    pairs.fold((0.0, 0.0), |(x, r), (a, b)| {
        (
            f64::max(x, off(a.throughput_per_s, b.throughput_per_s)),
            f64::max(r, off(a.response_s, b.response_s)),
        )
    })
}

/// Every number of a solution, in order.
fn numbers(solution: &Solution) -> Vec<f64> {
    let chains = solution.chains.iter().flat_map(|c| [c.throughput_per_s, c.response_s]);
    let classes =
        solution.classes.iter().flat_map(|c| [c.throughput_per_s, c.response_s.unwrap_or(0.0)]);
    let stations = solution.stations.iter().flat_map(|station| {
        let visits = station.classes.iter();
        let visits =
            visits.flat_map(|v| [v.throughput_per_s, v.response_s, v.queue, v.utilisation]);
        [station.queue, station.utilisation].into_iter().chain(visits).collect::<Vec<_>>()
    });
    chains.chain(classes).chain(stations).collect()
}

fn same(a: &Solution, b: &Solution, relative: f64) -> Result<(), TestCaseError> {
    for (x, y) in numbers(a).into_iter().zip(numbers(b)) {
        prop_assert!(
            near(x, y, relative),
            "{x} and {y} of {} and {}\n{a:#?}\n{b:#?}",
            a.solver,
            b.solver
        );
    }
    Ok(())
}

/// No chain of an exact solution crosses its bounds.
fn within_bounds(model: &Model, exact: &Solution) -> Result<(), TestCaseError> {
    for (bound, chain) in bounds(model).expect("it has some").iter().zip(&exact.chains) {
        let (x, r) = (&bound.throughput_per_s, &bound.response_s);
        let within = x.least * (1.0 - 1e-9) <= chain.throughput_per_s
            && chain.throughput_per_s <= x.most * (1.0 + 1e-9)
            && r.least <= chain.response_s + 1e-9
            && chain.response_s <= r.most + 1e-9;
        prop_assert!(within, "{bound:?} {chain:?}");
    }
    Ok(())
}

/// Every solution that the solvers suited for it find.
fn solutions(model: &Model) -> Vec<Solution> {
    let problem = Problem::new(model).expect("it was made to be");
    ALL.iter()
        .filter(|solver| solver.unsuited(&problem).is_none())
        .map(|solver| solver.solve(&problem).expect("it was made to be"))
        .collect()
}

/// Little's law, the utilisation law, and the conservation of customers and flows.
fn keeps_the_laws(model: &Model, solution: &Solution) -> Result<(), TestCaseError> {
    let problem = Problem::new(model).expect("it was made to be");
    let tight = 1e-8;
    for (index, station) in solution.stations.iter().enumerate() {
        for (class, visit) in station.classes.iter().enumerate() {
            prop_assert!(near(visit.queue, visit.throughput_per_s * visit.response_s, tight));
            let it = model.station(index);
            let busy = visit.throughput_per_s * it.mean_s(class);
            let each = if problem.waits(index)
                || it.kind == pacelc_queueing::network::StationKind::Queue
            {
                busy / f64::from(it.servers)
            } else {
                busy
            };
            prop_assert!(near(visit.utilisation, each, tight), "{solution:#?}");
            prop_assert!(
                visit.response_s >= it.mean_s(class) * (1.0 - tight) || visit.queue == 0.0
            );
            let flow: f64 = problem
                .chains
                .iter()
                .zip(&solution.chains)
                .map(|(chain, result)| chain.visits[index][class] * result.throughput_per_s)
                .sum();
            prop_assert!(near(visit.throughput_per_s, flow, tight), "{solution:#?}");
        }
    }
    for (chain, result) in problem.chains.iter().zip(&solution.chains) {
        let there: f64 = chain
            .classes
            .iter()
            .flat_map(|class| solution.stations.iter().map(move |s| s.classes[*class].queue))
            .sum();
        prop_assert!(near(there, f64::from(chain.users), tight), "{there} of {}", chain.users);
        let own: f64 = chain
            .classes
            .iter()
            .map(|c| solution.stations[chain.reference].classes[*c].queue)
            .sum();
        prop_assert!(near(
            result.throughput_per_s * result.response_s + own,
            f64::from(chain.users),
            tight
        ));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn exact_solvers_agree(network in closed(SMALL)) {
        let model = network.compile().unwrap();
        let exact = solve(&model, Some("ctmc")).unwrap();
        prop_assert!(exact.exact);
        keeps_the_laws(&model, &exact)?;
        for name in ["mva", "convolution"] {
            let other = solve(&model, Some(name)).unwrap();
            prop_assert!(other.exact, "{:?}", other.assumes);
            same(&other, &exact, 1e-7)?;
        }
    }

    #[test]
    fn laws_hold_in_every_solution(network in closed(LARGER)) {
        let model = network.compile().unwrap();
        let problem = Problem::new(&model).unwrap();
        let exact = solve(&model, None).unwrap();
        for solver in ALL.iter().filter(|s| s.name() != "ctmc" && s.unsuited(&problem).is_none()) {
            let solution = solver.solve(&problem).unwrap();
            keeps_the_laws(&model, &solution)?;
            if solution.exact {
                same(&solution, &exact, 1e-9)?;
            }
        }
    }

    #[test]
    fn laws_hold_where_order_matters(network in closed(CROWDED)) {
        let model = network.compile().unwrap();
        let problem = Problem::new(&model).unwrap();
        for name in ["fcfs", "linearizer", "schweitzer"] {
            let solver = ALL.iter().find(|solver| solver.name() == name).expect("there is one");
            if solver.unsuited(&problem).is_none() {
                let solution = solver.solve(&problem).unwrap();
                keeps_the_laws(&model, &solution)?;
                for (index, station) in solution.stations.iter().enumerate() {
                    let full = name == "fcfs" && problem.waits(index) && station.utilisation > 1.0 + 1e-9;
                    prop_assert!(!full, "{} {}", station.name, station.utilisation);
                }
            }
        }
    }

    #[test]
    fn bounds_are_not_crossed(network in closed(LARGER)) {
        let model = network.compile().unwrap();
        within_bounds(&model, &solve(&model, None).unwrap())?;
    }

    #[test]
    fn bounds_are_not_crossed_where_order_matters(network in closed(MIXED)) {
        let model = network.compile().unwrap();
        within_bounds(&model, &solve(&model, Some("ctmc")).unwrap())?;
    }

    #[test]
    fn approximations_are_near(network in closed(LARGER)) {
        let model = network.compile().unwrap();
        let exact = solve(&model, None).unwrap();
        let linearizer = differences(&solve(&model, Some("linearizer")).unwrap(), &exact);
        let schweitzer = differences(&solve(&model, Some("schweitzer")).unwrap(), &exact);
        // Of 600 such networks: at most 3.5 and 6 %, and 14 and 22 %; among thousands one was 10 and 11 % off.
        prop_assert!(linearizer.0 < 0.15 && linearizer.1 < 0.2, "{linearizer:?}");
        prop_assert!(schweitzer.0 < 0.3 && schweitzer.1 < 0.4, "{schweitzer:?}");
    }

    #[test]
    fn order_and_different_service_are_near(network in closed(MIXED)) {
        let model = network.compile().unwrap();
        let exact = solve(&model, Some("ctmc")).unwrap();
        let chosen = solve(&model, None).unwrap();
        let (x, r) = differences(&chosen, &exact);
        // Of 2,000 such networks: at most 3 and 6 % where one set of users is mixed; where several are, in the mean 1 and
        // 1 %, one in twenty by more than 5 %, and the worst 21 and 36 % off: few users who share two servers.
        let several = exact.chains.len() > 1;
        let (most_x, most_r) = if several { (0.35, 0.6) } else { (0.06, 0.12) };
        prop_assert!(x < most_x && r < most_r, "{} {x} {r}", chosen.solver);
    }

    #[test]
    fn order_of_writing_is_no_matter(network in closed(LARGER)) {
        let mut turned = network.clone();
        turned.classes.reverse();
        turned.stations[1..].reverse();
        let (one, other) = (network.compile().unwrap(), turned.compile().unwrap());
        let (one, mut other) = (solve(&one, None).unwrap(), solve(&other, None).unwrap());
        other.classes.reverse();
        other.stations[1..].reverse();
        other.stations.iter_mut().for_each(|station| station.classes.reverse());
        other.chains = one.chains.iter().map(|chain| {
            let mut names = chain.classes.clone();
            names.reverse();
            other.chains.iter().find(|c| c.classes == names || c.classes == chain.classes).unwrap().clone()
        }).collect();
        same(&one, &other, 1e-9)?;
    }

    #[test]
    fn units_are_no_matter(network in closed(SMALL)) {
        // A power of two, so that nothing is rounded: about a microsecond for a second.
        let unit = 2.0_f64.powi(-20);
        let mut tiny = network.clone();
        for service in tiny.stations.iter_mut().flat_map(|station| station.service.values_mut()) {
            *service = service.with_mean(service.mean_s() * unit);
        }
        let (seconds, micros) = (network.compile().unwrap(), tiny.compile().unwrap());
        for (seconds, mut micros) in solutions(&seconds).into_iter().zip(solutions(&micros)) {
            for chain in &mut micros.chains {
                chain.throughput_per_s *= unit;
                chain.response_s /= unit;
            }
            for class in &mut micros.classes {
                class.throughput_per_s *= unit;
                class.response_s = class.response_s.map(|r| r / unit);
            }
            for visit in micros.stations.iter_mut().flat_map(|s| &mut s.classes) {
                visit.throughput_per_s *= unit;
                visit.response_s /= unit;
            }
            prop_assert_eq!(seconds, micros);
        }
    }
}

fn model(text: &str) -> Model {
    Network::from_json(text).expect("it was made to be").compile().expect("it was made to be")
}

/// Two users who come to nothing but a processor, beside two who think and use a disk.
fn background(classes: &str) -> Model {
    model(&format!(
        r#"{{"classes": [{classes}], "stations": [
            {{"name": "client", "kind": "delay", "service": {{"b": 1.0}}}},
            {{"name": "cpu", "servers": 2, "discipline": "ps", "service": {{"*": 1.0}}}},
            {{"name": "disk", "service": {{"b": 1.0}}}}],
            "routing": {{"client": {{"b": "cpu"}}, "cpu": {{"a": "cpu", "b": "disk"}}, "disk": {{"b": "client"}}}}}}"#
    ))
}

#[test]
fn users_of_one_station_alone_are_solved_exactly_in_any_order() {
    let (a, b) = (
        r#"{"name": "a", "users": 2, "reference": "cpu"}"#,
        r#"{"name": "b", "users": 2, "reference": "client"}"#,
    );
    for classes in [format!("{a}, {b}"), format!("{b}, {a}")] {
        let model = background(&classes);
        let exact = solve(&model, Some("ctmc")).unwrap();
        let found = solve(&model, Some("mva")).unwrap();
        assert!(found.exact);
        same(&found, &exact, 1e-7).unwrap();
    }
}

#[test]
fn whoever_meets_a_slow_customer_everywhere_is_within_the_bounds() {
    let network = r#"{"classes": [{"name": "a", "users": 1}, {"name": "b", "users": 1}], "stations": [
        {"name": "s", "service": {"a": 1e-6, "b": 1.0}}, {"name": "t", "service": {"a": 1e-6, "b": 1.0}}],
        "routing": {"s": {"*": "t"}, "t": {"*": "s"}}}"#;
    let model = model(network);
    let x = solve(&model, Some("ctmc")).unwrap().chains[0].throughput_per_s;
    let bound = bounds(&model).unwrap()[0].throughput_per_s;
    assert!((x - 0.5).abs() < 0.01 && bound.least <= x && x <= bound.most, "{x} {bound:?}");
}

#[test]
fn variable_service_is_within_the_bounds_of_one_set_of_users_and_has_none_of_several() {
    let network = |more: &str| {
        let wild = r#"{"distribution": "hyperexponential", "mean": 1.0, "scv": 500.0}"#;
        model(&format!(
            r#"{{"classes": [{{"name": "a", "users": 2}}{more}], "stations": [
            {{"name": "s", "service": {{"*": {wild}}}}}, {{"name": "t", "service": {{"*": {wild}}}}}],
            "routing": {{"s": {{"*": "t"}}, "t": {{"*": "s"}}}}}}"#
        ))
    };
    let one = network("");
    let x = solve(&one, Some("ctmc")).unwrap().chains[0].throughput_per_s;
    let bound = bounds(&one).unwrap()[0].throughput_per_s;
    assert!(x < 0.6 && bound.least <= x && x <= bound.most, "{x} {bound:?}");
    let error = bounds(&network(r#", {"name": "b", "users": 1}"#)).unwrap_err().to_string();
    assert!(error.contains("station s: with several sets of users"), "{error}");
}

#[test]
fn ways_round_that_take_no_time_are_named() {
    let network = r#"{"classes": [{"name": "a", "users": 1}, {"name": "b", "users": 1}], "stations": [
        {"name": "client", "kind": "delay", "service": {"*": 1.0}},
        {"name": "cpu", "discipline": "priority", "service": {"*": 1.0}, "cached": {"*": 0.5}}],
        "routing": {"client": {"*": "cpu"}, "cpu": {"*": {"cpu": 0.5, "client": 0.5}}}}"#;
    let error = solve(&model(network), Some("ctmc")).unwrap_err().to_string();
    assert!(error.contains("may come back to it in no time"), "{error}");
}

#[test]
fn too_many_users_for_the_chain_of_all_states_are_refused_at_once() {
    let network = r#"{"classes": [{"name": "a", "users": 1000}, {"name": "b", "users": 1000}], "stations": [
        {"name": "client", "kind": "delay", "service": {"*": 1.0}},
        {"name": "cpu", "discipline": "priority", "service": {"*": 1.0}}],
        "routing": {"client": {"*": "cpu"}, "cpu": {"*": "client"}}}"#;
    let error = solve(&model(network), Some("ctmc")).unwrap_err().to_string();
    assert!(error.contains("more than 30000 states"), "{error}");
}

#[test]
fn a_fork_that_can_be_chosen_in_too_many_ways_is_refused_at_once() {
    let names: Vec<String> = (0..12).map(|i| format!("n{i}")).collect();
    let station = |name: &String| format!(r#"{{"name": "{name}", "service": {{"*": 1.0}}}}"#);
    let ways = |copies: usize| {
        let to_join = |name: &String| format!(r#""{name}": {{"copy": "set.join"}}"#);
        solve(
            &model(&format!(
                r#"{{"classes": [{{"name": "write", "users": 1}}, {{"name": "copy"}}],
                "stations": [{{"name": "client", "kind": "delay", "service": {{"*": 1.0}}}}, {}],
                "forks": [{{"name": "set", "branches": {names:?}, "copies": {copies}, "join": 1,
                    "classes": {:?}, "late": "cancel"}}],
                "routing": {{"client": {{"*": "set"}}, "set.join": {{"*": "client"}}, {}}}}}"#,
                names.iter().map(station).collect::<Vec<_>>().join(", "),
                vec!["copy"; copies],
                names.iter().map(to_join).collect::<Vec<_>>().join(", "),
            )),
            Some("ctmc"),
        )
    };
    assert!((ways(2).unwrap().chains[0].response_s - 0.5).abs() < 1e-9);
    let error = ways(12).unwrap_err().to_string();
    assert!(error.contains("fork set: it has more than 5040 ways"), "{error}");
}

#[test]
fn a_station_with_rates_of_its_own_is_solved_as_exponential_and_that_is_said() {
    let network = |own: &str| {
        model(&format!(
            r#"{{"classes": [{{"name": "a", "interarrival": 1.0}}], "stations": [
            {{"name": "s", {own}, "service": {{"a": {{"distribution": "deterministic", "value": 0.5}}}}}}],
            "routing": {{"source": {{"a": "s"}}, "s": {{"a": "sink"}}}}}}"#
        ))
    };
    // M/M/1 by its rates; M/D/1 by Pollaczek and Khinchine.
    for (own, response_s, assumed) in [
        (r#""rates": [1.0]"#, 1.0, "service at s is exponential"),
        (r#""servers": 1"#, 0.75, "arrivals at s are Poisson"),
    ] {
        let found = solve(&network(own), Some("jackson")).unwrap();
        assert!(near(found.chains[0].response_s, response_s, 1e-9), "{own}: {found:?}");
        assert_eq!(found.assumes.len(), 1, "{:?}", found.assumes);
        assert!(found.assumes[0].starts_with(assumed), "{:?}", found.assumes);
    }
}

#[test]
fn many_servers_and_customers_stay_exact() {
    // The recursion that gets the probability of none by subtraction is 150 % off here.
    let network = |servers: u32, users: u32| {
        let text = format!(
            r#"{{"classes": [{{"name": "a", "users": {users}}}], "stations": [
                {{"name": "z", "kind": "delay", "service": {{"a": 1.0}}}},
                {{"name": "s", "servers": {servers}, "service": {{"a": 0.1}}}}],
                "routing": {{"z": {{"a": "s"}}, "s": {{"a": "z"}}}}}}"#
        );
        Network::from_json(&text).unwrap().compile().unwrap()
    };
    for (servers, users) in [(8, 100), (8, 1_000), (64, 900), (2, 10_000)] {
        let model = network(servers, users);
        // The machine repair model: π(n) ∝ users! / (users − n)! · 0.1ⁿ / β(n), in logarithms.
        let (mut log, mut logs) = (0.0, vec![0.0]);
        for n in 1..=users {
            log += (f64::from(users - n + 1) * 0.1 / f64::from(n.min(servers))).ln();
            logs.push(log);
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let queue: f64 = weights.iter().enumerate().map(|(n, w)| n as f64 * w / sum).sum();
        for name in ["mva", "convolution"] {
            let found = solve(&model, Some(name)).unwrap();
            let relative = (found.stations[1].queue / queue - 1.0).abs();
            assert!(relative < 1e-9, "{name} {servers} {users}: {relative:e}");
        }
    }
}

#[test]
fn a_distribution_that_is_no_exponential_is_named() {
    let mut network: Network = serde_json::from_str(
        r#"{"classes": [{"name": "a", "users": 3}], "stations": [{"name": "cpu", "service": {"a": 1.0}},
            {"name": "disk", "service": {"a": 1.0}}], "routing": {"cpu": {"a": "disk"}, "disk": {"a": "cpu"}}}"#,
    )
    .unwrap();
    network.stations[1].service.insert("a".into(), Distribution::Deterministic { value_s: 1.0 });
    let solution = solve(&network.compile().unwrap(), None).unwrap();
    assert_eq!(solution.assumes, ["service at disk is exponential"]);
    assert!(!solution.exact);
    let error = solve(&network.compile().unwrap(), Some("ctmc")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ctmc can't solve this: station disk: service of a isn't exponential, Erlang or hyperexponential"
    );
}
