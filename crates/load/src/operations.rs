//! Operations one by one, on disk, where a run asks for them.
//!
//! As rows of the log that [`pacelc_history::log`] describes. A run is held in memory by nobody: see
//! [`observer`](crate::observer).
//!
//! A read-modify-write has what its read saw, whatever became of its update. What failed before a
//! read was answered and proven has seen nothing.

use crate::sample::Sample;
use pacelc_core::Outcome;
use pacelc_history::log::{self, ROW_BYTES, Row};
use pacelc_measure::Span;
use pacelc_workload::{Origin, Request, Stamp};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

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
    fn version(self, run: u32) -> (u32, u64, log::Origin) {
        let Some(stamp) = self.newest else {
            let origin = if self.nothing { log::Origin::Nothing } else { log::Origin::None };
            return (0, u64::MAX, origin);
        };
        let (origin, sequence) = stamp.seen_by(run);
        let origin = match origin {
            Origin::Run => log::Origin::Run,
            Origin::Load => log::Origin::Load,
            Origin::Earlier => log::Origin::Earlier,
        };
        (stamp.writer, sequence, origin)
    }
}

/// What engine threads tell the observer.
#[derive(Debug)]
pub(crate) enum Message {
    /// Some rows.
    Rows(Vec<u8>),
    /// A log is closed, after so many operations, of which so many were lost.
    Closed(u64, u64),
    /// All are closed.
    End,
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

/// Rows of a buffer: small enough to stay in a processor's cache, large enough that handing it over
/// costs nothing an operation.
pub(crate) const BUFFER_ROWS: usize = 1_024;

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
    let (read_writer, read_sequence, origin) =
        seen.map_or((0, u64::MAX, log::Origin::None), |seen| seen.version(run));
    let one = |field: Option<usize>| field.map_or(0, |field| field as u16 + 1);
    let row = Row {
        due_ns: span.due_ns,
        start_ns: span.start_ns,
        end_ns: span.end_ns,
        record: request.record,
        sequence: request.stamp.sequence,
        read_sequence,
        read_writer,
        user: request.stamp.writer - 1,
        kind: request.kind as u8,
        outcome: match outcome {
            Outcome::Ok => 0,
            Outcome::Fail(_) => 1,
            Outcome::Unknown(_) => 2,
        },
        error: outcome.failure().map_or(255, |failure| failure.kind as u8),
        origin: origin as u8,
        // What earlier runs left may be of several writes, if theirs wrote one field each.
        torn: origin == log::Origin::Run && seen.is_some_and(|seen| seen.torn),
        field: one(request.field()),
        read_field: one(request.field_read_first()),
    };
    row.encode()
}
