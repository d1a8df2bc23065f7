//! The register checker against all orders there are, and its laws.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Kind, changed, histories, linearizable, without};
use pacelc_history::register::distance;
use pacelc_history::{
    Action, Checker, Fate, Finding, History, LinearizableRegister, Operation, Version,
};
use proptest::prelude::*;

const ONE: Kind = Kind { operations: 7, keys: 1, single_writer: false };
const TWO: Kind = Kind { operations: 8, keys: 2, single_writer: false };

fn holds(history: &History) -> bool {
    matches!(LinearizableRegister.check(history).unwrap(), Finding::Holds)
}

/// The smallest number for which `change` makes the history linearizable, if one below 100 does.
fn least(history: &History, change: impl Fn(&mut Operation, i64)) -> Option<i64> {
    (0..100).find(|by| linearizable(&changed(history, |operation| change(operation, *by))))
}

/// All times twice as long, so that half of an odd Γ is a whole number.
fn doubled(operation: &mut Operation) {
    operation.start_ns *= 2;
    operation.end_ns = operation.end_ns.saturating_mul(2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn it_says_what_all_orders_say(history in histories(ONE)) {
        prop_assert_eq!(holds(&history), linearizable(&history), "{:#?}", history);
    }

    #[test]
    fn registers_are_told_apart(history in histories(TWO)) {
        prop_assert_eq!(holds(&history), linearizable(&history), "{:#?}", history);
    }

    #[test]
    fn what_was_loaded_comes_first(history in histories(TWO), loaded in 0..3u64) {
        let mut history = history;
        history.loaded = 0..loaded;
        prop_assert_eq!(holds(&history), linearizable(&history), "{:#?}", history);
    }

    #[test]
    fn gamma_is_the_least_widening_that_helps(history in histories(ONE)) {
        let widened = changed(&history, doubled);
        let expected = least(&widened, |operation, by| {
            operation.start_ns -= by;
            operation.end_ns = operation.end_ns.saturating_add(by);
        });
        let found = distance(&history).unwrap();
        prop_assert_eq!(found.gamma_ns, expected, "{:#?}", history);
        prop_assert_eq!(found.gamma_ns == Some(0), holds(&history));
    }

    #[test]
    fn delta_is_the_least_that_reads_have_to_begin_earlier(history in histories(ONE)) {
        let expected = least(&history, |operation, by| {
            if !operation.writes() {
                operation.start_ns -= by;
            }
        });
        prop_assert_eq!(distance(&history).unwrap().delta_ns, expected, "{:#?}", history);
    }

    #[test]
    fn more_time_never_takes_an_order_away(history in histories(TWO), by in 0..5i64) {
        if holds(&history) {
            prop_assert!(holds(&history.widened(by)));
        }
    }

    #[test]
    fn one_read_less_never_takes_an_order_away(history in histories(TWO), choice in any::<usize>()) {
        let reads: Vec<usize> =
            (0..history.operations().len()).filter(|n| !history.operations()[*n].writes()).collect();
        if holds(&history) && !reads.is_empty() {
            prop_assert!(holds(&without(&history, reads[choice % reads.len()])));
        }
    }

    #[test]
    fn a_witness_is_a_violation_and_no_read_of_it_can_be_left_out(history in histories(TWO)) {
        if let Finding::Violated { witness } = LinearizableRegister.check(&history).unwrap() {
            let alone = History::new(witness.operations.clone()).unwrap();
            prop_assert!(!linearizable(&alone), "{witness:#?}");
            for place in (0..witness.operations.len()).filter(|n| !witness.operations[*n].writes()) {
                prop_assert!(linearizable(&without(&alone, place)), "{witness:#?}");
            }
        }
    }
}

fn operation(session: u32, action: Action, version: u64, times: (i64, i64)) -> Operation {
    let (start_ns, end_ns) = times;
    let version = Version(version);
    Operation { session, action, fate: Fate::Ok, key: 0, version, start_ns, end_ns }
}

#[test]
fn a_witness_says_in_a_sentence_what_was_seen() {
    let write = |session, version, times| operation(session, Action::Write, version, times);
    let read = |session, version, times| operation(session, Action::Read, version, times);
    let ms = 1_000_000;
    let failed = Operation { fate: Fate::Failed, ..write(0, 1, (1, 2)) };
    for (operations, expected) in [
        (
            vec![write(0, 1, (1, 2)), write(0, 2, (3, 4 * ms)), read(1, 1, (39 * ms, 40 * ms))],
            "session 1 read a value 35.000 ms after session 0 had written its successor",
        ),
        (
            vec![
                write(0, 1, (1, 2)),
                write(0, 2, (3, 100 * ms)),
                read(1, 2, (4, 5)),
                read(2, 1, (2005, 2006)),
            ],
            "session 2 read a value 2.000 µs after session 1 had read its successor",
        ),
        (
            vec![
                write(0, 1, (1, 9)),
                write(1, 2, (1, 9)),
                read(2, 2, (12, 13)),
                read(2, 1, (14, 15)),
            ],
            "two values that were written at the same time were read in an order that neither order of \
             the writes allows",
        ),
        (
            vec![failed, read(1, 1, (3, 4))],
            "session 1 read a value whose write, by session 0, had failed",
        ),
        (vec![read(1, 1, (3, 4))], "session 1 read a value that nobody wrote"),
        (
            vec![read(1, 1, (3, 4)), write(0, 1, (8, 9))],
            "session 1 had read a value 4 ns before session 0 began to write it",
        ),
    ] {
        let found = LinearizableRegister.check(&History::new(operations.clone()).unwrap()).unwrap();
        let Finding::Violated { witness } = found else { panic!("{operations:#?}") };
        assert_eq!(witness.explanation, expected);
        assert_eq!(witness.operations.len(), operations.len());
    }
    let mut history = History::new(vec![read(1, u64::MAX, (2_000, 2_001))]).unwrap();
    history.loaded = 0..1;
    let Finding::Violated { witness } = LinearizableRegister.check(&history).unwrap() else {
        panic!()
    };
    let expected = "session 1 read nothing 1 ns after the history had begun with its successor";
    assert_eq!(witness.explanation, expected);
}

#[test]
fn a_value_that_is_written_twice_is_refused_by_its_place() {
    let twice = vec![
        operation(0, Action::Write, 1, (1, 2)),
        operation(1, Action::Read, 1, (3, 4)),
        operation(0, Action::Write, 1, (5, 6)),
    ];
    let error = LinearizableRegister.check(&History::new(twice).unwrap()).unwrap_err();
    assert_eq!(error.operation, 2);
    let expected =
        "the value 1 is written for the second time: a register of distinct values has none";
    assert_eq!(error.to_string(), expected);
}
