//! A station: who is served there, how fast, and who waits.
//!
//! Each has a clock of its own, which runs as fast as each customer in service is served: beside
//! real time, except where servers are shared or their rate depends on the load. A service that
//! begins at b and needs s ends when the clock says b + s, however its speed changes meanwhile.

use super::calendar::Times;
use super::jobs::{Crowd, Jobs, Line, State};
use super::plan::StationPlan;
use super::random::{Random, below};
use crate::network::StationKind;

/// Those who wait: in lines, the first of which goes first, or in none.
#[derive(Debug, Clone)]
enum Waits {
    Lines(Vec<Line>),
    Crowd(Crowd),
}

impl Waits {
    #[inline]
    fn push(&mut self, jobs: &mut Jobs, id: u32, line: u32) {
        match self {
            Self::Lines(lines) => lines[line as usize].push(jobs, id),
            Self::Crowd(crowd) => crowd.push(jobs, id),
        }
    }

    /// Who was interrupted; in a crowd it is one of all.
    fn push_first(&mut self, jobs: &mut Jobs, id: u32, line: u32) {
        match self {
            Self::Lines(lines) => lines[line as usize].push_first(jobs, id),
            Self::Crowd(crowd) => crowd.push(jobs, id),
        }
    }

    #[inline]
    fn next(&mut self, jobs: &mut Jobs, random: &mut Random) -> Option<u32> {
        match self {
            Self::Lines(lines) => lines.iter_mut().find_map(|line| line.pop(jobs)),
            Self::Crowd(crowd) => Some(crowd.take(jobs, below(random, crowd.len()))),
        }
    }

    fn remove(&mut self, jobs: &mut Jobs, id: u32, line: u32) {
        match self {
            Self::Lines(lines) => lines[line as usize].remove(jobs, id),
            Self::Crowd(crowd) => crowd.remove(jobs, id),
        }
    }
}

/// How fast each in service is served, and how long it takes a second of service.
#[derive(Debug, Clone, Copy)]
struct Pace {
    speed: f64,
    slowness: f64,
}

#[derive(Debug, Clone)]
pub(crate) struct Station {
    sharing: bool,
    /// Whether the clock may run at another speed than time.
    scaled: bool,
    rates: Vec<f64>,
    servers: u32,
    /// How many may be served at once.
    slots: usize,
    serving: Times,
    waits: Waits,
    waiting: usize,
    /// By how many are there, as far as anybody asked: a look instead of two divisions an event.
    paces: Vec<Pace>,
    clock: f64,
    speed: f64,
    /// The time at which the clock was read last.
    read: f64,
    /// How long somebody was there.
    busy: f64,
}

impl Station {
    pub(crate) fn new(plan: &StationPlan) -> Self {
        let delay = plan.kind == StationKind::Delay;
        let mut station = Self {
            sharing: plan.sharing && !delay,
            scaled: !delay && (plan.sharing || !plan.rates.is_empty()),
            rates: plan.rates.clone(),
            servers: 0,
            slots: usize::MAX,
            serving: Times::default(),
            waits: if plan.random {
                Waits::Crowd(Crowd::default())
            } else {
                Waits::Lines(vec![Line::EMPTY; plan.lines])
            },
            waiting: 0,
            paces: Vec::new(),
            clock: 0.0,
            speed: 1.0,
            read: 0.0,
            busy: 0.0,
        };
        if !delay {
            station.set_servers(plan.servers);
        }
        station
    }

    /// How many are there.
    #[inline]
    pub(crate) fn present(&self) -> usize {
        self.serving.len() + self.waiting
    }

    /// How long somebody was there, until the clock was read last.
    pub(crate) fn busy(&self) -> f64 {
        self.busy
    }

    fn set_servers(&mut self, servers: u32) {
        self.servers = servers;
        self.paces.clear();
        // Who is served at a rate of the station's own stays so while it is dead: its clock stands still.
        if !self.sharing && (self.rates.is_empty() || servers > 0) {
            self.slots = servers as usize;
        }
    }

    /// Set the clock to `now`.
    #[inline]
    pub(crate) fn read_clock(&mut self, now: f64) -> f64 {
        // Which station it is comes by chance, so a choice costs less than a branch.
        let passed = now - self.read;
        self.read = now;
        self.clock = if self.scaled { self.clock + passed * self.speed } else { now };
        self.busy += passed * f64::from(u8::from(self.present() > 0));
        self.clock
    }

    /// When somebody is done next, if nothing changes until then.
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        let Some((end, _)) = self.serving.first() else {
            // Small numbers are exact ones: an idle clock stands still, and begins again.
            self.speed = 0.0;
            if self.waiting == 0 {
                self.clock = 0.0;
            }
            return f64::INFINITY;
        };
        if !self.scaled {
            return end;
        }
        let present = self.present();
        if present >= self.paces.len() {
            self.extend_paces(present);
        }
        let pace = self.paces[present];
        self.speed = pace.speed;
        if pace.speed > 0.0 {
            self.read + (end - self.clock).max(0.0) * pace.slowness
        } else {
            f64::INFINITY
        }
    }

    #[cold]
    fn extend_paces(&mut self, present: usize) {
        for present in self.paces.len()..=present {
            let rate = match self.rates.as_slice() {
                _ if self.servers == 0 => 0.0,
                [] => (self.servers as usize).min(present) as f64,
                rates => rates[present.clamp(1, rates.len()) - 1],
            };
            let served = self.slots.min(present) as f64;
            self.paces.push(Pace { speed: rate / served, slowness: served / rate });
        }
    }

    /// Somebody comes. Whether it is served at once.
    #[inline]
    pub(crate) fn enter(&mut self, jobs: &mut Jobs, id: u32, line: u32, now: f64) -> bool {
        let clock = self.read_clock(now);
        if self.serving.len() < self.slots {
            self.begin(jobs, id, clock);
            return true;
        }
        jobs[id].state = State::Waiting;
        self.waits.push(jobs, id, line);
        self.waiting += 1;
        false
    }

    #[inline]
    fn begin(&mut self, jobs: &mut Jobs, id: u32, clock: f64) {
        let job = &mut jobs[id];
        job.state = State::Serving;
        job.began = clock;
        self.serving.push(clock + job.need, id);
    }

    /// Who is done.
    #[inline]
    pub(crate) fn finish(&mut self, now: f64) -> u32 {
        self.read_clock(now);
        let (end, id) = self.serving.pop().expect("an event is somebody's end of service");
        if self.scaled {
            // It is what its speed adds up to, without the rounding of times.
            self.clock = end;
        }
        id
    }

    /// The next of those who wait, if there is a server; it begins.
    #[inline]
    pub(crate) fn begin_next(&mut self, jobs: &mut Jobs, random: &mut Random) -> Option<u32> {
        if self.waiting == 0 || self.serving.len() >= self.slots {
            return None;
        }
        let id = self.waits.next(jobs, random)?;
        self.waiting -= 1;
        self.begin(jobs, id, self.clock);
        Some(id)
    }

    /// Somebody leaves before its end, wherever it stands; gives how much it was served.
    pub(crate) fn abandon(&mut self, jobs: &mut Jobs, id: u32, line: u32, now: f64) -> f64 {
        let clock = self.read_clock(now);
        if jobs[id].state == State::Serving {
            self.serving.remove(id);
            clock - jobs[id].began
        } else {
            self.waits.remove(jobs, id, line);
            self.waiting -= 1;
            0.0
        }
    }

    /// From now on it has so many servers. Who loses its server goes back to the head of its line, and keeps what was
    /// done; `interrupted` is told who, and how much that is.
    pub(crate) fn change_servers(
        &mut self,
        jobs: &mut Jobs,
        servers: u32,
        now: f64,
        line_of: impl Fn(u32) -> u32,
        mut interrupted: impl FnMut(u32, f64),
    ) {
        let clock = self.read_clock(now);
        self.set_servers(servers);
        while self.serving.len() > self.slots {
            // The one that came last gives way first.
            let last = self
                .serving
                .ids()
                .max_by(|a, b| jobs[*a].began.total_cmp(&jobs[*b].began).then(a.cmp(b)));
            let Some(id) = last else { break };
            self.serving.remove(id);
            let done = clock - jobs[id].began;
            let job = &mut jobs[id];
            job.need -= done;
            job.state = State::Waiting;
            let line = line_of(job.class);
            self.waits.push_first(jobs, id, line);
            self.waiting += 1;
            interrupted(id, done);
        }
    }

    /// How much somebody who is served has had of it, as the clock was read last.
    pub(crate) fn attained(&self, began: f64) -> f64 {
        self.clock - began
    }
}
