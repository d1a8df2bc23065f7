//! The online checker says what the other one says, whenever it hears of operations.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Kind, histories};
use pacelc_history::online::Online;
use pacelc_history::{
    Action, Checker, Fate, Finding, History, LinearizableRegister, Operation, Version,
};
use proptest::prelude::*;

const TWO: Kind = Kind { operations: 12, keys: 2, single_writer: false };

/// In the order of their ends, or with the rank drawn for each where nobody knows it, with a watermark
/// after each operation that `marked` has.
fn violated_online(history: &History, late: &[u8], marked: &[bool]) -> bool {
    let mut operations: Vec<(i64, Operation)> = history
        .operations()
        .iter()
        .zip(late)
        .map(|(o, late)| {
            (if o.fate == Fate::Unknown { o.start_ns + i64::from(*late) } else { o.end_ns }, *o)
        })
        .collect();
    operations.sort_by_key(|(at_ns, _)| *at_ns);
    let mut online = Online::new(history.loaded.clone());
    let mut violated = 0;
    for (place, (_, operation)) in operations.iter().enumerate() {
        online.push(operation).unwrap();
        let left = operations[place + 1..].iter().map(|(_, o)| o.start_ns).min();
        if marked[place] {
            violated += online.advance(left.unwrap_or(1_000)).len();
        }
    }
    violated + online.advance(1_000).len() > 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30_000))]

    #[test]
    fn it_says_the_same(
        history in histories(TWO),
        loaded in 0..2u64,
        late in prop::collection::vec(0..40u8, 12),
        marked in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut history = history;
        history.loaded = 0..loaded;
        let offline = !matches!(LinearizableRegister.check(&history).unwrap(), Finding::Holds);
        prop_assert_eq!(violated_online(&history, &late, &marked), offline, "{:#?}", history);
    }
}

fn operation(action: Action, version: u64, start_ns: i64) -> Operation {
    let version = Version(version);
    Operation {
        session: 0,
        action,
        fate: Fate::Ok,
        key: 7,
        version,
        start_ns,
        end_ns: start_ns + 5,
    }
}

#[test]
fn what_was_replaced_is_forgotten_and_found_out_when_it_is_read_again() {
    let mut online = Online::new(0..10);
    for number in 0..100_000_u64 {
        let start_ns = number.cast_signed() * 10;
        online.push(&operation(Action::Write, number, start_ns)).unwrap();
        online.push(&operation(Action::Read, number, start_ns + 6)).unwrap();
        if number % 10 == 0 {
            assert!(online.advance(start_ns + 6).is_empty());
            assert!(online.live() < 20);
        }
    }
    // A version of long ago: a violation as soon as its write can't be under way.
    online.push(&operation(Action::Read, 77, 2_000_000)).unwrap();
    assert!(online.advance(2_000_005).is_empty());
    assert_eq!(online.advance(2_000_006), [7]);
    assert!(online.advance(3_000_000).is_empty());
    assert!(online.push(&operation(Action::Read, 78, 2_999_999)).is_err());
}
