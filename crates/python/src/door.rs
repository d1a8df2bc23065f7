//! The one door for long work: it is done without the GIL, and Ctrl-C stops it.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long Ctrl-C may go unheard.
const HEARING: Duration = Duration::from_millis(100);

/// Works on a thread of its own, while this one listens for signals. The work asks now and then
/// whether it is to stop, and what it then answers is dropped.
pub fn heard<A: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> A + Send,
) -> PyResult<A> {
    let stop = AtomicBool::new(false);
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, end) = channel();
            let stopped = || stop.load(Ordering::Relaxed);
            let worker = scope.spawn(move || {
                let answer = work(&stopped);
                // Whoever listens waits for the thread in any case.
                let _ = done.send(());
                answer
            });
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(HEARING) {
                if let Err(interrupt) = Python::attach(signals) {
                    stop.store(true, Ordering::Relaxed);
                    return Err(interrupt);
                }
            }
            Ok(worker.join().expect("the engine doesn't panic"))
        })
    })
}

/// Raises what Ctrl-C asks for.
fn signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}
