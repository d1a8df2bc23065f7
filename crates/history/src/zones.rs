//! A history by register and version, with the stretch of time that real time gives each version.
//!
//! A version's operations are its write and the reads that returned it. Of each version two moments
//! matter (Gibbons and Korach 1997, section 4; Golab, Li and Shah 2011, section 3 call the stretch
//! between them a *zone*):
//!
//! - `first_end_ns`, when the first of its operations had ended: by then it was written;
//! - `last_start_ns`, when the last of them began: it was still there, or was read again.
//!
//! Version *i* comes before version *j* in any order that respects real time if an operation of *i*
//! ended before one of *j* began, so if `i.first_end_ns < j.last_start_ns`. Two versions of which each
//! comes before the other are a *conflict*: no order of the operations respects real time.

use crate::index::Index;
use crate::{BadHistory, Fate, History, NEVER_NS, Operation, Version};
use std::cell::RefCell;

/// In place of an operation's number: there is none.
pub(crate) const NONE: u32 = u32::MAX;

/// One version of one register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zone {
    /// Its register's place among [`Zones::keys`].
    pub register: u32,
    pub version: Version,
    /// The write; [`NONE`] for what was there before the history, and for what nobody wrote.
    pub write: u32,
    pub fate: Fate,
    pub write_start_ns: i64,
    /// [`NEVER_NS`] unless it was acknowledged.
    pub write_end_ns: i64,
    pub first_end_ns: i64,
    pub last_start_ns: i64,
    /// The read that ended first, and the one that began last; [`NONE`] where nobody read it.
    pub first_read: u32,
    pub last_read: u32,
}

impl Zone {
    /// Of which nothing is known yet.
    const fn empty(register: u32, version: Version) -> Self {
        Self {
            register,
            version,
            write: NONE,
            fate: Fate::Failed,
            write_start_ns: i64::MIN,
            write_end_ns: NEVER_NS,
            first_end_ns: NEVER_NS,
            last_start_ns: i64::MIN,
            first_read: NONE,
            last_read: NONE,
        }
    }

    fn add_read(&mut self, number: u32, read: &Operation) {
        if read.end_ns < self.first_end_ns || self.first_read == NONE {
            self.first_read = number;
            self.first_end_ns = self.first_end_ns.min(read.end_ns);
        }
        if read.start_ns > self.last_start_ns || self.last_read == NONE {
            self.last_read = number;
            self.last_start_ns = self.last_start_ns.max(read.start_ns);
        }
    }

    fn add_write(&mut self, number: u32, write: &Operation) {
        self.write = number;
        self.fate = write.fate;
        self.write_start_ns = write.start_ns;
        self.last_start_ns = self.last_start_ns.max(write.start_ns);
        if write.fate == Fate::Ok {
            self.write_end_ns = write.end_ns;
            self.first_end_ns = self.first_end_ns.min(write.end_ns);
        }
    }

    pub(crate) const fn is_read(&self) -> bool {
        self.first_read != NONE
    }

    /// Whether it certainly was the register's at some time: it was acknowledged, or somebody read it.
    pub(crate) const fn took_effect(&self) -> bool {
        self.first_end_ns != NEVER_NS
    }

    /// Whether some order has it: not a write that has failed, unless somebody read it.
    pub(crate) const fn may_take_effect(&self) -> bool {
        self.took_effect() || matches!(self.fate, Fate::Unknown)
    }

    /// Whether nobody wrote what was read.
    pub(crate) const fn is_unwritten(&self) -> bool {
        self.write == NONE && !self.version.is_initial()
    }

    /// By when it was there for certain; [`NEVER_NS`] where that isn't known.
    pub(crate) fn there_ns(&self) -> i64 {
        self.first_end_ns.max(self.write_start_ns)
    }

    /// Writes that began after this moment followed it for certain.
    pub(crate) fn settled_ns(&self) -> i64 {
        if self.age() >= 2 { self.write_start_ns } else { self.there_ns() }
    }

    /// Whether its write came before that of `later`, in every order that real time allows.
    pub(crate) fn written_before(&self, later: &Self) -> bool {
        self.settled_ns() < later.write_start_ns
    }

    /// Of versions that were there before the history, which came first: the higher number. Those of
    /// earlier runs are in no order that is known.
    const fn age(&self) -> u8 {
        match self.version {
            Version::ABSENT => 3,
            Version::LOADED => 2,
            version if version.is_initial() => 1,
            _ => 0,
        }
    }
}

/// A read that returned a version of its register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub operation: u32,
    /// The version's place among [`Zones::all`].
    pub zone: u32,
}

/// Every version of every register.
#[derive(Debug)]
pub(crate) struct Zones<'a> {
    pub history: &'a History,
    pub operations: &'a [Operation],
    /// Registers' keys, in the order in which they were first seen.
    pub keys: Vec<u64>,
    /// Versions, in the order in which they were first seen.
    pub all: Vec<Zone>,
    versions: Groups,
    /// Reads, as in the history.
    pub reads: Vec<Read>,
}

impl<'a> Zones<'a> {
    /// Sorts `history` by register and version.
    ///
    /// # Errors
    /// [`BadHistory`] where a version is written twice, and for a compare-and-set or a delete: which
    /// of them wrote what was read isn't certain then.
    pub(crate) fn of(history: &'a History) -> Result<Self, BadHistory> {
        let operations = history.operations();
        let mut found = Found::new(operations.len());
        let mut reads = Vec::with_capacity(operations.len());
        for (number, operation) in operations.iter().enumerate() {
            let reads_it = operation.is_answered_read();
            if !reads_it && !operation.writes() {
                continue;
            }
            let place = found.zone(operation.key, operation.version);
            let zone = &mut found.zones[place as usize];
            if reads_it {
                zone.add_read(number as u32, operation);
                reads.push(Read { operation: number as u32, zone: place });
            } else {
                distinct(number, operation, zone)?;
                zone.add_write(number as u32, operation);
            }
        }
        found.begin(history);
        let versions = Groups::new(found.keys.len(), found.zones.iter().map(|zone| zone.register));
        Ok(Self { history, operations, keys: found.keys, all: found.zones, versions, reads })
    }

    /// The places of each register's versions.
    pub(crate) fn registers(&self) -> impl Iterator<Item = &[u32]> {
        self.versions.iter()
    }

    /// The places of each register's reads among [`Self::reads`].
    pub(crate) fn reads_by_register(&self) -> Groups {
        let of = |read: &Read| self.all[read.zone as usize].register;
        Groups::new(self.keys.len(), self.reads.iter().map(of))
    }

    /// Whether statistics count this read.
    pub(crate) fn counts(&self, read: Read) -> bool {
        self.history.counted_ns.contains(&self.operation_of(read).start_ns)
    }

    /// The operation of a read.
    pub(crate) fn operation_of(&self, read: Read) -> &Operation {
        &self.operations[read.operation as usize]
    }

    /// The operations of `numbers`, each once, in the order of their starts.
    pub(crate) fn operations_of(&self, numbers: &[u32]) -> Vec<Operation> {
        let mut numbers: Vec<u32> = numbers.iter().copied().filter(|n| *n != NONE).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut found: Vec<_> = numbers.iter().map(|n| self.operations[*n as usize]).collect();
        found.sort_by_key(|operation| operation.start_ns);
        found
    }
}

/// Places of things, register by register.
#[derive(Debug)]
pub(crate) struct Groups {
    members: Vec<u32>,
    begins: Vec<u32>,
}

impl Groups {
    /// Of things that belong to the registers that `of` lists.
    fn new(registers: usize, of: impl Iterator<Item = u32> + Clone) -> Self {
        let mut begins = vec![0_u32; registers + 1];
        of.clone().for_each(|register| begins[register as usize + 1] += 1);
        for register in 0..registers {
            begins[register + 1] += begins[register];
        }
        let mut next = begins.clone();
        let mut members = vec![0; begins[registers] as usize];
        for (place, register) in of.enumerate() {
            let slot = &mut next[register as usize];
            members[*slot as usize] = place as u32;
            *slot += 1;
        }
        Self { members, begins }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.begins.windows(2).map(|pair| &self.members[pair[0] as usize..pair[1] as usize])
    }

    /// Each register's members, for sorting.
    pub(crate) fn of_mut(&mut self, register: usize) -> &mut [u32] {
        &mut self.members[self.begins[register] as usize..self.begins[register + 1] as usize]
    }
}

/// Refuses what a register of distinct values doesn't have.
fn distinct(number: usize, operation: &Operation, zone: &Zone) -> Result<(), BadHistory> {
    let problem = match operation.action {
        crate::Action::CompareAndSet { .. } => "a compare-and-set".into(),
        _ if operation.version.is_initial() => "a delete".into(),
        _ if zone.write != NONE => {
            format!("the value {} is written for the second time", operation.version.0)
        }
        _ => return Ok(()),
    };
    let problem = format!("{problem}: a register of distinct values has none");
    Err(BadHistory { operation: number, problem })
}

/// Registers and versions as they are found.
struct Found {
    keys: Vec<u64>,
    zones: Vec<Zone>,
    registers: Index,
    versions: Index,
}

impl Found {
    fn new(operations: usize) -> Self {
        Self {
            keys: Vec::new(),
            zones: Vec::with_capacity(operations / 2),
            registers: Index::new(operations),
            versions: Index::new(operations),
        }
    }

    /// The place of a version of the register with this key.
    fn zone(&mut self, key: u64, version: Version) -> u32 {
        let keys = &mut self.keys;
        let register = self.registers.place(
            key,
            0,
            |_| true,
            || {
                keys.push(key);
                keys.len() as u32 - 1
            },
        );
        self.zone_of(register, version)
    }

    fn zone_of(&mut self, register: u32, version: Version) -> u32 {
        let zones = RefCell::new(&mut self.zones);
        let is_it = |place| zones.borrow()[place as usize].register == register;
        self.versions.place(version.0, register, is_it, || {
            let mut zones = zones.borrow_mut();
            zones.push(Zone::empty(register, version));
            zones.len() as u32 - 1
        })
    }

    /// Gives registers the versions that were there when the history began, and those their times.
    fn begin(&mut self, history: &History) {
        for register in 0..self.keys.len() as u32 {
            if history.loaded.contains(&self.keys[register as usize]) {
                self.zone_of(register, Version::LOADED);
            }
        }
        let starts = history.operations().iter().map(|operation| operation.start_ns);
        let begin_ns = starts.min().unwrap_or(0);
        for zone in self.zones.iter_mut().filter(|zone| zone.version.is_initial()) {
            // Each long before the next one, and before all that a clock may say.
            zone.write_start_ns = i64::MIN >> (4 - zone.age());
            zone.last_start_ns = zone.last_start_ns.max(zone.write_start_ns);
            // A write that an earlier run gave up may still take effect, whenever it likes.
            let open = zone.age() == 1 && history.earlier_unknown;
            zone.fate = if open { Fate::Unknown } else { Fate::Ok };
            if !open {
                let absent = zone.version == Version::ABSENT;
                zone.write_end_ns = if absent { zone.write_start_ns } else { begin_ns - 1 };
                zone.first_end_ns = zone.write_end_ns;
            }
        }
    }
}
