//! How fast the checkers are: operations a second, on histories that a million reads and writes of
//! eight sessions make.

use pacelc_history::online::Online;
use pacelc_history::register::distance;
use pacelc_history::sessions::guarantees;
use pacelc_history::staleness::of_reads;
use pacelc_history::{Action, Checker, Fate, History, LinearizableRegister, Operation, Version};

/// `operations` of eight sessions on `keys` registers, half of them writes; a read returns what was
/// last written `stale` writes ago.
fn history(operations: usize, keys: u64, stale: usize) -> History {
    let mut last = vec![vec![Version::ABSENT; stale + 1]; keys as usize];
    let mut random = 1_u64;
    let mut all = Vec::with_capacity(operations);
    for number in 0..operations {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = (random >> 33) % keys;
        let session = (number % 8) as u32;
        let of_key = &mut last[key as usize];
        let writes = random >> 32 & 1 == 0;
        let version = Version(u64::from(session) << 36 | number as u64);
        let at_ns = (number as u64 * 100).cast_signed();
        if writes {
            of_key.rotate_right(1);
            of_key[0] = version;
        }
        all.push(Operation {
            session,
            action: if writes { Action::Write } else { Action::Read },
            fate: Fate::Ok,
            key,
            version: if writes { version } else { of_key[stale] },
            start_ns: at_ns - (random >> 40).cast_signed() % 350,
            end_ns: at_ns + (random >> 50).cast_signed() % 350,
        });
    }
    all.sort_by_key(|operation| operation.end_ns);
    History::new(all).unwrap_or_default()
}

/// This thread's time on a processor, which a busy machine doesn't lengthen.
fn processor_s() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() {
    let operations = 1_000_000;
    for (keys, stale) in [(1, 0), (1_000, 0), (100_000, 0), (1, 3), (1_000, 3)] {
        let history = history(operations, keys, stale);
        let rate = |work: &dyn Fn()| {
            let best = (0..5).map(|_| {
                let start_s = processor_s();
                work();
                processor_s() - start_s
            });
            operations as f64 / best.fold(f64::INFINITY, f64::min) / 1e6
        };
        let check = rate(&|| drop(LinearizableRegister.check(&history)));
        let far = rate(&|| drop(distance(&history)));
        let online = rate(&|| {
            let mut online = Online::new(0..0);
            for (number, operation) in history.operations().iter().enumerate() {
                drop(online.push(operation));
                if number % 1_000 == 0 {
                    online.advance(operation.end_ns - 800);
                }
            }
        });
        let staleness = rate(&|| drop(of_reads(&history)));
        let sessions = rate(&|| drop(guarantees(&history)));
        println!(
            "{keys} registers, {stale} behind: check {check:.1}, distance {far:.1}, online {online:.1}, \
             staleness {staleness:.1}, sessions {sessions:.1}\n    million operations a processor second"
        );
    }
}
