//! Machines that measured together: the whole is the sum of its parts.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

use pacelc_load::merge::merge;
use pacelc_load::{Control, LoadSpec, RunResult, run, setup};
use pacelc_measure::interval_log;
use serde_json::json;

fn part(first_user: u32, users: u32, scheduled: bool) -> RunResult {
    let arrivals = if scheduled {
        json!({"open": {"rate_per_s": 3_000.0}})
    } else {
        json!({"closed": {"think_s": 0.001}})
    };
    let spec: LoadSpec = serde_json::from_value(json!({
        "target": {"database": "memory"},
        "workload": {"records": 50, "fields": 1, "field_length_bytes": 64,
                     "mix": {"read": 0.8, "update": 0.2}, "table": "merged"},
        "consistency": "weak", "users": users, "first_user": first_user, "all_users": 6,
        "arrivals": arrivals, "spawn_rate_per_s": 1e6, "warm_up_s": 0.1, "measure_s": 1.2,
        "operation_timeout_ms": 1000, "seed": 7,
    }))
    .unwrap();
    setup::insert_records(&spec, &Control::default()).unwrap();
    run(&spec, &Control::default()).unwrap()
}

#[test]
fn counts_and_histograms_of_the_parts_add_up() {
    for scheduled in [false, true] {
        let parts = [part(0, 2, scheduled), part(2, 4, scheduled)];
        let whole = merge(&parts).unwrap();
        assert_eq!(whole.machine_speed, None, "several machines have no speed in common");
        for (kind, all) in &whole.operations {
            let of_parts = || parts.iter().map(|part| &part.operations[kind]);
            assert_eq!(all.ok, of_parts().map(|o| o.ok).sum::<u64>());
            let latency = all.latency_ns.unwrap();
            assert_eq!(latency.n, all.ok);
            assert_eq!(Some(latency.max), of_parts().map(|o| o.latency_ns.unwrap().max).max());
            assert_eq!(all.service_ns.is_some(), scheduled);
        }
        let samples = &whole.samples;
        let measured =
            |n: &u64, phase| if phase == pacelc_measure::Phase::Measure { *n } else { 0 };
        let in_samples: u64 =
            samples.ok.iter().zip(&samples.phase).map(|(n, phase)| measured(n, *phase)).sum();
        assert_eq!(in_samples, whole.operations.values().map(|o| o.ok).sum::<u64>());
        if scheduled {
            let kept = whole.schedule.unwrap();
            let due: u64 = parts.iter().map(|p| p.schedule.as_ref().unwrap().due).sum();
            assert_eq!(kept.due, due);
            // Two machines with a third and two thirds of the users keep the whole rate together.
            assert!(due.abs_diff(3_600) <= 4, "{due}");
            assert_eq!(interval_log::decode(&kept.lag_histogram).unwrap().len(), due);
        }
    }
}

#[test]
fn a_part_alone_is_the_whole() {
    let alone = part(0, 6, true);
    let whole = merge(std::slice::from_ref(&alone)).unwrap();
    for (kind, result) in &alone.operations {
        assert_eq!(whole.operations[kind].latency_ns, result.latency_ns);
        assert_eq!(whole.operations[kind].service_ns, result.service_ns);
    }
    assert_eq!(whole.latency_log, alone.latency_log);
    let speed = alone.machine_speed.unwrap();
    assert!(speed.bursts > 0 && (0.01..100.0).contains(&speed.step_ns), "{speed:?}");
    assert_eq!(whole.machine_speed, Some(speed));
}

#[test]
fn nothing_and_damage_are_refused() {
    assert!(merge(&[]).is_err());
    let mut damaged = part(0, 6, false);
    damaged.latency_log.push_str("Tag=read.ok,0.0,1.0,1.0,AAAA\n");
    assert!(merge(&[damaged]).unwrap_err().to_string().contains("put together"));
}
