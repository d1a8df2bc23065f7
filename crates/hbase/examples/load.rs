//! Concurrent gets and puts from one thread: operations a second, latency, and what an operation costs this process.
//!
//! ```text
//! PACELC_HBASE_MASTERS=127.0.0.1:16000 cargo run --release -p pacelc-hbase --example load -- [users] [seconds] [value bytes]
//! ```
//!
//! Prints one line a phase: `phase, users, operations, operations/s, p50, p99, user and system CPU time an operation`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pacelc_hbase::{Client, Config, Durability, FamilySpec, Get, Put, Scan, Table, TableSpec};

const ROWS: u64 = 10_000;
const TABLE: &str = "pacelc_load";

/// User and system time of this process, in microseconds (the kernel counts in steps of 10 ms).
fn cpu_us() -> [u64; 2] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let field = |n: usize| after_name.split_whitespace().nth(n).and_then(|f| f.parse::<u64>().ok());
    [field(11).unwrap_or(0) * 10_000, field(12).unwrap_or(0) * 10_000]
}

fn key(i: u64) -> String {
    // Spread over the table: the digits reversed.
    format!("{i:08}").chars().rev().collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Load,
    Get,
    Put(Durability),
    Scan,
}

async fn user(
    table: Table,
    phase: Phase,
    next: Rc<Cell<u64>>,
    end: Instant,
    value: bytes::Bytes,
    latencies_us: Rc<RefCell<Vec<u32>>>,
) -> pacelc_hbase::Result<()> {
    loop {
        let i = next.get();
        let started = Instant::now();
        if (phase == Phase::Load && i >= ROWS) || (phase != Phase::Load && started >= end) {
            return Ok(());
        }
        next.set(i + 1);
        let key =
            if phase == Phase::Load { key(i) } else { key(i.wrapping_mul(0x9E37_79B9) % ROWS) };
        match phase {
            Phase::Get => {
                let row = table.get(&Get::new(key)).await?;
                assert_eq!(row.value(b"f", b"v").map(<[u8]>::len), Some(value.len()));
            }
            Phase::Load => {
                table.put(&Put::new(key).column("f", "v", value.clone())).await?;
            }
            Phase::Put(durability) => {
                let put = Put::new(key).column("f", "v", value.clone()).durability(durability);
                table.put(&put).await?;
            }
            Phase::Scan => {
                table.scan_all(Scan::new().start(key).limit(50)).await?;
            }
        }
        latencies_us.borrow_mut().push(started.elapsed().as_micros() as u32);
    }
}

async fn run(
    name: &str,
    table: &Table,
    phase: Phase,
    users: usize,
    time: Duration,
    value: &bytes::Bytes,
) -> pacelc_hbase::Result<()> {
    let latencies = Rc::new(RefCell::new(Vec::with_capacity(1 << 20)));
    let next = Rc::new(Cell::new(0));
    let (started, cpu) = (Instant::now(), cpu_us());
    let tasks: Vec<_> = (0..users)
        .map(|_| {
            let user = user(
                table.clone(),
                phase,
                Rc::clone(&next),
                started + time,
                value.clone(),
                Rc::clone(&latencies),
            );
            tokio::task::spawn_local(user)
        })
        .collect();
    for task in tasks {
        task.await.expect("no user panics")?;
    }
    let (wall, [user, system]) = (started.elapsed(), cpu_us());
    let [user, system] = [user - cpu[0], system - cpu[1]];
    let mut l = latencies.borrow_mut();
    l.sort_unstable();
    let n = l.len().max(1);
    let at = |q: f64| l.get(((n as f64 * q) as usize).min(n - 1)).copied().unwrap_or(0);
    println!(
        "{name:14} users {users:4}  ops {n:8}  ops/s {:8.0}  p50 {:6} µs  p99 {:6} µs  CPU µs/op {:5.2} user + {:5.2} system",
        n as f64 / wall.as_secs_f64(),
        at(0.5),
        at(0.99),
        user as f64 / n as f64,
        system as f64 / n as f64
    );
    Ok(())
}

async fn all(users: usize, time: Duration, value_bytes: usize) -> pacelc_hbase::Result<()> {
    let masters = std::env::var("PACELC_HBASE_MASTERS").unwrap_or("127.0.0.1:16000".into());
    let client = Client::connect(Config::new(masters.split(','))).await?;
    client.admin().drop_table(TABLE).await?;
    let spec = TableSpec::new(TABLE).family(FamilySpec::new("f")).splits(["25", "5", "75"]);
    client.admin().create_table(&spec).await?;
    let table = client.table(TABLE)?;
    let value = bytes::Bytes::from(vec![b'v'; value_bytes]);
    run("load", &table, Phase::Load, users.max(32), time, &value).await?;
    // Once unmeasured, for the servers' sake: they compile what they run often.
    run("warm-up", &table, Phase::Get, users, time / 2, &value).await?;
    run("get", &table, Phase::Get, users, time, &value).await?;
    for durability in [Durability::SkipWal, Durability::AsyncWal, Durability::SyncWal] {
        let name = format!("put {}", durability.name());
        run(&name, &table, Phase::Put(durability), users, time, &value).await?;
    }
    run("scan 50 rows", &table, Phase::Scan, users.min(8), time, &value).await?;
    println!("{:?}", client.counts());
    client.admin().drop_table(TABLE).await
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let arg = |n: usize, default| args.get(n).copied().unwrap_or(default);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let work = all(arg(0, 64) as usize, Duration::from_secs(arg(1, 10)), arg(2, 1_000) as usize);
    Ok(local.block_on(&runtime, work)?)
}
