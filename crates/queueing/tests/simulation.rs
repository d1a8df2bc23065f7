//! The simulator against exact results, laws, and networks that can be computed by hand.

#![allow(clippy::float_cmp)] // What is never done is 0 exactly.

use pacelc_queueing::simulate::trace::{TraceOptions, trace};
use pacelc_queueing::simulate::transient::{TransientOptions, transient};
use pacelc_queueing::simulate::{Options, Simulated, StoppedBy, simulate};
use pacelc_queueing::solvers::solve;
use pacelc_queueing::{Model, Network, QueueingError};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::num::NonZero;

fn model(value: &Value) -> Model {
    Network::from_json(&value.to_string()).expect("a network").compile().expect("in order")
}

fn try_run(value: &Value, options: &Options) -> Result<Simulated, QueueingError> {
    simulate(&model(value), options, &|| false)
}

fn run(value: &Value) -> Simulated {
    try_run(value, &Options::default()).expect("it can be simulated")
}

/// Means by `share` of the expected value.
#[track_caller]
fn near(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= share * expected.abs(), "{found}, not {expected}");
}

/// One queue with arrivals from outside.
fn open(station: &Value, interarrival: &Value) -> Value {
    let mut station = station.clone();
    station["name"] = json!("server");
    json!({
        "classes": [{"name": "job", "interarrival": interarrival}],
        "stations": [station],
        "routing": {"source": {"job": "server"}, "server": {"job": "sink"}}
    })
}

/// Two queues and a delay, with users.
fn closed(users: u32) -> Value {
    json!({
        "classes": [{"name": "job", "users": users, "reference": "think"}],
        "stations": [
            {"name": "think", "kind": "delay", "service": {"job": "5ms"}},
            {"name": "cpu", "discipline": "ps", "service": {"job": "1ms"}},
            {"name": "disk", "service": {"job": "0.7ms"}}],
        "routing": {"think": {"job": "cpu"}, "cpu": {"job": {"disk": 0.5, "think": 0.5}}, "disk": {"job": "think"}}
    })
}

/// Throughput of a product-form network with one delay, by mean value analysis from first principles.
fn exact_throughput(users: u32, think_s: f64, demands_s: &[f64]) -> f64 {
    let mut queues = vec![0.0; demands_s.len()];
    let mut throughput = 0.0;
    for n in 1..=users {
        let responses: Vec<f64> =
            demands_s.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        throughput = f64::from(n) / (think_s + responses.iter().sum::<f64>());
        queues = responses.iter().map(|response| throughput * response).collect();
    }
    throughput
}

#[track_caller]
fn obeys_laws(model: &Model, found: &Simulated) {
    const LOOSE: f64 = 0.03;
    for (index, station) in found.solution.stations.iter().enumerate() {
        let it = model.station(index);
        for (class, visits) in station.classes.iter().enumerate() {
            near(visits.throughput_per_s * visits.response_s, visits.queue, LOOSE);
            if it.rates.is_empty() {
                let servers = if station.name == "think" { 1.0 } else { f64::from(it.servers) };
                let work = visits.throughput_per_s * it.mean_s(class);
                near(visits.utilisation * servers, work, LOOSE);
            }
        }
    }
    for chain in &found.solution.chains {
        assert!(chain.throughput_per_s > 0.0);
    }
}

#[test]
fn one_server_with_poisson_arrivals() {
    let network = open(&json!({"service": {"job": "1us"}}), &json!("1.25us"));
    let found = run(&network);
    assert_eq!(found.stopped_by, StoppedBy::Precision);
    assert!(found.precision <= 0.01);
    near(found.solution.chains[0].response_s, 5e-6, 0.02);
    near(found.solution.stations[0].utilisation, 0.8, 0.01);
    obeys_laws(&model(&network), &found);
    // The response of M/M/1 is exponential.
    for percentile in &found.percentiles[0].percentiles {
        let exact = -5e-6 * (1.0 - percentile.percent / 100.0).ln();
        near(percentile.response_s.unwrap(), exact, 0.03);
    }
}

#[test]
fn three_servers_with_poisson_arrivals() {
    let found = run(&open(&json!({"servers": 3, "service": {"job": 1.0}}), &json!(0.4)));
    // Erlang's C for 2.5 on 3 servers.
    let a = 2.5f64;
    let all_busy = a.powi(3) / 6.0 * 3.0 / (3.0 - a);
    let waits = all_busy / (1.0 + a + a * a / 2.0 + all_busy);
    near(found.solution.chains[0].response_s, 1.0 + waits / (3.0 - a), 0.02);
    near(found.solution.stations[0].utilisation, 2.5 / 3.0, 0.01);
}

#[test]
fn processor_sharing_needs_the_mean_only() {
    for service in [
        json!({"distribution": "deterministic", "value": 1.0}),
        json!({"distribution": "hyperexponential", "mean": 1.0, "scv": 8.0}),
        json!({"distribution": "erlang", "mean": 1.0, "shape": 4}),
        json!({"distribution": "empirical", "values": [0.1, 1.9], "counts": [5, 5]}),
    ] {
        let network = open(&json!({"discipline": "ps", "service": {"job": service}}), &json!(1.5));
        let found = run(&network);
        near(found.solution.chains[0].response_s, 1.0 / (1.0 - 1.0 / 1.5), 0.025);
        obeys_laws(&model(&network), &found);
    }
}

#[test]
fn first_come_first_served_needs_the_variance_too() {
    // Pollaczek and Khinchine: W = λ E[S²] / 2 (1 − ρ).
    for (service, scv) in [
        (json!({"distribution": "deterministic", "value": 1.0}), 0.0),
        (json!({"distribution": "lognormal", "mean": 1.0, "scv": 2.0}), 2.0),
    ] {
        let found = run(&open(&json!({"service": {"job": service}}), &json!(1.6)));
        let load = 1.0 / 1.6;
        let waits = load * (1.0 + scv) / (2.0 * (1.0 - load));
        near(found.solution.chains[0].response_s, 1.0 + waits, 0.03);
    }
}

/// Of a squared response, by the middles of parts of its distribution, the smaller the longer the response.
fn mean_square(network: &Value) -> (f64, f64) {
    let middles = |from: f64, to: f64, parts: u32| {
        let part = (to - from) / f64::from(parts);
        (0..parts).map(move |i| (from + part * (f64::from(i) + 0.5), part / 100.0))
    };
    let parts: Vec<(f64, f64)> = middles(0.0, 90.0, 90)
        .chain(middles(90.0, 99.0, 36))
        .chain(middles(99.0, 99.9, 36))
        .chain(middles(99.9, 99.98, 16))
        .collect();
    let percentiles = parts.iter().map(|part| part.0).collect();
    let options = Options { percentiles, precision: 0.003, ..Options::default() };
    let found = try_run(network, &options).expect("it can be simulated");
    let told =
        found.percentiles[0].percentiles.iter().map(|it| it.response_s.expect("enough were seen"));
    let square = told.zip(&parts).map(|(s, (_, share))| s * s * share).sum();
    (found.solution.chains[0].response_s, square)
}

#[test]
fn random_order_changes_what_waits_vary_by_and_not_their_mean() {
    // Kingman, "On queues in which customers are served in random order", Proc. Cambridge Phil. Soc. 58 (1962): of waits
    // at M/G/1 the second moment is 1 / (1 - load / 2) times that in order; of M/M/1 in order it is 2 load / (1 - load)^2.
    let load = 0.8;
    let by = |discipline: &str| {
        let station = json!({"discipline": discipline, "service": {"job": 1.0}});
        mean_square(&open(&station, &json!(1.0 / load)))
    };
    for (discipline, times) in [("fcfs", 1.0), ("siro", 1.0 / (1.0 - load / 2.0))] {
        let (mean, square) = by(discipline);
        near(mean, 1.0 / (1.0 - load), 0.02);
        let waits = (2.0 * load / (1.0 - load).powi(2) * times, load / (1.0 - load));
        near(square, waits.0 + 2.0 * waits.1 + 2.0, 0.04);
    }
}

#[test]
fn random_order_of_classes_that_differ_is_as_its_chain_says() {
    let network = |discipline: &str| {
        json!({
            "classes": [{"name": "slow", "users": 2}, {"name": "fast", "users": 3}],
            "stations": [
                {"name": "think", "kind": "delay", "service": {"*": 1.0}},
                {"name": "server", "discipline": discipline, "service": {"slow": 1.0, "fast": 0.1}}],
            "routing": {"think": {"*": "server"}, "server": {"*": "think"}}
        })
    };
    let exact = |discipline: &str| {
        let found = solve(&model(&network(discipline)), Some("ctmc")).expect("it is small");
        let of = |chain: usize| found.chains[chain].throughput_per_s;
        (of(0), of(1))
    };
    let (slow, fast) = exact("siro");
    let options = Options { precision: 0.002, ..Options::default() };
    let found = try_run(&network("siro"), &options).expect("it can be simulated");
    near(found.solution.chains[0].throughput_per_s, slow, 0.01);
    near(found.solution.chains[1].throughput_per_s, fast, 0.01);
    // Who is quick overtakes now and then, which order doesn't let it.
    let ordered = exact("fcfs");
    assert!((slow - ordered.0).abs() + (fast - ordered.1).abs() > 0.001, "{ordered:?}");
    let by_order = solve(&model(&network("siro")), None).expect("it is solved by order");
    assert!(
        by_order.assumes.iter().any(|it| it.contains("random order")),
        "{:?}",
        by_order.assumes
    );
    near(by_order.chains[1].throughput_per_s, fast, 0.05);
}

#[test]
fn rates_that_depend_on_the_load() {
    // As fast as two servers from two customers on: M/M/2.
    for discipline in ["ps", "fcfs"] {
        let network = open(
            &json!({"rates": [1.0, 2.0], "discipline": discipline, "service": {"job": 1.0}}),
            &json!(0.8),
        );
        let found = run(&network);
        let load = 1.25 / 2.0;
        near(found.solution.chains[0].response_s, 1.0 / (1.0 - load * load), 0.02);
        // Of the one server: the time that it is busy.
        near(found.solution.stations[0].utilisation, 1.0 - (1.0 - load) / (1.0 + load), 0.01);
    }
}

#[test]
fn those_who_are_served_share_a_rate_of_the_stations_own() {
    // Two at once, as slow as threads that wait beside idle cores.
    let network = |discipline: &str, servers: u32| {
        json!({
            "classes": [{"name": "slow", "users": 2}, {"name": "fast", "users": 3}],
            "stations": [
                {"name": "think", "kind": "delay", "service": {"*": 1.0}},
                {"name": "cores", "servers": servers, "rates": [1.0, 1.3, 1.5, 1.6], "discipline": discipline,
                 "service": {"slow": 1.0, "fast": 0.1}}],
            "routing": {"think": {"*": "cores"}, "cores": {"*": "think"}}
        })
    };
    for discipline in ["siro", "fcfs"] {
        let exact = |servers| {
            solve(&model(&network(discipline, servers)), Some("ctmc")).expect("it is small")
        };
        let two = exact(2);
        let options = Options { precision: 0.002, ..Options::default() };
        let found = try_run(&network(discipline, 2), &options).expect("it can be simulated");
        for (chain, its) in found.solution.chains.iter().zip(&two.chains) {
            near(chain.throughput_per_s, its.throughput_per_s, 0.01);
            near(chain.response_s, its.response_s, 0.01);
        }
        near(found.solution.stations[1].utilisation, two.stations[1].utilisation, 0.01);
        // One at a time is another network: who is quick waits for who is slow.
        assert!(exact(1).chains[1].response_s > 1.2 * two.chains[1].response_s);
    }
}

#[test]
fn a_closed_network_has_its_product_form() {
    for users in [1, 5, 30] {
        let network = closed(users);
        let found = run(&network);
        let exact = exact_throughput(users, 5e-3, &[1e-3, 0.35e-3]);
        near(found.solution.chains[0].throughput_per_s, exact, 0.012);
        near(found.solution.chains[0].response_s, f64::from(users) / exact - 5e-3, 0.02);
        let customers: f64 = found.solution.stations.iter().map(|station| station.queue).sum();
        near(customers, f64::from(users), 1e-9);
        obeys_laws(&model(&network), &found);
    }
}

#[test]
fn intervals_cover_at_their_stated_rate() {
    let model = model(&closed(6));
    let exact = exact_throughput(6, 5e-3, &[1e-3, 0.35e-3]);
    let exact_response = 6.0 / exact - 5e-3;
    let (mut throughput, mut response, mut percentile) = (0, 0, 0);
    let median = {
        let options = Options { precision: 0.001, seed: 7, ..Options::default() };
        simulate(&model, &options, &|| false).unwrap().percentiles[0].percentiles[0]
    };
    let seeds = 400;
    for seed in 0..seeds {
        // As short as it gets.
        let options = Options {
            precision: 1.0,
            max_events: 40_000,
            seed: 1_000 + seed,
            ..Options::default()
        };
        let found = simulate(&model, &options, &|| false).unwrap();
        let (mean, width) = (&found.solution.chains[0], &found.half_widths.chains[0]);
        let covered = |mean: f64, width: f64, exact: f64| u32::from((mean - exact).abs() <= width);
        throughput += covered(mean.throughput_per_s, width.throughput_per_s, exact);
        response += covered(mean.response_s, width.response_s, exact_response);
        let it = found.percentiles[0].percentiles[0];
        percentile +=
            covered(it.response_s.unwrap(), it.half_width_s.unwrap(), median.response_s.unwrap());
    }
    // 95 % of 400 is 380, give or take three times 4.4.
    for (name, count) in
        [("throughput", throughput), ("response", response), ("median", percentile)]
    {
        assert!((366..=394).contains(&count), "{name}: {count} of {seeds}");
    }
}

#[test]
fn the_same_seed_gives_the_same_result_on_any_number_of_threads() {
    let network = quorum(2, "serve", &json!("1ms"));
    let with = |threads, seed| {
        let options = Options { threads: NonZero::new(threads), seed, ..Options::default() };
        try_run(&network, &options).unwrap()
    };
    let once = with(1, 3);
    assert_eq!(once, with(3, 3));
    assert_ne!(once, with(1, 4));
    let text = serde_json::to_string(&once).unwrap();
    assert!(!text.contains("NaN"));
    let again: Simulated = serde_json::from_str(&text).unwrap();
    assert_eq!(again.stopped_by, once.stopped_by);
}

#[test]
fn the_order_of_stations_changes_nothing() {
    let network = closed(12);
    let mut other = network.clone();
    other["stations"].as_array_mut().unwrap().reverse();
    let (one, two) = (run(&network), run(&other));
    near(one.solution.chains[0].response_s, two.solution.chains[0].response_s, 0.02);
    near(one.solution.stations[1].queue, two.solution.stations[1].queue, 0.03);
    assert_eq!(two.solution.stations[2].name, "think");
}

#[test]
fn overload_diverges_and_critical_load_gives_no_steady_state() {
    let at = |interarrival: f64| {
        let options = Options { max_events: 3_000_000, ..Options::default() };
        try_run(&open(&json!({"service": {"job": 1.0}}), &json!(interarrival)), &options)
    };
    for interarrival in [0.2, 0.8, 0.95] {
        match at(interarrival) {
            Err(QueueingError::Diverges(text)) => assert!(text.contains("server"), "{text}"),
            other => panic!("{interarrival}: {other:?}"),
        }
    }
    near(at(1.25).unwrap().solution.chains[0].response_s, 5.0, 0.05);
    // Twenty thousand users that set out one after the other are no divergence.
    let mut ramp = open(&json!({"service": {"job": 1e-5}}), &json!(1e-4));
    let far = json!({"name": "far", "kind": "delay", "service": {"job": 2.0}});
    ramp["stations"].as_array_mut().unwrap().push(far);
    ramp["routing"]["server"]["job"] = json!("far");
    ramp["routing"]["far"] = json!({"job": "sink"});
    let options = Options { precision: 0.05, max_events: 30_000_000, ..Options::default() };
    near(try_run(&ramp, &options).unwrap().solution.stations[1].queue, 20_000.0, 0.02);
}

/// A customer becomes three siblings at three nodes, and goes on when so many are back.
fn quorum(join: u32, late: &str, service: &Value) -> Value {
    json!({
        "classes": [{"name": "write", "users": 1, "reference": "client"}, {"name": "copy"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"write": "10ms"}},
            {"name": "n1", "service": {"copy": service}},
            {"name": "n2", "service": {"copy": service}},
            {"name": "n3", "service": {"copy": service}}],
        "forks": [{"name": "set", "branches": ["n1/copy", "n2/copy", "n3/copy"], "join": join, "late": late}],
        "routing": {
            "client": {"write": "set"},
            "n1": {"copy": "set.join"}, "n2": {"copy": "set.join"}, "n3": {"copy": "set.join"},
            "set.join": {"write": "client"}}
    })
}

#[test]
fn the_kth_of_three_exponentials() {
    for (join, expected) in [(1, 1.0 / 3.0), (2, 1.0 / 3.0 + 0.5), (3, 1.0 / 3.0 + 0.5 + 1.0)] {
        // Cancelled, the stragglers aren't in the next one's way.
        let found = run(&quorum(join, "cancel", &json!("1ms")));
        near(found.solution.chains[0].response_s, expected * 1e-3, 0.015);
        let work: f64 =
            found.solution.stations[1..].iter().map(|station| station.utilisation).sum();
        // Until the k-th is back all that aren't are served: k/3 … together exactly k means.
        near(work, f64::from(join) * 1e-3 * found.solution.chains[0].throughput_per_s, 0.015);
    }
}

#[test]
fn waiting_for_all_is_the_full_join() {
    let mut all = quorum(3, "serve", &json!("5ms"));
    all["classes"][0]["users"] = json!(4);
    let mut unsaid = all.clone();
    unsaid["forks"][0].as_object_mut().unwrap().remove("join");
    for late in ["serve", "cancel", "discard"] {
        all["forks"][0]["late"] = json!(late);
        // With nobody late it is the very same, to the last bit.
        assert_eq!(run(&all), run(&unsaid), "{late}");
    }
}

#[test]
fn stragglers_load_the_stations_unless_they_are_cancelled() {
    let mut network = quorum(1, "serve", &json!("2ms"));
    network["classes"][0]["users"] = json!(8);
    network["stations"][0]["service"]["write"] = json!("20ms");
    let found = run(&network);
    let throughput = found.solution.chains[0].throughput_per_s;
    for station in &found.solution.stations[1..] {
        near(station.utilisation, throughput * 2e-3, 0.01);
    }
    // More stragglers than the nodes can serve.
    network["stations"][0]["service"]["write"] = json!("1ms");
    network["stations"][1]["service"]["copy"] = json!("0.1ms");
    assert!(matches!(
        try_run(&network, &Options::default()),
        Err(QueueingError::Diverges(text)) if text.contains("station n")
    ));
    network["forks"][0]["late"] = json!("cancel");
    let found = run(&network);
    assert!(found.solution.stations[2].utilisation < 1.0);
}

fn fixed(time: &str) -> Value {
    json!({"distribution": "deterministic", "value": time})
}

/// Siblings of 1, 2 and 7 ms, two of which are waited for; the customer is back every 4 ms.
fn by_hand(late: &str) -> Value {
    let mut network = quorum(2, late, &fixed("1ms"));
    network["stations"][0]["service"]["write"] = fixed("2ms");
    network["stations"][2]["service"]["copy"] = fixed("2ms");
    network["stations"][3]["service"]["copy"] = fixed("7ms");
    network
}

#[test]
fn late_siblings_by_hand() {
    let slow = |network: &Value| {
        let found = run(network);
        near(found.solution.chains[0].response_s, 2e-3, 1e-9);
        near(found.solution.chains[0].throughput_per_s, 250.0, 1e-3);
        let station = &found.solution.stations[3];
        (station.queue, station.classes[1].throughput_per_s, station.utilisation)
    };
    // Cancelled after 2 of 7 ms, every 4.
    let (queue, done, used) = slow(&by_hand("cancel"));
    near(queue, 0.5, 1e-3);
    near(used, 0.5, 1e-3);
    assert_eq!(done, 0.0);
    // In service when its join goes on, it is finished: 7 ms. The next finds it busy, waits for 2 ms and is
    // discarded; the one after it is served again. So there are 7 + 2 in 8 ms.
    let (queue, done, used) = slow(&by_hand("discard"));
    near(used, 7.0 / 8.0, 1e-3);
    near(done, 125.0, 1e-3);
    near(queue, 9.0 / 8.0, 1e-3);
    // Cancelled 3 ms after the fork.
    let mut timeout = by_hand("timeout");
    timeout["forks"][0]["timeout"] = json!("3ms");
    let (queue, done, used) = slow(&timeout);
    near(used, 0.75, 1e-3);
    near(queue, 0.75, 1e-3);
    assert_eq!(done, 0.0);
    // Time is out before the join goes on: cancelled as soon as it does.
    timeout["forks"][0]["timeout"] = json!("1.5ms");
    let (queue, _, _) = slow(&timeout);
    near(queue, 0.5, 1e-3);
    // Served to the end: 7 ms of work every 4 ms.
    assert!(matches!(
        try_run(&by_hand("serve"), &Options::default()),
        Err(QueueingError::Diverges(text)) if text.contains("station n3")
    ));
}

#[test]
fn a_fork_in_a_fork() {
    // The outer siblings: 1 ms at n1, or an inner fork of 2 and 3 ms, both waited for.
    let mut network = quorum(2, "serve", &fixed("1ms"));
    network["stations"][0]["service"]["write"] = fixed("7ms");
    network["stations"][2]["service"]["copy"] = fixed("2ms");
    network["stations"][3]["service"]["copy"] = fixed("3ms");
    network["forks"] = json!([
        {"name": "outer", "branches": ["n1/copy", "inner/copy"], "join": 2},
        {"name": "inner", "branches": ["n2", "n3"]}]);
    network["routing"] = json!({
        "client": {"write": "outer"}, "n1": {"copy": "outer.join"},
        "n2": {"copy": "inner.join"}, "n3": {"copy": "inner.join"},
        "inner.join": {"copy": "outer.join"}, "outer.join": {"write": "client"}});
    let found = run(&network);
    near(found.solution.chains[0].response_s, 3e-3, 1e-9);
    // Only the first is waited for, and the inner siblings go with their parent.
    network["forks"][0]["join"] = json!(1);
    for (late, n3_used) in [("cancel", 1.0 / 8.0), ("discard", 3.0 / 8.0), ("serve", 3.0 / 8.0)] {
        network["forks"][0]["late"] = json!(late);
        let found = run(&network);
        near(found.solution.chains[0].response_s, 1e-3, 1e-9);
        near(found.solution.stations[3].utilisation, n3_used, 1e-3);
    }
}

#[test]
fn copies_go_to_branches_by_chance_in_their_own_classes() {
    let network = json!({
        "classes": [{"name": "read", "users": 3, "reference": "client"}, {"name": "data"}, {"name": "digest"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"read": "5ms"}},
            {"name": "n1", "service": {"data": "1ms", "digest": "0.2ms"}},
            {"name": "n2", "service": {"data": "1ms", "digest": "0.2ms"}},
            {"name": "n3", "service": {"data": "1ms", "digest": "0.2ms"}}],
        "forks": [{"name": "set", "branches": ["n1", "n2", "n3"], "copies": 2, "classes": ["data", "digest"]}],
        "routing": {
            "client": {"read": "set"},
            "n1": {"*": "set.join"}, "n2": {"*": "set.join"}, "n3": {"*": "set.join"},
            "set.join": {"read": "client"}}
    });
    let found = run(&network);
    let throughput = found.solution.chains[0].throughput_per_s;
    for station in &found.solution.stations[1..] {
        for class in &station.classes[1..] {
            near(class.throughput_per_s, throughput / 3.0, 0.02);
        }
    }
    obeys_laws(&model(&network), &found);
}

#[test]
fn the_least_priority_there_is_goes_last() {
    let network = |low: i32| {
        json!({
            "classes": [
                {"name": "low", "interarrival": 4.0, "priority": low},
                {"name": "high", "interarrival": 2.5}],
            "stations": [{"name": "server", "discipline": "priority", "service": {"*": 1.0}}],
            "routing": {"source": {"*": "server"}, "server": {"*": "sink"}}
        })
    };
    assert_eq!(run(&network(i32::MIN)).solution, run(&network(-1)).solution);
}

#[test]
fn the_greater_priority_goes_first() {
    // Cobham: W_k = W_0 / (1 − σ_(k−1)) (1 − σ_k), with W_0 = Σ λ E[S²] / 2.
    let network = json!({
        "classes": [
            {"name": "low", "interarrival": 4.0},
            {"name": "high", "interarrival": 2.5, "priority": 3}],
        "stations": [{"name": "server", "discipline": "priority", "service": {"*": 1.0}}],
        "routing": {"source": {"*": "server"}, "server": {"*": "sink"}}
    });
    let found = run(&network);
    let first = 0.25 + 0.4;
    near(found.solution.classes[1].response_s.unwrap(), 1.0 + first / 0.6, 0.02);
    near(found.solution.classes[0].response_s.unwrap(), 1.0 + first / (0.6 * 0.35), 0.02);
    obeys_laws(&model(&network), &found);
}

#[test]
fn a_pool_that_turns_away_is_a_loss_system() {
    // Erlang's B for 3 on 4 places.
    let mut network = open(&json!({"servers": 4, "service": {"job": 1.0}}), &json!(1.0 / 3.0));
    network["pools"] =
        json!([{"name": "threads", "stations": ["server"], "places": 4, "waiting": 0}]);
    let found = run(&network);
    let terms = [1.0, 3.0, 4.5, 4.5, 3.375];
    let lost = terms[4] / terms.iter().sum::<f64>();
    near(found.pools[0].rejected_per_s, 3.0 * lost, 0.03);
    near(found.rejected_per_s[0], 3.0 * lost, 0.03);
    near(found.solution.chains[0].throughput_per_s, 3.0 * (1.0 - lost), 0.01);
    near(found.pools[0].taken, found.solution.stations[0].queue, 1e-9);
    near(found.solution.chains[0].response_s, 1.0, 0.01);
}

#[test]
fn a_pool_that_lets_wait_is_a_queue() {
    // Two places before four servers are two servers.
    let mut network = open(&json!({"servers": 4, "service": {"job": 1.0}}), &json!(0.8));
    network["pools"] = json!([{"name": "threads", "stations": ["server"], "places": 2}]);
    let found = run(&network);
    let load = 1.25 / 2.0;
    near(found.solution.chains[0].response_s, 1.0 / (1.0 - load * load), 0.02);
    assert!(found.solution.stations[0].queue <= 2.0);
    assert_eq!(found.pools[0].rejected_per_s, 0.0);
    near(
        found.solution.stations[0].queue + found.pools[0].waiting,
        1.25 / (1.0 - load * load),
        0.02,
    );
}

#[test]
fn who_is_turned_away_goes_back_to_its_reference() {
    let mut network = closed(10);
    network["pools"] =
        json!([{"name": "threads", "stations": ["cpu", "disk"], "places": 2, "waiting": 1}]);
    let found = run(&network);
    assert!(found.pools[0].taken <= 2.0 && found.pools[0].waiting <= 1.0);
    let inside = found.solution.stations[1].queue + found.solution.stations[2].queue;
    near(inside, found.pools[0].taken, 1e-9);
    // All are somewhere.
    near(inside + found.pools[0].waiting + found.solution.stations[0].queue, 10.0, 1e-9);
    // Who sets out comes back, one way or the other.
    let back = found.solution.chains[0].throughput_per_s + found.pools[0].rejected_per_s;
    near(back, found.solution.stations[0].classes[0].throughput_per_s, 0.01);
    // A reference among the stations of a pool that turns away would be an endless loop.
    network["pools"][0]["stations"] = json!(["think"]);
    assert!(matches!(try_run(&network, &Options::default()), Err(QueueingError::Unsuited(_))));
}

#[test]
fn places_that_wait_for_each_other_are_told() {
    // Each customer holds one pool and waits for the other.
    let network = json!({
        "classes": [{"name": "a", "users": 1, "reference": "one"}, {"name": "b", "users": 1, "reference": "two"}],
        "stations": [{"name": "one", "service": {"*": 1.0}}, {"name": "two", "service": {"*": 1.0}},
                     {"name": "both", "service": {"*": 1.0}}],
        "pools": [{"name": "p", "stations": ["one", "both"], "places": 1}, {"name": "q", "stations": ["two", "both"], "places": 1}],
        "routing": {"one": {"*": "both"}, "both": {"a": "one", "b": "two"}, "two": {"*": "both"}}
    });
    match try_run(&network, &Options::default()) {
        Err(QueueingError::Unsuited(text)) => {
            assert!(text.contains("nothing can happen"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn cycles_without_time_are_told() {
    let mut network = closed(1);
    for station in network["stations"].as_array_mut().unwrap() {
        station["service"]["job"] = json!(0);
    }
    match try_run(&network, &Options::default()) {
        Err(QueueingError::Unsuited(text)) => assert!(text.contains("time stands still"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn classes_that_switch_and_caches() {
    let network = json!({
        "classes": [{"name": "read", "users": 10, "reference": "client"}, {"name": "write"}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"*": "1ms"}},
            {"name": "cpu", "discipline": "ps", "service": {"read": "0.2ms", "write": "0.1ms"}},
            {"name": "disk", "service": {"*": "0.2ms"}, "cached": {"write": 0.9}}],
        "routing": {
            "client": {"*": {"cpu/read": 0.25, "cpu/write": 0.75}},
            "cpu": {"*": "disk"},
            "disk": {"*": "client"}}
    });
    let found = run(&network);
    let demands = [0.25 * 0.2e-3 + 0.75 * 0.1e-3, (0.25 + 0.075) * 0.2e-3];
    let exact = exact_throughput(10, 1e-3, &demands);
    near(found.solution.chains[0].throughput_per_s, exact, 0.01);
    near(found.solution.classes[0].throughput_per_s, exact * 0.25, 0.015);
    near(found.solution.stations[2].classes[1].throughput_per_s, exact * 0.075, 0.03);
    // Little's law by class, as solvers define a class' response.
    let inside = |class: usize| -> f64 {
        found.solution.stations[1..].iter().map(|station| station.classes[class].queue).sum()
    };
    for class in 0..2 {
        let it = &found.solution.classes[class];
        near(it.throughput_per_s * it.response_s.unwrap(), inside(class), 0.01);
    }
}

#[test]
fn turns_and_shortest_queues_beat_chance() {
    let with = |route: Value| {
        let network = json!({
            "classes": [{"name": "job", "interarrival": 0.6}],
            "stations": [{"name": "a", "service": {"job": 1.0}}, {"name": "b", "service": {"job": 1.0}}],
            "routing": {"source": {"job": route}, "a": {"job": "sink"}, "b": {"job": "sink"}}
        });
        run(&network).solution.chains[0].response_s
    };
    let chance = with(json!({"a": 0.5, "b": 0.5}));
    let turns = with(json!({"choose": "round_robin", "to": ["a", "b"]}));
    let shortest = with(json!({"choose": "shortest_queue", "to": ["a", "b"]}));
    near(chance, 1.0 / (1.0 - 1.0 / 1.2), 0.03);
    // Every second arrival: E2/M/1, whose σ is the root of σ = (2λ / (2λ + 1 − σ))², with λ = 1/1.2 at each.
    let mut sigma = 0.5f64;
    for _ in 0..200 {
        let rate = 2.0 / 1.2;
        sigma = (rate / (rate + 1.0 - sigma)).powi(2);
    }
    near(turns, 1.0 / (1.0 - sigma), 0.03);
    assert!(shortest < 0.85 * turns);
}

#[test]
fn percentiles_with_too_few_observations_are_not_told() {
    let options = Options { precision: 1.0, percentiles: vec![50.0, 99.999], ..Options::default() };
    let found = try_run(&closed(3), &options).unwrap();
    assert!(found.percentiles[0].percentiles[0].response_s.is_some());
    assert_eq!(found.percentiles[0].percentiles[1].response_s, None);
}

#[test]
fn tails_are_waited_for_if_they_are_wanted() {
    let means = Options { precision: 1.0, percentiles: vec![99.9], ..Options::default() };
    let found = try_run(&closed(3), &means).unwrap();
    assert_eq!(found.percentiles[0].percentiles[0].response_s, None);

    let tails = Options { tails: true, ..means.clone() };
    let longer = try_run(&closed(3), &tails).unwrap();
    let tail = longer.percentiles[0].percentiles[0];
    // A hundred of a thousand times as many, in each of ten replications.
    assert!(tail.response_s.is_some() && longer.events > 1_000_000, "{longer:?}");
    assert_eq!(longer.stopped_by, StoppedBy::Precision);
    assert!(longer.events < 8_000_000, "longer than it takes: {}", longer.events);

    let ceiling = Options { max_events: 500_000, ..tails };
    let found = try_run(&closed(3), &ceiling).unwrap();
    assert_eq!(found.percentiles[0].percentiles[0].response_s, None);
    assert_eq!(found.stopped_by, StoppedBy::Events);
}

#[test]
fn nobody_waits_for_tails_of_classes_in_which_no_cycle_ends() {
    let network = json!({
        "classes": [
            {"name": "whole", "users": 2, "reference": "away"},
            {"name": "part"},
        ],
        "stations": [
            {"name": "away", "kind": "delay", "service": {"*": 1.0}},
            {"name": "server", "service": {"*": 1.0}}
        ],
        "routing": {
            "away": {"whole": "server/part"},
            "server": {"part": "away/whole"}
        }
    });
    let options =
        Options { precision: 0.1, tails: true, percentiles: vec![99.0], ..Options::default() };
    let found = try_run(&network, &options).unwrap();
    assert_eq!(found.stopped_by, StoppedBy::Precision);
    let told = found.percentiles.iter().map(|one| one.percentiles[0].response_s.is_some());
    assert_eq!(told.filter(|known| *known).count(), 1);
}

#[test]
fn a_ceiling_of_events_is_kept_and_told() {
    let options = Options { precision: 1e-6, max_events: 1_000_000, ..Options::default() };
    let found = try_run(&closed(10), &options).unwrap();
    assert_eq!(found.stopped_by, StoppedBy::Events);
    assert!((900_000..1_100_000).contains(&found.events), "{}", found.events);
    assert!(found.precision > 1e-6);
}

#[test]
fn somebody_can_stop_it() {
    let options = Options { precision: 1e-9, ..Options::default() };
    let stopped = simulate(&model(&closed(10)), &options, &|| true);
    assert!(matches!(stopped, Err(QueueingError::Stopped)));
}

fn changes(network: &Value, options: Value) -> Vec<(f64, Vec<f64>)> {
    let options: TransientOptions = serde_json::from_value(options).expect("options");
    let found = transient(&model(network), &options, &|| false).expect("it can be simulated");
    let row = |it: &pacelc_queueing::simulate::transient::Interval| {
        let queues = it.solution.stations.iter().map(|station| station.queue).collect();
        (it.solution.chains[0].throughput_per_s, queues)
    };
    found.intervals.iter().map(row).collect()
}

#[test]
fn a_station_dies_and_comes_back() {
    // One customer, 1 s away and 1 s served; the server is dead from 1.5 to 3.5 s: it is done at 4, not 2 s.
    let network = json!({
        "classes": [{"name": "job", "users": 1, "reference": "away"}],
        "stations": [
            {"name": "away", "kind": "delay", "service": {"job": fixed("1s")}},
            {"name": "server", "service": {"job": fixed("1s")}}],
        "routing": {"away": {"job": "server"}, "server": {"job": "away"}}
    });
    for discipline in ["fcfs", "ps", "priority", "siro"] {
        let mut network = network.clone();
        network["stations"][1]["discipline"] = json!(discipline);
        let found = changes(
            &network,
            json!({"until": "6s", "intervals": 6, "replications": 2, "changes": [
            {"at": "1.5s", "station": "server", "servers": 0},
            {"at": "3.5s", "station": "server", "servers": 1}]}),
        );
        let queues: Vec<f64> = found.iter().map(|(_, queues)| queues[1]).collect();
        let expected = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0];
        assert!(
            queues.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
            "{discipline} {queues:?}"
        );
    }
}

#[test]
fn an_interval_in_which_nobody_is_done_has_no_response() {
    let mut network = closed(1);
    network["stations"][1]["service"]["job"] = fixed("3s");
    let options = json!({"until": "2s", "intervals": 1, "replications": 2});
    let options: TransientOptions = serde_json::from_value(options).unwrap();
    let found = transient(&model(&network), &options, &|| false).unwrap();
    let solution = &found.intervals[0].solution;
    assert_eq!((solution.classes[0].response_s, solution.chains[0].response_s), (None, 0.0));
    assert!(!serde_json::to_string(&found).unwrap().contains("NaN"));
}

#[test]
fn users_come_and_go() {
    let network = closed(2);
    let found = changes(
        &network,
        json!({"until": "4s", "intervals": 4, "warm_up": "1s", "replications": 20, "changes": [
        {"at": "1s", "class": "job", "users": 10},
        {"at": "3s", "class": "job", "users": 4}]}),
    );
    let there = |number: usize| found[number].1.iter().sum::<f64>();
    near(there(0), 2.0, 1e-9);
    near(there(2), 10.0, 1e-9);
    assert!(there(3) < 4.1, "{}", there(3));
    near(found[0].0, exact_throughput(2, 5e-3, &[1e-3, 0.35e-3]), 0.03);
    near(found[2].0, exact_throughput(10, 5e-3, &[1e-3, 0.35e-3]), 0.03);
    // Those that are too many leave.
    near(found[3].0, exact_throughput(4, 5e-3, &[1e-3, 0.35e-3]), 0.03);
}

#[test]
fn changes_that_cannot_be_are_refused() {
    let network = model(&closed(2));
    for change in [
        json!({"at": "1s", "station": "think", "servers": 0}),
        json!({"at": "1s", "station": "gone", "servers": 0}),
        json!({"at": "1s", "class": "gone", "users": 1}),
        json!({"at": "-1s", "class": "job", "users": 1}),
    ] {
        let options = json!({"until": "2s", "intervals": 2, "changes": [change]});
        let options: TransientOptions = serde_json::from_value(options).unwrap();
        assert!(matches!(
            transient(&network, &options, &|| false),
            Err(QueueingError::Unsuited(_))
        ));
    }
}

#[test]
fn a_trace_adds_up() {
    let follow = |network: &Value, class: &str, cycles: usize| {
        let options = json!({"class": class, "cycles": cycles, "after": "1s"});
        let options: TraceOptions = serde_json::from_value(options).unwrap();
        trace(&model(network), &options, &|| false).unwrap()
    };
    let mut network = closed(20);
    network["pools"] = json!([{"name": "threads", "stations": ["cpu", "disk"], "places": 3}]);
    let cycles = follow(&network, "job", 20);
    assert_eq!(cycles.len(), 20);
    let mut waited_for_a_place = false;
    for cycle in &cycles {
        let stays: f64 =
            cycle.stays.iter().map(|it| it.waited_s.unwrap() + it.served_s.unwrap()).sum();
        near(stays, cycle.response_s, 1e-6);
        waited_for_a_place |= cycle.stays.iter().any(|stay| stay.at == "pool threads");
        assert!(cycle.from_s >= 1.0 && !cycle.turned_away);
    }
    assert!(waited_for_a_place);
    let [cycle] = follow(&by_hand("cancel"), "write", 1).try_into().unwrap();
    let at = |name: &str| cycle.stays.iter().find(|stay| stay.at == name).unwrap();
    near(cycle.response_s, 2e-3, 1e-6);
    near(at("fork set").waited_s.unwrap(), 2e-3, 1e-6);
    near(at("n2").served_s.unwrap(), 2e-3, 1e-6);
    assert!(at("n3").cancelled && at("n3").served_s.is_none());
    assert_eq!(cycle.stays.iter().map(|stay| stay.job).max(), Some(3));
}

/// A random network: two chains, four stations of random kinds, with a fork or a pool.
fn any_network() -> impl Strategy<Value = Value> {
    let station = (0..6usize, 1..4u32, 0.1f64..2.0);
    let extras = (any::<bool>(), any::<bool>(), 1..3u32, 1..=3u32);
    (proptest::collection::vec(station, 3), extras, 1..12u32, 1.0f64..4.0).prop_map(
        |(stations, (fork, pool, places, join), users, between)| {
            let mut all = vec![json!({"name": "think", "kind": "delay", "service": {"*": 3.0}})];
            for (number, (kind, servers, mean)) in stations.into_iter().enumerate() {
                let service = [
                    json!(mean),
                    json!({"distribution": "erlang", "mean": mean, "shape": 3}),
                    json!({"distribution": "hyperexponential", "mean": mean, "scv": 3.0}),
                ][kind % 3].clone();
                // Enough servers for the open class, whatever else there is.
                let servers = servers + (6.0 * mean / between) as u32;
                let discipline = ["fcfs", "ps", "priority", "siro"][(kind + number) % 4];
                all.push(json!({"name": format!("s{number}"), "servers": servers, "discipline": discipline, "service": {"*": service}}));
            }
            let mut network = json!({
                "classes": [
                    {"name": "user", "users": users, "reference": "think"},
                    {"name": "visitor", "interarrival": between, "priority": 1}],
                "stations": all,
                "routing": {
                    "think": {"user": "s0"},
                    "source": {"visitor": "s1"},
                    "s0": {"*": {"s1": 0.4, "s2": 0.6}},
                    "s1": {"user": {"think": 0.7, "s2": 0.3}, "visitor": {"sink": 0.5, "s2": 0.5}},
                    "s2": {"user": "think", "visitor": "sink"}}
            });
            if fork {
                for number in 0..3 {
                    let mut sibling = network["stations"][1].clone();
                    sibling["name"] = json!(format!("f{number}"));
                    network["stations"].as_array_mut().expect("a list").push(sibling);
                    network["routing"][format!("f{number}")] = json!({"*": "split.join"});
                }
                network["forks"] = json!([{"name": "split", "branches": ["f0", "f1", "f2"], "join": join, "late": "discard"}]);
                network["routing"]["think"]["user"] = json!("split");
                network["routing"]["split.join"] = json!({"*": "s0"});
            }
            if pool {
                network["pools"] = json!([{"name": "threads", "stations": ["s0", "s1"], "places": places + 40, "waiting": 5}]);
            }
            network
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn laws_hold_in_any_network(network in any_network()) {
        let options = Options { precision: 0.005, max_events: 2_000_000, ..Options::default() };
        match try_run(&network, &options) {
            Ok(found) => {
                let model = model(&network);
                for (index, station) in found.solution.stations.iter().enumerate() {
                    let it = model.station(index);
                    let forked = station.name.starts_with('f');
                    for (class, visits) in station.classes.iter().enumerate() {
                        let close = |a: f64, b: f64| (a - b).abs() <= 0.05 * a.abs().max(b.abs()) + 1e-3;
                        // Who is cancelled is there, and never done.
                        prop_assert!(forked || close(visits.throughput_per_s * visits.response_s, visits.queue), "{:?}", station);
                        prop_assert!(index == 0 || visits.utilisation <= 1.0 + 1e-9);
                        let busy = visits.utilisation * if index == 0 { 1.0 } else { f64::from(it.servers) };
                        prop_assert!(forked || close(busy, visits.throughput_per_s * it.mean_s(class)), "{:?}", station);
                        prop_assert!(visits.queue >= busy - 1e-9);
                    }
                }
            }
            Err(QueueingError::Diverges(_)) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }
}
