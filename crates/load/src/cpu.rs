//! Processor time of a thread.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuTime {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// What the calling thread has taken since it began; zero where the kernel doesn't tell.
    pub(crate) fn of_this_thread() -> Self {
        let seconds = |t: nix::sys::time::TimeVal| t.num_microseconds() as f64 / 1e6;
        getrusage(UsageWho::RUSAGE_THREAD).map_or(Self::default(), |usage| Self {
            user_s: seconds(usage.user_time()),
            system_s: seconds(usage.system_time()),
        })
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
    }
}
