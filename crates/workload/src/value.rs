//! Stamped values: a read proves its integrity and its age at no extra cost.
//!
//! A field's value is a [`Stamp`] in 32 hexadecimal digits, then filler:
//!
//! ```text
//! check (8) | writer (8) | sequence (16) | filler …
//! ```
//!
//! `check` is a hash of the record's key, the field's number, writer and sequence: a value under a
//! wrong key or in a wrong field shows. The filler is a slice of one fixed pseudo-random text, cut
//! where `check` says: a reader knows every byte that must follow. All of it is printable ASCII,
//! so that databases can hold it as text, and none of it depends on the run's seed: any pacelc can
//! verify the data that any other has loaded.

use pacelc_core::{FieldValue, Rows, seed};
use std::sync::LazyLock;

/// Bytes of the stamp; no field is shorter.
pub const STAMP_BYTES: usize = 32;
/// Bytes of the longest field.
pub const MAX_FIELD_BYTES: usize = 1 << 20;

/// Where filler may begin. A power of two, larger than L1, so that values don't all look alike.
const FILLER_OFFSETS: usize = 1 << 16;

static FILLER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..((FILLER_OFFSETS + MAX_FIELD_BYTES) as u64 / 8))
        .flat_map(|i| seed::mix(i).to_le_bytes())
        .map(|byte| LETTERS[usize::from(byte & 63)])
        .collect()
});

/// Who wrote a value, and as which of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// 0 for the load phase, else the user's number plus 1.
    pub writer: u32,
    /// The writer's own count of operations (the record's number in the load phase).
    pub sequence: u64,
}

impl Stamp {
    fn check(self, key_hash: u64, field: usize) -> u32 {
        let who = (u64::from(self.writer) << 32) ^ self.sequence.rotate_left(17);
        (seed::mix(key_hash ^ seed::mix(who ^ ((field as u64) << 48))) >> 32) as u32
    }
}

/// Hash of a key's bytes, eight at a time.
fn hash_key(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut hash = key.len() as u64;
    for word in words {
        hash =
            (hash.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    seed::mix(hash ^ u64::from_le_bytes(last))
}

fn filler(check: u32, length: usize) -> &'static [u8] {
    let offset = check as usize % FILLER_OFFSETS;
    &FILLER[offset..offset + length]
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn push_hex<const DIGITS: usize>(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; DIGITS];
    for (i, digit) in digits.iter_mut().enumerate() {
        *digit = HEX[(number >> (4 * (DIGITS - 1 - i))) as usize & 15];
    }
    out.extend_from_slice(&digits);
}

fn parse_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

/// Appends the values of fields `first` to `first + count` − 1 of the record `key` to `out`, each
/// `field_length` bytes long.
pub(crate) fn write_fields(
    key: &str,
    stamp: Stamp,
    first: usize,
    count: usize,
    field_length: usize,
    out: &mut Vec<u8>,
) {
    let key_hash = hash_key(key.as_bytes());
    out.clear();
    out.reserve(count * field_length);
    for field in first..first + count {
        let check = stamp.check(key_hash, field);
        push_hex::<8>(u64::from(check), out);
        push_hex::<8>(u64::from(stamp.writer), out);
        push_hex::<16>(stamp.sequence, out);
        out.extend_from_slice(filler(check, field_length - STAMP_BYTES));
    }
}

/// The stamp of `value`, if every byte of it is as its writer wrote it for this key and field.
#[must_use]
pub fn verify(key: &[u8], field: usize, value: &[u8]) -> Option<Stamp> {
    verify_hashed(hash_key(key), field, value)
}

fn verify_hashed(key_hash: u64, field: usize, value: &[u8]) -> Option<Stamp> {
    let (stamp, rest) = value.split_at_checked(STAMP_BYTES)?;
    if rest.len() > MAX_FIELD_BYTES {
        return None;
    }
    let check = parse_hex(&stamp[..8])? as u32;
    let found =
        Stamp { writer: parse_hex(&stamp[8..16])? as u32, sequence: parse_hex(&stamp[16..])? };
    (found.check(key_hash, field) == check && rest == filler(check, rest.len())).then_some(found)
}

/// Proves the rows of one read or scan as they are parsed.
#[derive(Debug)]
pub struct Verifier {
    fields: usize,
    field_length: usize,
    rows: u32,
    key_hash: u64,
    fields_in_row: usize,
    newest: Option<Stamp>,
    wrong: Option<String>,
}

impl Verifier {
    /// For records of `fields` fields of `field_length` bytes.
    #[must_use]
    pub const fn new(fields: usize, field_length: usize) -> Self {
        Self {
            fields,
            field_length,
            rows: 0,
            key_hash: 0,
            fields_in_row: 0,
            newest: None,
            wrong: None,
        }
    }

    /// Forgets the rows of the operation before.
    pub fn reset(&mut self) {
        *self = Self::new(self.fields, self.field_length);
    }

    /// Rows seen.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// The newest stamp among the fields of the last row: which write the reader saw.
    #[must_use]
    pub const fn newest(&self) -> Option<Stamp> {
        self.newest
    }

    /// What is wrong with the rows, if anything is. Call it once, after the last row.
    pub fn finish(&mut self) -> Option<String> {
        self.end_row();
        self.wrong.take()
    }

    fn end_row(&mut self) {
        if self.rows > 0 && self.fields_in_row != self.fields && self.wrong.is_none() {
            self.wrong = Some(format!(
                "row {} has {} fields of {}",
                self.rows, self.fields_in_row, self.fields
            ));
        }
    }
}

impl Rows for Verifier {
    fn row(&mut self, key: &[u8]) {
        self.end_row();
        self.rows += 1;
        self.fields_in_row = 0;
        self.newest = None;
        self.key_hash = hash_key(key);
    }

    fn value(&mut self, field: usize, value: &[u8]) {
        self.fields_in_row += 1;
        let stamp = (field < self.fields && value.len() == self.field_length)
            .then(|| verify_hashed(self.key_hash, field, value))
            .flatten();
        match stamp {
            Some(stamp) => self.newest = self.newest.max(Some(stamp)),
            None if self.wrong.is_none() => {
                self.wrong = Some(format!(
                    "row {}, field {field}: {} bytes that no writer wrote there",
                    self.rows,
                    value.len()
                ));
            }
            None => {}
        }
    }
}

/// Splits the bytes of [`write_fields`] into fields again.
pub(crate) fn split_fields(
    bytes: &[u8],
    first: usize,
    field_length: usize,
) -> impl Iterator<Item = FieldValue<'_>> {
    bytes
        .chunks_exact(field_length)
        .enumerate()
        .map(move |(i, value)| FieldValue { field: first + i, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(key: &str, stamp: Stamp, fields: usize, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_fields(key, stamp, 0, fields, length, &mut bytes);
        bytes
    }

    fn read(
        key: &str,
        fields: usize,
        length: usize,
        bytes: &[u8],
    ) -> (Option<String>, Option<Stamp>) {
        let mut verifier = Verifier::new(fields, length);
        verifier.row(key.as_bytes());
        for field in split_fields(bytes, 0, length) {
            verifier.value(field.field, field.value);
        }
        let newest = verifier.newest();
        (verifier.finish(), newest)
    }

    proptest! {
        #[test]
        fn what_was_written_reads_back_with_its_stamp(
            key in "[a-z0-9]{1,40}", writer: u32, sequence: u64, fields in 1usize..12, length in 32usize..300,
        ) {
            let stamp = Stamp { writer, sequence };
            let bytes = record(&key, stamp, fields, length);
            prop_assert!(bytes.iter().all(u8::is_ascii_graphic));
            prop_assert_eq!(read(&key, fields, length, &bytes), (None, Some(stamp)));
        }

        #[test]
        fn any_wrong_byte_shows(
            writer: u32, sequence: u64, at in 0usize..500, flip in 1u8..=255,
        ) {
            let mut bytes = record("user1", Stamp { writer, sequence }, 5, 100);
            bytes[at] ^= flip;
            prop_assert!(read("user1", 5, 100, &bytes).0.is_some());
        }

        #[test]
        fn a_value_under_another_key_or_in_another_field_shows(sequence: u64, other in "[a-z]{1,9}") {
            let bytes = record("user1", Stamp { writer: 1, sequence }, 2, 40);
            prop_assert!(read(&other, 2, 40, &bytes).0.is_some());
            let swapped = [&bytes[40..], &bytes[..40]].concat();
            prop_assert!(read("user1", 2, 40, &swapped).0.is_some());
        }

        #[test]
        fn no_bytes_upset_the_verifier(bytes in prop::collection::vec(any::<u8>(), 0..200), field: usize) {
            prop_assert_eq!(verify(b"user1", field, &bytes), None);
        }
    }

    #[test]
    fn a_missing_field_shows() {
        let bytes = record("user1", Stamp { writer: 1, sequence: 1 }, 3, 50);
        assert_eq!(read("user1", 3, 50, &bytes[..100]).0.unwrap(), "row 1 has 2 fields of 3");
    }
}
