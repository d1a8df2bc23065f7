//! Users in several places: each group has a network, a target and threads of its own, and all are
//! one run.
//!
//! A group is planned as the part of one of several machines is: its users follow those of the
//! groups before, and it has its users' share of a rate, of a number of operations and of the spawn
//! rate. But all are threads of one process, on one timeline: users of all groups come in, warm up
//! and measure together, by one clock, and the numbers of new records come from one counter. The
//! run's results are put together from threads as ever; each group's are counted beside them.
//!
//! Rejected: one process a region, merged as the parts of several machines are. Such processes have
//! to agree on when to start before they know how long connections take.

use crate::Control;
use crate::cpu::CpuTime;
use crate::observer::Logs;
use crate::result::{ClientResult, Gathered, GroupResult, kinds};
use crate::spec::Plan;
use crate::thread::{Event, Run};
use pacelc_measure::Collector;
use std::sync::Arc;

/// What the engine threads of `plan` see: one thing, or one for each group.
pub(crate) fn runs(plan: &Arc<Plan>, control: &Control, logs: Option<&Logs>) -> Vec<Arc<Run>> {
    let whole = Run::new(plan, control, logs);
    if plan.groups.is_empty() {
        return vec![Arc::new(whole)];
    }
    let mut first_thread = 0;
    let parts = plan.spec.groups.iter().zip(&plan.groups).map(|(group, part)| {
        let (plan, namespace) = (Arc::clone(part), group.namespace.clone());
        let run = Run { plan, first_thread, namespace, ..whole.clone() };
        first_thread += part.spec.threads;
        Arc::new(run)
    });
    parts.collect()
}

/// What is counted of each group, beside what is counted of all.
#[derive(Debug)]
pub(crate) struct Tallies(Vec<Tally>);

#[derive(Debug)]
struct Tally {
    run: Arc<Run>,
    region: String,
    collector: Collector,
    gathered: Gathered,
}

impl Tallies {
    /// None where the run has no groups.
    pub(crate) fn new(plan: &Plan, runs: &[Arc<Run>]) -> Self {
        let tallies = plan.spec.groups.iter().zip(runs).map(|(group, run)| Tally {
            run: Arc::clone(run),
            region: group.region.clone(),
            collector: Collector::new(run.plan.spec.threads),
            gathered: Gathered::default(),
        });
        Self(tallies.collect())
    }

    /// See [`Collector::measure_from`].
    pub(crate) fn measure_from(&mut self, first_interval: i64) {
        self.0.iter_mut().for_each(|tally| tally.collector.measure_from(first_interval));
    }

    /// Counts what a thread said.
    pub(crate) fn hear(&mut self, event: &Event) {
        match event {
            Event::Batch { thread, batch } => {
                if let Some((tally, number)) = self.of(*thread) {
                    tally.collector.add(number, batch.clone());
                }
            }
            Event::Ended { thread, cpu, awake_s, hedges, .. } => {
                if let Some((tally, _)) = self.of(*thread) {
                    tally.gathered.add_thread(*cpu, *awake_s, *hedges);
                }
            }
            Event::Opened(_) | Event::Failed(_) => {}
        }
    }

    /// Whose thread that is, and which of its own.
    fn of(&mut self, thread: usize) -> Option<(&mut Tally, usize)> {
        self.0.iter_mut().find_map(|tally| {
            let number = thread.checked_sub(tally.run.first_thread)?;
            (number < tally.run.plan.spec.threads).then_some((tally, number))
        })
    }

    /// What each group did in `measured_s` seconds.
    pub(crate) fn results(self, measured_s: f64) -> Vec<GroupResult> {
        let results = self.0.into_iter().map(|mut tally| {
            tally.collector.finish(measured_s);
            let spec = &tally.run.plan.spec;
            let CpuTime { user_s, system_s } = tally.gathered.cpu;
            GroupResult {
                region: tally.region,
                users: [spec.first_user, spec.first_user + spec.users - 1],
                operations: kinds(&tally.collector),
                client: ClientResult {
                    cpu_user_s: user_s,
                    cpu_system_s: system_s,
                    awake_s: tally.gathered.awake_s,
                    threads: spec.threads,
                    busy_fraction: tally.gathered.busiest_s / measured_s,
                    hedges: tally.gathered.hedges,
                },
            }
        });
        results.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadSpec;
    use pacelc_core::OperationKind;
    use pacelc_history::log::{ROW_BYTES, Row};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn spec(users: &[u32], changes: &serde_json::Value) -> LoadSpec {
        let target = serde_json::json!({"database": "noop"});
        let groups: Vec<_> = users
            .iter()
            .enumerate()
            .map(|(n, users)| {
                serde_json::json!({"region": format!("r{n}"), "users": users, "target": target})
            })
            .collect();
        let mut spec = serde_json::json!({
            "target": target, "groups": groups,
            "workload": {"records": 10, "fields": 1, "field_length_bytes": 40, "mix": {"insert": 1.0}},
            "consistency": "weak", "users": users.iter().sum::<u32>(), "spawn_rate_per_s": 1e6,
            "warm_up_s": 0.0, "measure_s": 30.0, "operation_timeout_ms": 1000, "seed": 1,
        });
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        serde_json::from_value(spec).unwrap()
    }

    proptest! {
        #[test]
        fn every_user_is_in_one_group_and_the_shares_add_up(
            users in proptest::collection::vec(1u32..40, 1..6), threads in 1usize..5,
            operations in 1u64..1 << 40,
        ) {
            let changes = serde_json::json!({"threads": threads, "operations": operations});
            let plan = Arc::new(Plan::new(spec(&users, &changes)).unwrap());
            let runs = runs(&plan, &Control::default(), None);
            let all = plan.spec.users;
            let mut seen = BTreeSet::new();
            let (mut share, mut measured, mut next_thread, mut slowest_s) = (0.0, 0, 0, 0.0_f64);
            for (run, users) in runs.iter().zip(&users) {
                let part = &run.plan.spec;
                prop_assert_eq!(part.users, *users);
                prop_assert_eq!(run.first_thread, next_thread);
                next_thread += part.threads;
                seen.extend(part.first_user..part.first_user + part.users);
                for thread in 0..part.threads {
                    let part = run.plan.part(thread);
                    share += part.share;
                    measured += part.operations.unwrap();
                }
                slowest_s = slowest_s.max(f64::from(*users) / part.spawn_rate_per_s);
            }
            prop_assert_eq!(seen, (0..all).collect::<BTreeSet<_>>());
            prop_assert_eq!(measured, operations);
            prop_assert!((share - 1.0).abs() < 1e-9);
            prop_assert_eq!(next_thread, plan.spec.threads);
            prop_assert!((slowest_s * plan.spec.spawn_rate_per_s / f64::from(all) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn groups_are_one_run_with_one_counter_of_new_records() {
        let directory = std::env::temp_dir().join(format!("pacelc-groups-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let changes = serde_json::json!({
            "threads": 2, "operations": 3000, "record_operations": directory.join("operations"),
        });
        let result = crate::run(&spec(&[3, 1], &changes), &Control::default()).unwrap();
        let ok = |group: &GroupResult| group.operations[&OperationKind::Insert].ok;
        assert_eq!(result.operations[&OperationKind::Insert].ok, 3000);
        assert_eq!(result.groups.iter().map(ok).collect::<Vec<_>>(), [2250, 750]);
        assert_eq!(result.groups.iter().map(|g| g.users).collect::<Vec<_>>(), [[0, 2], [3, 3]]);
        assert_eq!(result.groups.iter().map(|g| g.client.threads).collect::<Vec<_>>(), [2, 1]);
        let cpu_s: f64 = result.groups.iter().map(|g| g.client.cpu_user_s).sum();
        assert!((cpu_s - result.client.cpu_user_s).abs() < 1e-9);
        let latencies = result.groups.iter().flat_map(|g| g.operations.values());
        assert_eq!(latencies.map(|kind| kind.latency_ns.unwrap().n).sum::<u64>(), 3000);
        let rows = std::fs::read(directory.join("operations.0")).unwrap();
        let rows: Vec<Row> = rows.as_chunks::<ROW_BYTES>().0.iter().map(Row::decode).collect();
        let users: BTreeSet<u32> = rows.iter().map(|row| row.user).collect();
        assert_eq!(users, BTreeSet::from([0, 1, 2, 3]));
        let records: Vec<u64> = rows.iter().map(|row| row.record).collect();
        std::fs::remove_dir_all(directory).unwrap();
        let inserted = records.len();
        assert_eq!(records.into_iter().collect::<BTreeSet<_>>().len(), inserted);
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_an_absent_network_ends_the_run() {
        let none = serde_json::json!({});
        for (changes, said) in [
            (serde_json::json!({"users": 5}), "they have 4 users, and the run has 5"),
            (serde_json::json!({"all_users": 9}), "users of one process"),
        ] {
            let error = Plan::new(spec(&[3, 1], &changes)).unwrap_err().to_string();
            assert!(error.starts_with("groups") && error.contains(said), "{error}");
        }
        let mut lost = spec(&[1, 1], &none);
        lost.groups[1].namespace = Some("/proc/none/ns/net".into());
        let error = crate::run(&lost, &Control::default()).unwrap_err().to_string();
        assert!(error.starts_with("entering the users' network"), "{error}");
    }
}
