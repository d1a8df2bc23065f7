//! One user's endless sequence of requests.

use crate::value::{self, Stamp};
use crate::{ScanFrom, Workload, WorkloadSpec, key};
use pacelc_core::{FieldValue, Operation, OperationKind, seed};
use rand_distr::{Distribution as _, StandardUniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use smallvec::SmallVec;

/// The values of an operation, on the stack for records of up to sixteen fields.
pub type Values<'a> = SmallVec<[FieldValue<'a>; 16]>;

/// What a user asks for next: a kind, a record, and the bytes to write.
///
/// It owns its key and bytes, and the same request is filled again and again: the loop allocates
/// nothing.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to do.
    pub kind: OperationKind,
    /// For which record.
    pub record: u64,
    /// As which of the user's operations.
    pub stamp: Stamp,
    key: String,
    bytes: Vec<u8>,
    first_field: usize,
    field_length: usize,
    scan_length: u32,
    scan_from: ScanFrom,
}

impl Request {
    /// `field` is the one field that an update writes, or `None` for all of them.
    pub(crate) fn new(
        spec: &WorkloadSpec,
        kind: OperationKind,
        record: u64,
        stamp: Stamp,
        field: Option<usize>,
    ) -> Self {
        let mut request = Self {
            kind,
            record,
            stamp,
            key: String::new(),
            bytes: Vec::new(),
            first_field: 0,
            field_length: spec.field_length_bytes,
            scan_length: spec.scan_length,
            scan_from: spec.scan_from,
        };
        request.fill(spec, kind, record, stamp, field);
        request
    }

    fn fill(
        &mut self,
        spec: &WorkloadSpec,
        kind: OperationKind,
        record: u64,
        stamp: Stamp,
        field: Option<usize>,
    ) {
        (self.kind, self.record, self.stamp) = (kind, record, stamp);
        key::write_hashed(record, &mut self.key);
        self.bytes.clear();
        if matches!(
            kind,
            OperationKind::Insert | OperationKind::Update | OperationKind::ReadModifyWrite
        ) {
            let (first, count) = field.map_or((0, spec.fields), |field| (field, 1));
            self.first_field = first;
            value::write_fields(&self.key, stamp, first, count, self.field_length, &mut self.bytes);
        }
    }

    /// The record's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The fields to write; empty for reads, scans and deletes.
    #[must_use]
    pub fn values(&self) -> Values<'_> {
        value::split_fields(&self.bytes, self.first_field, self.field_length).collect()
    }

    /// The operation to send; for a read-modify-write the read that comes first.
    #[must_use]
    pub fn operation<'a>(&'a self, values: &'a [FieldValue<'a>]) -> Operation<'a> {
        let key = self.key.as_str();
        match self.kind {
            OperationKind::Read | OperationKind::ReadModifyWrite => Operation::Read { key },
            OperationKind::Update => Operation::Update { key, values },
            OperationKind::Insert => Operation::Insert { key, values },
            OperationKind::Delete => Operation::Delete { key },
            OperationKind::Scan => Operation::Scan {
                start: (self.scan_from == ScanFrom::Key).then_some(key),
                limit: self.scan_length,
            },
        }
    }

    /// The update that ends a read-modify-write.
    #[must_use]
    pub fn second_operation<'a>(&'a self, values: &'a [FieldValue<'a>]) -> Option<Operation<'a>> {
        (self.kind == OperationKind::ReadModifyWrite)
            .then_some(Operation::Update { key: self.key.as_str(), values })
    }
}

/// One user's endless sequence of requests.
#[derive(Debug)]
pub struct User {
    workload: Workload,
    rng: Xoshiro256PlusPlus,
    number: u32,
    users: u32,
    sequence: u64,
    inserted: u64,
    request: Request,
}

impl User {
    pub(crate) fn new(workload: Workload, run_seed: u64, user: u32, users: u32) -> Self {
        let stamp = Stamp { writer: user + 1, sequence: 0 };
        let request = Request::new(&workload.spec, OperationKind::Read, 0, stamp, None);
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed::stream(run_seed, u64::from(user))),
            workload,
            number: user,
            users: users.max(1),
            sequence: 0,
            inserted: 0,
            request,
        }
    }

    /// The next request.
    pub fn next_request(&mut self) -> &Request {
        let kind = self.next_kind();
        let spec = &self.workload.spec;
        let record = if kind == OperationKind::Insert {
            // Users insert into interleaved, disjoint numbers: nobody waits for a shared counter,
            // and what a user inserts doesn't depend on the others' pace.
            let number =
                spec.records + self.inserted * u64::from(self.users) + u64::from(self.number);
            self.inserted += 1;
            number
        } else {
            self.workload.chooser.choose(&mut self.rng)
        };
        let one_field = matches!(kind, OperationKind::Update | OperationKind::ReadModifyWrite)
            && !spec.update_all_fields;
        // The high bits of a product pick without a division (Lemire 2019); the bias is below 2^-54.
        let field = one_field
            .then(|| ((u128::from(self.rng.next_u64()) * spec.fields as u128) >> 64) as usize);
        let stamp = Stamp { writer: self.number + 1, sequence: self.sequence };
        self.sequence += 1;
        self.request.fill(spec, kind, record, stamp, field);
        &self.request
    }

    fn next_kind(&mut self) -> OperationKind {
        let kinds = &self.workload.kinds;
        if let [(_, only)] = kinds.as_slice() {
            return *only;
        }
        let draw: f64 = StandardUniform.sample(&mut self.rng);
        kinds
            .iter()
            .find(|(cumulative, _)| draw < *cumulative)
            .map_or(OperationKind::Read, |(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    fn spec(mix: &[(OperationKind, f64)]) -> WorkloadSpec {
        WorkloadSpec {
            records: 1_000,
            fields: 10,
            field_length_bytes: 100,
            mix: mix.iter().copied().collect(),
            distribution: Distribution::default(),
            scan_length: 10,
            scan_from: ScanFrom::Start,
            update_all_fields: false,
            table: "usertable".into(),
        }
    }

    fn sequence(
        seed: u64,
        user: u32,
        users: u32,
        n: usize,
    ) -> Vec<(OperationKind, String, Vec<u8>)> {
        let mix = [
            (OperationKind::Read, 0.5),
            (OperationKind::Update, 0.3),
            (OperationKind::Insert, 0.2),
        ];
        let mut user = Workload::new(spec(&mix)).unwrap().user(seed, user, users);
        (0..n)
            .map(|_| {
                let request = user.next_request();
                (request.kind, request.key.clone(), request.bytes.clone())
            })
            .collect()
    }

    #[test]
    fn the_mix_is_as_asked() {
        let mut counts = BTreeMap::new();
        for (kind, ..) in sequence(7, 0, 1, 100_000) {
            *counts.entry(kind).or_insert(0u32) += 1;
        }
        // Five standard deviations of a binomial with n = 100,000 and p = 0.5.
        assert!(counts[&OperationKind::Read].abs_diff(50_000) < 800, "{counts:?}");
        assert!(counts[&OperationKind::Insert].abs_diff(20_000) < 650, "{counts:?}");
    }

    #[test]
    fn users_never_insert_the_same_record() {
        let mix = [(OperationKind::Insert, 1.0)];
        let workload = Workload::new(spec(&mix)).unwrap();
        let mut seen = HashSet::new();
        for number in 0..5 {
            let mut user = workload.user(1, number, 5);
            for _ in 0..100 {
                let record = user.next_request().record;
                assert!(record >= 1_000 && seen.insert(record));
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let good = spec(&[(OperationKind::Read, 1.0)]);
        let bad = [
            ("records", WorkloadSpec { records: 0, ..good.clone() }),
            ("fields", WorkloadSpec { fields: 0, ..good.clone() }),
            ("field_length_bytes", WorkloadSpec { field_length_bytes: 8, ..good.clone() }),
            ("mix", spec(&[(OperationKind::Read, 0.9)])),
            ("mix", spec(&[])),
            ("mix", spec(&[(OperationKind::Read, 2.0), (OperationKind::Scan, -1.0)])),
            ("table", WorkloadSpec { table: "drop table;".into(), ..good.clone() }),
            (
                "distribution",
                WorkloadSpec { distribution: Distribution::Zipfian { theta: -1.0 }, ..good },
            ),
        ];
        for (field, spec) in bad {
            assert_eq!(Workload::new(spec).unwrap_err().field, field);
        }
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_operations(seed: u64, user in 0u32..50) {
            prop_assert_eq!(sequence(seed, user, 50, 50), sequence(seed, user, 50, 50));
        }

        #[test]
        fn another_user_does_other_operations(seed: u64, user in 0u32..50) {
            prop_assert_ne!(sequence(seed, user, 51, 50), sequence(seed, user + 1, 51, 50));
        }
    }
}
