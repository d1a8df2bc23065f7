//! Porcupine's verdicts on many random histories are ours.
//!
//! `python/tests/history/test_against_porcupine.py` builds Porcupine and names it in
//! `PACELC_PORCUPINE`.

mod made;

use made::{Made, Shape, history};
use pacelc_history::{Finding, History, Initial, Limits, Names, check_registers};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What Porcupine answers of each history.
fn porcupine(histories: &[Made]) -> Vec<bool> {
    let program = std::env::var("PACELC_PORCUPINE").expect("PACELC_PORCUPINE names a program");
    let lines: String = histories.iter().map(Made::line).collect();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Porcupine starts");
    // It answers when all has been read, so neither waits for the other.
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("Porcupine reads");
    let output = child.wait_with_output().expect("Porcupine answers");
    assert!(output.status.success());
    output.stdout.iter().map(|answer| *answer == b'1').collect()
}

/// Compares a checker with Porcupine on so many histories.
fn agree(shape: Shape, count: u64, holds: impl Fn(&Made) -> bool) {
    let histories: Vec<_> = (0..count).map(|seed| history(seed, shape)).collect();
    let expected = porcupine(&histories);
    assert_eq!(expected.len(), histories.len());
    for (seed, (made, expected)) in histories.iter().zip(&expected).enumerate() {
        assert_eq!(holds(made), *expected, "seed {seed}, {shape:?}: {made:#?}");
    }
    let held = expected.iter().filter(|held| **held).count() as u64;
    assert!(held > count / 10 && count - held > count / 10, "{held} of {count} hold");
}

fn general_holds(made: &Made) -> bool {
    let history = History::new(made.operations.clone()).expect("no end before its start");
    let limits = Limits { states: 1 << 20, give_up: &|| false };
    match check_registers(&history, Initial::Known(made.initial), limits, &Names::default()) {
        Finding::Holds => true,
        Finding::Violated { .. } => false,
        Finding::Unknown { reason } => panic!("{reason}"),
    }
}

#[test]
#[ignore = "needs Porcupine"]
fn registers_whose_values_repeat_get_its_verdicts() {
    agree(Shape { operations: 16, distinct: false }, 150_000, general_holds);
}

#[test]
#[ignore = "needs Porcupine"]
fn registers_whose_values_are_distinct_get_its_verdicts() {
    agree(Shape { operations: 16, distinct: true }, 150_000, general_holds);
}
