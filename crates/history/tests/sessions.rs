//! Session guarantees against their definitions, taken word by word.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Kind, histories};
use pacelc_history::sessions::{Guarantee, guarantees};
use pacelc_history::{Fate, History, Operation, Version};
use proptest::prelude::*;

const SHARED: Kind = Kind { operations: 14, keys: 2, single_writer: false };
const SINGLE: Kind = Kind { operations: 14, keys: 2, single_writer: true };

/// What is known of when a version was written: not before, and not after.
fn written(all: &[Operation], key: u64, version: Version) -> (i64, i64) {
    let of = |o: &&Operation| o.key == key && o.version == version;
    let Some(write) = all.iter().filter(of).find(|o| o.writes()) else {
        return (i64::MIN, i64::MIN);
    };
    let acknowledged = (write.fate == Fate::Ok).then_some(write.end_ns);
    let reads = all.iter().filter(of).filter(|o| o.is_answered_read()).map(|o| o.end_ns);
    let last = acknowledged.into_iter().chain(reads).min().unwrap_or(i64::MAX);
    (write.start_ns, last.max(write.start_ns))
}

/// Whether `read` hides `version` (yes, no, or it can't be told).
fn hides(all: &[Operation], read: &Operation, version: Version) -> Option<bool> {
    let (mine, other) = (written(all, read.key, read.version), written(all, read.key, version));
    match () {
        () if mine.1 < other.0 => Some(true),
        () if read.version == version || other.1 < mine.0 => Some(false),
        () => None,
    }
}

/// Eligible, violated and untold reads of a guarantee.
fn by_definition(history: &History, guarantee: Guarantee) -> (u64, u64, u64) {
    let all = history.operations();
    let mut found = (0, 0, 0);
    for (place, read) in all.iter().enumerate().filter(|(_, o)| o.is_answered_read()) {
        if written(all, read.key, read.version) == (i64::MIN, i64::MIN)
            && read.version != Version::ABSENT
        {
            continue;
        }
        let earlier = |o: &&Operation| o.session == read.session;
        let mine = || all[..place].iter().filter(earlier);
        let is_write = |o: &&Operation| o.writes() && o.fate == Fate::Ok && o.key == read.key;
        let is_read = |o: &&Operation| o.is_answered_read() && o.key == read.key;
        // What others had done of this record before writes that were read before: of it, or of others.
        let seen = |across: bool, is_it: &dyn Fn(&&Operation) -> bool| -> Vec<Version> {
            let reads = mine().filter(|o| o.is_answered_read() && (o.key != read.key) == across);
            reads
                .filter_map(|seen| {
                    all.iter()
                        .position(|o| o.writes() && o.key == seen.key && o.version == seen.version)
                })
                .filter(|write| all[*write].session != read.session)
                .flat_map(|write| {
                    let before = move |o: &&Operation| o.session == all[write].session;
                    all[..write].iter().filter(before).filter(is_it).map(|o| o.version)
                })
                .collect()
        };
        let (demanded, exactly): (Vec<Version>, bool) = match guarantee {
            Guarantee::ReadYourWrites => {
                (mine().filter(is_write).map(|o| o.version).collect(), false)
            }
            Guarantee::MonotonicReads => {
                (mine().filter(is_read).map(|o| o.version).collect(), false)
            }
            Guarantee::MonotonicWrites => (seen(false, &is_write), true),
            Guarantee::WritesFollowReads => (seen(false, &is_read), true),
            Guarantee::MonotonicWritesAcrossRecords => (seen(true, &is_write), false),
            Guarantee::WritesFollowReadsAcrossRecords => (seen(true, &is_read), false),
        };
        let answers: Vec<Option<bool>> = if exactly {
            demanded.iter().map(|version| Some(*version == read.version)).collect()
        } else {
            demanded.iter().map(|version| hides(all, read, *version)).collect()
        };
        let violated = answers.contains(&Some(true));
        found.0 += u64::from(!answers.is_empty());
        found.1 += u64::from(violated);
        found.2 += u64::from(!violated && answers.contains(&None));
    }
    found
}

/// Sessions' operations interleaved by their starts, as a log has them.
fn interleaved(history: &History) -> History {
    let mut operations = history.operations().to_vec();
    operations.sort_by_key(|o| o.start_ns);
    History::new(operations).unwrap()
}

/// Whether somebody read what was only written afterwards: no order has that.
fn foresees(history: &History) -> bool {
    let all = history.operations();
    all.iter()
        .filter(|o| o.is_answered_read())
        .any(|read| read.end_ns < written(all, read.key, read.version).0)
}

fn check(history: &History) -> Result<(), TestCaseError> {
    if foresees(history) {
        return Ok(());
    }
    for kept in guarantees(history).unwrap() {
        let found = (kept.eligible, kept.violated, kept.untold);
        let expected = by_definition(history, kept.guarantee);
        prop_assert_eq!(found, expected, "{:?} of {:#?}", kept.guarantee, history);
        prop_assert_eq!(kept.witness.is_some(), kept.violated > 0);
        if let Some(witness) = kept.witness {
            let alone = History::new(witness.operations.clone()).unwrap();
            let again = guarantees(&alone).unwrap();
            let again = again.iter().find(|k| k.guarantee == kept.guarantee).unwrap();
            prop_assert!(
                again.violated > 0,
                "{:?}: {:#?} of {:#?}",
                kept.guarantee,
                witness,
                history
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30_000))]

    #[test]
    fn they_are_as_defined(history in histories(SHARED)) {
        check(&interleaved(&history))?;
        check(&history)?;
    }

    #[test]
    fn so_they_are_with_one_writer_a_record(history in histories(SINGLE)) {
        check(&interleaved(&history))?;
    }

    #[test]
    fn more_time_never_makes_a_violation(history in histories(SHARED), by in 0..5i64) {
        let violated = |history: &History| -> Vec<u64> {
            guarantees(history).unwrap().iter().map(|kept| kept.violated).collect()
        };
        let before = violated(&history);
        let after = violated(&history.widened(by));
        prop_assert!(before.iter().zip(&after).all(|(before, after)| after <= before));
    }
}
