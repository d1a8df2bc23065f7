//! How fast the machine itself was, meanwhile.
//!
//! A virtual machine shares cores with neighbours that it doesn't see, and a processor's clock changes
//! with heat: what is measured gets slower and faster, for seconds or minutes, and none of the guest's
//! counters tells. So a thread for each processor does a fixed piece of arithmetic now and then, and
//! clocks it.
//!
//! The threads have the kernel's idle policy: whoever else has something to do goes first. What counts
//! is their own processor time, so that being put off in the middle doesn't: servers that wake up a
//! hundred thousand times a second put off most pieces of a burst. Nor do interrupts, and switches from
//! one thread to another, which the kernel counts as time of whom they come upon: a burst is cut in
//! short pieces, and its quickest counts. (Of pieces four times as long the median took half as much
//! again beside Redis with 8 users.) The arithmetic stays within registers, so that caches that others
//! have filled don't count: a machine's own load leaves the figure as it is. (Loads from memory don't
//! do: they take a third longer when the machine is busy.)

use crate::LoadError;
use crate::processors::{allowed, idle_on};
use crate::timeline::Timeline;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How fast the machine of the load generator was while measuring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MachineSpeed {
    /// What a step of arithmetic took on average, in nanoseconds.
    pub step_ns: f64,
    /// Of so many bursts, on all processors.
    pub bursts: u64,
}

/// Between bursts of a processor, which take a three-hundredth of its time.
const REST: Duration = Duration::from_millis(25);

/// Of a burst.
const PIECES: usize = 36;

/// In a piece: some 2 microseconds, so that some meet no interrupt, and asking for the time (a system
/// call) takes little of it.
const STEPS: u32 = 2000;

/// More processors than this aren't looked at: neighbours of some are neighbours of all.
const MOST: usize = 8;

/// Threads that clock the machine until they are asked.
#[derive(Debug)]
pub(crate) struct Clockwork {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Clocked>>,
}

/// What a thread saw while measuring.
#[derive(Debug, Default)]
struct Clocked {
    step_ns: f64,
    bursts: u64,
}

impl Clockwork {
    /// Starts a thread for each processor that this one may use.
    pub(crate) fn start(timeline: &Arc<Timeline>) -> Result<Self, LoadError> {
        let mut clockwork = Self { stop: Arc::default(), threads: Vec::new() };
        for processor in looked_at() {
            let (timeline, stop) = (Arc::clone(timeline), Arc::clone(&clockwork.stop));
            let thread = std::thread::Builder::new()
                .name(format!("pacelc-clock-{processor}"))
                .spawn(move || clock(processor, &timeline, &stop))
                .map_err(|cause| LoadError::System { what: "starting a thread".into(), cause })?;
            clockwork.threads.push(thread);
        }
        Ok(clockwork)
    }

    /// Stops, and returns what was seen while measuring; `None` where nothing was.
    pub(crate) fn stop(mut self) -> Option<MachineSpeed> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Clocked::default();
        for thread in std::mem::take(&mut self.threads) {
            // A thread that panicked has said so, and saw nothing.
            let clocked = thread.join().unwrap_or_default();
            all.step_ns += clocked.step_ns;
            all.bursts += clocked.bursts;
        }
        let Clocked { step_ns, bursts } = all;
        (bursts > 0).then(|| MachineSpeed { step_ns: step_ns / bursts as f64, bursts })
    }
}

/// A run that fails leaves no thread behind.
impl Drop for Clockwork {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The processors that are looked at, spread over those that this thread may use.
fn looked_at() -> Vec<usize> {
    let all = allowed();
    let step = all.len().div_ceil(MOST).max(1);
    all.into_iter().step_by(step).collect()
}

fn clock(processor: usize, timeline: &Timeline, stop: &AtomicBool) -> Clocked {
    let mut clocked = Clocked::default();
    if !idle_on(processor) {
        return clocked;
    }
    while !stop.load(Ordering::Relaxed) {
        let now_ns = timeline.ns(Instant::now());
        if timeline.measure_start_ns().is_some_and(|start| start <= now_ns)
            && timeline.measure_end_ns().is_some_and(|end| now_ns < end)
            && let Some(piece_ns) = quickest_ns(|| arithmetic(black_box(STEPS)))
        {
            clocked.step_ns += piece_ns / f64::from(STEPS);
            clocked.bursts += 1;
        }
        std::thread::sleep(REST);
    }
    clocked
}

/// The quickest piece's processor time; `None` where the kernel doesn't tell.
fn quickest_ns(mut piece: impl FnMut() -> u64) -> Option<f64> {
    let mut quickest = Duration::MAX;
    for _ in 0..PIECES {
        let start = processor_time()?;
        black_box(piece());
        quickest = quickest.min(processor_time()?.saturating_sub(start));
    }
    Some(quickest.as_nanos() as f64)
}

/// Of this thread.
fn processor_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// Six sums that hardly wait for each other: as much as a core can do at a time.
fn arithmetic(steps: u32) -> u64 {
    let (mut product, mut mixed, mut halved) = (1_u64, 2_u64, 3_u64);
    let (mut common, mut turned, mut low) = (4_u64, 5_u64, 6_u64);
    for step in 0..u64::from(steps) {
        product = product.wrapping_mul(3).wrapping_add(1);
        mixed = (mixed ^ step).wrapping_add(7);
        halved = (halved >> 1).wrapping_add(step);
        common = common.wrapping_add(mixed & halved);
        turned ^= common.wrapping_add(step);
        low = low.wrapping_add(turned & 15);
    }
    product ^ mixed ^ halved ^ common ^ turned ^ low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_between_most_pieces_does_not_count() {
        let mut pieces = 0;
        let took = quickest_ns(|| {
            pieces += 1;
            if pieces % 8 == 0 { pieces } else { arithmetic(black_box(2_000_000)) }
        });
        assert!(took.unwrap() < 1e6, "{took:?}");
    }

    #[test]
    fn being_put_off_is_no_arithmetic() {
        let took = quickest_ns(|| {
            std::thread::sleep(Duration::from_millis(2));
            0
        });
        assert!(took.unwrap() < 1e6, "{took:?}");
    }

    #[test]
    fn processors_are_those_that_may_be_used_and_not_too_many() {
        let found = looked_at();
        assert!((1..=MOST).contains(&found.len()), "{found:?}");
    }
}
