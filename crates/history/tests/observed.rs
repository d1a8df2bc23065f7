//! What is said of a whole run.

#![allow(clippy::unwrap_used)]

mod common;

use common::row;
use pacelc_core::OperationKind;
use pacelc_history::log::{Logged, Origin, Row, read};
use pacelc_history::observed::{Observed, observe};
use proptest::prelude::*;

fn observed(rows: &[Row], logged: &serde_json::Value) -> Observed {
    let logged: Logged = serde_json::from_value(logged.clone()).unwrap();
    let bytes: Vec<u8> = rows.iter().flat_map(Row::encode).collect();
    observe(&read(&bytes, &logged).unwrap(), &logged).unwrap()
}

/// Of each record so many reads, of which the first ones are stale.
fn reads_of(records: &[(u64, u64)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (record, (reads, stale)) in (0..).zip(records) {
        rows.push(row(OperationKind::Update, record, 100));
        for number in 0..*reads {
            let origin = if number < *stale { Origin::Load } else { Origin::Run } as u8;
            let read = row(OperationKind::Read, record, 1_000 + 100 * number);
            rows.push(Row { origin, read_writer: 4, read_sequence: 100, ..read });
        }
    }
    rows
}

proptest! {
    /// Over all samples of the records, each with its chance, the estimated totals are the true ones.
    #[test]
    fn a_sample_of_records_tells_of_all(records in prop::collection::vec((1..6_u64, 0..6_u64), 2..7)) {
        let records: Vec<_> = records.into_iter().map(|(all, stale)| (all, stale.min(all))).collect();
        let whole = observed(&reads_of(&records), &serde_json::json!({"loaded_from": 0, "loaded_to": 9}));
        let stale: u64 = records.iter().map(|counts| counts.1).sum();
        let all: u64 = records.iter().map(|counts| counts.0).sum();
        let share = stale as f64 / all as f64;
        prop_assert!((whole.staleness.stale_share.unwrap() - share).abs() < 1e-12);
        prop_assert!(whole.staleness.stale_share_error.abs() < 1e-12);
        // Record 0 is hot, the others are in with a chance of a half.
        let sample = serde_json::json!({
            "loaded_from": 0, "loaded_to": 9,
            "sample": {"threshold": 0.5, "hot_records": [0]},
        });
        let rows = reads_of(&records);
        let (mut error, mut spread, samples) = (0.0, 0.0, 1_u32 << (records.len() - 1));
        for chosen in 0..samples {
            let kept = |record: u64| record == 0 || chosen >> (record - 1) & 1 == 1;
            let rows: Vec<Row> = rows.iter().filter(|row| kept(row.record)).copied().collect();
            let found = observed(&rows, &sample).staleness;
            let residual = |record: usize| {
                let (all, stale) = records[record];
                let weight = if record == 0 { 1.0 } else { 2.0 };
                if kept(record as u64) { weight * (stale as f64 - share * all as f64) } else { 0.0 }
            };
            // The estimate is off by the sum of residuals over the estimated number of reads.
            let reads: f64 = (0..records.len())
                .filter(|record| kept(*record as u64))
                .map(|record| records[record].0 as f64 * if record == 0 { 1.0 } else { 2.0 })
                .sum();
            let off: f64 = (0..records.len()).map(residual).sum();
            prop_assert!((found.stale_share.unwrap() - share - off / reads).abs() < 1e-9);
            error += off;
            spread += off * off;
        }
        prop_assert!(error.abs() / f64::from(samples) < 1e-9);
        let expected: f64 = records[1..]
            .iter()
            .map(|(all, stale)| (*stale as f64 - share * *all as f64).powi(2))
            .sum();
        prop_assert!((spread / f64::from(samples) - expected).abs() < 1e-6);
    }
}

#[test]
fn a_record_that_somebody_deleted_is_searched() {
    let of = |at_ns, kind, origin: Origin| Row {
        origin: origin as u8,
        read_writer: 4,
        read_sequence: 100,
        ..row(kind, 2, at_ns)
    };
    let rows = [
        of(100, OperationKind::Update, Origin::None),
        of(200, OperationKind::Delete, Origin::None),
        of(300, OperationKind::Read, Origin::Nothing),
    ];
    let logged = serde_json::json!({"loaded_from": 0, "loaded_to": 9});
    let found = observed(&rows, &logged);
    assert_eq!((found.deleted_records, found.findings[0].verdict), (1, "holds"));
    // What was deleted is read again.
    let again = [&rows[..], &[of(400, OperationKind::Read, Origin::Run)]].concat();
    let found = observed(&again, &logged);
    assert_eq!((found.findings[0].violated, found.findings[0].verdict), (1, "violated"));
    assert!(found.findings[0].witness.is_some());
}
