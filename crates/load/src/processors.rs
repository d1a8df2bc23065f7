//! Which processors there are, and threads that take nobody's time on them.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The processors that this thread may use.
pub(crate) fn allowed() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect()
}

/// This thread stays on a processor, and takes only time that nobody else wants there; whether the kernel
/// agreed.
pub(crate) fn idle_on(processor: usize) -> bool {
    let mut here = CpuSet::new();
    here.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &here)).is_ok()
        && be_idle()
}

#[allow(unsafe_code)] // There is no safe function for it.
fn be_idle() -> bool {
    // SAFETY: the priority is read only, and lives as long as the call; 0 is the calling thread.
    unsafe {
        let priority = libc::sched_param { sched_priority: 0 };
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) == 0
    }
}
