//! `capsize bench`: the figures that are promised, measured on this machine.
//!
//! It prints what it measured beside the promise and never fails for being slow: machines are noisy.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capsize_clock::{Seed, Simulation, simulate};
use capsize_clusters::{Fleet, FleetSpec, MemberSpec};

/// How many idle members are started to measure one.
const MEMBERS: usize = 200;

/// A figure and what was promised of it.
struct Row {
    what: &'static str,
    figure: String,
    promise: &'static str,
}

/// Measures and prints.
pub fn run() {
    let mut rows = idle_member();
    rows.extend(crate::run::simulated_rate());
    for Row { what, figure, promise } in rows {
        println!("{what:<44} {figure:>14}   {promise}");
    }
}

/// What one idle embedded member costs: its start, and its memory once it has settled.
fn idle_member() -> Vec<Row> {
    simulate(Seed(1), |run| async move {
        // The first member pays for what all share.
        let _first = fleet(run, 1).await;
        let memory = resident_kib();
        let start = now();
        let _fleet = fleet(run, MEMBERS).await;
        let each = start.elapsed() / u32::try_from(MEMBERS).expect("a small constant");
        let memory = resident_kib().zip(memory).map(|(after, before)| after.saturating_sub(before));
        vec![
            Row {
                what: "idle embedded member, start",
                figure: format!("{:.2} ms", each.as_secs_f64() * 1000.0),
                promise: "at most 1 ms",
            },
            Row {
                what: "idle embedded member, memory",
                figure: memory.map_or("not measured".into(), |kib| format!("{} KiB", kib / MEMBERS as u64)),
                promise: "at most 1024 KiB",
            },
        ]
    })
}

/// A fleet that has settled: its Nodes are there, and their Leases have been renewed.
async fn fleet(run: Simulation, members: usize) -> Fleet {
    let members = (0..members).map(|number| MemberSpec::named(format!("m{number}"))).collect();
    let fleet = Fleet::embedded(run, &FleetSpec { members }, Arc::new(|_| Ok(None)));
    run.clock.sleep(Duration::from_secs(15)).await;
    fleet
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}

/// The resident memory of this process; only Linux tells.
fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
