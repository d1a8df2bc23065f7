//! Processors' idle states, disabled.
//!
//! An idle processor of a virtual machine is given back to the host. Work that is due on it waits until
//! the host schedules it again: 50 to 300 microseconds, depending on the machine's neighbours. A physical
//! processor takes longer to leave deeper idle states. A process that holds `/dev/cpu_dma_latency` open
//! limits that time (the kernel's power management quality of service). With a limit of 0 microseconds,
//! idle processors poll for work.

use crate::LoadError;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;

/// Limits how long a processor may take to leave an idle state, for as long as it is held open.
const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// Disables the idle states of all processors of this machine until the process is killed.
///
/// # Errors
///
/// If the kernel doesn't offer it to this process.
pub fn disable() -> Result<(), LoadError> {
    let failed = |cause| LoadError::System { what: "disabling idle states".into(), cause };
    let mut held = OpenOptions::new().write(true).open(DMA_LATENCY).map_err(failed)?;
    held.write_all(&0_i32.to_ne_bytes()).map_err(failed)?;
    loop {
        thread::park();
    }
}
