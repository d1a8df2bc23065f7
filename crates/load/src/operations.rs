//! Operations one by one, on disk, where a run asks for them.
//!
//! Rows of a fixed length, little-endian, so that writing one costs a copy and reading the file is
//! one call of any array library. A run is held in memory by nobody.
//!
//! | bytes | column |
//! |---|---|
//! | 0–7 | when it was due, nanoseconds since the run's origin; in a closed loop, its start |
//! | 8–15 | start |
//! | 16–23 | end |
//! | 24–31 | record number |
//! | 32–39 | the writer's sequence number: with the user, an operation's identity |
//! | 40–47 | sequence number of the newest value that was read; all ones for none |
//! | 48–51 | its writer (0 is the load phase) |
//! | 52–55 | user |
//! | 56 | kind of operation, as numbered by [`OperationKind::ALL`](pacelc_core::OperationKind::ALL) |
//! | 57 | outcome: 0 ok, 1 fail, 2 unknown |
//! | 58 | kind of error, as numbered by [`ErrorKind::ALL`](pacelc_core::ErrorKind::ALL); 255 for none |
//! | 59–63 | zero |

use crate::LoadError;
use pacelc_core::Outcome;
use pacelc_measure::Span;
use pacelc_workload::{Request, Stamp};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of a row.
pub const ROW_BYTES: usize = 64;

/// One thread's file.
#[derive(Debug)]
pub struct OperationLog {
    path: PathBuf,
    file: BufWriter<File>,
    /// The first error; later rows are dropped, and [`OperationLog::close`] tells.
    error: Option<std::io::Error>,
}

impl OperationLog {
    /// Creates `<path>.<thread>`.
    pub fn create(path: &Path, thread: usize) -> Result<Self, LoadError> {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{thread}"));
        let path = PathBuf::from(name);
        match File::create(&path) {
            Ok(file) => {
                Ok(Self { path, file: BufWriter::with_capacity(1 << 18, file), error: None })
            }
            Err(cause) => Err(Self::failed(&path, cause)),
        }
    }

    fn failed(path: &Path, cause: std::io::Error) -> LoadError {
        LoadError::System { what: format!("writing {}", path.display()), cause }
    }

    /// Appends one operation.
    pub fn write(&mut self, request: &Request, outcome: &Outcome, seen: Option<Stamp>, span: Span) {
        let (seen_writer, seen_sequence) = seen.map_or((0, u64::MAX), |s| (s.writer, s.sequence));
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
        if self.error.is_none() {
            self.error = self.file.write_all(&row).err();
        }
    }

    /// Writes what is left.
    pub fn close(mut self) -> Result<(), LoadError> {
        match self.error.take().or_else(|| self.file.flush().err()) {
            Some(cause) => Err(Self::failed(&self.path, cause)),
            None => Ok(()),
        }
    }
}
