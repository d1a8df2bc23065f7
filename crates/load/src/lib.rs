//! The load loop: users, phases, and what they measured.
//!
//! Start with [`run`]. A run is made of *threads*, each with a runtime, a binding and a recorder
//! of its own, and of *users*, spread over the threads: wait until an operation is due, execute,
//! record, again. Threads share nothing on the way but the [`Timeline`](timeline).
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | what a run is, as JSON, and its checks |
//! | [`setup`] | before a run: create the table, insert the records, count them |
//! | [`timeline`] | spawn → warm-up → measure, agreed between threads |
//! | [`arrivals`] | when operations are due: closed loops, schedules |
//! | [`alarm`] | waits to the microsecond |
//! | [`warm_up`] | a warm-up that ends when throughput and latency are steady |
//! | [`groups`] | users in several places |
//! | [`user`] | one user's loop |
//! | [`thread`] | one engine thread; `opening`: its connections, opened within a time limit; [`cpu`] |
//! | [`machine`] | how fast the machine itself was, meanwhile |
//! | [`idle_states`] | processors' idle states, disabled by a process of its own |
//! | `processors` | which there are, and threads that take nobody's time on them |
//! | [`control`] | how a run is watched and stopped from outside |
//! | [`operations`] | operations one by one, where a run asks for them: a row each |
//! | [`observer`] | the thread that writes them; `sample`: which are kept where there is a limit |
//! | [`result`] | what comes out |
//! | [`read_back`] | after a run with faults: which records are there |
//! | [`merge`] | what several machines measured together, as one |
//!
//! Latency is measured to the end of [`Session::execute`](pacelc_bindings::Session::execute), from
//! the moment that the operation was due: by the schedule, or in a closed loop when its user was
//! free. An operation's time limit is the loop's, not the driver's: past it the call is dropped. A
//! write then counts as unknown; a read, which has no effect, as failed.

pub(crate) mod alarm;
pub mod arrivals;
pub mod control;
pub mod cpu;
pub mod groups;
pub mod idle_states;
pub mod machine;
pub mod merge;
pub mod observer;
pub(crate) mod opening;
pub mod operations;
pub(crate) mod processors;
pub mod read_back;
pub mod result;
pub(crate) mod sample;
pub mod setup;
pub mod spec;
pub mod thread;
pub mod timeline;
pub mod user;
pub(crate) mod warm_up;

use control::Heard;
use observer::Observer;
use pacelc_bindings::{Binding, BindingError, for_database};
use pacelc_core::Refused;
use pacelc_measure::Collector;
use pacelc_workload::WorkloadError;
use std::sync::{Arc, mpsc};
use std::time::Instant;
use thread::Event;

pub use control::{Control, Progress};
pub use result::RunResult;
pub use spec::{LoadSpec, Plan};

/// Why a run did not take place. Errors of single operations are outcomes, never this.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The specification isn't valid JSON of its kind.
    #[error("the load specification can't be read: {0}")]
    Spec(#[from] serde_json::Error),
    /// A number in it makes no sense.
    #[error("{field}: {problem}")]
    Value {
        /// Which.
        field: &'static str,
        /// Why.
        problem: String,
    },
    /// The workload makes no sense.
    #[error("workload.{0}")]
    Workload(#[from] WorkloadError),
    /// The cluster can't satisfy the level.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The cluster can't be spoken to.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// A record could not be loaded.
    #[error("loading the records: {0}")]
    Records(String),
    /// What was loaded isn't there, or not as it was loaded.
    #[error("loading the records: {0}")]
    Lost(String),
    /// The machine: no thread, no file.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// What a machine measured can't be read.
    #[error("the parts of the run can't be put together: {problem}")]
    Part {
        /// Why.
        problem: String,
    },
    /// It was stopped from outside.
    #[error("stopped")]
    Stopped,
}

/// Runs `spec` to its end, and returns what was measured.
///
/// Blocks; `control` tells of its progress and stops it.
///
/// # Errors
/// See [`LoadError`].
pub fn run(spec: &LoadSpec, control: &Control) -> Result<RunResult, LoadError> {
    let plan = Arc::new(Plan::new(spec.clone())?);
    for_database!(plan.context.target.database.as_str(), B => run_with::<B>(&plan, control), Err(unknown(&plan.context.target.database)))
}

fn unknown(database: &str) -> LoadError {
    BindingError::target(
        format!("no binding is called `{database}`"),
        format!("known are {}", pacelc_bindings::DATABASES.join(", ")),
    )
    .into()
}

fn run_with<B: Binding>(plan: &Arc<Plan>, control: &Control) -> Result<RunResult, LoadError> {
    allow_connections();
    let observer = plan.spec.record_operations.as_ref().map(|path| {
        let (workload, spec) = (&plan.workload, &plan.spec);
        let records = workload.spec().records;
        let limit = spec.operations_limit_bytes;
        Observer::start(path, spec.run, limit, |n| workload.hottest(n), records)
    });
    let observer = observer.transpose()?;
    let runs = groups::runs(plan, control, observer.as_ref().map(Observer::logs));
    let run = &runs[0];
    let clockwork = machine::Clockwork::start(&run.timeline)?;
    let (sender, events) = mpsc::channel();
    let threads = plan.spec.threads;
    let mut handles = Vec::with_capacity(threads);
    for (run, number) in
        runs.iter().flat_map(|run| (0..run.plan.spec.threads).map(move |n| (run, n)))
    {
        let (run, sender) = (Arc::clone(run), sender.clone());
        let handle = std::thread::Builder::new()
            .name(format!("pacelc-load-{}", run.first_thread + number))
            .spawn(move || thread::run::<B>(&run, number, &sender))
            .map_err(|cause| LoadError::System { what: "starting a load thread".into(), cause })?;
        handles.push(handle);
    }
    drop(sender);

    let mut collector = Collector::new(threads);
    let mut gathered = result::Gathered::default();
    let mut tallies = groups::Tallies::new(plan, &runs);
    let mut failure = None;
    let mut watch = plan.spec.steady.map(|s| warm_up::Watch::new(plan.spec.warm_up_s, s.ceiling_s));
    loop {
        let heard = control::next(&events, control, &run.timeline);
        if let Some(watching) = &mut watch {
            let now = run.timeline.ns(Instant::now());
            if let Some(decision) = watching.look(now, &run.pulse, &run.timeline) {
                collector.measure_from(decision.first_interval);
                tallies.measure_from(decision.first_interval);
                gathered.steady = Some(decision.steady);
                watch = None;
            }
        }
        if let Heard::Event(event) = &heard {
            tallies.hear(event);
        }
        match heard {
            Heard::Event(Event::Opened(in_force)) => gathered.in_force = in_force,
            Heard::Event(Event::Batch { thread, batch }) => {
                control.show(collector.add(thread, batch));
            }
            Heard::Event(Event::Ended {
                cpu,
                awake_s,
                hedges,
                punctuality,
                first_start_ns,
                ..
            }) => {
                gathered.add_thread(cpu, awake_s, hedges);
                let first = [gathered.first_start_ns, first_start_ns];
                gathered.first_start_ns = first.into_iter().flatten().min();
                gathered.punctuality.add(&punctuality);
            }
            Heard::Event(Event::Failed(error)) => {
                // The first error is the cause; those after it are often its echo.
                failure.get_or_insert(error);
                control.stop();
            }
            Heard::Silence => {}
            Heard::End => break,
        }
    }
    for handle in handles {
        if handle.join().is_err() {
            return Err(LoadError::System {
                what: "a load thread panicked".into(),
                cause: std::io::Error::other("see the message above"),
            });
        }
    }
    gathered.machine_speed = clockwork.stop();
    match observer.map(Observer::finish).transpose() {
        Ok(kept) => gathered.observed = kept.flatten(),
        Err(error) => failure = failure.or(Some(error)),
    }
    match failure {
        Some(error) => Err(error),
        None if control.is_stopped() => Err(LoadError::Stopped),
        None => {
            let groups = tallies.results(run.timeline.measured_s());
            let result = result::assemble(plan, &run.timeline, collector, gathered)?;
            Ok(RunResult { groups, ..result })
        }
    }
}

/// Raises the limit of open files to what the system allows: a user may take two connections.
fn allow_connections() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Where it isn't allowed, a run with too many users says that it can't open a socket.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pacelc_bindings::{Context, Created, Found, Session};
    use pacelc_core::{ErrorKind, Operation, OperationKind, Outcome, Rows};
    use std::marker::PhantomData;
    use std::time::Duration;

    /// A database that answers as `A` does, and may keep records.
    #[derive(Debug)]
    struct Fake<A, const KEEPS_RECORDS: bool>(PhantomData<A>);

    trait Answer: std::fmt::Debug + 'static {
        async fn answer(operation: &Operation<'_>);

        /// What a read finds.
        fn give(_operation: &Operation<'_>, _rows: &mut dyn Rows) {}
    }

    impl<A: Answer, const KEEPS_RECORDS: bool> Binding for Fake<A, KEEPS_RECORDS> {
        const KEEPS_RECORDS: bool = KEEPS_RECORDS;

        type Session = Self;

        async fn open(_context: &Context) -> Result<Self, BindingError> {
            Ok(Self(PhantomData))
        }

        async fn find_table(&self) -> Result<Option<Found>, BindingError> {
            Ok(None)
        }

        async fn drop_table(&self, _found: &Found) -> Result<(), BindingError> {
            Ok(())
        }

        async fn create_table(&self) -> Result<Created, BindingError> {
            Ok(Created::default())
        }

        async fn count_records(&self, _most: u64) -> Result<u64, BindingError> {
            Ok(0)
        }

        async fn session(&self) -> Result<Self, BindingError> {
            Ok(Self(PhantomData))
        }

        fn in_force(&self) -> Vec<(OperationKind, String)> {
            Vec::new()
        }
    }

    impl<A: Answer, const KEEPS_RECORDS: bool> Session for Fake<A, KEEPS_RECORDS> {
        async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
            A::answer(operation).await;
            A::give(operation, rows);
            Outcome::Ok
        }
    }

    fn run_fake<A: Answer>(changes: &serde_json::Value) -> RunResult {
        let mut spec = serde_json::json!({
            "target": {"database": "noop"},
            "workload": {"records": 10, "fields": 1, "field_length_bytes": 40, "mix": {"update": 1.0}},
            "consistency": "weak", "users": 2, "spawn_rate_per_s": 1e6, "warm_up_s": 0.0,
            "measure_s": 0.3, "operation_timeout_ms": 5000, "seed": 1,
        });
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        let plan = Plan::new(serde_json::from_value(spec.clone()).unwrap()).unwrap();
        let (plan, control) = (Arc::new(plan), Control::default());
        if spec["target"]["database"] == "noop" {
            run_with::<Fake<A, false>>(&plan, &control).unwrap()
        } else {
            run_with::<Fake<A, true>>(&plan, &control).unwrap()
        }
    }

    /// A server with so much to do that most of what is due never starts.
    #[derive(Debug)]
    struct Slow;

    impl Answer for Slow {
        async fn answer(_operation: &Operation<'_>) {
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    #[test]
    fn what_never_starts_is_counted_at_nobodys_cost() {
        for (spread, schedule) in
            [("exponential", "shared"), ("exponential", "user"), ("constant", "shared")]
        {
            let open = serde_json::json!({
                "rate_per_s": 1e8, "spread": spread, "schedule": schedule,
            });
            let result = run_fake::<Slow>(&serde_json::json!({"arrivals": {"open": open}}));
            let kept = result.schedule.unwrap();
            let updates = &result.operations[&OperationKind::Update];
            assert_eq!(kept.due - kept.not_started, updates.ok, "{spread}, {schedule}");
            assert!(kept.not_started > 29_000_000 && kept.due < 31_000_000, "{}", kept.due);
            // It takes half a second, which an operation under way must not be charged with.
            let longest_ns = updates.service_ns.unwrap().max;
            assert!(longest_ns < 250_000_000, "{spread}, {schedule}: {longest_ns}");
            let blamed = result.warnings.iter().any(|warning| warning.contains("use more threads"));
            assert!(!blamed, "{:?}", result.warnings);
        }
    }

    /// Whose first thread has no rest.
    #[derive(Debug)]
    struct Busy;

    impl Answer for Busy {
        async fn answer(_operation: &Operation<'_>) {
            if std::thread::current().name().is_some_and(|name| name.ends_with("-0")) {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(1) {}
            } else {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    #[test]
    fn a_busy_thread_is_not_hidden_by_idle_ones() {
        for (users, threads, started) in [(1, 8, 1), (2, 2, 2), (3, 2, 2)] {
            let spec = serde_json::json!({"users": users, "threads": threads});
            let result = run_fake::<Busy>(&spec);
            let client = result.client;
            assert_eq!(client.threads, started);
            let busy_s = client.cpu_user_s + client.cpu_system_s - client.awake_s;
            let of_one_thread = client.busy_fraction * result.measured_s;
            assert!(of_one_thread > 0.8 * busy_s, "{of_one_thread} s of {busy_s} s");
        }
    }

    /// Answers every read by a row of which one field is the load's and one a user's.
    #[derive(Debug)]
    struct Torn;

    const TORN: &str = r#"{"records": 1, "fields": 2, "field_length_bytes": 40,
        "update_all_fields": true, "mix": {"read": 0.5, "read_modify_write": 0.5}}"#;

    impl Answer for Torn {
        async fn answer(_operation: &Operation<'_>) {}

        fn give(operation: &Operation<'_>, rows: &mut dyn Rows) {
            let Operation::Read { key, .. } = operation else { return };
            let workload: serde_json::Value = serde_json::from_str(TORN).unwrap();
            let mut spec: pacelc_workload::WorkloadSpec = serde_json::from_value(workload).unwrap();
            let loaded = pacelc_workload::Workload::new(spec.clone()).unwrap().load_request(0);
            spec.mix = std::iter::once((OperationKind::Update, 1.0)).collect();
            let mut user = pacelc_workload::Workload::new(spec).unwrap().in_run(7, 5).user(1, 4);
            rows.row(key.as_bytes());
            rows.value(0, loaded.values()[0].value);
            rows.value(1, user.next_request().values()[1].value);
        }
    }

    #[test]
    fn a_torn_row_is_logged_with_its_newest_version() {
        let path = std::env::temp_dir().join(format!("pacelc-torn-{}", std::process::id()));
        for (run, database, origin) in [(7, "memory", 0), (8, "memory", 2), (7, "noop", 255)] {
            let workload: serde_json::Value = serde_json::from_str(TORN).unwrap();
            let target = serde_json::json!({"database": database});
            run_fake::<Torn>(&serde_json::json!({
                "run": run, "workload": workload, "target": target, "record_operations": path,
            }));
            let file = path.with_extension("0");
            let rows = std::fs::read(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            let (rows, rest) = rows.as_chunks::<{ pacelc_history::log::ROW_BYTES }>();
            assert!(rest.is_empty() && rows.len() > 10);
            for row in rows {
                // Of an earlier run's versions a row may be, if that wrote one field at a time.
                assert_eq!((row[57], row[59], row[60]), (0, origin, u8::from(origin == 0)));
                let writer = if origin == 255 { 0 } else { 5 };
                assert_eq!(row[48..52], u32::to_le_bytes(writer));
                let sequence =
                    [0, u64::MAX, 7 << 36][[0, 255, 2].iter().position(|o| *o == origin).unwrap()];
                assert_eq!(row[40..48], sequence.to_le_bytes());
            }
        }
    }

    /// Finds no record, ever.
    #[derive(Debug)]
    struct Empty;

    impl Answer for Empty {
        async fn answer(_operation: &Operation<'_>) {}
    }

    #[test]
    fn a_read_that_finds_nothing_is_served_and_missed_and_nothing_is_written_after_it() {
        for (database, delete, misses) in
            [("memory", 0.0, true), ("memory", 0.1, true), ("noop", 0.0, false)]
        {
            let mix = serde_json::json!({
                "read": 0.4, "scan": 0.2, "read_modify_write": 0.4 - delete, "delete": delete,
            });
            let result = run_fake::<Empty>(&serde_json::json!({
                "target": {"database": database},
                "workload": {"records": 10, "fields": 1, "field_length_bytes": 40, "mix": mix},
            }));
            let of = |kind| &result.operations[&kind];
            let read = of(OperationKind::Read);
            assert!(read.ok > 100 && read.fail.is_empty() && read.unknown.is_empty());
            assert_eq!(read.missed, if misses { read.ok } else { 0 });
            assert_eq!(read.latency_ns.unwrap().n, read.ok);
            // Where records are deleted, a scan may find none of them.
            let scan = of(OperationKind::Scan);
            assert_eq!(scan.missed, if misses && delete == 0.0 { scan.ok } else { 0 });
            let both = of(OperationKind::ReadModifyWrite);
            assert_eq!((both.ok == 0, both.missed), (misses, 0));
            assert_eq!(both.fail.contains_key(&ErrorKind::NotFound), misses);
            let sampled: u64 = result.samples.missed.iter().sum();
            assert!(sampled >= read.missed + scan.missed);
            let warned = result.warnings.iter().filter(|text| text.contains("found")).count();
            assert_eq!(
                warned,
                if misses && delete == 0.0 { 2 } else { 0 },
                "{:?}",
                result.warnings
            );
        }
    }

    /// Answers reads, and never a write.
    #[derive(Debug)]
    struct ReadsOnly;

    impl Answer for ReadsOnly {
        async fn answer(operation: &Operation<'_>) {
            if operation.kind().writes() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Never answers.
    #[derive(Debug)]
    struct Silent;

    impl Answer for Silent {
        async fn answer(_operation: &Operation<'_>) {
            std::future::pending::<()>().await;
        }
    }

    #[test]
    fn silence_is_a_failure_of_what_only_reads_and_else_unknown() {
        let spec = serde_json::json!({
            "workload": {"records": 10, "fields": 1, "field_length_bytes": 40, "mix":
                {"read": 0.4, "scan": 0.2, "update": 0.2, "read_modify_write": 0.2}},
            "operation_timeout_ms": 4,
        });
        let timed_out = |result: &RunResult, kind: OperationKind| {
            let result = &result.operations[&kind];
            let count = |counts: &std::collections::BTreeMap<ErrorKind, u64>| {
                counts.get(&ErrorKind::Timeout).copied().unwrap_or(0)
            };
            (count(&result.fail) > 0, count(&result.unknown) > 0)
        };
        let silent = run_fake::<Silent>(&spec);
        for kind in [OperationKind::Read, OperationKind::Scan, OperationKind::ReadModifyWrite] {
            assert_eq!(timed_out(&silent, kind), (true, false), "{kind:?}");
        }
        assert_eq!(timed_out(&silent, OperationKind::Update), (false, true));
        // Once the record is read, the update is on its way.
        let result = run_fake::<ReadsOnly>(&spec);
        assert_eq!(timed_out(&result, OperationKind::ReadModifyWrite), (false, true));
    }
}
