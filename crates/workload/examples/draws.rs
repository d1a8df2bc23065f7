//! How fast records are chosen: a line of JSON with draws a second on one core for each distribution,
//! and for the bare generator in the same loop. `benches/key_choosers.py` makes its table of them.

use pacelc_workload::chooser::Chooser;
use pacelc_workload::{Distribution, Workload, WorkloadSpec};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::Instant;

const RECORDS: u64 = 1_000_000_000;
const DRAWS: u32 = 100_000;
const REPEATS: usize = 200;

/// The best of many short repeats: what else runs on the machine can only slow it down, and a few
/// milliseconds are often had without interruption.
fn draws_per_s(mut draw: impl FnMut() -> u64) -> f64 {
    let mut best = 0.0_f64;
    for _ in 0..REPEATS {
        let start = Instant::now();
        let mut sum = 0_u64;
        for _ in 0..DRAWS {
            sum = sum.wrapping_add(draw());
        }
        std::hint::black_box(sum);
        best = best.max(f64::from(DRAWS) / start.elapsed().as_secs_f64());
    }
    best
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let spec: WorkloadSpec = serde_json::from_str(&format!(
        r#"{{"records": {RECORDS}, "fields": 1, "field_length_bytes": 100, "mix": {{"read": 1}}}}"#
    ))?;
    let workload = Workload::new(spec)?;
    let mut lines = vec![format!("\"generator\": {:.0}", draws_per_s(|| rng.next_u64()))];
    for (name, json) in [
        ("uniform", r#""uniform""#),
        ("zipfian 0.5", r#"{"zipfian": {"theta": 0.5}}"#),
        ("zipfian 0.99", r#"{"zipfian": {"theta": 0.99}}"#),
        ("zipfian 1", r#"{"zipfian": {"theta": 1}}"#),
        ("zipfian 1.0001", r#"{"zipfian": {"theta": 1.0001}}"#),
        ("zipfian 1.5", r#"{"zipfian": {"theta": 1.5}}"#),
        ("zipfian 4", r#"{"zipfian": {"theta": 4}}"#),
        ("ycsb-zipfian", r#"{"ycsb_zipfian": {}}"#),
        ("latest", r#"{"latest": {}}"#),
        ("hotspot", r#"{"hotspot": {}}"#),
        ("exponential", r#"{"exponential": {}}"#),
        ("sequential", r#""sequential""#),
    ] {
        let distribution: Distribution = serde_json::from_str(json)?;
        let mut chooser = Chooser::new(distribution, RECORDS)?;
        let frontier = workload.frontier();
        lines
            .push(format!("\"{name}\": {:.0}", draws_per_s(|| chooser.choose(&mut rng, frontier))));
    }
    let start = Instant::now();
    for theta in 1..=1_000 {
        std::hint::black_box(Chooser::new(
            Distribution::YcsbZipfian { theta: f64::from(theta) / 1_000.5, expected_inserts: 0 },
            RECORDS,
        )?);
    }
    lines.push(format!("\"set-up_us\": {:.3}", start.elapsed().as_secs_f64() * 1_000.0));
    println!("{{{}}}", lines.join(", "));
    Ok(())
}
