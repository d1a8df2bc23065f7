//! Processors that don't go to sleep.
//!
//! A virtual machine gives a processor back to its host when there is nothing to do on it, and whoever is
//! to be woken there waits until the host has given it again: for 50 to 300 microseconds, as its
//! neighbours let it. Whoever calls this sees to it that the process is in a control group that is idle as
//! a whole: a thread's own policy counts within its group only.

use crate::LoadError;
use crate::processors::{allowed, idle_on};
use std::hint::spin_loop;
use std::io;

/// Keeps all processors that this thread may use busy with what gives way to everybody else, until the
/// process is killed.
///
/// # Errors
///
/// If the kernel doesn't let threads give way, or there are none to be had.
pub fn keep_awake() -> Result<(), LoadError> {
    let failed = |cause| LoadError::System { what: "keeping processors awake".into(), cause };
    let mut threads = Vec::new();
    for processor in allowed() {
        let thread = std::thread::Builder::new()
            .name(format!("pacelc-awake-{processor}"))
            .spawn(move || -> io::Result<()> {
                if !idle_on(processor) {
                    return Err(io::Error::last_os_error());
                }
                loop {
                    spin_loop();
                }
            })
            .map_err(failed)?;
        threads.push(thread);
    }
    for thread in threads {
        if let Ok(ended) = thread.join() {
            ended.map_err(failed)?;
        }
    }
    Ok(())
}
