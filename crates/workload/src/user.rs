//! One user's endless sequence of requests.

use crate::value::{self, Stamp};
use crate::zipf::{scaled, unit};
use crate::{Parts, ScanFrom, Workload, chooser};
use pacelc_core::{FieldValue, Operation, OperationKind, seed};
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
    /// As which of the user's operations; what it writes has the run's tag, too.
    pub stamp: Stamp,
    key: String,
    bytes: Vec<u8>,
    /// Where each field ends in `bytes`.
    ends: Vec<u32>,
    first_field: usize,
    /// The one field that is written; `None` for all.
    written_field: Option<usize>,
    /// The one field that is read; `None` for all.
    read_field: Option<usize>,
    scan_length: u32,
    scan_from: ScanFrom,
}

impl Request {
    pub(crate) const fn empty() -> Self {
        Self {
            kind: OperationKind::Read,
            record: 0,
            stamp: Stamp { writer: 0, sequence: 0 },
            key: String::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            first_field: 0,
            written_field: None,
            read_field: None,
            scan_length: 0,
            scan_from: ScanFrom::Start,
        }
    }

    /// `field` is the one field that an update writes, or `None` for all of them.
    pub(crate) fn fill(
        &mut self,
        parts: &Parts,
        kind: OperationKind,
        record: u64,
        (stamp, run): (Stamp, u32),
        field: Option<usize>,
    ) {
        (self.kind, self.record, self.stamp) = (kind, record, stamp);
        self.written_field = field;
        let stamp = stamp.of_run(run);
        parts.keys.write(record, &mut self.key);
        if matches!(
            kind,
            OperationKind::Insert | OperationKind::Update | OperationKind::ReadModifyWrite
        ) {
            let fields = field.map_or(0..parts.spec.fields, |field| field..field + 1);
            self.first_field = fields.start;
            let (bytes, ends) = (&mut self.bytes, &mut self.ends);
            value::write_fields(&self.key, stamp, fields, &parts.field_lengths, bytes, ends);
        } else {
            self.ends.clear();
        }
    }

    /// The one field that is written, or by what only reads, read; `None` for all.
    #[must_use]
    pub fn field(&self) -> Option<usize> {
        match self.kind {
            OperationKind::Read | OperationKind::Scan => self.read_field,
            OperationKind::Update | OperationKind::ReadModifyWrite => self.written_field,
            OperationKind::Insert | OperationKind::Delete => None,
        }
    }

    /// The one field that a read-modify-write reads; `None` for all, and for other kinds.
    #[must_use]
    pub fn field_read_first(&self) -> Option<usize> {
        (self.kind == OperationKind::ReadModifyWrite).then_some(self.read_field).flatten()
    }

    /// The record's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The fields to write; empty for reads, scans and deletes.
    #[must_use]
    pub fn values(&self) -> Values<'_> {
        value::split_fields(&self.bytes, self.first_field, &self.ends).collect()
    }

    /// The operation to send; for a read-modify-write the read that comes first.
    #[must_use]
    pub fn operation<'a>(&'a self, values: &'a [FieldValue<'a>]) -> Operation<'a> {
        let key = self.key.as_str();
        match self.kind {
            OperationKind::Read | OperationKind::ReadModifyWrite => {
                Operation::Read { key, field: self.read_field }
            }
            OperationKind::Update => Operation::Update { key, values },
            OperationKind::Insert => Operation::Insert { key, values },
            OperationKind::Delete => Operation::Delete { key },
            OperationKind::Scan => Operation::Scan {
                start: (self.scan_from == ScanFrom::Key).then_some(key),
                limit: self.scan_length,
                field: self.read_field,
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
    chooser: chooser::Chooser,
    rng: Xoshiro256PlusPlus,
    number: u32,
    sequence: u64,
    /// The index of the record that is being inserted.
    inserting: Option<u64>,
    request: Request,
}

impl User {
    pub(crate) fn new(workload: Workload, run_seed: u64, user: u32) -> Self {
        let mut request = Request::empty();
        request.scan_from = workload.parts.spec.scan_from;
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed::stream(run_seed, u64::from(user))),
            chooser: workload.chooser,
            workload,
            number: user,
            sequence: 0,
            inserting: None,
            request,
        }
    }

    /// The next request. What became of it is told to [`Self::completed`].
    pub fn next_request(&mut self) -> &Request {
        let kind = self.next_kind();
        let frontier = &*self.workload.frontier;
        let index = if kind == OperationKind::Insert {
            let index = frontier.take();
            self.inserting = Some(index);
            index
        } else {
            loop {
                let index = self.chooser.choose(&mut self.rng, frontier);
                match self.workload.own(index, self.number, kind) {
                    Some(index) if !frontier.is_hole(index) => break index,
                    _ => {}
                }
            }
        };
        let record = frontier.number(index);
        let parts = &*self.workload.parts;
        let spec = &parts.spec;
        let (writes, reads) = match kind {
            OperationKind::Update => (true, false),
            OperationKind::ReadModifyWrite => (true, true),
            OperationKind::Read => (false, true),
            OperationKind::Scan => {
                self.request.scan_length = match parts.scan_lengths {
                    crate::Span::Constant(length) => length as u32,
                    varying => varying.at(self.rng.next_u64()) as u32,
                };
                (false, true)
            }
            OperationKind::Insert | OperationKind::Delete => (false, false),
        };
        let fields = spec.fields as u64;
        let field = (writes && !spec.update_all_fields)
            .then(|| scaled(self.rng.next_u64(), fields) as usize);
        self.request.read_field =
            (reads && !spec.read_all_fields).then(|| scaled(self.rng.next_u64(), fields) as usize);
        let stamp = Stamp { writer: self.number + 1, sequence: self.sequence };
        self.sequence += 1;
        self.request.fill(parts, kind, record, (stamp, self.workload.run), field);
        &self.request
    }

    /// The last request has ended; `ok` when it certainly did what it was to do. Readers hear of new
    /// records by this.
    pub fn completed(&mut self, ok: bool) {
        if let Some(index) = self.inserting.take()
            && self.workload.parts.spec.distribution.follows_inserts()
        {
            self.workload.frontier.completed(index, ok);
        }
    }

    fn next_kind(&mut self) -> OperationKind {
        let kinds = &self.workload.parts.kinds;
        if let [(_, only)] = kinds.as_slice() {
            return *only;
        }
        let draw = unit(self.rng.next_u64());
        kinds
            .iter()
            .find(|(cumulative, _)| draw < *cumulative)
            .map_or(OperationKind::Read, |(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Distribution, FieldLengthDistribution, InsertOrder, Spread, WorkloadSpec, Writers,
    };
    use pacelc_core::Rows as _;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    fn spec(mix: &[(OperationKind, f64)]) -> WorkloadSpec {
        WorkloadSpec {
            records: 1_000,
            insert_start: 0,
            insert_order: InsertOrder::Hashed,
            zero_padding: 1,
            fields: 10,
            field_length_bytes: 100,
            min_field_length_bytes: 1,
            field_length_distribution: FieldLengthDistribution::Constant,
            mix: mix.iter().copied().collect(),
            distribution: Distribution::default(),
            scan_length: 10,
            min_scan_length: 1,
            scan_length_distribution: Spread::Constant,
            scan_from: ScanFrom::Start,
            read_all_fields: true,
            update_all_fields: false,
            writers: Writers::default(),
            table: "usertable".into(),
        }
    }

    fn sequence(seed: u64, user: u32, n: usize) -> Vec<(OperationKind, String, Vec<u8>)> {
        let mix = [
            (OperationKind::Read, 0.5),
            (OperationKind::Update, 0.3),
            (OperationKind::Insert, 0.2),
        ];
        let mut user = Workload::new(spec(&mix)).unwrap().user(seed, user);
        (0..n)
            .map(|_| {
                let request = user.next_request();
                let bytes = request.values().iter().flat_map(|v| v.value).copied().collect();
                (request.kind, request.key.clone(), bytes)
            })
            .collect()
    }

    #[test]
    fn the_mix_is_as_asked() {
        let mut counts = BTreeMap::new();
        for (kind, ..) in sequence(7, 0, 100_000) {
            *counts.entry(kind).or_insert(0u32) += 1;
        }
        // Five standard deviations of a binomial with n = 100,000 and p = 0.5.
        assert!(counts[&OperationKind::Read].abs_diff(50_000) < 800, "{counts:?}");
        assert!(counts[&OperationKind::Insert].abs_diff(20_000) < 650, "{counts:?}");
    }

    #[test]
    fn users_never_insert_the_same_record_and_leave_none_out() {
        let mix = [(OperationKind::Insert, 1.0)];
        let workload =
            Workload::new(WorkloadSpec { insert_start: 5_000_000_000, ..spec(&mix) }).unwrap();
        let mut seen = HashSet::new();
        for number in 0..5 {
            let mut user = workload.user(1, number);
            for _ in 0..100 {
                assert!(seen.insert(user.next_request().record));
                user.completed(true);
            }
        }
        assert_eq!(seen, (5_000_001_000..5_000_001_500).collect());
        let keys = |index| workload.load_request(index).record;
        assert_eq!((keys(0), keys(999)), (5_000_000_000, 5_000_000_999));
    }

    #[test]
    fn latest_reads_what_another_user_has_inserted() {
        let mix = [(OperationKind::Insert, 1.0)];
        let reads = [(OperationKind::Read, 1.0)];
        let latest = Distribution::Latest { theta: 0.99 };
        let inserting = Workload::new(WorkloadSpec { distribution: latest, ..spec(&mix) }).unwrap();
        let mut reading =
            Workload::new(WorkloadSpec { distribution: latest, ..spec(&reads) }).unwrap();
        reading.frontier = std::sync::Arc::clone(&inserting.frontier);
        let (mut writer, mut reader) = (inserting.user(1, 0), reading.user(1, 1));
        let inserted = writer.next_request().record;
        let newest = |reader: &mut User| (0..1_000).map(|_| reader.next_request().record).max();
        assert_eq!(newest(&mut reader), Some(inserted - 1));
        writer.completed(true);
        assert_eq!(newest(&mut reader), Some(inserted));
    }

    #[test]
    fn one_field_is_asked_for_where_reads_are_of_one_field() {
        let mix = [(OperationKind::ReadModifyWrite, 0.5), (OperationKind::Scan, 0.5)];
        let spec = WorkloadSpec { read_all_fields: false, ..spec(&mix) };
        let mut user = Workload::new(spec).unwrap().user(1, 0);
        let mut asked = HashSet::new();
        for _ in 0..1_000 {
            let request = user.next_request();
            let values = request.values();
            asked.insert(request.operation(&values).field().unwrap());
        }
        assert_eq!(asked, (0..10).collect());
    }

    #[test]
    fn scans_have_the_lengths_asked_for() {
        let scans = |spread| {
            let spec = WorkloadSpec {
                scan_length: 7,
                min_scan_length: 3,
                scan_length_distribution: spread,
                ..spec(&[(OperationKind::Scan, 1.0)])
            };
            let mut user = Workload::new(spec).unwrap().user(1, 0);
            let mut counts = [0_u32; 8];
            for _ in 0..10_000 {
                counts[user.next_request().scan_length as usize] += 1;
            }
            counts
        };
        assert_eq!(scans(Spread::Constant)[7], 10_000);
        assert!(scans(Spread::Uniform)[3..].iter().all(|n| n.abs_diff(2_000) < 200));
        let zipfian = scans(Spread::Zipfian);
        assert!(
            zipfian[..3] == [0; 3]
                && zipfian[3] > 4_000
                && zipfian[3..].is_sorted_by(|a, b| a >= b)
        );
    }

    #[test]
    fn what_a_workload_writes_its_verifier_proves() {
        let spec = WorkloadSpec {
            field_length_distribution: FieldLengthDistribution::Zipfian,
            update_all_fields: true,
            ..spec(&[(OperationKind::Update, 1.0)])
        };
        let workload = Workload::new(spec).unwrap();
        let mut user = workload.user(1, 0);
        let mut verifier = workload.verifier(false);
        for _ in 0..100 {
            let request = user.next_request();
            verifier.begin(&Operation::Read { key: request.key(), field: None });
            verifier.row(request.key().as_bytes());
            request.values().iter().for_each(|v| verifier.value(v.field, v.value));
            assert_eq!(verifier.finish(), None);
        }
    }

    /// Of `users` users on `machines`, the writers of each record and how many there were to read it.
    fn writers(spec: &WorkloadSpec, users: u32, machines: u32) -> BTreeMap<u64, HashSet<u32>> {
        let mut writers: BTreeMap<u64, HashSet<u32>> = BTreeMap::new();
        let known = Workload::new(spec.clone()).unwrap();
        for machine in 0..machines {
            let workload = known.shared(machine, machines).in_run(0, users);
            for number in (0..users).filter(|user| user % machines == machine) {
                let mut user = workload.user(3, number);
                for _ in 0..400 {
                    let request = user.next_request();
                    let (record, kind) = (request.record, request.kind);
                    if kind.writes() && kind != OperationKind::Insert {
                        writers.entry(record).or_default().insert(number);
                    }
                    user.completed(true);
                }
            }
        }
        writers
    }

    proptest! {
        #[test]
        fn with_single_writers_each_record_has_one_and_is_read_by_all(
            records in 20u64..200, users in 2u32..20, machines in 1u32..4, insert_start in 0u64..50,
            which in 0usize..4, share in 0.05f64..0.5,
        ) {
            use OperationKind::{Delete, Insert, ReadModifyWrite, Update};
            let distribution = [
                Distribution::Uniform,
                Distribution::default(),
                Distribution::Latest { theta: 0.99 },
                Distribution::YcsbZipfian { theta: 0.99, expected_inserts: 10 },
            ][which];
            let rest = (1.0 - share) / 3.0;
            let mix = [(Update, rest), (ReadModifyWrite, rest), (Delete, rest), (Insert, share)];
            let shared = WorkloadSpec { records, insert_start, distribution, ..spec(&mix) };
            let single = WorkloadSpec { writers: Writers::Single, ..shared.clone() };
            let writers_of = writers(&single, users, machines);
            prop_assert!(writers_of.values().all(|users| users.len() == 1), "{:?}", writers_of);
            prop_assert!(writers(&shared, users, machines).values().any(|users| users.len() > 1));
        }
    }

    #[test]
    fn with_single_writers_all_blocks_are_written_as_often_as_they_are_chosen() {
        let mix = [(OperationKind::Update, 1.0)];
        let of = |writers, block: u64| {
            let workload = Workload::new(WorkloadSpec { writers, ..spec(&mix) }).unwrap();
            let workload = workload.in_run(0, 10);
            (0..10)
                .map(|number| {
                    let mut user = workload.user(1, number);
                    (0..20_000).filter(|_| user.next_request().record / 10 == block).count() as f64
                })
                .sum::<f64>()
        };
        for block in [0, 1, 5] {
            let ratio = of(Writers::Single, block) / of(Writers::Shared, block);
            assert!((ratio - 1.0).abs() < 0.05, "{block}: {ratio}");
        }
    }

    #[test]
    fn the_hottest_are_those_that_are_chosen_most() {
        use Distribution as D;
        let ycsb = D::YcsbZipfian { theta: 0.99, expected_inserts: 0 };
        for (distribution, known) in [
            (D::Zipfian { theta: 0.99 }, 16),
            (ycsb, 16),
            (D::Latest { theta: 0.99 }, 16),
            (D::Hotspot { hot_set_fraction: 0.005, hot_operation_fraction: 0.8 }, 5),
            (D::Hotspot { hot_set_fraction: 0.2, hot_operation_fraction: 0.8 }, 0),
            (D::Uniform, 0),
            (D::Sequential, 0),
        ] {
            let spec = WorkloadSpec {
                distribution,
                insert_start: 7,
                ..spec(&[(OperationKind::Read, 1.0)])
            };
            let workload = Workload::new(spec).unwrap();
            let hottest = workload.hottest(16);
            assert_eq!(hottest.len(), known, "{distribution:?}");
            let mut counts = BTreeMap::new();
            let mut user = workload.user(1, 0);
            for _ in 0..200_000 {
                *counts.entry(user.next_request().record).or_insert(0) += 1;
            }
            let count = |record: &u64| counts.get(record).copied().unwrap_or(0);
            let of_others = counts.iter().filter(|(record, _)| !hottest.contains(record));
            let most = of_others.map(|(_, count)| *count).max().unwrap_or(0);
            // Of ranks that follow each other, chance may have it either way.
            assert!(hottest.iter().all(|record| count(record) * 5 > most * 4), "{distribution:?}");
        }
    }

    #[test]
    fn a_request_says_which_field_it_is_for() {
        let kinds = [OperationKind::Read, OperationKind::Update, OperationKind::ReadModifyWrite];
        for kind in kinds {
            for all in [false, true] {
                let spec = WorkloadSpec {
                    read_all_fields: all,
                    update_all_fields: all,
                    ..spec(&[(kind, 1.0)])
                };
                let mut user = Workload::new(spec).unwrap().user(1, 0);
                let request = user.next_request();
                let values = request.values();
                let written = values.first().filter(|_| !all).map(|value| value.field);
                let read = request.operation(&values).field();
                let reads_only = kind == OperationKind::Read;
                assert_eq!(request.field(), if reads_only { read } else { written });
                assert_eq!(request.field().is_none(), all);
                let first = (kind == OperationKind::ReadModifyWrite).then_some(read).flatten();
                assert_eq!(request.field_read_first(), first);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let good = spec(&[(OperationKind::Read, 1.0)]);
        let bad = [
            ("records", WorkloadSpec { records: 0, ..good.clone() }),
            ("fields", WorkloadSpec { fields: 0, ..good.clone() }),
            ("field_length_bytes", WorkloadSpec { field_length_bytes: 0, ..good.clone() }),
            (
                "min_field_length_bytes",
                WorkloadSpec {
                    min_field_length_bytes: 101,
                    field_length_distribution: FieldLengthDistribution::Uniform,
                    ..good.clone()
                },
            ),
            ("insert_start", WorkloadSpec { insert_start: u64::MAX, ..good.clone() }),
            ("zero_padding", WorkloadSpec { zero_padding: 1_000, ..good.clone() }),
            (
                "min_scan_length",
                WorkloadSpec {
                    min_scan_length: 11,
                    scan_length_distribution: Spread::Uniform,
                    ..good.clone()
                },
            ),
            ("mix", spec(&[(OperationKind::Read, 0.9)])),
            ("mix", spec(&[])),
            ("mix", spec(&[(OperationKind::Read, 2.0), (OperationKind::Scan, -1.0)])),
            ("table", WorkloadSpec { table: "drop table;".into(), ..good.clone() }),
            (
                "distribution",
                WorkloadSpec {
                    distribution: Distribution::Zipfian { theta: -1.0 },
                    ..good.clone()
                },
            ),
            (
                "distribution",
                WorkloadSpec {
                    distribution: Distribution::Exponential { percentile: 100.0, fraction: 0.5 },
                    ..good.clone()
                },
            ),
            (
                "distribution",
                WorkloadSpec {
                    distribution: Distribution::Hotspot {
                        hot_set_fraction: 0.0,
                        hot_operation_fraction: 0.5,
                    },
                    ..good
                },
            ),
        ];
        for (field, spec) in bad {
            assert_eq!(Workload::new(spec).unwrap_err().field, field);
        }
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_operations(seed: u64, user in 0u32..50) {
            prop_assert_eq!(sequence(seed, user, 50), sequence(seed, user, 50));
        }

        #[test]
        fn another_user_does_other_operations(seed: u64, user in 0u32..50) {
            prop_assert_ne!(sequence(seed, user, 50), sequence(seed, user + 1, 50));
        }
    }
}
