//! The staleness of reads against all orders of the writes.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Kind, changed, histories};
use pacelc_history::staleness::of_reads;
use pacelc_history::{Fate, History, NEVER_NS, Operation, Version};
use proptest::prelude::*;

const ONE: Kind = Kind { operations: 8, keys: 1, single_writer: false };

/// A read, and its least and most staleness in nanoseconds and in versions.
type Bounds = (usize, i64, i64, u32, u32);

/// Of each read, over all orders of the writes: `None` where
/// there is no order.
fn by_all_orders(history: &History) -> Option<Vec<Bounds>> {
    let all = history.operations();
    let read = |version| all.iter().filter(move |o| o.is_answered_read() && o.version == version);
    let mut writes: Vec<Operation> = all
        .iter()
        .filter(|o| o.writes() && (o.fate != Fate::Failed || read(o.version).next().is_some()))
        .copied()
        .collect();
    for write in &mut writes {
        if write.fate == Fate::Failed {
            write.end_ns = NEVER_NS;
        }
        let first_end_ns = read(write.version).map(|o| o.end_ns).min().unwrap_or(NEVER_NS);
        write.end_ns = write.end_ns.min(first_end_ns);
    }
    let mut found: Vec<_> = (0..all.len())
        .filter(|n| all[*n].is_answered_read())
        .map(|n| (n, NEVER_NS, 0, u32::MAX, 0))
        .collect();
    let mut possible = false;
    each_order(&mut writes, 0, &mut |order| {
        // As early, and as late, as this order allows.
        let mut early: Vec<i64> = order.iter().map(|o| o.start_ns).collect();
        let mut late: Vec<i64> = order.iter().map(|o| o.end_ns).collect();
        for place in 1..order.len() {
            early[place] = early[place].max(early[place - 1]);
        }
        for place in (1..order.len()).rev() {
            late[place - 1] = late[place - 1].min(late[place]);
        }
        if early.iter().zip(&late).any(|(early, late)| early > late) {
            return;
        }
        possible = true;
        for (number, least_ns, most_ns, least, most) in &mut found {
            let read = all[*number];
            // The first version of all is that nothing is there.
            let next = order.iter().position(|o| o.version == read.version).map_or(0, |n| n + 1);
            let from_ns =
                if next == 0 { read.start_ns } else { read.start_ns.max(early[next - 1]) };
            let behind = late[next..].iter().filter(|late_ns| **late_ns < from_ns).count() as u32;
            let ahead =
                early[next..].iter().filter(|early_ns| **early_ns <= read.end_ns).count() as u32;
            let since =
                |times: &[i64], at_ns: i64| times.get(next).map_or(0, |ns| (at_ns - ns).max(0));
            *least_ns = (*least_ns).min(since(&late, from_ns));
            *most_ns = (*most_ns).max(since(&early, read.end_ns));
            *least = (*least).min(behind);
            *most = (*most).max(ahead);
        }
    });
    possible.then_some(found)
}

fn each_order(writes: &mut [Operation], from: usize, found: &mut dyn FnMut(&[Operation])) {
    if from == writes.len() {
        return found(writes);
    }
    for place in from..writes.len() {
        writes.swap(from, place);
        each_order(writes, from + 1, found);
        writes.swap(from, place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn it_is_what_all_orders_say(history in histories(ONE)) {
        // None where somebody read what was written later.
        let Some(expected) = by_all_orders(&history) else { return Ok(()) };
        let mut found: Vec<_> = of_reads(&history)
            .unwrap()
            .iter()
            .map(|s| (s.operation, s.least_ns, s.most_ns, s.least_versions, s.most_versions))
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, expected, "{:#?}", history);
    }

    #[test]
    fn what_was_loaded_is_one_version_behind(history in histories(ONE)) {
        let with = changed(&history, |operation| {
            if operation.version == Version::ABSENT {
                operation.version = Version::LOADED;
            }
        });
        let mut with = with;
        with.loaded = 0..1;
        prop_assert_eq!(of_reads(&with).unwrap(), of_reads(&history).unwrap());
        // Nothing at all was read where something had been loaded: it has been so from the beginning.
        let mut missed = history.clone();
        missed.loaded = 0..1;
        for (before, after) in of_reads(&history).unwrap().iter().zip(of_reads(&missed).unwrap()) {
            let read = history.operations()[before.operation];
            if read.version == Version::ABSENT {
                prop_assert_eq!(after.least_versions, before.least_versions + 1);
                prop_assert!(after.least_ns > 0 && after.most_ns == NEVER_NS);
            } else {
                prop_assert_eq!(*before, after);
            }
        }
    }
}
