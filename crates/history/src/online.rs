//! The register checker while operations come in, in as much memory as there are registers.
//!
//! Operations are given in any order, and now and then a *watermark*, which promises that all
//! operations to come begin at it or later. Each watermark checks the registers that were touched, as
//! [`register`](crate::register) does, and forgets versions: where version *i* came before *j*, which
//! was there before the watermark, an operation on *i* that is still to come is a violation by itself.
//! So whoever names a version again that is forgotten has read what was overwritten; that is found by
//! the first watermark past the end of the read, since its write would have come in by then.
//!
//! What is found is final. By how much, and how it came about, the log tells.
//!
//! No run uses it yet: runs are checked when they have ended, since a check while a run measures
//! would take processor time from servers on the same machine.

use crate::{BadHistory, Fate, NEVER_NS, Operation, Version};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// What is known of a version that may still be proved wrong.
#[derive(Debug, Clone, Copy)]
struct Live {
    version: Version,
    /// Whether its write has come in, or there was none.
    is_written: bool,
    is_failed: bool,
    is_read: bool,
    write_start_ns: i64,
    first_end_ns: i64,
    last_start_ns: i64,
}

/// One register.
#[derive(Debug)]
struct Register {
    key: u64,
    /// Places of its versions.
    live: SmallVec<[u32; 4]>,
    is_touched: bool,
    is_violated: bool,
}

/// The checker.
#[derive(Debug)]
pub struct Online {
    loaded: Range<u64>,
    watermark_ns: i64,
    by_key: FxHashMap<u64, u32>,
    registers: Vec<Register>,
    touched: Vec<u32>,
    versions: FxHashMap<(u32, Version), u32>,
    slots: Vec<Live>,
    free: Vec<u32>,
    /// For sorting.
    order: Vec<(i64, u32)>,
}

impl Online {
    /// For registers of which those with keys in `loaded` were written before the first operation.
    #[must_use]
    pub fn new(loaded: Range<u64>) -> Self {
        Self {
            loaded,
            watermark_ns: i64::MIN,
            by_key: FxHashMap::default(),
            registers: Vec::new(),
            touched: Vec::new(),
            versions: FxHashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            order: Vec::new(),
        }
    }

    /// How many versions are kept.
    #[must_use]
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes in one operation, which began at the watermark or later.
    ///
    /// # Errors
    /// [`BadHistory`] for one that began before it.
    pub fn push(&mut self, operation: &Operation) -> Result<(), BadHistory> {
        let reads = operation.is_answered_read();
        if !reads && !operation.writes() {
            return Ok(());
        }
        if operation.start_ns < self.watermark_ns {
            let problem = format!(
                "an operation began at {} ns, when none was expected any more before {} ns",
                operation.start_ns, self.watermark_ns
            );
            return Err(BadHistory { operation: 0, problem });
        }
        let register = self.register(operation.key);
        if !std::mem::replace(&mut self.registers[register as usize].is_touched, true) {
            self.touched.push(register);
        }
        let one = self.version(register, operation.version);
        one.last_start_ns = one.last_start_ns.max(operation.start_ns);
        if reads {
            one.is_read = true;
        } else {
            one.is_written = true;
            one.is_failed = operation.fate == Fate::Failed;
            one.write_start_ns = operation.start_ns;
        }
        if reads || operation.fate == Fate::Ok {
            one.first_end_ns = one.first_end_ns.min(operation.end_ns);
        }
        Ok(())
    }

    /// All operations to come begin at `watermark_ns` or later. Returns the keys of registers that are
    /// now known not to be linearizable; each is told once.
    pub fn advance(&mut self, watermark_ns: i64) -> Vec<u64> {
        self.watermark_ns = self.watermark_ns.max(watermark_ns);
        let mut found = Vec::new();
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|register| {
            let wrong = self.is_wrong(*register);
            let waits = self.forget(*register);
            let register = &mut self.registers[*register as usize];
            if wrong && !std::mem::replace(&mut register.is_violated, true) {
                found.push(register.key);
            }
            register.is_touched = waits;
            waits
        });
        self.touched = touched;
        found
    }

    fn is_wrong(&mut self, register: u32) -> bool {
        let (slots, order) = (&self.slots, &mut self.order);
        order.clear();
        let mut wrong = false;
        for place in &self.registers[register as usize].live {
            let one = &slots[*place as usize];
            if one.first_end_ns == NEVER_NS {
                continue;
            }
            wrong |= if one.is_written {
                (one.is_read && one.is_failed) || one.first_end_ns < one.write_start_ns
            } else {
                one.first_end_ns < self.watermark_ns
            };
            order.push((one.last_start_ns.saturating_add(one.first_end_ns), *place));
        }
        order.sort_unstable();
        let mut last_start_ns = i64::MIN;
        let mut first_end_of_last_ns = NEVER_NS;
        for (_, place) in order.iter() {
            let one = &slots[*place as usize];
            wrong |= one.first_end_ns < last_start_ns && first_end_of_last_ns < one.last_start_ns;
            if one.last_start_ns > last_start_ns {
                (last_start_ns, first_end_of_last_ns) = (one.last_start_ns, one.first_end_ns);
            }
        }
        wrong
    }

    /// Drops the versions that were replaced before the watermark; returns whether there are some whose
    /// write hasn't come in.
    fn forget(&mut self, register: u32) -> bool {
        let (slots, watermark_ns) = (&self.slots, self.watermark_ns);
        let register_of = &mut self.registers[register as usize];
        // The last starts of the two that began last, among those that were there before the watermark.
        let (mut last, mut other) = ((i64::MIN, u32::MAX), i64::MIN);
        for place in &register_of.live {
            let one = &slots[*place as usize];
            if one.first_end_ns >= watermark_ns {
                continue;
            }
            if one.last_start_ns > last.0 {
                (last, other) = ((one.last_start_ns, *place), last.0);
            } else {
                other = other.max(one.last_start_ns);
            }
        }
        let mut waits = false;
        register_of.live.retain(|place: &mut u32| {
            let one = &slots[*place as usize];
            let replaced_ns = if *place == last.1 { other } else { last.0 };
            let is_over = one.first_end_ns < replaced_ns && one.last_start_ns <= watermark_ns;
            let awaited = !one.is_written && one.first_end_ns >= watermark_ns;
            let keep = awaited || !(is_over || (one.is_failed && !one.is_read));
            waits |= keep && !one.is_written;
            if !keep {
                self.versions.remove(&(register, one.version));
                self.free.push(*place);
            }
            keep
        });
        waits
    }

    fn register(&mut self, key: u64) -> u32 {
        if let Some(register) = self.by_key.get(&key) {
            return *register;
        }
        let register = self.registers.len() as u32;
        self.by_key.insert(key, register);
        let live = SmallVec::new();
        self.registers.push(Register { key, live, is_touched: false, is_violated: false });
        let first = if self.loaded.contains(&key) { Version::LOADED } else { Version::ABSENT };
        self.version(register, first);
        register
    }

    fn version(&mut self, register: u32, version: Version) -> &mut Live {
        let place = match self.versions.entry((register, version)) {
            std::collections::hash_map::Entry::Occupied(found) => *found.get(),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                let place = self.free.pop().unwrap_or(self.slots.len() as u32);
                if place as usize == self.slots.len() {
                    self.slots.push(Live::new(version));
                } else {
                    self.slots[place as usize] = Live::new(version);
                }
                self.registers[register as usize].live.push(place);
                *vacant.insert(place)
            }
        };
        &mut self.slots[place as usize]
    }
}

impl Live {
    const fn new(version: Version) -> Self {
        let initial = version.is_initial();
        // As in `zones`, but for when a load was over: nothing says that yet.
        let begin_ns = match version {
            Version::ABSENT => i64::MIN >> 1,
            Version::LOADED => i64::MIN >> 2,
            _ => i64::MIN >> 3,
        };
        Self {
            version,
            is_written: initial,
            is_failed: false,
            is_read: false,
            write_start_ns: if initial { begin_ns } else { i64::MIN },
            first_end_ns: if initial { begin_ns } else { NEVER_NS },
            last_start_ns: if initial { begin_ns } else { i64::MIN },
        }
    }
}
