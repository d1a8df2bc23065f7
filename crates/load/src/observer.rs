//! What a run keeps of its operations: one thread that writes, and where there is a limit, a sample.
//!
//! Engine threads fill buffers ([`OperationLog`](crate::operations::OperationLog)) and hand them over
//! without waiting; memory holds [`WAITING_BUFFERS`] of them at most.
//!
//! A sample holds *all* operations of a record or none. A record is in it if its hash is below a
//! threshold, which is halved whenever the file would outgrow its limit; or if it is one of the
//! hottest, whose number is halved where they take more than half of the room. Both only fall, so
//! that whatever is in the sample at the end has been in it from the beginning: the observer writes
//! the file anew without the rest, and engine threads soon skip it. So a checker's verdict is exact
//! for the records in the sample. Workers, and readers of the file, agree on a record's hash
//! without asking each other.
//!
//! Where there is no limit, nothing may be lost, and engine threads wait for the disk.

use crate::LoadError;
use crate::operations::{Message, OperationLog};
use crate::sample::{MOST_HALVINGS, Sample, record_of};
use pacelc_history::log::ROW_BYTES;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Buffers that wait for the observer at most: 8 MiB.
const WAITING_BUFFERS: usize = 128;

/// Records that are in the sample because they are the hottest, at first.
const HOTTEST: usize = 16;

/// Bytes that are read at once where the file is written anew.
const CHUNK_BYTES: usize = ROW_BYTES << 14;

/// What was kept of a run's operations, where there was a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Operations that there were.
    pub operations: u64,
    /// And that were kept.
    pub logged: u64,
    /// Operations of the sample's own records that could not be kept, since the disk was too slow. What
    /// they were nobody knows.
    pub lost_operations: u64,
    /// A record is in the sample if its hash, as a fraction of all hashes, is below this; a power of a
    /// half.
    pub threshold: f64,
    /// Or if it is one of these.
    pub hot_records: Vec<u64>,
    /// Of the records loaded, the share that is expected in the sample.
    pub share_of_records: f64,
    /// What the file was to hold at most.
    pub limit_bytes: u64,
}

/// Where logs come from.
#[derive(Debug, Clone)]
pub(crate) struct Logs {
    sender: SyncSender<Message>,
    sample: Option<Arc<Sample>>,
    run: u32,
}

impl Logs {
    /// One for an engine thread.
    pub fn log(&self) -> OperationLog {
        OperationLog::new(self.sender.clone(), self.sample.clone(), self.run)
    }
}

/// The thread that writes, and its file.
#[derive(Debug)]
pub(crate) struct Observer {
    path: PathBuf,
    logs: Logs,
    limit_bytes: u64,
    records: u64,
    thread: JoinHandle<io::Result<Counts>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    operations: u64,
    lost: u64,
    logged: u64,
}

impl Observer {
    /// Begins to write `<path>.0`: all operations, or what fits into `limit_bytes` of a workload of which
    /// `hottest` are the hottest of `records` records.
    pub fn start(
        path: &Path,
        run: u32,
        limit_bytes: Option<u64>,
        hottest: impl FnOnce(usize) -> Vec<u64>,
        records: u64,
    ) -> Result<Self, LoadError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".0");
        let path = PathBuf::from(name);
        let failed = |cause| Self::failed(&path, cause);
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(failed)?;
        let sample = limit_bytes.map(|_| Arc::new(Sample::new(hottest(HOTTEST))));
        let limit_rows = limit_bytes.unwrap_or(u64::MAX) / ROW_BYTES as u64;
        let (sender, messages) = sync_channel(WAITING_BUFFERS);
        let written = sample.as_ref().map_or((0, 0), |sample| sample.state());
        let mut writer =
            Writer { file, sample: sample.clone(), limit_rows, rows: 0, hot_rows: 0, written };
        let thread = std::thread::Builder::new()
            .name("pacelc-observer".into())
            .spawn(move || writer.run(&messages))
            .map_err(failed)?;
        let logs = Logs { sender, sample, run };
        Ok(Self { path, logs, limit_bytes: limit_bytes.unwrap_or(0), records, thread })
    }

    fn failed(path: &Path, cause: io::Error) -> LoadError {
        LoadError::System { what: format!("writing {}", path.display()), cause }
    }

    pub const fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Writes what is left, once every log is closed; what is in the sample, if there is a limit.
    pub fn finish(self) -> Result<Option<Observed>, LoadError> {
        // It fails only where the thread has ended, which then says why.
        let _ = self.logs.sender.send(Message::End);
        let panicked = || io::Error::other("the observer panicked");
        let ended = self.thread.join().unwrap_or_else(|_| Err(panicked()));
        let counts = ended.map_err(|cause| Self::failed(&self.path, cause))?;
        Ok(self.logs.sample.map(|sample| {
            let (halvings, hot) = sample.state();
            let threshold = 0.5_f64.powi(halvings.cast_signed());
            Observed {
                operations: counts.operations,
                logged: counts.logged,
                lost_operations: counts.lost,
                threshold,
                hot_records: sample.hot_records().to_vec(),
                share_of_records: threshold
                    + (1.0 - threshold) * hot as f64 / self.records.max(1) as f64,
                limit_bytes: self.limit_bytes,
            }
        }))
    }
}

#[derive(Debug)]
struct Writer {
    file: File,
    sample: Option<Arc<Sample>>,
    limit_rows: u64,
    /// Rows in the file.
    rows: u64,
    /// Of which so many are of hot records.
    hot_rows: u64,
    /// The sample's state that the file is of.
    written: (u32, usize),
}

impl Writer {
    fn run(&mut self, messages: &Receiver<Message>) -> io::Result<Counts> {
        let mut counts = Counts::default();
        // Without an end, the run has failed, and nobody reads the file.
        while let Ok(message) = messages.recv() {
            match message {
                Message::Rows(rows) => self.add(rows)?,
                Message::Closed(operations, lost) => {
                    counts.operations += operations;
                    counts.lost += lost;
                }
                Message::End => break,
            }
        }
        // Engine threads may have halved the threshold, too.
        if let Some(sample) = self.sample.clone() {
            self.rewrite(&sample)?;
        }
        counts.logged = self.rows;
        Ok(counts)
    }

    fn add(&mut self, mut rows: Vec<u8>) -> io::Result<()> {
        if let Some(sample) = &self.sample {
            sample.filter(&mut rows);
        }
        self.append(&rows)?;
        let Some(sample) = self.sample.clone() else { return Ok(()) };
        while self.rows > self.limit_rows && self.written != (MOST_HALVINGS, 0) {
            // Where engine threads have halved the threshold already, that may be enough.
            if sample.state() == self.written {
                if self.hot_rows > self.limit_rows / 2 {
                    sample.halve_hot();
                } else {
                    sample.halve();
                }
            }
            self.rewrite(&sample)?;
        }
        Ok(())
    }

    fn append(&mut self, rows: &[u8]) -> io::Result<()> {
        self.file.write_all_at(rows, self.rows * ROW_BYTES as u64)?;
        self.rows += (rows.len() / ROW_BYTES) as u64;
        if let Some(sample) = &self.sample {
            let hot = rows.chunks_exact(ROW_BYTES).filter(|row| sample.is_hot(record_of(row)));
            self.hot_rows += hot.count() as u64;
        }
        Ok(())
    }

    /// Writes the file anew, in its own place, without the rows of records that have left the sample.
    fn rewrite(&mut self, sample: &Sample) -> io::Result<()> {
        let state = sample.state();
        if state == self.written {
            return Ok(());
        }
        self.written = state;
        let end = self.rows * ROW_BYTES as u64;
        (self.rows, self.hot_rows) = (0, 0);
        let mut at = 0;
        while at < end {
            let mut chunk = vec![0; CHUNK_BYTES.min((end - at) as usize)];
            self.file.read_exact_at(&mut chunk, at)?;
            at += chunk.len() as u64;
            sample.filter(&mut chunk);
            self.append(&chunk)?;
        }
        self.file.set_len(self.rows * ROW_BYTES as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::BUFFER_ROWS;
    use pacelc_core::seed;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A row of a record that is told from others of it by `number`.
    fn row(record: u64, number: u64) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        row[..8].copy_from_slice(&number.to_le_bytes());
        row[24..32].copy_from_slice(&record.to_le_bytes());
        row
    }

    /// What is on disk of `operations`, handed over in buffers of `per_buffer` rows, and in which sample.
    fn observe(
        operations: &[u64],
        limit_rows: usize,
        hottest: &[u64],
        per_buffer: usize,
    ) -> (BTreeMap<u64, Vec<u64>>, Observed) {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "pacelc-observer-{}-{}",
            std::process::id(),
            FILES.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        let limit = Some((limit_rows * ROW_BYTES) as u64);
        let observer = Observer::start(&path, 0, limit, |_| hottest.to_vec(), 1_000).unwrap();
        let mut number = 0;
        for records in operations.chunks(per_buffer) {
            let mut rows = Vec::new();
            for record in records {
                rows.extend_from_slice(&row(*record, number));
                number += 1;
            }
            observer.logs.sender.send(Message::Rows(rows)).unwrap();
        }
        observer.logs.sender.send(Message::Closed(number, 0)).unwrap();
        let kept = observer.finish().unwrap().unwrap();
        let file = path.with_extension("0");
        let rows = std::fs::read(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert_eq!(rows.len() as u64, kept.logged * ROW_BYTES as u64);
        let mut logged: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for row in rows.chunks(ROW_BYTES) {
            let number = u64::from_le_bytes(row[..8].try_into().unwrap());
            logged.entry(record_of(row)).or_default().push(number);
        }
        (logged, kept)
    }

    proptest! {
        #[test]
        fn a_sample_has_all_operations_of_its_records_and_none_of_others(
            operations in prop::collection::vec(0u64..200, 0..3_000),
            limit_rows in 16usize..2_000, hot in 0u64..20, per_buffer in 1usize..500,
        ) {
            let hottest: Vec<u64> = (0..hot).collect();
            let (logged, observed) = observe(&operations, limit_rows, &hottest, per_buffer);
            prop_assert_eq!(observed.operations, operations.len() as u64);
            prop_assert!(observed.logged <= limit_rows as u64);
            prop_assert!(hottest.starts_with(&observed.hot_records));
            // The law by which Python tells who is in it.
            let below = |record: u64| {
                (seed::mix(record) as f64) < observed.threshold * 2.0_f64.powi(64)
                    || observed.hot_records.contains(&record)
            };
            let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for (number, record) in operations.iter().enumerate() {
                if below(*record) {
                    expected.entry(*record).or_default().push(number as u64);
                }
            }
            prop_assert_eq!(logged, expected);
            if operations.len() <= limit_rows {
                prop_assert_eq!((observed.threshold, observed.share_of_records), (1.0, 1.0));
            }
        }
    }

    #[test]
    fn the_hottest_are_kept_while_they_leave_room_for_others() {
        let few: Vec<_> = (0..100_000).map(|i| if i % 10 == 0 { 3 } else { i }).collect();
        let (logged, observed) = observe(&few, 30_000, &[3, 4], 1_000);
        assert_eq!((observed.hot_records, observed.threshold), (vec![3, 4], 0.125));
        assert_eq!(logged[&3].len(), 10_001);
        // One that its hash leaves out as soon as it is no longer among them.
        let hot = (0..).step_by(2).find(|record| seed::mix(*record) >> 63 == 1).unwrap();
        let many: Vec<_> = (0..100_000).map(|i| if i % 2 == 0 { hot } else { i }).collect();
        let (logged, observed) = observe(&many, 30_000, &[hot, 4], 1_000);
        assert_eq!((observed.hot_records, observed.threshold), (vec![], 0.5));
        assert!(!logged.contains_key(&hot) && observed.logged > 20_000);
    }

    #[test]
    fn a_disk_that_cannot_keep_up_costs_records_and_never_a_wait() {
        let sample = Arc::new(Sample::new(vec![7]));
        // Nobody takes anything from it.
        let (sender, messages) = sync_channel(1);
        let mut log = OperationLog::new(sender, Some(Arc::clone(&sample)), 0);
        let workload: pacelc_workload::WorkloadSpec = serde_json::from_value(serde_json::json!({
            "records": 1_000, "fields": 1, "field_length_bytes": 40,
            "mix": {"read": 1.0}, "distribution": "uniform",
        }))
        .unwrap();
        let mut user = pacelc_workload::Workload::new(workload).unwrap().user(1, 0);
        let span = pacelc_measure::Span { due_ns: 0, start_ns: 0, end_ns: 1 };
        for _ in 0..20_000 {
            log.write(user.next_request(), &pacelc_core::Outcome::Ok, None, span);
        }
        assert!(sample.state().0 > 2, "{:?}", sample.state());
        // What waited was taken before: it is filtered when it is written.
        let Ok(Message::Rows(mut rows)) = messages.recv() else { panic!("no rows") };
        assert_eq!(rows.len(), BUFFER_ROWS * ROW_BYTES);
        sample.filter(&mut rows);
        assert!(rows.len() < BUFFER_ROWS * ROW_BYTES / 2);
        drop(messages);
        log.close();
    }
}
