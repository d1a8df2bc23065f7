//! Rows and what they mean.

#![allow(clippy::unwrap_used)]

mod common;

use common::row;
use pacelc_core::OperationKind;
use pacelc_history::log::{Logged, Origin, ROW_BYTES, Row, read};
use pacelc_history::{Action, Fate, NEVER_NS, Version};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn reads(origin: Origin, writer: u32, sequence: u64, at_ns: u64) -> Row {
    let origin = origin as u8;
    Row {
        origin,
        read_writer: writer,
        read_sequence: sequence,
        ..row(OperationKind::Read, 1, at_ns)
    }
}

fn logged(fields: u32) -> Logged {
    let json = serde_json::json!({"loaded_from": 0, "loaded_to": 5, "fields": fields});
    serde_json::from_value(json).unwrap()
}

fn bytes(rows: &[Row]) -> Vec<u8> {
    rows.iter().flat_map(Row::encode).collect()
}

proptest! {
    #[test]
    fn a_row_comes_back(words in any::<[u64; 6]>(), pair in any::<[u32; 2]>(), small in any::<[u8; 4]>(),
                        torn in any::<bool>(), field in 0..4096_u16, read_field in 0..4096_u16) {
        let row = Row {
            due_ns: words[0], start_ns: words[1], end_ns: words[2], record: words[3], sequence: words[4],
            read_sequence: words[5], read_writer: pair[0], user: pair[1], kind: small[0],
            outcome: small[1], error: small[2], origin: small[3], torn, field, read_field,
        };
        prop_assert_eq!(Row::decode(&row.encode()), row);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), fields in 0..3_u32) {
        drop(read(&bytes, &logged(fields)));
    }
}

#[test]
fn a_read_names_the_write_that_it_saw() {
    let rows = [
        row(OperationKind::Update, 1, 100),
        reads(Origin::Run, 4, 100, 200),
        reads(Origin::Load, 0, 1, 300),
        reads(Origin::Earlier, 4, 1 << 40, 400),
        reads(Origin::Nothing, 0, u64::MAX, 500),
        reads(Origin::None, 0, u64::MAX, 600),
    ];
    let log = read(&bytes(&rows), &logged(0)).unwrap();
    let all = log.history.operations();
    assert_eq!(log.rows, [0, 1, 2, 3, 4]);
    assert_eq!((all[0].action, all[1].action), (Action::Write, Action::Read));
    assert_eq!(all[0].version, all[1].version);
    assert_eq!((all[2].version, all[4].version), (Version::LOADED, Version::ABSENT));
    assert!(all[3].version.is_initial() && all[3].version != Version::LOADED);
    assert_eq!((log.missed, log.history.loaded.clone()), (1, 0..5));
}

#[test]
fn what_earlier_runs_left_is_told_apart() {
    let versions = (0..40).flat_map(|writer| (0..40).map(move |count| (writer, count)));
    let rows: Vec<Row> = versions
        .flat_map(|(writer, count)| [(writer, 1 << 36 | count), (writer, 2 << 36 | count)])
        .map(|(writer, stamp)| reads(Origin::Earlier, writer, stamp, 100))
        .collect();
    let log = read(&bytes(&rows), &logged(0)).unwrap();
    let all: BTreeSet<Version> = log.history.operations().iter().map(|o| o.version).collect();
    assert_eq!(all.len(), rows.len());
    assert!(all.iter().all(|version| version.is_initial()));
}

#[test]
fn a_read_modify_write_is_two_operations_and_an_unknown_one_stays_open() {
    let seen = Row { origin: Origin::Load as u8, ..row(OperationKind::ReadModifyWrite, 1, 100) };
    let rows = [seen, Row { outcome: 2, ..seen }, Row { outcome: 1, origin: 255, ..seen }];
    let log = read(&bytes(&rows), &logged(0)).unwrap();
    let found: Vec<_> =
        log.history.operations().iter().map(|o| (o.writes(), o.fate, o.end_ns)).collect();
    assert_eq!(
        found,
        [
            (false, Fate::Ok, 110),
            (true, Fate::Ok, 110),
            (false, Fate::Ok, 110),
            (true, Fate::Unknown, NEVER_NS),
            (true, Fate::Failed, 110),
        ]
    );
    assert_eq!(log.rows, [0, 0, 1, 1, 2]);
}

#[test]
fn where_updates_write_one_field_each_field_is_a_register() {
    let loaded = Origin::Load as u8;
    let rows = [
        row(OperationKind::Insert, 7, 100),
        Row { field: 2, ..row(OperationKind::Update, 7, 200) },
        Row {
            field: 1,
            read_field: 3,
            origin: loaded,
            ..row(OperationKind::ReadModifyWrite, 7, 300)
        },
    ];
    let log = read(&bytes(&rows), &logged(3)).unwrap();
    let keys: Vec<u64> = log.history.operations().iter().map(|o| o.key).collect();
    assert_eq!(keys, [21, 22, 23, 22, 23, 21]);
    assert_eq!(log.history.loaded, 0..15);
}

#[test]
fn records_that_somebody_deleted_are_left_out_and_counted() {
    let rows = [
        row(OperationKind::Update, 1, 100),
        row(OperationKind::Update, 2, 200),
        row(OperationKind::Delete, 2, 300),
    ];
    let log = read(&bytes(&rows), &logged(0)).unwrap();
    assert_eq!((log.history.operations().len(), log.deleted.len()), (1, 2));
    assert_eq!((log.deleted[1].action, log.deleted[1].version), (Action::Write, Version::ABSENT));
}

#[test]
fn what_no_engine_writes_is_refused_by_its_row() {
    let good = row(OperationKind::Update, 1, 100);
    for (wrong, problem) in [
        (Row { kind: 9, ..good }, "no kind of operation has the number 9"),
        (Row { outcome: 3, ..good }, "no outcome has the number 3"),
        (Row { end_ns: u64::MAX, ..good }, "18446744073709551615 ns is no time of a run"),
        (Row { sequence: 1 << 36, ..good }, "user 3 has no operation 68719476736"),
        (Row { end_ns: 3, ..good }, "the operation ends at 3 ns, before it starts at 100 ns"),
    ] {
        let error = read(&bytes(&[good, wrong]), &logged(0)).unwrap_err();
        assert_eq!((error.operation, error.to_string()), (1, problem.into()));
    }
    let error = read(&bytes(&[good])[..ROW_BYTES - 1], &logged(0)).unwrap_err();
    assert_eq!(error.to_string(), "the last row has 63 bytes of 64");
}
