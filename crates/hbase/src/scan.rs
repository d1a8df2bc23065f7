//! Scans: one scanner a region, opened, read and closed at its server, region after region.
//!
//! The server is told that this client takes whole rows only, so that no row is ever cut in two. It closes a scanner
//! by itself at the end of a region and when the limit of rows is reached; a short scan is one call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;

use crate::cell::{Row, rows_of};
use crate::core::{Attempts, Core, Places, specifier};
use crate::error::{Kind, Result};
use crate::hedge::hedged;
use crate::locate::Region;
use crate::ops::{ReadMode, Scan};
use crate::proto;
use crate::rpc::{CallSpec, Deadline};
use crate::wire::Plain;

/// A scanner that is open at a server.
struct Open {
    region: Arc<Region>,
    replica: u32,
    id: u64,
}

/// A running scan.
pub struct Scanner {
    core: Arc<Core>,
    places: Arc<Places>,
    scan: Scan,
    timeout: Duration,
    /// Where to go on.
    next_row: Bytes,
    next_inclusive: bool,
    left: Option<usize>,
    open: Option<Open>,
    ended: bool,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner").field("scan", &self.scan).finish_non_exhaustive()
    }
}

/// One answer, with what is needed to go on.
struct Answer {
    region: Arc<Region>,
    replica: u32,
    rows: Vec<Row>,
    id: Option<u64>,
    more: bool,
    more_in_region: bool,
}

impl Scanner {
    pub(crate) fn new(core: Arc<Core>, places: Arc<Places>, scan: Scan, timeout: Duration) -> Self {
        Self {
            core,
            places,
            next_row: scan.start.clone(),
            next_inclusive: scan.start_inclusive,
            left: scan.limit,
            ended: scan.limit == Some(0),
            scan,
            timeout,
            open: None,
        }
    }

    /// The next rows, at least one; `None` at the end. Each call has the whole time-out of an operation. After an
    /// error the scan is over.
    pub async fn next_batch(&mut self) -> Result<Option<Vec<Row>>> {
        let deadline = Deadline::after(self.timeout);
        let mut attempts = self.core.attempts(deadline);
        while !self.ended {
            let step = match self.open.take() {
                Some(open) => self.read_on(open, deadline, &mut attempts).await,
                None => self.open_next(deadline).await.map(Some),
            };
            match step {
                Ok(Some(answer)) => {
                    let rows = self.take_in(answer);
                    if !rows.is_empty() {
                        return Ok(Some(rows));
                    }
                }
                Ok(None) => {} // the scanner was lost; open another
                Err(e) => {
                    self.ended = true;
                    return Err(e);
                }
            }
        }
        Ok(None)
    }

    fn batch_rows(&self) -> u32 {
        let left = self.left.unwrap_or(usize::MAX);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.scan.caching)
    }

    /// Opens a scanner on the region with the next row; the answer brings its first rows.
    async fn open_next(&self, deadline: Deadline) -> Result<Answer> {
        let from = |replica| self.open_at(replica, deadline);
        match self.scan.mode {
            ReadMode::Strong => from(0).await,
            ReadMode::Replica(replica) => from(replica).await,
            ReadMode::PrimaryThenReplicas(after) => {
                hedged(&self.core, &self.places, &self.next_row, after, deadline, from).await
            }
        }
    }

    async fn open_at(&self, replica: u32, deadline: Deadline) -> Result<Answer> {
        let scan = proto::Scan {
            column: self.scan.columns.clone(),
            start_row: Some(self.next_row.clone()),
            stop_row: Some(self.scan.stop.clone()),
            max_versions: Some(self.scan.max_versions),
            cache_blocks: Some(self.scan.cache_blocks),
            max_result_size: Some(self.scan.max_result_bytes),
            reversed: None,
            consistency: Some(self.scan.mode.consistency() as i32),
            caching: Some(self.scan.caching),
            include_start_row: Some(self.next_inclusive),
            include_stop_row: Some(self.scan.stop_inclusive),
            // Short scans read blocks one by one, as gets do; long ones stream.
            read_type: self.left.is_some().then_some(2),
        };
        self.core
            .on_replica(&self.places, &self.next_row, replica, deadline, |region| {
                let request = proto::ScanRequest {
                    scan: Some(scan.clone()),
                    limit_of_rows: self.left.and_then(|n| u32::try_from(n).ok()),
                    ..self.request()
                };
                self.call(region, replica, request, deadline)
            })
            .await
    }

    fn request(&self) -> proto::ScanRequest {
        proto::ScanRequest {
            number_of_rows: Some(self.batch_rows()),
            client_handles_partials: Some(false),
            client_handles_heartbeats: Some(false),
            ..Default::default()
        }
    }

    /// Reads on from an open scanner. `None`: it is gone, and another is to be opened behind the last row read.
    async fn read_on(
        &self,
        open: Open,
        deadline: Deadline,
        attempts: &mut Attempts,
    ) -> Result<Option<Answer>> {
        let request = proto::ScanRequest {
            scanner_id: Some(open.id),
            limit_of_rows: self.left.and_then(|n| u32::try_from(n).ok()),
            ..self.request()
        };
        let error = match self.call(Arc::clone(&open.region), open.replica, request, deadline).await
        {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => error,
        };
        if error.remote().is_some_and(|e| e.kind() == Kind::ScannerGone) {
            // The rows read so far are known, so that a new scanner repeats nothing.
            self.core.counters.relocations.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        self.core.after_failure(attempts, &self.places, &open.region, open.replica, error).await?;
        Ok(None)
    }

    async fn call(
        &self,
        region: Arc<Region>,
        replica: u32,
        mut request: proto::ScanRequest,
        deadline: Deadline,
    ) -> Result<Answer> {
        let copy = region.replica(&self.places.name, replica)?;
        if request.scanner_id.is_none() {
            request.region = Some(specifier(copy));
        }
        let spec = CallSpec { method: "Scan", priority: 0, deadline };
        let mut response =
            self.core.call_replica(&self.places.name, copy, spec, &Plain(request)).await?;
        let message: proto::ScanResponse = response.message()?;
        Ok(Answer {
            rows: rows_of(&message, response.cells, replica)?,
            id: message.scanner_id,
            more: message.more_results.unwrap_or(true),
            more_in_region: message.more_results_in_region.unwrap_or(false),
            region,
            replica,
        })
    }

    /// Notes how far the scan has come.
    fn take_in(&mut self, answer: Answer) -> Vec<Row> {
        let mut rows = answer.rows;
        if let Some(left) = &mut self.left {
            rows.truncate(*left);
            *left -= rows.len();
        }
        if let Some(key) = rows.last().and_then(Row::key) {
            self.next_row = Bytes::copy_from_slice(key);
            self.next_inclusive = false;
        }
        let limit_reached = self.left == Some(0);
        if !answer.more || limit_reached {
            self.ended = true;
            if answer.more && answer.more_in_region {
                self.open =
                    answer.id.map(|id| Open { region: answer.region, replica: answer.replica, id });
                self.close();
            }
        } else if answer.more_in_region {
            self.open =
                answer.id.map(|id| Open { region: answer.region, replica: answer.replica, id });
        } else {
            let end = answer.region.end();
            let stop = &self.scan.stop;
            self.ended = end.is_empty()
                || (!stop.is_empty()
                    && if self.scan.stop_inclusive { end > stop } else { end >= stop });
            self.next_row = end.clone();
            self.next_inclusive = true;
        }
        rows
    }

    /// Ends the scan; the server hears of it, but its answer isn't waited for. Dropping does the same.
    pub fn close(&mut self) {
        self.ended = true;
        let Some(open) = self.open.take() else { return };
        let connection = open
            .region
            .replicas()
            .get(open.replica as usize)
            .and_then(|r| r.place())
            .and_then(|server| server.current());
        if let Some(connection) = connection {
            let request = proto::ScanRequest {
                scanner_id: Some(open.id),
                number_of_rows: Some(0),
                close_scanner: Some(true),
                ..Default::default()
            };
            let deadline = Deadline::after(self.timeout);
            connection.send(CallSpec { method: "Scan", priority: 0, deadline }, &Plain(request));
        }
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.close();
    }
}
