//! What a user asks of a database.

use serde::{Deserialize, Serialize};

/// The kind of an operation: what is measured, and what a consistency level is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OperationKind {
    /// One record by its key: all fields, or one.
    Read,
    /// New values for one field or all of an existing record.
    Update,
    /// A new record.
    Insert,
    /// Up to a limit of records, from a key on, or from wherever the database begins.
    Scan,
    /// A read of a record, then an update of it; one latency for both.
    ReadModifyWrite,
    /// A record and all its fields go.
    Delete,
}

impl OperationKind {
    /// Every kind, in the order in which reports list them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite, Self::Delete];

    /// The name used in studies, files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Delete => "delete",
        }
    }

    /// The kind with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the operation may change data.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Scan)
    }
}

/// One field's number and its new value. Bindings name field `n` `"fieldn"`, as YCSB does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldValue<'a> {
    /// The field's number, from 0.
    pub field: usize,
    /// Its bytes: printable ASCII, so that every database can hold it as text.
    pub value: &'a [u8],
}

/// One request to a database. A read-modify-write is two of them, made by the load loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Read one record.
    Read {
        /// The record's key.
        key: &'a str,
        /// The one field to read; `None` for all of them.
        field: Option<usize>,
    },
    /// Write the given fields of an existing record. What becomes of one that isn't there is the
    /// database's to say ([`update_inserts`](crate::Consistency::update_inserts)).
    Update {
        /// The record's key.
        key: &'a str,
        /// The fields to write: one of them or all.
        values: &'a [FieldValue<'a>],
    },
    /// Write a new record.
    Insert {
        /// The record's key.
        key: &'a str,
        /// All its fields.
        values: &'a [FieldValue<'a>],
    },
    /// Read up to `limit` records.
    Scan {
        /// Where to begin; `None` for a scan without a filter.
        start: Option<&'a str>,
        /// The most records to read.
        limit: u32,
        /// The one field to read of each; `None` for all of them.
        field: Option<usize>,
    },
    /// Delete one record.
    Delete {
        /// The record's key.
        key: &'a str,
    },
}

impl Operation<'_> {
    /// The operation's kind.
    #[must_use]
    pub const fn kind(&self) -> OperationKind {
        match self {
            Self::Read { .. } => OperationKind::Read,
            Self::Update { .. } => OperationKind::Update,
            Self::Insert { .. } => OperationKind::Insert,
            Self::Scan { .. } => OperationKind::Scan,
            Self::Delete { .. } => OperationKind::Delete,
        }
    }

    /// The one field that a read or scan asks for; `None` for all of them.
    #[must_use]
    pub const fn field(&self) -> Option<usize> {
        match self {
            Self::Read { field, .. } | Self::Scan { field, .. } => *field,
            _ => None,
        }
    }
}

/// Where a binding puts the records that answer a read or a scan.
///
/// A binding hands over each row as `row(key)` followed by its fields, straight from its receive
/// buffer: nobody keeps the bytes, so nothing is copied on the way to verification.
pub trait Rows {
    /// A new row begins. `key` is the key that the database sent, or the one asked for.
    fn row(&mut self, key: &[u8]);
    /// A field of the current row.
    fn value(&mut self, field: usize, value: &[u8]);
}

/// Rows that nobody looks at.
impl Rows for () {
    fn row(&mut self, _key: &[u8]) {}
    fn value(&mut self, _field: usize, _value: &[u8]) {}
}

/// The number in `"fieldn"`; `None` for any other name.
#[must_use]
pub fn field_number(name: &[u8]) -> Option<usize> {
    let digits = name.strip_prefix(b"field")?;
    if digits.is_empty() || digits.len() > 4 || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |n: usize, d| d.is_ascii_digit().then(|| n * 10 + usize::from(d - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_has_its_own_name() {
        for kind in OperationKind::ALL {
            assert_eq!(OperationKind::from_name(kind.name()), Some(kind));
        }
    }

    proptest! {
        #[test]
        fn field_numbers_read_back(n in 0usize..10_000) {
            prop_assert_eq!(field_number(format!("field{n}").as_bytes()), Some(n));
        }

        #[test]
        fn no_name_upsets_the_field_parser(name in prop::collection::vec(any::<u8>(), 0..16)) {
            if let Some(n) = field_number(&name) {
                prop_assert_eq!(format!("field{n}").into_bytes(), name);
            }
        }
    }
}
