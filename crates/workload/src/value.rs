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
//! where `check` says: a reader knows every byte that must follow. Where lengths vary, `check`
//! says the length too. All of it is printable ASCII, so that databases can hold it as text, and
//! none of it depends on the run's seed: any pacelc can verify the data that any other has loaded.
//!
//! The sequence of a measured write names its run: a tag in bits 36–63, above the writer's own count.
//! Burn-in, runs and retries of one seed repeat writers and counts on the same data, and only the tag
//! tells theirs apart. Tag 0 is that of runs that were given none, as those of an older pacelc were.
//!
//! A value shorter than a stamp is text that depends on key and field: it proves its integrity, not
//! its age, and of its length only that some value may be so short. Its first letter says which of
//! 64 such texts it is, so that an update nearly always changes what it overwrites. (MongoDB
//! acknowledges a write that changes nothing without asking any other member.) A value of one byte
//! is always the same.

use crate::lengths::FieldLengths;
use pacelc_core::{FieldValue, Operation, Rows, seed};
use std::sync::LazyLock;

/// Bytes of the stamp.
pub const STAMP_BYTES: usize = 32;
/// Bytes of the longest field.
pub const MAX_FIELD_BYTES: usize = 1 << 20;

/// Where filler may begin. A power of two, larger than L1, so that values don't all look alike.
const FILLER_OFFSETS: usize = 1 << 16;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static FILLER: LazyLock<Vec<u8>> = LazyLock::new(|| {
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
    /// The writer's own count of operations (the record's number in the load phase); as it is stored,
    /// with the run's tag above it.
    pub sequence: u64,
}

/// Bits of a writer's own count; the run's tag is above them.
const COUNT_BITS: u32 = 36;

/// Tags of runs are below this.
pub const RUN_TAGS: u32 = 1 << (u64::BITS - COUNT_BITS);

/// Where a version is from, as one run sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A write of this run, or of one that had the same tag.
    Run,
    /// The load phase.
    Load,
    /// A run before it.
    Earlier,
}

impl Origin {
    /// The name used in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Load => "load",
            Self::Earlier => "earlier",
        }
    }
}

impl Stamp {
    /// As it is stored for a write of the run with this tag.
    #[must_use]
    pub const fn of_run(self, run: u32) -> Self {
        Self { sequence: self.sequence | (run as u64) << COUNT_BITS, ..self }
    }

    /// Where a version with this stored stamp is from, for the run with this tag; and its sequence
    /// there: of this run's own, the writer's count.
    #[must_use]
    pub const fn seen_by(self, run: u32) -> (Origin, u64) {
        match self.writer {
            0 => (Origin::Load, self.sequence),
            _ if self.sequence >> COUNT_BITS == run as u64 => {
                (Origin::Run, self.sequence & ((1 << COUNT_BITS) - 1))
            }
            _ => (Origin::Earlier, self.sequence),
        }
    }

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

/// The letters of the short value that begins with letter number `variant`.
fn short_text(key_hash: u64, field: usize, variant: u8) -> [u8; STAMP_BYTES] {
    let mut text = [0; STAMP_BYTES];
    let seed = seed::mix(key_hash ^ ((field as u64) << 8) ^ u64::from(variant));
    for (word, letters) in text.chunks_exact_mut(8).enumerate() {
        for (letter, byte) in letters.iter_mut().zip(seed::mix(seed ^ word as u64).to_le_bytes()) {
            *letter = LETTERS[usize::from(byte & 63)];
        }
    }
    text[0] = LETTERS[usize::from(variant)];
    text
}

/// Which of the short texts of one byte, or of more, the value with this check is.
const fn variant(check: u32, length: usize) -> u8 {
    if length == 1 { 0 } else { (check & 63) as u8 }
}

/// Whether these bytes, fewer than a stamp's, are a short value of this key and field.
fn is_short_value(key_hash: u64, field: usize, value: &[u8]) -> bool {
    let variants = if value.len() == 1 { 1 } else { LETTERS.len() };
    value
        .first()
        .and_then(|first| LETTERS[..variants].iter().position(|letter| letter == first))
        .is_some_and(|variant| value == &short_text(key_hash, field, variant as u8)[..value.len()])
}

/// Writes the values of fields `first` to `first + count` − 1 of the record `key` to `out`, one after
/// another, and where each one ends to `ends`.
pub(crate) fn write_fields(
    key: &str,
    stamp: Stamp,
    fields: std::ops::Range<usize>,
    lengths: &FieldLengths,
    out: &mut Vec<u8>,
    ends: &mut Vec<u32>,
) {
    let key_hash = hash_key(key.as_bytes());
    out.clear();
    ends.clear();
    if let FieldLengths::Constant(length) = lengths {
        out.reserve(fields.len() * length);
    }
    for field in fields {
        let check = stamp.check(key_hash, field);
        let length = lengths.of(check);
        if length < STAMP_BYTES {
            let text = short_text(key_hash, field, variant(check, length));
            out.extend_from_slice(&text[..length]);
        } else {
            push_hex::<8>(u64::from(check), out);
            push_hex::<8>(u64::from(stamp.writer), out);
            push_hex::<16>(stamp.sequence, out);
            out.extend_from_slice(filler(check, length - STAMP_BYTES));
        }
        ends.push(out.len() as u32);
    }
}

/// The stamp of `value`, if every byte of it is as its writer wrote it for this key and field.
#[must_use]
pub fn verify(key: &[u8], field: usize, value: &[u8]) -> Option<Stamp> {
    verify_hashed(hash_key(key), field, value).map(|(stamp, _)| stamp)
}

/// The stamp, and its check.
fn verify_hashed(key_hash: u64, field: usize, value: &[u8]) -> Option<(Stamp, u32)> {
    let (stamp, rest) = value.split_at_checked(STAMP_BYTES)?;
    if rest.len() > MAX_FIELD_BYTES {
        return None;
    }
    let check = parse_hex(&stamp[..8])? as u32;
    let found =
        Stamp { writer: parse_hex(&stamp[8..16])? as u32, sequence: parse_hex(&stamp[16..])? };
    (found.check(key_hash, field) == check && rest == filler(check, rest.len()))
        .then_some((found, check))
}

/// Proves the rows of one read or scan as they are parsed.
#[derive(Debug, Clone)]
pub struct Verifier {
    fields: usize,
    lengths: FieldLengths,
    /// Whether a record may lack fields.
    in_parts: bool,
    /// The one field that was asked for; `None` for all.
    only: Option<usize>,
    rows: u32,
    key_hash: u64,
    fields_in_row: usize,
    newest: Option<Stamp>,
    /// Whether each write writes every field, so that a row has one stamp.
    one_version: bool,
    torn: bool,
    wrong: Option<String>,
}

impl Verifier {
    pub(crate) const fn new(
        fields: usize,
        lengths: FieldLengths,
        in_parts: bool,
        one_version: bool,
    ) -> Self {
        Self {
            fields,
            lengths,
            in_parts,
            one_version,
            torn: false,
            only: None,
            rows: 0,
            key_hash: 0,
            fields_in_row: 0,
            newest: None,
            wrong: None,
        }
    }

    /// Forgets the rows of the operation before; those to come are `operation`'s.
    pub fn begin(&mut self, operation: &Operation<'_>) {
        self.only = operation.field();
        self.rows = 0;
        self.fields_in_row = 0;
        self.newest = None;
        self.torn = false;
        self.wrong = None;
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

    /// Whether the fields of any row have differing stamps, though each write writes them all: the
    /// reader saw half a write.
    #[must_use]
    pub const fn torn(&self) -> bool {
        self.torn
    }

    /// What is wrong with the rows, if anything is. Call it once, after the last row.
    pub fn finish(&mut self) -> Option<String> {
        self.end_row();
        self.wrong.take()
    }

    fn end_row(&mut self) {
        let asked_for = if self.only.is_some() { 1 } else { self.fields };
        let is_whole =
            self.fields_in_row == asked_for || (self.in_parts && self.fields_in_row < asked_for);
        if self.rows > 0 && !is_whole && self.wrong.is_none() {
            self.wrong =
                Some(format!("row {} has {} fields of {asked_for}", self.rows, self.fields_in_row));
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
        let asked_for = self.only.map_or(field < self.fields, |only| field == only);
        let proven = if !asked_for {
            None
        } else if value.len() < STAMP_BYTES {
            (self.lengths.has(value.len()) && is_short_value(self.key_hash, field, value))
                .then_some(None)
        } else {
            verify_hashed(self.key_hash, field, value)
                .filter(|(_, check)| self.lengths.of(*check) == value.len())
                .map(|(stamp, _)| Some(stamp))
        };
        match proven {
            Some(None) => {}
            Some(stamp) => {
                self.torn |= self.one_version && self.newest.is_some() && self.newest != stamp;
                self.newest = self.newest.max(stamp);
            }
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
pub(crate) fn split_fields<'a>(
    bytes: &'a [u8],
    first: usize,
    ends: &'a [u32],
) -> impl Iterator<Item = FieldValue<'a>> {
    let mut start = 0;
    ends.iter().enumerate().map(move |(i, end)| {
        let value = &bytes[start..*end as usize];
        start = *end as usize;
        FieldValue { field: first + i, value }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lengths::FieldLengthDistribution;
    use proptest::prelude::*;

    /// One record's values, field by field.
    fn record(key: &str, stamp: Stamp, fields: usize, lengths: &FieldLengths) -> Vec<Vec<u8>> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        write_fields(key, stamp, 0..fields, lengths, &mut bytes, &mut ends);
        split_fields(&bytes, 0, &ends).map(|field| field.value.to_vec()).collect()
    }

    fn record_of_one(key: &str, stamp: Stamp) -> Vec<u8> {
        record(key, stamp, 1, &FieldLengths::Constant(40)).remove(0)
    }

    fn read_fields(
        key: &str,
        only: Option<usize>,
        fields: usize,
        lengths: &FieldLengths,
        values: &[(usize, &[u8])],
    ) -> (Option<String>, Option<Stamp>) {
        let verifier = Verifier::new(fields, lengths.clone(), false, true);
        read_by(verifier, key, only, values)
    }

    fn read_by(
        mut verifier: Verifier,
        key: &str,
        only: Option<usize>,
        values: &[(usize, &[u8])],
    ) -> (Option<String>, Option<Stamp>) {
        verifier.begin(&Operation::Read { key, field: only });
        verifier.row(key.as_bytes());
        for (field, value) in values {
            verifier.value(*field, value);
        }
        let newest = verifier.newest();
        (verifier.finish(), newest)
    }

    fn read(
        key: &str,
        lengths: &FieldLengths,
        values: &[Vec<u8>],
    ) -> (Option<String>, Option<Stamp>) {
        let values: Vec<_> = values.iter().map(Vec::as_slice).enumerate().collect();
        read_fields(key, None, values.len(), lengths, &values)
    }

    fn any_lengths() -> impl Strategy<Value = FieldLengths> {
        use FieldLengthDistribution as D;
        let distribution = prop_oneof![
            Just(D::Constant),
            Just(D::Uniform),
            Just(D::Zipfian),
            prop::collection::vec((1usize..200, 1u64..9), 1..5).prop_map(D::Histogram),
        ];
        (distribution, 1usize..100, 0usize..200).prop_map(|(distribution, least, more)| {
            FieldLengths::new(&distribution, least, least + more, MAX_FIELD_BYTES).unwrap()
        })
    }

    proptest! {
        #[test]
        fn what_was_written_reads_back_with_its_stamp(
            key in "[a-z0-9]{1,40}", writer: u32, sequence: u64, fields in 1usize..12, lengths in any_lengths(),
        ) {
            let stamp = Stamp { writer, sequence };
            let values = record(&key, stamp, fields, &lengths);
            prop_assert!(values.iter().flatten().all(u8::is_ascii_graphic));
            let stamped = values.iter().any(|value| value.len() >= STAMP_BYTES).then_some(stamp);
            prop_assert_eq!(read(&key, &lengths, &values), (None, stamped));
            let one = [(fields - 1, values[fields - 1].as_slice())];
            prop_assert_eq!(read_fields(&key, Some(fields - 1), fields, &lengths, &one).0, None);
        }

        #[test]
        fn a_stored_stamp_says_whose_it_is(
            writer in 1u32.., count in 0u64..1 << 36, run in 0..RUN_TAGS, other in 0..RUN_TAGS, record: u64,
        ) {
            let own = Stamp { writer, sequence: count };
            let stored = own.of_run(run);
            let values = record_of_one("user1", stored);
            let read = verify(b"user1", 0, &values).unwrap();
            prop_assert_eq!(read.seen_by(run), (Origin::Run, count));
            if other != run {
                prop_assert_eq!(read.seen_by(other), (Origin::Earlier, stored.sequence));
            }
            let loaded = Stamp { writer: 0, sequence: record };
            prop_assert_eq!(loaded.seen_by(run), (Origin::Load, record));
            // What an older pacelc has stored had no tag.
            prop_assert_eq!(own.of_run(0), own);
        }

        #[test]
        fn any_wrong_byte_shows(
            writer: u32, sequence: u64, field in 0usize..5, at: prop::sample::Index, flip in 1u8..=255,
            length in 16usize..120,
        ) {
            let lengths = FieldLengths::Constant(length);
            let mut values = record("user1", Stamp { writer, sequence }, 5, &lengths);
            let at = at.index(values[field].len());
            values[field][at] ^= flip;
            prop_assert!(read("user1", &lengths, &values).0.is_some());
        }

        #[test]
        fn a_wrong_length_shows(
            sequence: u64, lengths in any_lengths(), cut: prop::sample::Index,
        ) {
            let mut values = record("user1", Stamp { writer: 1, sequence }, 1, &lengths);
            let whole = values[0].len();
            values[0].truncate(cut.index(whole));
            // A short value's beginning is a shorter value of its own, if there are any so short.
            let rest = values[0].len();
            let short = lengths.has(rest) && (whole < STAMP_BYTES || rest < 8);
            prop_assert!(short || read("user1", &lengths, &values).0.is_some());
            values[0].resize(whole + 1, b'A');
            prop_assert!(whole < STAMP_BYTES || read("user1", &lengths, &values).0.is_some());
        }

        #[test]
        fn a_value_under_another_key_or_in_another_field_shows(
            sequence: u64, other in "[a-z]{1,9}", length in 16usize..50,
        ) {
            let lengths = FieldLengths::Constant(length);
            let mut values = record("user1", Stamp { writer: 1, sequence }, 2, &lengths);
            prop_assert!(read(&other, &lengths, &values).0.is_some());
            values.swap(0, 1);
            prop_assert!(read("user1", &lengths, &values).0.is_some());
        }

        #[test]
        fn no_bytes_upset_the_verifier(bytes in prop::collection::vec(any::<u8>(), 0..200), field: usize) {
            prop_assert_eq!(verify(b"user1", field, &bytes), None);
            let lengths = FieldLengths::Constant(10);
            prop_assert!(read_fields("user1", None, 1, &lengths, &[(field, &bytes)]).0.is_some());
        }
    }

    #[test]
    fn a_missing_field_shows() {
        let lengths = FieldLengths::Constant(50);
        let values = record("user1", Stamp { writer: 1, sequence: 1 }, 3, &lengths);
        let two = [(0, values[0].as_slice()), (1, values[1].as_slice())];
        let (wrong, _) = read_fields("user1", None, 3, &lengths, &two);
        assert_eq!(wrong.unwrap(), "row 1 has 2 fields of 3");
        let (wrong, _) = read_fields("user1", Some(1), 3, &lengths, &two);
        assert!(wrong.unwrap().contains("field 0"), "a field that wasn't asked for shows");
        assert_eq!(
            read_fields("user1", Some(1), 3, &lengths, &[]).0.unwrap(),
            "row 1 has 0 fields of 1"
        );
    }

    #[test]
    fn a_row_of_two_writes_is_torn_where_each_writes_it_all() {
        let lengths = FieldLengths::Constant(50);
        let write =
            |run| record("user1", Stamp { writer: 1, sequence: 7 }.of_run(run), 2, &lengths);
        let (old, new) = (write(1), write(2));
        for (one_version, second, torn) in
            [(true, &new[1], false), (true, &old[1], true), (false, &old[1], false)]
        {
            let mut verifier = Verifier::new(2, lengths.clone(), false, one_version);
            verifier.begin(&Operation::Read { key: "user1", field: None });
            verifier.row(b"user1");
            verifier.value(0, &new[0]);
            verifier.value(1, second);
            assert_eq!((verifier.finish(), verifier.torn()), (None, torn));
            assert_eq!(verifier.newest(), Some(Stamp { writer: 1, sequence: 7 }.of_run(2)));
            // Rows of a scan may well be of different writes.
            verifier.begin(&Operation::Scan { start: None, limit: 2, field: Some(0) });
            for row in [&old, &new] {
                verifier.row(b"user1");
                verifier.value(0, &row[0]);
            }
            assert!(!verifier.torn());
        }
    }

    #[test]
    fn a_record_that_an_update_made_lacks_fields_where_records_are_deleted() {
        use pacelc_core::OperationKind::{Delete, Read, Update};
        let wrong =
            |mix: &[pacelc_core::OperationKind], all: bool, inserts: bool, fields: &[usize]| {
                let spec = serde_json::json!({
                    "records": 1, "fields": 3, "field_length_bytes": 50, "update_all_fields": all,
                    "mix": mix.iter().map(|k| (k.name(), 1.0 / mix.len() as f64))
                        .collect::<std::collections::BTreeMap<_, _>>(),
                });
                let workload = crate::Workload::new(serde_json::from_value(spec).unwrap()).unwrap();
                let stamp = Stamp { writer: 1, sequence: 1 };
                let record = record("user1", stamp, 3, &FieldLengths::Constant(50));
                let values: Vec<_> = fields.iter().map(|n| (*n, record[*n].as_slice())).collect();
                read_by(workload.verifier(inserts), "user1", None, &values).0.is_some()
            };
        assert!(!wrong(&[Read, Update, Delete], false, true, &[1]));
        assert!(!wrong(&[Read, Update, Delete], false, true, &[0, 1, 2]));
        // What is there must be right all the same, and no more than there can be.
        assert!(wrong(&[Read, Update, Delete], false, true, &[0, 1, 2, 2]));
        // Where no update can have made it, a field is lost.
        assert!(wrong(&[Read, Update, Delete], false, false, &[1]));
        assert!(wrong(&[Read, Update, Delete], true, true, &[1]));
        assert!(wrong(&[Read, Update], false, true, &[1]));
        assert!(wrong(&[Read, Delete], false, true, &[1]));
    }

    #[test]
    fn an_update_of_a_short_value_changes_it() {
        let lengths = FieldLengths::Constant(8);
        let write = |sequence| record("user1", Stamp { writer: 1, sequence }, 1, &lengths);
        let same = (0..1_000).filter(|i| write(*i) == write(i + 1)).count();
        // One in 64 by chance.
        assert!(same < 40, "{same}");
    }
}
