//! How many operations a second the checkers check, a line of JSON a history; `benches/history.py` runs
//! it. With Porcupine's path as an argument, a last line says how long Porcupine takes, and how long we.
//!
//! All is processor time of the thread that checks, which other work on the machine hardly lengthens.

#[path = "../tests/made/mod.rs"]
mod made;

use made::Made;
use nix::time::{ClockId, clock_gettime};
use pacelc_history::online::Online;
use pacelc_history::register::distance;
use pacelc_history::sessions::guarantees;
use pacelc_history::staleness::of_reads;
use pacelc_history::{
    Action, Checker, Fate, Finding, History, LinearizableRegister, Operation, Version,
};
use serde_json::json;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

const OPERATIONS: usize = 1_000_000;

/// Operations take effect so long after one another.
const GAP_NS: i64 = 100;

/// `operations` of sessions without a pause, on `keys` registers, half of them writes; a read returns
/// what was written `behind` writes before the last. Writers have counted `one_in` times as many: where a
/// log holds a sample of the records, numbers are missing between its own.
fn history(operations: usize, sessions: u32, keys: u64, behind: usize, one_in: u64) -> History {
    let mut last = vec![vec![Version::ABSENT; behind + 1]; keys as usize];
    let mut free_ns = vec![0; sessions as usize];
    let mut random = 1_u64;
    let mut all = Vec::with_capacity(operations);
    for number in 0..operations {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = (random >> 33) % keys;
        let session = number as u32 % sessions;
        let of_key = &mut last[key as usize];
        let writes = random >> 32 & 1 == 0;
        let count = one_in * u64::from(number as u32 / sessions);
        let version = Version(u64::from(session) << 36 | count);
        let effect_ns = GAP_NS * number.cast_signed() as i64;
        if writes {
            of_key.rotate_right(1);
            of_key[0] = version;
        }
        let end_ns = effect_ns + (random >> 50).cast_signed() % (GAP_NS * i64::from(sessions));
        all.push(Operation {
            session,
            action: if writes { Action::Write } else { Action::Read },
            fate: Fate::Ok,
            key,
            version: if writes { version } else { of_key[behind] },
            start_ns: std::mem::replace(&mut free_ns[session as usize], end_ns),
            end_ns,
        });
    }
    all.sort_by_key(|operation| operation.end_ns);
    History::new(all).expect("no end before its start")
}

fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux").into()
}

/// The quickest of so many times.
fn best_s<T>(times: u32, work: impl Fn() -> T) -> f64 {
    let took = (0..times).map(|_| {
        let start = thread_time();
        let done = work();
        let took = thread_time().saturating_sub(start);
        drop(done);
        took.as_secs_f64()
    });
    took.fold(f64::INFINITY, f64::min)
}

/// The whole history through the checker that runs beside the load.
fn online(history: &History, longest_ns: i64) {
    let mut online = Online::new(0..0);
    for (number, operation) in history.operations().iter().enumerate() {
        online.push(operation).expect("it began after the watermark");
        if number % 1_000 == 0 {
            online.advance(operation.end_ns - longest_ns);
        }
    }
}

/// Porcupine's own time for a history that both say is linearizable, and ours, seconds.
fn beside_porcupine(program: &str) -> serde_json::Value {
    let history = history(10_000, 10, 1, 0, 1);
    // Its numbers are signed.
    let absent = Version(1 << 62);
    let mut made = Made { operations: history.operations().to_vec(), initial: absent };
    for read in made.operations.iter_mut().filter(|read| read.version == Version::ABSENT) {
        read.version = absent;
    }
    let mut child = Command::new(program)
        .arg("-time")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Porcupine starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(made.line().as_bytes()).expect("Porcupine reads");
    drop(input);
    let output = child.wait_with_output().expect("Porcupine answers");
    let text = |bytes| String::from_utf8(bytes).expect("a number");
    assert_eq!(text(output.stdout), "1");
    let porcupine_ns: f64 = text(output.stderr).trim().parse().expect("nanoseconds");
    assert!(matches!(LinearizableRegister.check(&history), Ok(Finding::Holds)));
    let check_s = best_s(100, || LinearizableRegister.check(&history));
    json!({"porcupine_s": porcupine_ns / 1e9, "check_s": check_s})
}

fn main() {
    let shapes =
        [(1, 0, 1), (1_000, 0, 1), (1_000, 0, 32), (100_000, 0, 1), (1, 3, 1), (1_000, 3, 1)];
    for (registers, behind, one_in) in shapes {
        let sessions = 8;
        let history = history(OPERATIONS, sessions, registers, behind, one_in);
        let rate = |best_s| OPERATIONS as f64 / best_s;
        let line = json!({
            "registers": registers,
            "behind": behind,
            "one_in": one_in,
            "check": rate(best_s(5, || LinearizableRegister.check(&history))),
            "distance": rate(best_s(5, || distance(&history))),
            "online": rate(best_s(5, || online(&history, 2 * GAP_NS * i64::from(sessions)))),
            "staleness": rate(best_s(5, || of_reads(&history))),
            "sessions": rate(best_s(5, || guarantees(&history))),
        });
        println!("{line}");
    }
    if let Some(program) = std::env::args().nth(1) {
        println!("{}", beside_porcupine(&program));
    }
}
