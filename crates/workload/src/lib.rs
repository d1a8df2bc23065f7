//! From (seed, user, index) to the next operation: what users do, as a pure function of the study.
//!
//! Start with [`Workload`] (checked once, shared by all users) and [`User`] (one user's endless
//! sequence of [`Request`]s). A user's sequence depends on the seed and the user's number only:
//! not on time, on threads, or on what other users do. So a run can be repeated operation by
//! operation.
//!
//! | module | holds |
//! |---|---|
//! | [`key`] | record number → key, as YCSB names them |
//! | [`chooser`] | which record: uniform, zipfian |
//! | [`value`] | stamped values, and the [`value::Verifier`] that proves what was read |
//! | [`user`] | the sequence of requests |

pub mod chooser;
pub mod key;
pub mod user;
pub mod value;

use pacelc_core::OperationKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use chooser::Distribution;
pub use user::{Request, User};
pub use value::{Stamp, Verifier};

/// A study's workload, as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Records that the load phase inserts: numbers 0 to `records` − 1.
    pub records: u64,
    /// Fields a record.
    pub fields: usize,
    /// Bytes a field.
    pub field_length_bytes: usize,
    /// Share of each kind of operation; sums to 1.
    pub mix: BTreeMap<OperationKind, f64>,
    /// How records are chosen.
    #[serde(default)]
    pub distribution: Distribution,
    /// The most records that a scan reads.
    #[serde(default = "default_scan_length")]
    pub scan_length: u32,
    /// Where a scan begins: with a chosen record, or without a filter.
    #[serde(default)]
    pub scan_from: ScanFrom,
    /// Whether an update writes every field, or one chosen at random.
    #[serde(default)]
    pub update_all_fields: bool,
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

const fn default_scan_length() -> u32 {
    100
}

fn default_table() -> String {
    "usertable".into()
}

/// Why a workload makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct WorkloadError {
    /// The field of [`WorkloadSpec`] at fault.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// A checked workload, ready to give each user a sequence of its own.
#[derive(Debug, Clone)]
pub struct Workload {
    spec: WorkloadSpec,
    chooser: chooser::Chooser,
    /// Cumulative shares, ending at 1, so that one uniform draw picks the kind.
    kinds: Vec<(f64, OperationKind)>,
}

impl Workload {
    /// Checks `spec`.
    pub fn new(spec: WorkloadSpec) -> Result<Self, WorkloadError> {
        let wrong = |field, problem: String| Err(WorkloadError { field, problem });
        if spec.records == 0 {
            return wrong("records", "there must be at least one".into());
        }
        if spec.fields == 0 || spec.fields > 1_000 {
            return wrong("fields", format!("{} isn't within 1 to 1,000", spec.fields));
        }
        if !(value::STAMP_BYTES..=value::MAX_FIELD_BYTES).contains(&spec.field_length_bytes) {
            return wrong(
                "field_length_bytes",
                format!(
                    "{} isn't within {} (a stamp) to {}",
                    spec.field_length_bytes,
                    value::STAMP_BYTES,
                    value::MAX_FIELD_BYTES
                ),
            );
        }
        if spec.mix.values().any(|share| !share.is_finite() || *share < 0.0) {
            return wrong("mix", "a share is at least 0".into());
        }
        let sum: f64 = spec.mix.values().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return wrong("mix", format!("the shares sum to {sum}, not to 1"));
        }
        if spec.scan_length == 0 {
            return wrong("scan_length", "a scan reads at least one record".into());
        }
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if spec.table.is_empty()
            || spec.table.len() > 48
            || !spec.table.chars().all(name)
            || !spec.table.starts_with(|c: char| c.is_ascii_lowercase())
        {
            return wrong(
                "table",
                format!("`{}` isn't 1 to 48 of a–z, 0–9 and _, a letter first", spec.table),
            );
        }
        let chooser = chooser::Chooser::new(spec.distribution, spec.records)?;
        let mut kinds = Vec::new();
        let mut cumulative = 0.0;
        for (kind, share) in spec.mix.iter().filter(|(_, share)| **share > 0.0) {
            cumulative += share;
            kinds.push((cumulative, *kind));
        }
        if let Some(last) = kinds.last_mut() {
            last.0 = 1.0; // rounding must not leave a gap that no kind covers
        }
        Ok(Self { spec, chooser, kinds })
    }

    /// The specification.
    #[must_use]
    pub const fn spec(&self) -> &WorkloadSpec {
        &self.spec
    }

    /// Whether a run of it changes which records there are.
    #[must_use]
    pub fn changes_records(&self) -> bool {
        self.kinds
            .iter()
            .any(|(_, kind)| matches!(kind, OperationKind::Insert | OperationKind::Delete))
    }

    /// User number `user` of `users`, in a run seeded with `seed`.
    #[must_use]
    pub fn user(&self, seed: u64, user: u32, users: u32) -> User {
        User::new(self.clone(), seed, user, users)
    }

    /// The insert of record number `number` in the load phase.
    #[must_use]
    pub fn load_request(&self, number: u64) -> Request {
        Request::new(
            &self.spec,
            OperationKind::Insert,
            number,
            Stamp { writer: 0, sequence: number },
            None,
        )
    }
}
