//! Operations one by one, on disk, where a run asks for them.
//!
//! Rows of a fixed length, little-endian, so that writing one costs a copy and reading the file is
//! one call of any array library. A run is held in memory by nobody: see [`observer`](crate::observer).
//!
//! | bytes | column |
//! |---|---|
//! | 0–7 | when it was due, nanoseconds since the run's origin; in a closed loop, its start |
//! | 8–15 | start |
//! | 16–23 | end |
//! | 24–31 | record number |
//! | 32–39 | the writer's sequence number: with the user, an operation's identity |
//! | 40–47 | sequence number of the newest value that was read: of a write of this run the writer's count, else as it is stored; all ones for none |
//! | 48–51 | its writer (0 is the load phase) |
//! | 52–55 | user |
//! | 56 | kind of operation, as numbered by [`OperationKind::ALL`](pacelc_core::OperationKind::ALL) |
//! | 57 | outcome: 0 ok, 1 fail, 2 unknown |
//! | 58 | kind of error, as numbered by [`ErrorKind::ALL`](pacelc_core::ErrorKind::ALL); 255 for none |
//! | 59 | where the version that was read is from: 0 a write of this run, 1 the load, 2 an earlier run, 3 there was no record; 255 no version (nothing was read, or values too short for stamps) |
//! | 60 | 1 where the row that was read has fields of several writes, though each writes them all |
//! | 61–63 | bits 0–11: the one field that was written, or by what only reads, read, plus 1; bits 12–23: of a read-modify-write, the one that it read, plus 1; 0 for all |
//!
//! A read-modify-write has what its read saw, whatever became of its update. What failed before a
//! read was answered and proven has seen nothing.

use crate::observer::{BUFFER_ROWS, Message, Sample};
use pacelc_core::Outcome;
use pacelc_measure::Span;
use pacelc_workload::{Origin, Request, Stamp};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

/// Bytes of a row.
pub const ROW_BYTES: usize = 64;

/// What a read brought, every byte of it proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// There was no record.
    pub nothing: bool,
    /// There were fewer records than there must be.
    pub missed: bool,
    /// The newest stamp of the record, if its values are long enough for one.
    pub newest: Option<Stamp>,
    /// See [`Verifier::torn`](pacelc_workload::Verifier::torn).
    pub torn: bool,
}

impl Seen {
    /// Of the run with tag `run`: the columns of the version: writer, sequence, and where it is from.
    fn version(self, run: u32) -> (u32, u64, u8) {
        let Some(stamp) = self.newest else {
            return (0, u64::MAX, if self.nothing { 3 } else { 255 });
        };
        let (origin, sequence) = stamp.seen_by(run);
        let origin = match origin {
            Origin::Run => 0,
            Origin::Load => 1,
            Origin::Earlier => 2,
        };
        (stamp.writer, sequence, origin)
    }
}

/// The record number of a row.
pub(crate) fn record_of(row: &[u8]) -> u64 {
    row.get(24..32).and_then(|number| number.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// One thread's rows, on their way to the [`observer`](crate::observer).
#[derive(Debug)]
pub struct OperationLog {
    buffer: Vec<u8>,
    observer: SyncSender<Message>,
    /// Which records are kept; `None` for all.
    sample: Option<Arc<Sample>>,
    /// The run's tag.
    run: u32,
    operations: u64,
    lost: u64,
}

const BUFFER_BYTES: usize = BUFFER_ROWS * ROW_BYTES;

impl OperationLog {
    pub(crate) fn new(
        observer: SyncSender<Message>,
        sample: Option<Arc<Sample>>,
        run: u32,
    ) -> Self {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Self { buffer, observer, sample, run, operations: 0, lost: 0 }
    }

    /// Appends one operation, if its record is kept.
    pub fn write(&mut self, request: &Request, outcome: &Outcome, seen: Option<Seen>, span: Span) {
        self.operations += 1;
        if self.sample.as_ref().is_none_or(|sample| sample.keeps(request.record)) {
            self.buffer.extend_from_slice(&row(request, outcome, seen, span, self.run));
            if self.buffer.len() >= BUFFER_BYTES {
                self.hand_over();
            }
        }
    }

    fn hand_over(&mut self) {
        let rows = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_BYTES));
        let Some(sample) = &self.sample else {
            // It fails only where the observer has ended, which then says why.
            let _ = self.observer.send(Message::Rows(rows));
            return;
        };
        if let Err(TrySendError::Full(Message::Rows(mut rows))) =
            self.observer.try_send(Message::Rows(rows))
        {
            // The disk can't keep up. No operation waits for it: fewer records are kept.
            sample.halve();
            sample.filter(&mut rows);
            if rows.len() > BUFFER_BYTES * 3 / 4 {
                self.lost += (rows.len() / ROW_BYTES) as u64;
                rows.clear();
            }
            self.buffer = rows;
        }
    }

    /// Hands over what is left.
    pub fn close(self) {
        let _ = self.observer.send(Message::Rows(self.buffer));
        let _ = self.observer.send(Message::Closed(self.operations, self.lost));
    }
}

fn row(
    request: &Request,
    outcome: &Outcome,
    seen: Option<Seen>,
    span: Span,
    run: u32,
) -> [u8; ROW_BYTES] {
    let (seen_writer, seen_sequence, origin) =
        seen.map_or((0, u64::MAX, 255), |seen| seen.version(run));
    let fate = match outcome {
        Outcome::Ok => 0,
        Outcome::Fail(_) => 1,
        Outcome::Unknown(_) => 2,
    };
    let mut row = [0; ROW_BYTES];
    let Span { due_ns, start_ns, end_ns } = span;
    let (record, sequence) = (request.record, request.stamp.sequence);
    for (i, number) in
        [due_ns, start_ns, end_ns, record, sequence, seen_sequence].iter().enumerate()
    {
        row[i * 8..i * 8 + 8].copy_from_slice(&number.to_le_bytes());
    }
    row[48..52].copy_from_slice(&seen_writer.to_le_bytes());
    row[52..56].copy_from_slice(&(request.stamp.writer - 1).to_le_bytes());
    row[56] = request.kind as u8;
    row[57] = fate;
    row[58] = outcome.failure().map_or(255, |failure| failure.kind as u8);
    row[59] = origin;
    row[60] = u8::from(seen.is_some_and(|seen| seen.torn));
    let one = |field: Option<usize>| field.map_or(0, |field| field as u32 + 1);
    let fields = one(request.field()) | one(request.field_read_first()) << 12;
    row[61..64].copy_from_slice(&fields.to_le_bytes()[..3]);
    row
}
