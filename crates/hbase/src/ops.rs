//! What can be asked of a table: [`Get`], [`Put`], [`Delete`], [`Scan`], and the settings of consistency that each
//! operation carries.

use std::time::Duration;

use bytes::Bytes;

use crate::cell::{CellType, LATEST_TIMESTAMP, cell_size, check_key};
use crate::error::{Error, Result};
use crate::proto;

/// Which copy answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ReadMode {
    /// HBase's `STRONG`: the primary, always.
    #[default]
    Strong,
    /// HBase's `TIMELINE`, from this replica only (0 is the primary).
    Replica(u32),
    /// HBase's `TIMELINE` as the Java client does it: the primary, and if it has not answered after this long, all
    /// the other replicas too; the first answer wins. The Java client waits for 10 ms
    /// (`hbase.client.primaryCallTimeout.get`).
    PrimaryThenReplicas(Duration),
}

impl ReadMode {
    /// The Java client's `TIMELINE`, with its default wait.
    pub const TIMELINE: Self = Self::PrimaryThenReplicas(Duration::from_millis(10));

    pub(crate) fn consistency(self) -> proto::Consistency {
        match self {
            Self::Strong => proto::Consistency::Strong,
            _ => proto::Consistency::Timeline,
        }
    }

    /// The replica asked first.
    pub(crate) fn first_replica(self) -> u32 {
        match self {
            Self::Replica(id) => id,
            _ => 0,
        }
    }
}

/// When a write counts as done. The numbers are HBase's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum Durability {
    /// What the table says; `SyncWal` if it says nothing.
    #[default]
    UseDefault = 0,
    /// Memory only: lost with the server.
    SkipWal = 1,
    /// Answered before the log reaches the file system.
    AsyncWal = 2,
    /// Answered once the log reached the file system's processes (`hflush`).
    SyncWal = 3,
    /// Answered once the log reached the disks (`hsync`).
    FsyncWal = 4,
}

impl Durability {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::UseDefault, Self::SkipWal, Self::AsyncWal, Self::SyncWal, Self::FsyncWal];

    /// HBase's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UseDefault => "USE_DEFAULT",
            Self::SkipWal => "SKIP_WAL",
            Self::AsyncWal => "ASYNC_WAL",
            Self::SyncWal => "SYNC_WAL",
            Self::FsyncWal => "FSYNC_WAL",
        }
    }
}

/// Columns to read: families, each whole or some qualifiers of it.
pub(crate) fn add_column(
    columns: &mut Vec<proto::Column>,
    family: Bytes,
    qualifier: Option<Bytes>,
) {
    let at = columns.iter().position(|c| c.family == family).unwrap_or_else(|| {
        columns.push(proto::Column { family, qualifier: Vec::new() });
        columns.len() - 1
    });
    if let Some(q) = qualifier {
        columns[at].qualifier.push(q);
    }
}

/// Reads one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Get {
    pub(crate) row: Bytes,
    pub(crate) columns: Vec<proto::Column>,
    pub(crate) max_versions: u32,
    pub(crate) existence_only: bool,
    pub(crate) cache_blocks: bool,
    pub(crate) mode: ReadMode,
}

impl Get {
    /// The newest version of every column of `row`, from the primary.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self {
            row: row.into(),
            columns: Vec::new(),
            max_versions: 1,
            existence_only: false,
            cache_blocks: true,
            mode: ReadMode::Strong,
        }
    }

    /// Only this family (and others named so).
    #[must_use]
    pub fn family(mut self, family: impl Into<Bytes>) -> Self {
        add_column(&mut self.columns, family.into(), None);
        self
    }

    /// Only this column (and others named so).
    #[must_use]
    pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        add_column(&mut self.columns, family.into(), Some(qualifier.into()));
        self
    }

    /// Up to `n` versions of each column.
    #[must_use]
    pub fn max_versions(mut self, n: u32) -> Self {
        self.max_versions = n;
        self
    }

    /// Asks only whether the row exists: see [`crate::Row::exists`].
    #[must_use]
    pub fn existence_only(mut self) -> Self {
        self.existence_only = true;
        self
    }

    /// Whether the server may keep the blocks it reads in its cache (it may, by default).
    #[must_use]
    pub fn cache_blocks(mut self, yes: bool) -> Self {
        self.cache_blocks = yes;
        self
    }

    /// Which copy answers.
    #[must_use]
    pub fn mode(mut self, mode: ReadMode) -> Self {
        self.mode = mode;
        self
    }

    pub(crate) fn to_proto(&self) -> proto::Get {
        proto::Get {
            row: self.row.clone(),
            column: self.columns.clone(),
            max_versions: (self.max_versions != 1).then_some(self.max_versions),
            cache_blocks: (!self.cache_blocks).then_some(false),
            existence_only: self.existence_only.then_some(true),
            consistency: (self.mode != ReadMode::Strong)
                .then_some(proto::Consistency::Timeline as i32),
        }
    }
}

/// One cell of a mutation; the row is the mutation's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MutationCell {
    pub family: Bytes,
    pub qualifier: Bytes,
    pub value: Bytes,
    pub timestamp: u64,
    pub cell_type: CellType,
}

/// What [`Put`] and [`Delete`] share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutation {
    pub row: Bytes,
    /// HBase's number: 2 put, 3 delete.
    pub kind: u8,
    pub cells: Vec<MutationCell>,
    pub durability: Durability,
}

impl Mutation {
    pub(crate) fn check(&self) -> Result<()> {
        check_key(&self.row, b"", b"")?;
        if self.kind == 2 && self.cells.is_empty() {
            return Err(Error::Invalid("a put needs a column".into()));
        }
        for c in &self.cells {
            check_key(&self.row, &c.family, &c.qualifier)?;
        }
        Ok(())
    }

    pub(crate) fn cells_size(&self) -> usize {
        self.cells.iter().map(|c| cell_size(&self.row, &c.family, &c.qualifier, &c.value)).sum()
    }

    pub(crate) fn to_proto(&self) -> proto::MutationProto {
        proto::MutationProto {
            row: Some(self.row.clone()),
            mutate_type: Some(i32::from(self.kind)),
            timestamp: None,
            durability: Some(self.durability as i32),
            associated_cell_count: i32::try_from(self.cells.len()).ok(),
        }
    }
}

/// Writes columns of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put(pub(crate) Mutation);

impl Put {
    /// A put of `row`, to be given columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self::with_capacity(row, 1)
    }

    /// The same, with room for `columns` columns.
    pub fn with_capacity(row: impl Into<Bytes>, columns: usize) -> Self {
        Self(Mutation {
            row: row.into(),
            kind: 2,
            cells: Vec::with_capacity(columns),
            durability: Durability::UseDefault,
        })
    }

    /// Adds a column, stamped by the server's clock.
    #[must_use]
    pub fn column(
        self,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        self.column_at(family, qualifier, value, LATEST_TIMESTAMP)
    }

    /// Adds a column with a timestamp of the caller's.
    #[must_use]
    pub fn column_at(
        mut self,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
        timestamp: u64,
    ) -> Self {
        self.0.cells.push(MutationCell {
            family: family.into(),
            qualifier: qualifier.into(),
            value: value.into(),
            timestamp,
            cell_type: CellType::Put,
        });
        self
    }

    /// When the write counts as done.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.0.durability = durability;
        self
    }
}

/// Deletes a row, or parts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete(pub(crate) Mutation);

impl Delete {
    /// Deletes the whole row, unless families or columns are named.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self(Mutation {
            row: row.into(),
            kind: 3,
            cells: Vec::new(),
            durability: Durability::UseDefault,
        })
    }

    fn cell(mut self, family: Bytes, qualifier: Bytes, cell_type: CellType) -> Self {
        self.0.cells.push(MutationCell {
            family,
            qualifier,
            value: Bytes::new(),
            timestamp: LATEST_TIMESTAMP,
            cell_type,
        });
        self
    }

    /// Deletes a family of the row.
    #[must_use]
    pub fn family(self, family: impl Into<Bytes>) -> Self {
        self.cell(family.into(), Bytes::new(), CellType::DeleteFamily)
    }

    /// Deletes every version of a column.
    #[must_use]
    pub fn column(self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        self.cell(family.into(), qualifier.into(), CellType::DeleteColumn)
    }

    /// Deletes the newest version of a column.
    #[must_use]
    pub fn newest_version(self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        self.cell(family.into(), qualifier.into(), CellType::Delete)
    }

    /// When the delete counts as done.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.0.durability = durability;
        self
    }
}

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A read. Batches read from the replica that [`Get::mode`] names first; they are not hedged.
    Get(Get),
    /// A write.
    Put(Put),
    /// A delete.
    Delete(Delete),
}

impl From<Get> for Action {
    fn from(get: Get) -> Self {
        Self::Get(get)
    }
}

impl From<Put> for Action {
    fn from(put: Put) -> Self {
        Self::Put(put)
    }
}

impl From<Delete> for Action {
    fn from(delete: Delete) -> Self {
        Self::Delete(delete)
    }
}

impl Action {
    pub(crate) fn row(&self) -> &Bytes {
        match self {
            Self::Get(get) => &get.row,
            Self::Put(Put(m)) | Self::Delete(Delete(m)) => &m.row,
        }
    }

    pub(crate) fn mutation(&self) -> Option<&Mutation> {
        match self {
            Self::Get(_) => None,
            Self::Put(Put(m)) | Self::Delete(Delete(m)) => Some(m),
        }
    }

    pub(crate) fn replica(&self) -> u32 {
        match self {
            Self::Get(get) => get.mode.first_replica(),
            _ => 0,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.mutation() {
            Some(m) => m.check(),
            None => check_key(self.row(), b"", b""),
        }
    }
}

/// Reads rows in key order.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    pub(crate) start: Bytes,
    pub(crate) start_inclusive: bool,
    pub(crate) stop: Bytes,
    pub(crate) stop_inclusive: bool,
    pub(crate) columns: Vec<proto::Column>,
    pub(crate) max_versions: u32,
    pub(crate) limit: Option<usize>,
    pub(crate) caching: u32,
    pub(crate) max_result_bytes: u64,
    pub(crate) cache_blocks: bool,
    pub(crate) mode: ReadMode,
}

impl Default for Scan {
    fn default() -> Self {
        Self::new()
    }
}

impl Scan {
    /// The whole table, from the primaries, at most 1,000 rows or 2 MiB a call.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Bytes::new(),
            start_inclusive: true,
            stop: Bytes::new(),
            stop_inclusive: false,
            columns: Vec::new(),
            max_versions: 1,
            limit: None,
            caching: 1_000,
            max_result_bytes: 2 << 20,
            cache_blocks: true,
            mode: ReadMode::Strong,
        }
    }

    /// From this row on.
    #[must_use]
    pub fn start(mut self, row: impl Into<Bytes>) -> Self {
        self.start = row.into();
        self
    }

    /// Up to this row, excluding it; empty means the end of the table.
    #[must_use]
    pub fn stop(mut self, row: impl Into<Bytes>) -> Self {
        self.stop = row.into();
        self.stop_inclusive = false;
        self
    }

    /// Up to this row, including it.
    #[must_use]
    pub fn stop_inclusive(mut self, row: impl Into<Bytes>) -> Self {
        self.stop = row.into();
        self.stop_inclusive = true;
        self
    }

    /// Only this family (and others named so).
    #[must_use]
    pub fn family(mut self, family: impl Into<Bytes>) -> Self {
        add_column(&mut self.columns, family.into(), None);
        self
    }

    /// Only this column (and others named so).
    #[must_use]
    pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        add_column(&mut self.columns, family.into(), Some(qualifier.into()));
        self
    }

    /// Up to `n` versions of each column.
    #[must_use]
    pub fn max_versions(mut self, n: u32) -> Self {
        self.max_versions = n;
        self
    }

    /// At most this many rows in all.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// At most this many rows a call.
    #[must_use]
    pub fn caching(mut self, rows: u32) -> Self {
        self.caching = rows.max(1);
        self
    }

    /// About this many bytes a call, checked by the server after each row.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.max_result_bytes = bytes;
        self
    }

    /// Whether the server may keep the blocks it reads in its cache (it may, by default).
    #[must_use]
    pub fn cache_blocks(mut self, yes: bool) -> Self {
        self.cache_blocks = yes;
        self
    }

    /// Which copy answers.
    #[must_use]
    pub fn mode(mut self, mode: ReadMode) -> Self {
        self.mode = mode;
        self
    }
}
