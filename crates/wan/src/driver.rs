//! The loop: reads what hosts send, decides, waits, and writes.
//!
//! One thread does it all, so that what is decided has one order. It sleeps in the kernel while nothing
//! is due; but a processor that sleeps takes longer to wake up than a packet may be late. So it stays
//! awake shortly before a packet is due, and while packets follow each other closely; then it yields to
//! whoever else wants its processor.

use crate::WanError;
use crate::flight::Flight;
use crate::host::Host;
use crate::mesh::{HostId, Mesh};
use crate::packet::{PIECE_BYTES, Segments, destination, is_single, size_bytes};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::thread;
use std::time::Instant;

/// How long before a packet is due the thread stops sleeping, at least and at most: what waking up
/// has taken lately, and a little more.
const AWAKE_NS: std::ops::RangeInclusive<u64> = 50_000..=300_000;
const AWAKE_MORE_NS: u64 = 30_000;

/// Packets that follow each other more closely than this, on average, are waited for awake.
const CLOSE_NS: u64 = 60_000;

/// Pieces taken from one device before it is another's turn.
const TURN: usize = 32;

const TIMER: u64 = u64::MAX;
const CONTROL: u64 = u64::MAX - 1;

/// Who says what the network is to be: its file is readable when there is something to hear.
pub trait Commander: AsFd {
    /// Carries out what was said; false when nobody is left to say anything.
    ///
    /// # Errors
    /// [`WanError`] if the answer can't be given.
    fn answer(&mut self, driver: &mut Driver) -> Result<bool, WanError>;
}

/// Hosts and the network between them.
#[derive(Debug)]
pub struct Driver {
    /// The rules.
    pub mesh: Mesh,
    hosts: Vec<Host>,
    flight: Flight,
    clock: Clock,
    piece: Vec<u8>,
    segments: Segments,
}

/// Time since the start, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn now_ns(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

impl Driver {
    /// A network of these hosts; as many as the mesh has.
    #[must_use]
    pub fn new(mesh: Mesh, hosts: Vec<Host>) -> Self {
        Self {
            mesh,
            hosts,
            flight: Flight::default(),
            clock: Clock(Instant::now()),
            piece: vec![0; PIECE_BYTES],
            segments: Segments::default(),
        }
    }

    /// The hosts, in the order of their numbers.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Moves packets and answers commands until there is nobody left to command.
    ///
    /// # Errors
    /// Among others where a host's device is gone: without it, the host would be cut off by nobody's
    /// wish, and the loop be woken by it for ever.
    pub fn run(&mut self, control: &mut impl Commander) -> Result<(), WanError> {
        let failed = |cause: nix::Error| WanError::system("waiting for packets")(cause.into());
        let mut sleep = Sleep::new(self.clock, &self.hosts, control).map_err(failed)?;
        let mut events = [EpollEvent::empty(); 64];
        loop {
            let ready = sleep.wait(self.flight.next_due_ns(), &mut events).map_err(failed)?;
            let mut moved = self.land();
            for event in &events[..ready] {
                match event.data() {
                    TIMER => sleep.hear_timer(),
                    CONTROL => {
                        if !control.answer(self)? {
                            return Ok(());
                        }
                    }
                    host => moved |= self.take_from(host as HostId, sleep.woke_late_ns)?,
                }
            }
            sleep.note(moved);
        }
    }

    /// Hands over what is due.
    fn land(&mut self) -> bool {
        let mut any = false;
        while let Some(packet) = self.flight.take_due(self.clock.now_ns()) {
            any = true;
            if self.mesh.may_land(packet.from, packet.to) {
                hand_over(&self.hosts, &mut self.mesh, packet.from, packet.to, &packet.bytes);
            }
            self.flight.recycle(packet);
        }
        any
    }

    /// Takes what a host has sent, that long ago at least.
    fn take_from(&mut self, from: HostId, ago_ns: u64) -> Result<bool, WanError> {
        let mut any = false;
        for _ in 0..TURN {
            let bytes = match self.hosts[from].device.recv(&mut self.piece) {
                Ok(bytes) => bytes,
                Err(nothing) if nothing.kind() == ErrorKind::WouldBlock => break,
                Err(signal) if signal.kind() == ErrorKind::Interrupted => continue,
                Err(cause) => {
                    let what = format!("the device of host {} is gone", self.hosts[from].name);
                    return Err(WanError::system(what)(cause));
                }
            };
            any = true;
            let Some(to) = self.receiver(bytes) else { continue };
            if is_single(&self.piece[..bytes]) || !self.mesh.wants_single_packets(from, to) {
                self.send(from, to, Part::Whole(bytes), ago_ns);
            } else if let Ok(count) = self.segments.divide(&mut self.piece[..bytes]) {
                for index in 0..count {
                    self.send(from, to, Part::Segment(index), ago_ns);
                }
            }
        }
        Ok(any)
    }

    /// The host that the piece just read is for; none for an address that is nobody's.
    fn receiver(&self, bytes: usize) -> Option<HostId> {
        let address = Ipv4Addr::from(destination(&self.piece[..bytes])?);
        self.hosts.iter().position(|host| host.address == address)
    }

    fn send(&mut self, from: HostId, to: HostId, part: Part, ago_ns: u64) {
        let piece = match part {
            Part::Whole(bytes) => &self.piece[..bytes],
            Part::Segment(index) => self.segments.get(index),
        };
        let now_ns = self.clock.now_ns();
        let sent_ns = now_ns.saturating_sub(ago_ns);
        let Some((due_ns, copies)) = self.mesh.offer(from, to, sent_ns, size_bytes(piece)) else {
            return;
        };
        for _ in 0..copies {
            if due_ns <= now_ns {
                hand_over(&self.hosts, &mut self.mesh, from, to, piece);
            } else {
                self.flight.add(due_ns, from, to, piece);
            }
        }
    }
}

/// What of the buffers is to be sent.
#[derive(Clone, Copy, Debug)]
enum Part {
    Whole(usize),
    Segment(usize),
}

fn hand_over(hosts: &[Host], mesh: &mut Mesh, from: HostId, to: HostId, piece: &[u8]) {
    let taken = hosts[to].device.send(piece).is_ok();
    mesh.landed(from, to, size_bytes(piece), taken);
}

/// Waiting for packets, commands and due times.
#[derive(Debug)]
struct Sleep {
    clock: Clock,
    epoll: Epoll,
    timer: TimerFd,
    armed_for_ns: Option<u64>,
    moved_at_ns: u64,
    /// What waking up takes: how late the timer was, on average, the last times counting most.
    waking_ns: u64,
    /// How long a packet has waited that has just woken the thread up, at least; else 0. A processor
    /// wakes another in half the time that a timer takes, or in less, by machine: with half, links of
    /// some were up to 9 µs too short each way, and no packet may be faster than its link.
    woke_late_ns: u64,
    /// Mean time between packets, the last ones counting most.
    gap_ns: u64,
}

impl Sleep {
    fn new(clock: Clock, hosts: &[Host], control: &impl AsFd) -> nix::Result<Self> {
        // By default the kernel may be 50 µs late to save wake-ups.
        let _ = nix::sys::prctl::set_timerslack(1);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        let add = |what: &dyn AsFd, data| {
            epoll.add(what.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, data))
        };
        for (number, host) in hosts.iter().enumerate() {
            add(&host.device, number as u64)?;
        }
        add(&timer, TIMER)?;
        add(control, CONTROL)?;
        Ok(Self {
            clock,
            epoll,
            timer,
            armed_for_ns: None,
            moved_at_ns: 0,
            waking_ns: 0,
            woke_late_ns: 0,
            gap_ns: u64::MAX,
        })
    }

    /// Waits until there is something to do, or seems about to be; how many events there are.
    fn wait(&mut self, next_due_ns: Option<u64>, events: &mut [EpollEvent]) -> nix::Result<usize> {
        let now_ns = self.clock.now_ns();
        let awake_ns = (self.waking_ns + AWAKE_MORE_NS).clamp(*AWAKE_NS.start(), *AWAKE_NS.end());
        self.woke_late_ns = 0;
        let is_close = self.gap_ns < CLOSE_NS && now_ns < self.moved_at_ns + 2 * CLOSE_NS;
        let is_due = next_due_ns.is_some_and(|due_ns| due_ns < now_ns + awake_ns);
        if is_close || is_due {
            if !is_due {
                thread::yield_now();
            }
            return retried(|| self.epoll.wait(events, EpollTimeout::ZERO));
        }
        self.arm(next_due_ns.map(|due_ns| due_ns - awake_ns), now_ns)?;
        let ready = retried(|| self.epoll.wait(events, EpollTimeout::NONE))?;
        match self.armed_for_ns {
            Some(at_ns) if events[..ready].iter().any(|event| event.data() == TIMER) => {
                let late_ns = self.clock.now_ns().saturating_sub(at_ns).min(*AWAKE_NS.end());
                self.waking_ns = (7 * self.waking_ns + late_ns) / 8;
            }
            _ => self.woke_late_ns = self.waking_ns / 4,
        }
        Ok(ready)
    }

    /// Sets the timer, if it isn't set so.
    fn arm(&mut self, for_ns: Option<u64>, now_ns: u64) -> nix::Result<()> {
        if for_ns == self.armed_for_ns {
            return Ok(());
        }
        self.armed_for_ns = for_ns;
        match for_ns {
            None => self.timer.unset(),
            Some(at_ns) => {
                let left_ns = at_ns.saturating_sub(now_ns).max(1);
                let left = TimeSpec::nanoseconds(left_ns.cast_signed());
                self.timer.set(Expiration::OneShot(left), TimerSetTimeFlags::empty())
            }
        }
    }

    fn hear_timer(&mut self) {
        // It would block where it was set anew in between.
        let _ = nix::unistd::read(&self.timer, &mut [0; 8]);
        self.armed_for_ns = None;
    }

    /// Learns how closely packets follow each other.
    fn note(&mut self, moved: bool) {
        if moved {
            let now_ns = self.clock.now_ns();
            let gap_ns = (now_ns - self.moved_at_ns).min(10 * CLOSE_NS);
            self.gap_ns =
                if self.gap_ns == u64::MAX { gap_ns } else { (7 * self.gap_ns + gap_ns) / 8 };
            self.moved_at_ns = now_ns;
        }
    }
}

/// Again where a signal came in between.
fn retried(mut wait: impl FnMut() -> nix::Result<usize>) -> nix::Result<usize> {
    loop {
        match wait() {
            Err(nix::Error::EINTR) => {}
            done => return done,
        }
    }
}
