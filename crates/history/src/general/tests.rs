//! Against brute force, and the laws of closed parts and of verdicts.

#[path = "../../tests/made/mod.rs"]
mod made;

use super::witness::Whole;
use super::{General, Initial, Limits};
use crate::{Action, Fate, Finding, History, NEVER_NS, Names, Operation, Version};
use made::{Made, Shape, history, is_linearizable};
use proptest::prelude::*;

const SHAPE: Shape = Shape { operations: 7, distinct: false };

fn check_from(operations: &[Operation], initial: Initial) -> Finding {
    let limits = Limits { states: 1 << 20, give_up: &|| false };
    let names = Names::default();
    let history = History::new(operations.to_vec()).expect("no end before its start");
    General { initial, limits, names: &names }.answer(&history)
}

fn check(made: &Made) -> Finding {
    check_from(&made.operations, Initial::Known(made.initial))
}

fn holds(made: &Made) -> bool {
    check(made) == Finding::Holds
}

#[test]
fn the_verdict_is_brute_forces_and_the_witness_is_a_violation_by_itself() {
    let (mut held, mut violated) = (0, 0);
    for seed in 0..60_000 {
        for distinct in [false, true] {
            let made = history(seed, Shape { distinct, ..SHAPE });
            match check(&made) {
                Finding::Holds => {
                    assert!(is_linearizable(&made), "{seed}: {made:#?}");
                    held += 1;
                }
                Finding::Violated { witness } => {
                    assert!(!is_linearizable(&made), "{seed}: {made:#?}");
                    let part = Made { operations: witness.operations, ..made.clone() };
                    assert!(!is_linearizable(&part), "{seed}: {part:#?}");
                    assert!(part.operations.iter().all(|one| made.operations.contains(one)));
                    violated += 1;
                }
                Finding::Unknown { reason } => panic!("{seed}: {reason}"),
            }
        }
    }
    assert!(held > 20_000 && violated > 20_000, "{held} hold, {violated} violated");
}

#[test]
fn whatever_was_there_before_is_allowed_where_nobody_knows_it() {
    for seed in 0..30_000 {
        let made = history(seed, SHAPE);
        // Any value: those that occur and one that doesn't are all that differ.
        let somehow =
            (0..5).map(Version).any(|initial| is_linearizable(&Made { initial, ..made.clone() }));
        let found = check_from(&made.operations, Initial::Any);
        assert_eq!(found == Finding::Holds, somehow, "{seed}: {made:#?}");
    }
}

proptest! {
    #[test]
    fn a_closed_part_of_what_is_linearizable_is_linearizable(
        seed: u64, kept in prop::collection::vec(any::<bool>(), 12)
    ) {
        let made = history(seed, Shape { operations: 10, distinct: false });
        let operations: Vec<_> = made.operations.iter().copied().filter(super::search::matters).collect();
        let (whole, _) = Whole::new(&operations, 0);
        let places = whole.closed(&kept[..operations.len()]);
        let part = places.iter().map(|at| whole.operations[*at]).collect();
        let part = Made { operations: part, ..made.clone() };
        prop_assert!(!holds(&made) || holds(&part));
    }

    #[test]
    fn widening_never_turns_holds_into_violated(seed: u64, by_ns in 0..20_i64) {
        let made = history(seed, SHAPE);
        let wide = History::new(made.operations.clone()).expect("a history").widened(by_ns);
        let wide = Made { operations: wide.operations().to_vec(), ..made };
        prop_assert!(!holds(&made) || holds(&wide));
    }

    #[test]
    fn dropping_a_read_never_turns_holds_into_violated(seed: u64, at: prop::sample::Index) {
        let made = history(seed, SHAPE);
        let mut fewer = made.clone();
        let reads: Vec<_> = (0..fewer.operations.len()).filter(|at| fewer.operations[*at].action == Action::Read).collect();
        if !reads.is_empty() {
            fewer.operations.remove(reads[at.index(reads.len())]);
        }
        prop_assert!(!holds(&made) || holds(&fewer));
    }
}

/// `(session, action, value, start, end)`; an end of 0 is none.
fn operations(rows: &[(u32, Action, u64, i64, i64)]) -> Vec<Operation> {
    let one = |&(session, action, value, start_ns, end_ns)| Operation {
        session,
        action,
        fate: if end_ns == 0 { Fate::Unknown } else { Fate::Ok },
        key: 0,
        version: Version(value),
        start_ns,
        end_ns: if end_ns == 0 { NEVER_NS } else { end_ns },
    };
    rows.iter().map(one).collect()
}

#[test]
fn a_stale_read_is_shown_with_the_writes_that_prove_it_and_nothing_else() {
    let mut rows = vec![(0, Action::Write, 1, 1, 2), (0, Action::Write, 2, 3, 4)];
    // Others write and read before, meanwhile, and after.
    for round in 0..200_u64 {
        let at_ns = 10 * round.cast_signed() + 10;
        rows.push((1, Action::Write, 10 + round % 5, at_ns, at_ns + 2));
        rows.push((2, Action::Read, 10 + round % 5, at_ns + 3, at_ns + 4));
    }
    rows.push((3, Action::Read, 2, 2012, 2013));
    rows.push((4, Action::Read, 14, 2015, 2016));
    let Finding::Violated { witness } = check_from(&operations(&rows), Initial::Known(Version(0)))
    else {
        panic!("2 was overwritten long before")
    };
    assert_eq!(witness.explanation, "session 3 read 2, but register 0 can only have held 14 then");
    let of: Vec<_> = witness.operations.iter().map(|o| (o.action, o.version.0)).collect();
    assert_eq!(of, [(Action::Write, 2), (Action::Write, 14), (Action::Read, 2)]);
}

#[test]
fn a_history_that_overlaps_too_much_is_unknown_at_its_limit() {
    let rows: Vec<_> = (0..40)
        .map(|at| (at, Action::Write, u64::from(at), 1, 100))
        .chain([(50, Action::Read, 99, 1, 100)])
        .collect();
    let history = History::new(operations(&rows)).expect("a history");
    let names = Names::default();
    let initial = Initial::Known(Version(0));
    for (states, give_up) in [(1000, false), (usize::MAX, true)] {
        let limits = Limits { states, give_up: &|| give_up };
        let found = General { initial, limits, names: &names }.answer(&history);
        assert!(matches!(found, Finding::Unknown { .. }), "{found:?}");
    }
}

#[test]
fn each_register_is_apart() {
    let mut two = operations(&[(0, Action::Write, 1, 1, 2), (0, Action::Read, 1, 3, 4)]);
    two[1].key = 7;
    assert!(matches!(check_from(&two, Initial::Known(Version(0))), Finding::Violated { .. }));
    two[0].key = 7;
    assert_eq!(check_from(&two, Initial::Known(Version(0))), Finding::Holds);
}

#[test]
fn what_an_earlier_run_left_may_be_read_first_and_not_again() {
    let old = Version::earlier(5).0;
    let fresh = operations(&[(0, Action::Read, old, 1, 2), (0, Action::Write, 1, 3, 4)]);
    assert_eq!(check_from(&fresh, Initial::Earlier), Finding::Holds);
    let again = operations(&[(0, Action::Write, 1, 1, 2), (1, Action::Read, old, 3, 4)]);
    assert!(matches!(check_from(&again, Initial::Earlier), Finding::Violated { .. }));
    let unwritten = operations(&[(0, Action::Read, 1, 1, 2)]);
    assert!(matches!(check_from(&unwritten, Initial::Earlier), Finding::Violated { .. }));

    let mut history = History::new(again).expect("a history");
    history.earlier_unknown = true;
    let limits = Limits { states: 1000, give_up: &|| false };
    let names = Names::default();
    let found = General { initial: Initial::Earlier, limits, names: &names }.answer(&history);
    assert!(matches!(found, Finding::Unknown { .. }), "{found:?}");
}

#[test]
fn ways_through_unknown_operations_that_nobody_can_count_are_unknown() {
    let swap = |from: u64, to: u64| Operation {
        session: (from * 100 + to) as u32,
        action: Action::CompareAndSet { expected: Version(from) },
        fate: Fate::Unknown,
        key: 0,
        version: Version(to),
        start_ns: 0,
        end_ns: NEVER_NS,
    };
    let read = |version| Operation {
        session: 1_000_000,
        action: Action::Read,
        fate: Fate::Ok,
        key: 0,
        version: Version(version),
        start_ns: 1,
        end_ns: 2,
    };
    // Each from each, and one long line.
    let values = 1..14_u64;
    let web = values.clone().flat_map(|from| values.clone().map(move |to| (from, to)));
    let web: Vec<_> =
        web.filter(|(from, to)| from != to).map(|(from, to)| swap(from, to)).collect();
    let line: Vec<_> = (1..40_000).map(|from| swap(from, from + 1)).collect();
    for (operations, last) in [(web, 99), (line, 40_000)] {
        let mut operations = operations;
        operations.extend([swap(13, 99), read(last)]);
        let found = check_from(&operations, Initial::Known(Version(0)));
        assert!(matches!(found, Finding::Unknown { .. }), "{found:?}");
    }
}
