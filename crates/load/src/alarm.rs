//! Waits to the microsecond.
//!
//! The runtime's own timers are rounded up to whole milliseconds, which would make every start of a
//! schedule late by half of one. Here the waits of a thread share one timer of the kernel, armed
//! shortly before the earliest of them; the rest of that one is waited for awake, since a processor
//! takes longer to wake up than a start may be late. Being awake the thread does its other work, and
//! yields to whoever else wants its processor. What it spends on nothing but waiting is counted
//! ([`Alarm::awake_ns`]): it is no sign of a busy client.

use crate::LoadError;
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd as _;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tokio::net::unix::pipe::Receiver;

/// The waits of one thread.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: TimerFd,
    /// The same descriptor, as one that the runtime knows how to wait for.
    rings: Receiver,
    waits: RefCell<BinaryHeap<Wait>>,
    armed_for: Cell<Option<Instant>>,
    /// The earliest wait is being waited for awake: there is no need to arm the timer.
    is_awake: Cell<bool>,
    awake_ns: Cell<u64>,
}

/// How long before a moment the thread stops sleeping: a little more than an idle processor needs to
/// wake up.
const AWAKE: Duration = Duration::from_micros(80);

/// A turn of the loop that takes longer had something else to do than to wait.
const IDLE_TURN: Duration = Duration::from_micros(3);

#[derive(Debug)]
struct Wait {
    until: Reverse<Instant>,
    waker: Waker,
}

impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        self.until == other.until
    }
}
impl Eq for Wait {}
impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Wait {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.until.cmp(&other.until)
    }
}

impl Alarm {
    /// To be made inside the thread's runtime.
    pub(crate) fn new() -> Result<Self, LoadError> {
        let failed = |cause: io::Error| LoadError::System { what: "making a timer".into(), cause };
        // By default the kernel may be 50 µs late to save wake-ups. Where it won't be told, it is.
        let _ = nix::sys::prctl::set_timerslack(1);
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).map_err(|e| failed(e.into()))?;
        let same = timer.as_fd().try_clone_to_owned().map_err(failed)?;
        let rings = Receiver::from_owned_fd_unchecked(same).map_err(failed)?;
        Ok(Self {
            timer,
            rings,
            waits: RefCell::default(),
            armed_for: Cell::new(None),
            is_awake: Cell::new(false),
            awake_ns: Cell::new(0),
        })
    }

    /// Returns at `moment`, true; or false when `give_up` says so, which is asked at each
    /// [`Alarm::wake_all`].
    pub(crate) async fn until(&self, moment: Instant, give_up: impl Fn() -> bool) -> bool {
        poll_fn(|context| {
            if give_up() {
                return Poll::Ready(false);
            }
            if Instant::now() >= moment {
                return Poll::Ready(true);
            }
            // Polled again it may wait twice; the second call finds it gone and wakes for nothing.
            let wait = Wait { until: Reverse(moment), waker: context.waker().clone() };
            self.waits.borrow_mut().push(wait);
            if !self.is_awake.get() && self.armed_for.get().is_none_or(|armed| moment < armed) {
                self.arm(Some(moment));
            }
            Poll::Pending
        })
        .await
    }

    /// Lets every wait look again whether it is to give up.
    pub(crate) fn wake_all(&self) {
        let waits = std::mem::take(&mut *self.waits.borrow_mut());
        for wait in waits {
            wait.waker.wake();
        }
        self.armed_for.set(None);
    }

    fn arm(&self, moment: Option<Instant>) {
        self.armed_for.set(moment);
        let Some(moment) = moment else { return };
        // Zero would disarm the timer.
        let left = moment.saturating_duration_since(Instant::now() + AWAKE).as_nanos().max(1);
        let left = TimeSpec::nanoseconds(i64::try_from(left).unwrap_or(i64::MAX));
        // A time within the clock's range can't be refused.
        let _ = self.timer.set(Expiration::OneShot(left), TimerSetTimeFlags::empty());
    }

    /// Nanoseconds that were spent awake with nothing else to do.
    pub(crate) const fn awake_ns(&self) -> u64 {
        self.awake_ns.get()
    }

    /// Wakes who is due, for ever.
    pub(crate) async fn ring(&self) -> io::Result<()> {
        loop {
            let now = Instant::now();
            let next = self.wake_due(now);
            let is_near = next.is_some_and(|next| next < now + AWAKE);
            self.is_awake.set(is_near);
            if is_near {
                std::thread::yield_now();
                tokio::task::yield_now().await;
                let turn = now.elapsed();
                if turn < IDLE_TURN {
                    self.awake_ns.set(self.awake_ns.get() + turn.as_nanos() as u64);
                }
            } else {
                self.arm(next);
                self.rung().await?;
            }
        }
    }

    /// Wakes those who are due at `now`; when the next one will be.
    fn wake_due(&self, now: Instant) -> Option<Instant> {
        let mut waits = self.waits.borrow_mut();
        while waits.peek().is_some_and(|wait| wait.until.0 <= now) {
            if let Some(wait) = waits.pop() {
                wait.waker.wake();
            }
        }
        waits.peek().map(|wait| wait.until.0)
    }

    /// Sleeps until the timer rings.
    async fn rung(&self) -> io::Result<()> {
        loop {
            self.rings.readable().await?;
            // Eight bytes, the count of expirations. None where it was read already: the runtime
            // forgets that there was something to read only when told that there is nothing left.
            if self.rings.try_read(&mut [0; 8]).is_ok() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use tokio::task::{LocalSet, spawn_local};

    fn in_a_runtime(task: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, task);
    }

    #[test]
    fn waits_end_in_their_order_and_never_early() {
        in_a_runtime(async {
            let alarm = Rc::new(Alarm::new().unwrap());
            let ringing = Rc::clone(&alarm);
            spawn_local(async move { ringing.ring().await });
            let ended = Rc::new(RefCell::new(Vec::new()));
            let tasks: Vec<_> = [7u64, 3, 5, 3, 11]
                .map(|ms| {
                    let (alarm, ended) = (Rc::clone(&alarm), Rc::clone(&ended));
                    spawn_local(async move {
                        let moment = Instant::now() + Duration::from_millis(ms);
                        assert!(alarm.until(moment, || false).await);
                        assert!(Instant::now() >= moment);
                        ended.borrow_mut().push(ms);
                    })
                })
                .into();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*ended.borrow(), [3, 3, 5, 7, 11]);
        });
    }

    #[test]
    fn a_wait_that_is_given_up_ends_at_once() {
        in_a_runtime(async {
            let alarm = Rc::new(Alarm::new().unwrap());
            let gone = Rc::new(Cell::new(false));
            let (theirs, flag) = (Rc::clone(&alarm), Rc::clone(&gone));
            let wait = spawn_local(async move {
                theirs.until(Instant::now() + Duration::from_hours(1), || flag.get()).await
            });
            tokio::task::yield_now().await;
            gone.set(true);
            alarm.wake_all();
            assert!(!wait.await.unwrap());
        });
    }
}
