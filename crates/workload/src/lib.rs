//! From (seed, user, index) to the next operation: what users do, as a function of the study.
//!
//! Start with [`Workload`] (checked once, shared by all users) and [`User`] (one user's endless
//! sequence of [`Request`]s). Kinds of operations, fields, lengths, and records chosen among those
//! that were loaded depend on the seed and the user's number only: not on time, on threads, or on
//! what other users do. So a run can be repeated operation by operation. Two things depend on the
//! pace of all, as they do in YCSB: the numbers of new records, which all users of a process take
//! from one counter, and which records the distributions choose that follow inserts
//! ([`Distribution`]).
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | a workload as a study writes it, and its checks |
//! | [`key`] | record number → key, as YCSB names them |
//! | [`chooser`] | which record: uniform, zipfian, YCSB's zipfian, latest, hotspot, exponential, sequential |
//! | [`zipf`] | Zipf's law in constant time |
//! | [`frontier`] | which records there are while users insert |
//! | [`lengths`] | how long fields and scans are |
//! | [`value`] | stamped values, and the [`value::Verifier`] that proves what was read |
//! | [`user`] | the sequence of requests |

pub mod chooser;
pub mod frontier;
pub mod key;
pub mod lengths;
pub mod spec;
pub mod user;
pub mod value;
pub mod zipf;

use frontier::Frontier;
use key::KeyNames;
use lengths::{FieldLengths, Span};
use pacelc_core::OperationKind;
use std::sync::Arc;

pub use chooser::Distribution;
pub use key::InsertOrder;
pub use lengths::{FieldLengthDistribution, Spread};
pub use spec::{ScanFrom, WorkloadError, WorkloadSpec, Writers};
pub use user::{Request, User};
pub use value::{Origin, Stamp, Verifier};

/// A checked workload, ready to give each user a sequence of its own. Clones share what their users
/// insert.
#[derive(Debug, Clone)]
pub struct Workload {
    parts: Arc<Parts>,
    chooser: chooser::Chooser,
    frontier: Arc<Frontier>,
    run: u32,
    /// Users of the run, on all machines.
    users: u32,
}

/// What never changes.
#[derive(Debug)]
pub(crate) struct Parts {
    spec: WorkloadSpec,
    keys: KeyNames,
    field_lengths: FieldLengths,
    scan_lengths: Span,
    /// Cumulative shares, ending at 1, so that one uniform draw picks the kind.
    kinds: Vec<(f64, OperationKind)>,
}

impl Workload {
    /// Checks `spec`.
    pub fn new(spec: WorkloadSpec) -> Result<Self, WorkloadError> {
        spec.check()?;
        let field_lengths = FieldLengths::new(
            &spec.field_length_distribution,
            spec.min_field_length_bytes,
            spec.field_length_bytes,
            value::MAX_FIELD_BYTES,
        )
        .map_err(|(field, problem)| WorkloadError { field, problem })?;
        // A record is built in one buffer, whose places are numbered by 32 bits.
        if spec.fields.saturating_mul(field_lengths.most()) > u32::MAX as usize {
            let problem = "a record of so many fields is above 4 GiB".into();
            return Err(WorkloadError { field: "field_length_bytes", problem });
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
        let parts = Parts {
            keys: KeyNames { order: spec.insert_order, zero_padding: spec.zero_padding },
            field_lengths,
            scan_lengths: Span::new(
                spec.scan_length_distribution,
                u64::from(spec.min_scan_length.min(spec.scan_length)),
                u64::from(spec.scan_length),
            ),
            kinds,
            spec,
        };
        let frontier = Arc::new(Frontier::new(parts.spec.insert_start, parts.spec.records, 0, 1));
        Ok(Self { parts: Arc::new(parts), chooser, frontier, run: 0, users: 1 })
    }

    /// The same workload in a run of so many users on all machines, at most as many as records, with
    /// this tag, below [`RUN_TAGS`](value::RUN_TAGS): its users' writes carry it.
    #[must_use]
    pub fn in_run(self, run: u32, users: u32) -> Self {
        Self { run, users, ..self }
    }

    /// Up to `most` records that are chosen more often than others, from first to last operation; the
    /// hottest first.
    #[must_use]
    pub fn hottest(&self, most: usize) -> Vec<u64> {
        let inserts = self.has(OperationKind::Insert);
        let indices = self.chooser.hottest(most as u64, self.parts.spec.records, inserts);
        indices.into_iter().map(|index| self.frontier.number(index)).collect()
    }

    /// The same workload for process `worker` of `workers` that run it at once. Each inserts into
    /// numbers of its own, and reads what was loaded and what it has inserted itself.
    #[must_use]
    pub fn shared(&self, worker: u32, workers: u32) -> Self {
        let WorkloadSpec { insert_start, records, .. } = self.parts.spec;
        let frontier = Arc::new(Frontier::new(insert_start, records, worker, workers));
        Self { frontier, ..self.clone() }
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> &WorkloadSpec {
        &self.parts.spec
    }

    /// Bytes of the longest record's values.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        self.parts.spec.fields * self.parts.field_lengths.most()
    }

    /// Whether it has operations of that kind.
    #[must_use]
    pub fn has(&self, kind: OperationKind) -> bool {
        self.parts.kinds.iter().any(|(_, known)| *known == kind)
    }

    /// Whether a run of it changes which records there are.
    #[must_use]
    pub fn changes_records(&self) -> bool {
        self.has(OperationKind::Insert) || self.has(OperationKind::Delete)
    }

    /// The index that a user's operation of that kind is for, where `index` was chosen: with single
    /// writers, of what writes, the user's own in the same block of indices. None where the block is
    /// the last, and has none of the user's.
    pub(crate) fn own(&self, index: u64, user: u32, kind: OperationKind) -> Option<u64> {
        if self.parts.spec.writers == Writers::Shared || !kind.writes() {
            return Some(index);
        }
        let users = u64::from(self.users);
        let own = index - index % users + u64::from(user);
        if own < self.frontier.records() { Some(own) } else { own.checked_sub(users) }
    }

    /// User number `user`, in a run seeded with `seed`.
    #[must_use]
    pub fn user(&self, seed: u64, user: u32) -> User {
        User::new(self.clone(), seed, user)
    }

    /// How far the inserts of its users have come.
    #[must_use]
    pub fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// Proves what is read of it, in a database whose updates of records that aren't there make them,
    /// or don't.
    ///
    /// Such a record has only the fields that were updated. Nobody can tell it from one that has lost
    /// fields, so that fields may be missing where it can come about: where records are deleted, and
    /// updated field by field. Everywhere else a field that is missing is lost.
    #[must_use]
    pub fn verifier(&self, update_inserts: bool) -> Verifier {
        use OperationKind::{Delete, ReadModifyWrite, Update};
        let Parts { spec, field_lengths, .. } = &*self.parts;
        let in_parts = update_inserts
            && !spec.update_all_fields
            && self.has(Delete)
            && (self.has(Update) || self.has(ReadModifyWrite));
        let one_version = spec.update_all_fields || spec.fields == 1;
        Verifier::new(spec.fields, field_lengths.clone(), in_parts, one_version)
    }

    /// The insert of the `index`-th record of the load phase, from 0.
    #[must_use]
    pub fn load_request(&self, index: u64) -> Request {
        let number = self.parts.spec.insert_start + index;
        let stamp = Stamp { writer: 0, sequence: number };
        let mut request = Request::empty();
        request.fill(&self.parts, OperationKind::Insert, number, (stamp, 0), None);
        request
    }
}
