//! Cells as HBase's `KeyValueCodec` lays them out, both ways.
//!
//! A cell block is a run of
//!
//! ```text
//! u32 length of what follows
//!   u32 key length, u32 value length,
//!   key:   u16 row length, row, u8 family length, family, qualifier, u64 timestamp, u8 type
//!   value: bytes
//! ```
//!
//! all big-endian, without tags. A [`Row`] keeps the received bytes as they are and reads cells on demand: a result of
//! ten fields costs one reference count, no allocation. Every length is checked once, when the row is made, so that
//! reading can't fail later.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::proto;

/// Stands for "now, by the server's clock" in a cell that is written.
pub const LATEST_TIMESTAMP: u64 = i64::MAX as u64;

/// What a cell says. The numbers are HBase's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CellType {
    /// A value.
    Put = 4,
    /// Deletes one version of a column.
    Delete = 8,
    /// Deletes one version of every column of a family.
    DeleteFamilyVersion = 10,
    /// Deletes every version of a column.
    DeleteColumn = 12,
    /// Deletes every column of a family.
    DeleteFamily = 14,
}

/// Key length without row, family and qualifier.
const KEY_FIXED: usize = 2 + 1 + 8 + 1;

/// One cell, borrowed from the row it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The row key.
    pub row: &'a [u8],
    /// The column family.
    pub family: &'a [u8],
    /// The column qualifier.
    pub qualifier: &'a [u8],
    /// Milliseconds since 1970, unless the writer chose otherwise.
    pub timestamp: u64,
    /// See [`CellType`]; reads return puts (4) only.
    pub cell_type: u8,
    /// The value.
    pub value: &'a [u8],
}

fn take<'a>(input: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, tail) = input.split_at_checked(n)?;
    *input = tail;
    Some(head)
}

fn take_array<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = input.split_first_chunk::<N>()?;
    *input = tail;
    Some(*head)
}

/// Reads one cell from the front of `block` and moves `block` on; `None` if the bytes are not a cell.
fn read_cell<'a>(block: &mut &'a [u8]) -> Option<Cell<'a>> {
    let length = u32::from_be_bytes(take_array(block)?) as usize;
    let mut body = take(block, length)?;
    let key_length = u32::from_be_bytes(take_array(&mut body)?) as usize;
    let value_length = u32::from_be_bytes(take_array(&mut body)?) as usize;
    let mut key = take(&mut body, key_length)?;
    let value = take(&mut body, value_length)?; // what is left would be tags
    let row_length = u16::from_be_bytes(take_array(&mut key)?) as usize;
    let row = take(&mut key, row_length)?;
    let [family_length] = take_array(&mut key)?;
    let family = take(&mut key, family_length as usize)?;
    let qualifier_length = key.len().checked_sub(9)?;
    let qualifier = take(&mut key, qualifier_length)?;
    let timestamp = u64::from_be_bytes(take_array(&mut key)?);
    let [cell_type] = take_array(&mut key)?;
    Some(Cell { row, family, qualifier, timestamp, cell_type, value })
}

/// Checks `count` cells at the front of `block` and cuts them off.
pub(crate) fn split_cells(block: &mut Bytes, count: usize) -> Result<Bytes> {
    let mut rest: &[u8] = block;
    for i in 0..count {
        if read_cell(&mut rest).is_none() {
            return Err(Error::Protocol(format!("cell {i} of {count} is cut short or malformed")));
        }
    }
    let used = block.len() - rest.len();
    Ok(block.split_to(used))
}

/// One row as a read returned it: no cell, if the row does not exist (or holds nothing that was asked for).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    block: Bytes,
    count: u32,
    exists: Option<bool>,
    stale: bool,
    replica: u32,
}

impl Row {
    pub(crate) fn new(block: &mut Bytes, count: usize, stale: bool, replica: u32) -> Result<Self> {
        let block = split_cells(block, count)?;
        Ok(Self { block, count: count as u32, exists: None, stale, replica })
    }

    /// From a result message and the cell block that came with it.
    pub(crate) fn from_proto(
        result: &proto::RowResult,
        cells: &mut Bytes,
        replica: u32,
    ) -> Result<Self> {
        let stale = result.stale.unwrap_or(false);
        let count = usize::try_from(result.associated_cell_count.unwrap_or(0))
            .map_err(|_| Error::Protocol("negative cell count".into()))?;
        let mut row = if result.cell.is_empty() {
            Self::new(cells, count, stale, replica)?
        } else {
            Self::from_proto_cells(&result.cell, stale, replica)?
        };
        row.exists = result.exists;
        Ok(row)
    }

    /// Servers send cells inside the message only when no codec was agreed on, or beside conditional writes.
    fn from_proto_cells(cells: &[proto::Cell], stale: bool, replica: u32) -> Result<Self> {
        let mut block = Vec::new();
        for c in cells {
            let part = |b: &Option<Bytes>| b.clone().unwrap_or_default();
            let (row, family, qualifier) = (part(&c.row), part(&c.family), part(&c.qualifier));
            check_key(&row, &family, &qualifier)?;
            let cell = Cell {
                row: &row,
                family: &family,
                qualifier: &qualifier,
                timestamp: c.timestamp.unwrap_or_default(),
                cell_type: c.cell_type.and_then(|t| u8::try_from(t).ok()).unwrap_or(4),
                value: c.value.as_deref().unwrap_or_default(),
            };
            write_cell(&mut block, &cell);
        }
        Self::new(&mut Bytes::from(block), cells.len(), stale, replica)
    }

    /// Whether there is no cell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many cells there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// The row key, if there is a cell.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        self.cells().next().map(|c| c.row)
    }

    /// The answer to a [`crate::Get`] that asked for existence only.
    #[must_use]
    pub fn exists(&self) -> Option<bool> {
        self.exists
    }

    /// Whether the server said that the data may be stale (it did not come from the primary).
    #[must_use]
    pub fn stale(&self) -> bool {
        self.stale
    }

    /// The replica that answered, 0 being the primary.
    #[must_use]
    pub fn replica(&self) -> u32 {
        self.replica
    }

    /// The cells, in HBase's order: by family, qualifier, newest first.
    #[must_use]
    pub fn cells(&self) -> Cells<'_> {
        Cells { rest: &self.block }
    }

    /// The newest value of a column.
    #[must_use]
    pub fn value(&self, family: &[u8], qualifier: &[u8]) -> Option<&[u8]> {
        self.cells().find(|c| c.family == family && c.qualifier == qualifier).map(|c| c.value)
    }

    /// The newest value of a column, sharing the memory of the response. A value kept for long keeps the whole
    /// response buffer (64 KiB and more): copy it out, if it is to stay.
    #[must_use]
    pub fn value_bytes(&self, family: &[u8], qualifier: &[u8]) -> Option<Bytes> {
        self.value(family, qualifier).map(|v| self.block.slice_ref(v))
    }
}

/// Iterator over the cells of a [`Row`].
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        if self.rest.is_empty() { None } else { read_cell(&mut self.rest) }
    }
}

/// The bytes that [`write_cell`] will write, its length prefix included.
pub(crate) fn cell_size(row: &[u8], family: &[u8], qualifier: &[u8], value: &[u8]) -> usize {
    4 + 8 + KEY_FIXED + row.len() + family.len() + qualifier.len() + value.len()
}

/// The limits of the layout: row in 15 bits (the server's own limit), family in 7.
pub(crate) fn check_key(row: &[u8], family: &[u8], qualifier: &[u8]) -> Result<()> {
    if row.is_empty() || row.len() > i16::MAX as usize {
        return Err(Error::Invalid(format!("a row key has 1 to 32767 bytes, not {}", row.len())));
    }
    if family.len() > i8::MAX as usize {
        return Err(Error::Invalid(format!(
            "a family has at most 127 bytes, not {}",
            family.len()
        )));
    }
    if qualifier.len() > i32::MAX as usize / 2 {
        return Err(Error::Invalid(format!("qualifier of {} bytes", qualifier.len())));
    }
    Ok(())
}

/// Writes one cell. The caller has checked the key with [`check_key`].
pub(crate) fn write_cell(out: &mut Vec<u8>, c: &Cell<'_>) {
    let key_length = KEY_FIXED + c.row.len() + c.family.len() + c.qualifier.len();
    out.extend_from_slice(&((8 + key_length + c.value.len()) as u32).to_be_bytes());
    out.extend_from_slice(&(key_length as u32).to_be_bytes());
    out.extend_from_slice(&(c.value.len() as u32).to_be_bytes());
    out.extend_from_slice(&(c.row.len() as u16).to_be_bytes());
    out.extend_from_slice(c.row);
    out.push(c.family.len() as u8);
    out.extend_from_slice(c.family);
    out.extend_from_slice(c.qualifier);
    out.extend_from_slice(&c.timestamp.to_be_bytes());
    out.push(c.cell_type);
    out.extend_from_slice(c.value);
}

/// The rows of a scan's answer.
pub(crate) fn rows_of(
    message: &proto::ScanResponse,
    mut cells: Bytes,
    replica: u32,
) -> Result<Vec<Row>> {
    let stale = message.stale.unwrap_or(false);
    if message.partial_flag_per_result.contains(&true) {
        return Err(Error::Protocol("the server cut a row in two, unasked".into()));
    }
    if !message.results.is_empty() {
        return message.results.iter().map(|r| Row::from_proto(r, &mut cells, replica)).collect();
    }
    message
        .cells_per_result
        .iter()
        .map(|count| Row::new(&mut cells, *count as usize, stale, replica))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    type Owned = (Vec<u8>, Vec<u8>, Vec<u8>, u64, u8, Vec<u8>);

    fn cells() -> impl Strategy<Value = Vec<Owned>> {
        let bytes = |n| vec(any::<u8>(), n);
        vec(
            (
                bytes(1..40),
                bytes(0..127),
                bytes(0..40),
                any::<u64>(),
                any::<u8>(),
                vec(any::<u8>(), 0..300),
            ),
            0..8,
        )
    }

    fn view(c: &Owned) -> Cell<'_> {
        Cell {
            row: &c.0,
            family: &c.1,
            qualifier: &c.2,
            timestamp: c.3,
            cell_type: c.4,
            value: &c.5,
        }
    }

    proptest! {
        #[test]
        fn cells_survive_a_round_trip(cells in cells()) {
            let mut block = Vec::new();
            for c in &cells {
                let before = block.len();
                write_cell(&mut block, &view(c));
                prop_assert_eq!(block.len() - before, cell_size(&c.0, &c.1, &c.2, &c.5));
            }
            let row = Row::new(&mut Bytes::from(block), cells.len(), false, 0).unwrap();
            prop_assert!(row.cells().eq(cells.iter().map(view)));
            prop_assert_eq!(row.len(), cells.len());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200), count in 0usize..5) {
            let mut block = Bytes::from(bytes);
            if let Ok(row) = Row::new(&mut block, count, false, 0) {
                prop_assert_eq!(row.cells().count(), count);
            }
        }

        #[test]
        fn a_damaged_block_never_panics(cells in cells(), at in any::<prop::sample::Index>(), with in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut block = Vec::new();
            for c in &cells {
                write_cell(&mut block, &view(c));
            }
            if !block.is_empty() {
                let i = at.index(block.len());
                block[i] = with;
                block.truncate(cut.index(block.len()) + 1);
            }
            if let Ok(row) = Row::new(&mut Bytes::from(block), cells.len(), false, 0) {
                prop_assert_eq!(row.cells().count(), cells.len());
            }
        }
    }

    #[test]
    fn the_layout_is_hbases() {
        let mut out = Vec::new();
        let c = Cell {
            row: b"r",
            family: b"f",
            qualifier: b"q",
            timestamp: 1,
            cell_type: 4,
            value: b"v",
        };
        write_cell(&mut out, &c);
        #[rustfmt::skip]
        let expected = [
            0, 0, 0, 24,  0, 0, 0, 15,  0, 0, 0, 1,
            0, 1, b'r',  1, b'f',  b'q',  0, 0, 0, 0, 0, 0, 0, 1,  4,  b'v',
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn a_row_finds_its_columns() {
        let mut block = Vec::new();
        for (q, v) in [("a", "1"), ("b", "2")] {
            let c = Cell {
                row: b"r",
                family: b"f",
                qualifier: q.as_bytes(),
                timestamp: 9,
                cell_type: 4,
                value: v.as_bytes(),
            };
            write_cell(&mut block, &c);
        }
        let row = Row::new(&mut Bytes::from(block), 2, true, 1).unwrap();
        assert_eq!(row.value(b"f", b"b"), Some(&b"2"[..]));
        assert_eq!(row.value_bytes(b"f", b"a"), Some(Bytes::from_static(b"1")));
        assert_eq!(row.value(b"f", b"c"), None);
        assert_eq!(row.key(), Some(&b"r"[..]));
        assert!(row.stale() && row.replica() == 1);
    }

    #[test]
    fn keys_beyond_the_layout_are_refused() {
        assert!(check_key(b"", b"f", b"q").is_err());
        assert!(check_key(&vec![0; 32_768], b"f", b"q").is_err());
        assert!(check_key(b"r", &[0; 128], b"q").is_err());
        assert!(check_key(&vec![0; 32_767], &[0; 127], b"").is_ok());
    }

    proptest! {
        #[test]
        fn arbitrary_answers_never_panic(counts in vec(0u32..9, 0..5), partial in any::<bool>(), cells in vec(any::<u8>(), 0..200)) {
            let message = proto::ScanResponse {
                partial_flag_per_result: vec![partial; counts.len()],
                cells_per_result: counts,
                ..Default::default()
            };
            let _ = rows_of(&message, Bytes::from(cells), 0);
        }
    }

    #[test]
    fn a_count_beyond_the_cells_is_an_error() {
        let message =
            proto::ScanResponse { cells_per_result: vec![u32::MAX], ..Default::default() };
        assert!(rows_of(&message, Bytes::new(), 0).is_err());
    }
}
