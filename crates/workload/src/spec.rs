//! A workload as a study writes it, and its checks.

use crate::chooser::Distribution;
use crate::key::InsertOrder;
use crate::lengths::{FieldLengthDistribution, Spread};
use pacelc_core::OperationKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A study's workload, as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Records that the load phase inserts.
    pub records: u64,
    /// The number of the first of them; the run's inserts begin after the last.
    #[serde(default)]
    pub insert_start: u64,
    /// Whether keys are the hashes of record numbers, or the numbers.
    #[serde(default)]
    pub insert_order: InsertOrder,
    /// Digits of a key at least.
    #[serde(default = "one_digit")]
    pub zero_padding: usize,
    /// Fields a record.
    pub fields: usize,
    /// Bytes a field, or at most where lengths vary.
    pub field_length_bytes: usize,
    /// Bytes a field at least, where lengths are uniform or zipfian.
    #[serde(default = "one_byte")]
    pub min_field_length_bytes: usize,
    /// How the lengths of fields vary.
    #[serde(default)]
    pub field_length_distribution: FieldLengthDistribution,
    /// Share of each kind of operation; sums to 1.
    pub mix: BTreeMap<OperationKind, f64>,
    /// How records are chosen.
    #[serde(default)]
    pub distribution: Distribution,
    /// The most records that a scan reads.
    #[serde(default = "default_scan_length")]
    pub scan_length: u32,
    /// The fewest, where scans' lengths vary.
    #[serde(default = "one_record")]
    pub min_scan_length: u32,
    /// How the lengths of scans vary.
    #[serde(default)]
    pub scan_length_distribution: Spread,
    /// Where a scan begins: with a chosen record, or without a filter.
    #[serde(default)]
    pub scan_from: ScanFrom,
    /// Whether reads and scans ask for every field, or one chosen at random.
    #[serde(default = "yes")]
    pub read_all_fields: bool,
    /// Whether an update writes every field, or one chosen at random.
    #[serde(default)]
    pub update_all_fields: bool,
    /// Who updates and deletes a record.
    #[serde(default)]
    pub writers: Writers,
    /// Table, collection, or key prefix.
    #[serde(default = "default_table")]
    pub table: String,
}

/// Where a scan begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanFrom {
    /// Wherever the database begins: a `SELECT` without a filter.
    #[default]
    Start,
    /// At a record chosen as for a read.
    Key,
}

/// Who updates and deletes a record; its insert is one user's anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writers {
    /// Whoever chooses it.
    #[default]
    Shared,
    /// One user of the run, so that the order of its versions is certain. A user who chooses another's
    /// writes its own record that is nearest by number: of each block of as many records as there
    /// are users, each has one.
    Single,
}

const fn default_scan_length() -> u32 {
    100
}

const fn one_digit() -> usize {
    1
}

const fn one_byte() -> usize {
    1
}

const fn one_record() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

fn default_table() -> String {
    "usertable".into()
}

/// Zeros beyond this would be keys longer than some databases take.
const MOST_PADDING: usize = 100;

/// Record numbers stay below this, so that there is room for inserts.
const MOST_RECORDS: u64 = 1 << 62;

/// Why a workload makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct WorkloadError {
    /// The field of [`WorkloadSpec`] at fault.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl WorkloadSpec {
    /// Refuses what makes no sense in itself; lengths of fields and the distribution are checked where
    /// they are put to use.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let wrong = |field, problem: String| Err(WorkloadError { field, problem });
        if self.records == 0 {
            return wrong("records", "there must be at least one".into());
        }
        if self.records > MOST_RECORDS {
            return wrong("records", format!("{} are more than {MOST_RECORDS}", self.records));
        }
        if self.insert_start > MOST_RECORDS {
            return wrong("insert_start", format!("{} is above {MOST_RECORDS}", self.insert_start));
        }
        if self.zero_padding > MOST_PADDING {
            return wrong("zero_padding", format!("{} is above {MOST_PADDING}", self.zero_padding));
        }
        if self.fields == 0 || self.fields > 1_000 {
            return wrong("fields", format!("{} isn't within 1 to 1,000", self.fields));
        }
        if self.mix.values().any(|share| !share.is_finite() || *share < 0.0) {
            return wrong("mix", "a share is at least 0".into());
        }
        let sum: f64 = self.mix.values().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return wrong("mix", format!("the shares sum to {sum}, not to 1"));
        }
        if self.scan_length == 0 {
            return wrong("scan_length", "a scan reads at least one record".into());
        }
        if self.scan_length_distribution != Spread::Constant
            && !(1..=self.scan_length).contains(&self.min_scan_length)
        {
            return wrong(
                "min_scan_length",
                format!(
                    "{} isn't within 1 to scan_length, {}",
                    self.min_scan_length, self.scan_length
                ),
            );
        }
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if self.table.is_empty()
            || self.table.len() > 48
            || !self.table.chars().all(name)
            || !self.table.starts_with(|c: char| c.is_ascii_lowercase())
        {
            return wrong(
                "table",
                format!("`{}` isn't 1 to 48 of a–z, 0–9 and _, a letter first", self.table),
            );
        }
        Ok(())
    }
}
