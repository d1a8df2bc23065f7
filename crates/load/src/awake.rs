//! Processors that don't go to sleep.
//!
//! A virtual machine gives a processor back to its host when there is nothing to do on it, and whoever is
//! to be woken there waits until the host has given it again: for 50 to 300 microseconds, as its
//! neighbours let it. A real one sleeps, too, more deeply the longer it may. The kernel lets nobody sleep
//! who would wake later than anybody bears (its power management's quality of service), and of 0
//! microseconds it makes processors wait awake.

use crate::LoadError;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;

/// What says how late a processor may wake, for as long as it is held open.
const HOW_LATE: &str = "/dev/cpu_dma_latency";

/// Keeps all processors of this machine from sleeping until the process is killed.
///
/// # Errors
///
/// If the kernel doesn't offer it to this process.
pub fn keep_awake() -> Result<(), LoadError> {
    let failed = |cause| LoadError::System { what: "keeping processors awake".into(), cause };
    let mut held = OpenOptions::new().write(true).open(HOW_LATE).map_err(failed)?;
    held.write_all(&0_i32.to_ne_bytes()).map_err(failed)?;
    loop {
        thread::park();
    }
}
