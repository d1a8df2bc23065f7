//! Terry's session guarantees: what each session may expect, whatever the others do.
//!
//! From Terry, Demers, Petersen, Spreitzer, Theimer and Welch (1994). A read *shows* a write if it
//! returned that version or one that was written after it; it *hides* a write if it returned one
//! that was written before. Which was first is told by real time ([`zones`](crate::zones)): for two
//! writes under way at once it can't be told. A read of a session is eligible for a guarantee if the
//! guarantee demands something of it, and breaks it if what it returned hides what it has to show:
//!
//! | guarantee | a read of a session has to show |
//! |---|---|
//! | read your writes | what the session itself had written |
//! | monotonic reads | what its earlier reads had returned |
//! | monotonic writes | once it has read a write of another session: what that one wrote before it |
//! | writes follow reads | and what that one had read before it |
//!
//! The last two are asked apart of what it read of the same record and of other ones: only those tell
//! a causal order from an order of each key. Within a record a version that another hides can't be
//! told from one that is merely old, so there the read has to return the very write that was to come
//! first: it saw the two in reverse.
//!
//! These are what a session sees, not what replicas do: where each replica applies writes in order, a
//! session that is sent from one to another may still see two of them in reverse. Only a database
//! that promises monotonic reads, too, has broken its word then.
//!
//! A write of unknown outcome demands nothing: it may not have happened. The session goes on.

use crate::finding::duration;
use crate::zones::{NONE, Read, Zone, Zones};
use crate::{BadHistory, Fate, History, Witness};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A guarantee, in the order in which reports list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// Reads show the session's own writes.
    ReadYourWrites,
    /// Reads show what earlier reads showed.
    MonotonicReads,
    /// A session's writes are seen in its order, in one record.
    MonotonicWrites,
    /// A write is seen after what its session had read, in one record.
    WritesFollowReads,
    /// A session's writes to several records are seen in its order.
    MonotonicWritesAcrossRecords,
    /// A write is seen after what its session had read of other records.
    WritesFollowReadsAcrossRecords,
}

impl Guarantee {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ReadYourWrites,
        Self::MonotonicReads,
        Self::MonotonicWrites,
        Self::WritesFollowReads,
        Self::MonotonicWritesAcrossRecords,
        Self::WritesFollowReadsAcrossRecords,
    ];
}

/// How often one guarantee was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Which.
    pub guarantee: Guarantee,
    /// Reads of which it demanded something.
    pub eligible: u64,
    /// Of these, the ones that broke it.
    pub violated: u64,
    /// And the ones of which that can't be told.
    pub untold: u64,
    /// The first violation.
    pub witness: Option<Witness>,
}

/// How each session guarantee was kept.
///
/// # Errors
/// [`BadHistory`] where a version is written twice.
pub fn guarantees(history: &History) -> Result<Vec<Kept>, BadHistory> {
    Ok(of(&Zones::of(history)?))
}

pub(crate) fn of(zones: &Zones<'_>) -> Vec<Kept> {
    let past = Past::of(zones);
    let mut all = Guarantee::ALL.map(|guarantee| Kept {
        guarantee,
        eligible: 0,
        violated: 0,
        untold: 0,
        witness: None,
    });
    let mut readers: FxHashMap<u32, Reader> = FxHashMap::default();
    let mut reads = zones.reads.iter().peekable();
    for (number, operation) in zones.operations.iter().enumerate() {
        let reader = readers.entry(operation.session).or_default();
        if let Some(read) = reads.next_if(|read| read.operation as usize == number) {
            if zones.all[read.zone as usize].is_unwritten() {
                continue;
            }
            let asked = Asked { zones, past: &past, reader, read: *read };
            if zones.counts(*read) {
                for (kept, answer) in all.iter_mut().zip(asked.answers()) {
                    count(kept, answer, &asked);
                }
            }
            reader.has_read(zones, &past, *read);
        } else if operation.writes() && operation.fate == Fate::Ok {
            let (register, zone) = past.written[number];
            reader.written.insert(register, zone);
        }
    }
    all.into()
}

/// So many newer versions and their readers are looked at for one read, across records; beyond, what it
/// had to show isn't told. A read that is staler than that has broken what is asked of one record.
const LOOKS: usize = 2_000;

/// What a read is to what it had to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing was asked.
    Free,
    Shows,
    Untold,
    /// With the operations that demanded it, and the session whose they are.
    Hides {
        earlier: u32,
        demanded: u32,
        whose: u32,
    },
}

fn count(kept: &mut Kept, answer: Answer, asked: &Asked<'_>) {
    kept.eligible += u64::from(answer != Answer::Free);
    kept.untold += u64::from(answer == Answer::Untold);
    if let Answer::Hides { earlier, demanded, whose } = answer {
        kept.violated += 1;
        if kept.witness.is_none() {
            kept.witness = Some(asked.witness(kept.guarantee, earlier, demanded, whose));
        }
    }
}

/// Whose an operation was, and which of its session's.
#[derive(Debug, Clone, Copy)]
struct Turn {
    session: u32,
    position: u32,
}

/// What sessions had done before each of their operations.
#[derive(Debug)]
struct Past {
    /// By operation.
    turns: Vec<Turn>,
    /// By operation: the register and the version that it wrote.
    written: Vec<(u32, u32)>,
    /// By register and session: where it first wrote, and first read, of its operations.
    first_write: FxHashMap<(u32, u32), u32>,
    first_read: FxHashMap<(u32, u32), u32>,
    /// By register: the first turn of each who wrote it, and of each who read it.
    writers: Vec<Vec<Turn>>,
    readers: Vec<Vec<Turn>>,
    /// By version: the first read of each who read it; and with whom, which that is.
    read_by: Vec<Vec<u32>>,
    first_read_of: FxHashMap<(u32, u32), u32>,
    /// By register: its versions in the order of their starts; and by place there, when the last of
    /// those up to it was settled.
    by_start: Vec<Vec<(i64, u32)>>,
    last_settled: Vec<Vec<i64>>,
}

impl Past {
    fn of(zones: &Zones<'_>) -> Self {
        let registers = zones.keys.len();
        let mut past = Self {
            turns: Vec::with_capacity(zones.operations.len()),
            written: vec![(NONE, NONE); zones.operations.len()],
            first_write: FxHashMap::default(),
            first_read: FxHashMap::default(),
            writers: vec![Vec::new(); registers],
            readers: vec![Vec::new(); registers],
            read_by: vec![Vec::new(); zones.all.len()],
            first_read_of: FxHashMap::default(),
            by_start: Vec::with_capacity(registers),
            last_settled: Vec::with_capacity(registers),
        };
        let mut done: FxHashMap<u32, u32> = FxHashMap::default();
        for operation in zones.operations {
            let position = done.entry(operation.session).or_default();
            past.turns.push(Turn { session: operation.session, position: *position });
            *position += 1;
        }
        for (place, zone) in zones.all.iter().enumerate().filter(|(_, zone)| zone.write != NONE) {
            past.written[zone.write as usize] = (zone.register, place as u32);
        }
        let mut reads = zones.reads.iter().peekable();
        for (number, operation) in zones.operations.iter().enumerate() {
            let turn = past.turns[number];
            let session = turn.session;
            if let Some(read) = reads.next_if(|read| read.operation as usize == number) {
                let register = zones.all[read.zone as usize].register;
                past.first_read.entry((register, session)).or_insert_with(|| {
                    past.readers[register as usize].push(turn);
                    turn.position
                });
                past.first_read_of.entry((read.zone, session)).or_insert_with(|| {
                    past.read_by[read.zone as usize].push(read.operation);
                    read.operation
                });
            } else if operation.writes() && operation.fate == Fate::Ok {
                let register = past.written[number].0;
                past.first_write.entry((register, session)).or_insert_with(|| {
                    past.writers[register as usize].push(turn);
                    turn.position
                });
            }
        }
        for places in zones.registers() {
            let mut by_start: Vec<(i64, u32)> = places
                .iter()
                .map(|place| (zones.all[*place as usize].write_start_ns, *place))
                .collect();
            by_start.sort_unstable();
            let mut last_ns = i64::MIN;
            let settled = by_start.iter().map(|(_, place)| {
                let zone = &zones.all[*place as usize];
                last_ns = last_ns.max(if zone.took_effect() { zone.settled_ns() } else { last_ns });
                last_ns
            });
            past.last_settled.push(settled.collect());
            past.by_start.push(by_start);
        }
        past
    }
}

/// A write of another session that a session has read: as which of the writer's operations, of which
/// register, and by which read.
#[derive(Debug, Clone, Copy)]
struct Seen {
    position: u32,
    register: u32,
    by: u32,
}

/// What a session has done so far.
#[derive(Debug, Default)]
struct Reader {
    /// By register, the version that it wrote last.
    written: FxHashMap<u32, u32>,
    /// By register, what it has read.
    read: FxHashMap<u32, ReadSoFar>,
    /// By session, the last of its writes that it has read, and the last of any other register.
    seen: FxHashMap<u32, (Seen, Option<Seen>)>,
}

/// What a session has read of one register.
#[derive(Debug, Default)]
struct ReadSoFar {
    /// The version whose write began last, and the read.
    newest: Option<(i64, u32)>,
    /// When the one that was settled last was so, and which; and of the others.
    settled: Option<(i64, u32)>,
    settled_else_ns: Option<i64>,
    /// By session, the last of its writes to this register.
    seen: Vec<(u32, Seen)>,
}

impl Reader {
    fn has_read(&mut self, zones: &Zones<'_>, past: &Past, read: Read) {
        let zone = &zones.all[read.zone as usize];
        let so_far = self.read.entry(zone.register).or_default();
        if so_far.newest.is_none_or(|(start_ns, _)| zone.write_start_ns > start_ns) {
            so_far.newest = Some((zone.write_start_ns, read.operation));
        }
        let settled = (zone.settled_ns(), read.zone);
        match so_far.settled {
            Some((_, same)) if same == read.zone => {}
            Some((last_ns, _)) if settled.0 <= last_ns => {
                so_far.settled_else_ns = so_far.settled_else_ns.max(Some(settled.0));
            }
            last => {
                so_far.settled_else_ns = last.map(|(ns, _)| ns);
                so_far.settled = Some(settled);
            }
        }
        let me = zones.operation_of(read).session;
        if zone.write == NONE || past.turns[zone.write as usize].session == me {
            return;
        }
        let Turn { session: writer, position } = past.turns[zone.write as usize];
        let seen = Seen { position, register: zone.register, by: read.operation };
        match so_far.seen.iter_mut().find(|(session, _)| *session == writer) {
            Some((_, last)) if last.position >= position => {}
            Some((_, last)) => *last = seen,
            None => so_far.seen.push((writer, seen)),
        }
        match self.seen.get_mut(&writer) {
            None => drop(self.seen.insert(writer, (seen, None))),
            Some((last, _)) if last.register == seen.register => {
                if last.position < position {
                    *last = seen;
                }
            }
            Some((last, other)) if last.position < position => {
                (*other, *last) = (Some(*last), seen);
            }
            Some((_, other)) => {
                if other.is_none_or(|other| other.position < position) {
                    *other = Some(seen);
                }
            }
        }
    }

    /// The last write of `session` that it has read, of another register than this one.
    fn seen_elsewhere(&self, session: u32, register: u32) -> Option<Seen> {
        let (last, other) = self.seen.get(&session)?;
        if last.register == register { *other } else { Some(*last) }
    }
}

/// One read, and what its session had done before.
struct Asked<'a> {
    zones: &'a Zones<'a>,
    past: &'a Past,
    reader: &'a Reader,
    read: Read,
}

impl Asked<'_> {
    /// One for each of [`Guarantee::ALL`].
    fn answers(&self) -> [Answer; 6] {
        let monotonic_reads = self.monotonic_reads();
        // Whoever sees two writes in reverse has read a version older than one that it had read.
        let reversed = matches!(monotonic_reads, Answer::Hides { .. });
        let [monotonic_writes, follow_reads] = self.within(reversed);
        let [writes_across, reads_across] = self.across();
        [
            self.read_your_writes(),
            monotonic_reads,
            monotonic_writes,
            follow_reads,
            writes_across,
            reads_across,
        ]
    }

    fn zone(&self) -> &Zone {
        &self.zones.all[self.read.zone as usize]
    }

    /// Its last acknowledged write is enough: the ones before came before that.
    fn read_your_writes(&self) -> Answer {
        let Some(mine) = self.reader.written.get(&self.zone().register) else {
            return Answer::Free;
        };
        let (mine, zone) = (&self.zones.all[*mine as usize], self.zone());
        if zone.written_before(mine) {
            let whose = self.zones.operations[mine.write as usize].session;
            Answer::Hides { earlier: mine.write, demanded: mine.write, whose }
        } else if zone.version == mine.version || mine.written_before(zone) {
            Answer::Shows
        } else {
            Answer::Untold
        }
    }

    fn monotonic_reads(&self) -> Answer {
        let zone = self.zone();
        let Some(so_far) = self.reader.read.get(&zone.register) else { return Answer::Free };
        let (Some((newest_ns, by)), Some((settled_ns, settled))) = (so_far.newest, so_far.settled)
        else {
            return Answer::Free;
        };
        if zone.settled_ns() < newest_ns {
            let whose = self.zones.operation_of(self.read).session;
            return Answer::Hides { earlier: by, demanded: by, whose };
        }
        let last_ns =
            if settled == self.read.zone { so_far.settled_else_ns } else { Some(settled_ns) };
        let shows = last_ns.is_none_or(|last_ns| last_ns < zone.write_start_ns);
        if shows { Answer::Shows } else { Answer::Untold }
    }

    /// Monotonic writes and writes follow reads, within the record.
    fn within(&self, reversed: bool) -> [Answer; 2] {
        let (zone, past) = (self.zone(), self.past);
        let seen = self.reader.read.get(&zone.register).map_or(&[][..], |so_far| &so_far.seen);
        let mut answers = [Answer::Free; 2];
        for (session, seen) in seen {
            let (session, of) = (*session, (zone.register, *session));
            let before = |first: &FxHashMap<(u32, u32), u32>| {
                first.get(&of).is_some_and(|position| *position < seen.position)
            };
            for (answer, first) in answers.iter_mut().zip([&past.first_write, &past.first_read]) {
                if *answer == Answer::Free && before(first) {
                    *answer = Answer::Shows;
                }
            }
            if !reversed {
                continue;
            }
            let had_read = past.first_read_of.get(&(self.read.zone, session)).copied();
            let had_written = (zone.write != NONE
                && zone.fate == Fate::Ok
                && past.turns[zone.write as usize].session == session)
                .then_some(zone.write);
            for (answer, demanded) in answers.iter_mut().zip([had_written, had_read]) {
                if let Some(demanded) = demanded
                    && past.turns[demanded as usize].position < seen.position
                {
                    *answer = Answer::Hides { earlier: seen.by, demanded, whose: session };
                }
            }
        }
        answers
    }

    /// The same two, after writes to other records.
    fn across(&self) -> [Answer; 2] {
        let (zone, past, reader) = (self.zone(), self.past, self.reader);
        let register = zone.register;
        let asked = |first: &[Turn]| {
            first.iter().any(|turn| {
                reader
                    .seen_elsewhere(turn.session, register)
                    .is_some_and(|seen| turn.position < seen.position)
            })
        };
        let mut answers = [Answer::Free; 2];
        if reader.seen.is_empty() {
            return answers;
        }
        if asked(&past.writers[register as usize]) {
            answers[0] = Answer::Shows;
        }
        if asked(&past.readers[register as usize]) {
            answers[1] = Answer::Shows;
        }
        if answers == [Answer::Free; 2] {
            return answers;
        }
        let mut looks = LOOKS;
        let by_start = &past.by_start[register as usize];
        let last_settled = &past.last_settled[register as usize];
        let followers = by_start.partition_point(|(start_ns, _)| *start_ns <= zone.settled_ns());
        let end_ns = self.zones.operation_of(self.read).start_ns;
        let later = by_start[followers..].iter().take_while(|(start_ns, _)| *start_ns < end_ns);
        let at_once = (0..followers)
            .rev()
            .take_while(|place| last_settled[*place] >= zone.write_start_ns)
            .map(|place| &by_start[place]);
        for (hides, (_, place)) in later.map(|at| (true, at)).chain(at_once.map(|at| (false, at))) {
            let other = &self.zones.all[*place as usize];
            if *place == self.read.zone || (!hides && other.settled_ns() < zone.write_start_ns) {
                continue;
            }
            let read_by = &past.read_by[*place as usize];
            looks = looks.saturating_sub(1 + read_by.len());
            if looks == 0 {
                for answer in answers.iter_mut().filter(|answer| **answer == Answer::Shows) {
                    *answer = Answer::Untold;
                }
                break;
            }
            let written = (other.write != NONE && other.fate == Fate::Ok).then_some(other.write);
            self.demand(&mut answers[0], written, hides);
            for read in read_by {
                self.demand(&mut answers[1], Some(*read), hides);
            }
            if answers.iter().all(|answer| matches!(answer, Answer::Hides { .. })) {
                break;
            }
        }
        answers
    }

    /// Takes down that `demanded` is hidden, or may be, if a later write of its session was read.
    fn demand(&self, answer: &mut Answer, demanded: Option<u32>, hides: bool) {
        let Some(demanded) = demanded else { return };
        let Turn { session: whose, position } = self.past.turns[demanded as usize];
        if matches!(answer, Answer::Hides { .. })
            || whose == self.zones.operation_of(self.read).session
        {
            return;
        }
        if let Some(seen) = self.reader.seen_elsewhere(whose, self.zone().register)
            && position < seen.position
        {
            *answer = if hides {
                Answer::Hides { earlier: seen.by, demanded, whose }
            } else {
                Answer::Untold
            };
        }
    }

    fn witness(&self, guarantee: Guarantee, earlier: u32, demanded: u32, whose: u32) -> Witness {
        let all = self.zones.operations;
        let (zone, read) = (self.zone(), self.zones.operation_of(self.read));
        let (first, whose_write) = (&all[earlier as usize], self.write_of(demanded));
        let me = read.session;
        let later = duration(read.start_ns - first.end_ns);
        let explanation = match guarantee {
            Guarantee::ReadYourWrites => {
                format!("session {me} had written a value, and {later} later read an older one")
            }
            Guarantee::MonotonicReads => {
                format!("session {me} had read a value, and {later} later read an older one")
            }
            Guarantee::MonotonicWrites => format!(
                "session {me} had read a write of session {whose}, and {later} later read one that \
                 session {whose} had done before it"
            ),
            Guarantee::WritesFollowReads => format!(
                "session {me} had read a write of session {whose}, and {later} later read a value that \
                 session {whose} had read before it"
            ),
            Guarantee::MonotonicWritesAcrossRecords => format!(
                "session {me} had read a write of session {whose}, and {later} later read of another \
                 record a value older than one that session {whose} had written to it before"
            ),
            Guarantee::WritesFollowReadsAcrossRecords => format!(
                "session {me} had read a write of session {whose}, and {later} later read of another \
                 record a value older than one that session {whose} had read of it before"
            ),
        };
        let numbers = [
            earlier,
            self.write_of(earlier),
            demanded,
            whose_write,
            self.read.operation,
            self.write_of(self.read.operation),
            // By which it was known to be written so early.
            if zone.first_end_ns < zone.write_end_ns { zone.first_read } else { NONE },
        ];
        Witness { explanation, operations: self.zones.operations_of(&numbers) }
    }

    /// The write of what an operation read, or the operation itself.
    fn write_of(&self, operation: u32) -> u32 {
        let reads = &self.zones.reads;
        match reads.binary_search_by_key(&operation, |read| read.operation) {
            Ok(place) => self.zones.all[reads[place].zone as usize].write,
            Err(_) => operation,
        }
    }
}
