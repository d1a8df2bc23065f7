//! What is read back after a run is what is there, whatever was done to it.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

use pacelc_load::read_back::read_back;
use pacelc_load::{Control, LoadSpec, run, setup};
use serde_json::json;
use std::time::Duration;

fn spec(table: &str, field_length_bytes: u32) -> LoadSpec {
    serde_json::from_value(json!({
        "target": {"database": "memory"},
        "workload": {"records": 20, "insert_start": 5, "fields": 2, "update_all_fields": true,
                     "field_length_bytes": field_length_bytes, "mix": {"update": 1.0}, "table": table},
        "consistency": "weak", "users": 3, "spawn_rate_per_s": 1e6, "warm_up_s": 0.0,
        "measure_s": 0.2, "operation_timeout_ms": 1000, "seed": 7,
    }))
    .unwrap()
}

#[test]
fn records_are_found_with_their_last_writer_or_missing() {
    let spec = spec("read_back", 40);
    let control = Control::default();
    setup::insert_records(&spec, &control).unwrap();
    let limit = Duration::from_secs(10);
    let loaded = read_back(&spec, (5..30).collect(), limit, &control).unwrap();
    assert_eq!(loaded.missing.len(), 5);
    assert!(loaded.missing.iter().all(|record| (25..30).contains(record)));
    assert!(loaded.writer.iter().all(|writer| *writer == Some(0)));
    let of_the_load = loaded.found.iter().zip(&loaded.sequence);
    assert!(of_the_load.clone().all(|(record, sequence)| Some(*record) == *sequence));
    run(&spec, &control).unwrap();
    let written = read_back(&spec, (5..25).collect(), limit, &control).unwrap();
    assert_eq!((written.found.len(), written.unread.len()), (20, 0));
    assert!(written.writer.iter().all(|writer| matches!(writer, Some(1..=3))));
}

#[test]
fn what_nobody_got_to_is_unread_and_not_missing() {
    let spec = spec("read_back_late", 40);
    let control = Control::default();
    setup::insert_records(&spec, &control).unwrap();
    let late = read_back(&spec, (5..25).collect(), Duration::ZERO, &control).unwrap();
    assert_eq!((late.found.len(), late.missing.len(), late.unread.len()), (0, 0, 20));
    assert_eq!(late.errors.values().sum::<u64>(), 20);
}

#[test]
fn a_value_too_short_for_a_stamp_is_found_without_one() {
    let spec = spec("read_back_short", 8);
    let control = Control::default();
    setup::insert_records(&spec, &control).unwrap();
    let found = read_back(&spec, vec![5, 6], Duration::from_secs(10), &control).unwrap();
    assert_eq!((found.found.len(), found.writer), (2, vec![None, None]));
}
