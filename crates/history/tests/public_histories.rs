//! Histories that others have published get the verdicts that they are known to have.
//!
//! They aren't in the repository: `PACELC_HISTORIES` names their folder.

use pacelc_history::formats::Format;
use pacelc_history::{Finding, Initial, Limits, Version, check_registers};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);

fn folder(name: &str) -> PathBuf {
    let folder = std::env::var_os("PACELC_HISTORIES").expect("PACELC_HISTORIES names a folder");
    PathBuf::from(folder).join(name)
}

/// Whether a history holds; none if its limit came first.
fn holds(path: &Path) -> Option<bool> {
    let data = fs::read(path).expect("a file");
    let read = Format::of(&data).read(&data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let begin = Instant::now();
    let limits = Limits { states: 4 << 20, give_up: &|| begin.elapsed() > LIMIT };
    match check_registers(&read.history, Initial::Known(Version::ABSENT), limits, &read.names) {
        Finding::Holds => Some(true),
        Finding::Violated { witness } => {
            assert!(witness.operations.len() <= 20, "{}: {witness:#?}", path.display());
            Some(false)
        }
        Finding::Unknown { .. } => None,
    }
}

/// At most so many of the histories may be unknown at their limit.
fn agree(histories: &[(PathBuf, bool)], unknown_at_most: usize) {
    let begin = Instant::now();
    let mut unknown = 0;
    for (path, expected) in histories {
        match holds(path) {
            Some(found) => assert_eq!(found, *expected, "{}", path.display()),
            None => unknown += 1,
        }
    }
    println!("{} histories, {unknown} unknown, {:?}", histories.len(), begin.elapsed());
    assert!(unknown <= unknown_at_most, "{unknown} unknown");
}

#[test]
#[ignore = "needs histories: PACELC_HISTORIES"]
fn logs_of_etcd_get_the_verdicts_of_porcupine() {
    let folder = folder("etcd-logs");
    let verdicts = fs::read_to_string(folder.join("expected.tsv")).expect("verdicts");
    let rows = verdicts.lines().skip(1).map(|line| {
        let (file, verdict) = line.split_once('\t').expect("two columns");
        (folder.join(file), verdict == "true")
    });
    let histories: Vec<_> = rows.collect();
    assert!(histories.len() > 100);
    agree(&histories, 0);
}

#[test]
#[ignore = "needs histories: PACELC_HISTORIES"]
fn histories_of_registers_with_compare_and_set_get_the_verdicts_of_knossos() {
    let folder = folder("cas-register");
    let mut histories = Vec::new();
    for (name, verdict) in [("good", true), ("bad", false)] {
        for entry in fs::read_dir(folder.join(name)).expect("a folder") {
            histories.push((entry.expect("a file").path(), verdict));
        }
    }
    assert!(histories.len() > 40);
    agree(&histories, 0);
}
