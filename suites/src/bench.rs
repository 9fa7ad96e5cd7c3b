//! `capsize bench`: the figures that are promised, measured on this machine.
//!
//! It prints what it measured beside the promise and never fails for being slow: machines are noisy.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capsize_clock::{Seed, Simulation, simulate};
use capsize_clusters::{Fleet, FleetSpec, MemberSpec};
use capsize_framework::run::{Target, run_case};
use capsize_framework::scenario::Case;
use clap::Args;

use crate::exit::{Trouble, Verdict};
use crate::reference::Reference;
use crate::{bench_api, bench_https, conformance, output, targets};

/// How many idle members are started to measure one.
const MEMBERS: usize = 200;

/// The scenario that is measured: about 21 simulated minutes with 4 members.
const MEASURED: &str = "eviction/partition";

/// A figure and what was promised of it.
pub(crate) struct Row {
    pub what: &'static str,
    pub figure: String,
    pub promise: &'static str,
}

/// Measure the figures that are promised, on this machine
#[derive(Args, Debug)]
pub struct Bench {}

impl Bench {
    /// Measures and prints.
    ///
    /// # Errors
    /// When stdout does not take it.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let mut rows = idle_member();
        rows.extend(bench_api::rows());
        rows.extend(simulated_rate()?);
        rows.push(Row {
            what: "creates a second over HTTPS, 16 connections",
            figure: format!("{:.0}", bench_https::creates_a_second()?),
            promise: "at least 15000",
        });
        let lines =
            rows.iter().map(|Row { what, figure, promise }| format!("{what:<44} {figure:>14}   {promise}\n"));
        output::say(&lines.collect::<String>())?;
        Ok(Verdict::Conforms)
    }
}

/// How much virtual time passes in a second, in one scenario at default timings.
fn simulated_rate() -> Result<Vec<Row>, Trouble> {
    let cases = conformance::cases().map_err(|error| Trouble::input(*error))?;
    let profile = targets::find("reference").map_err(Trouble::input)?;
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let rate = |case: &Case| {
        let start = now();
        let outcome = run_case(case, target, Seed(1), false);
        let rate = outcome.case.span.as_secs_f64() / start.elapsed().as_secs_f64();
        Row {
            what: "simulated seconds a second, one scenario",
            figure: format!("{rate:.0}"),
            promise: "at least 10000",
        }
    };
    Ok(cases.iter().filter(|case| case.id() == MEASURED).map(rate).collect())
}

/// What one idle embedded member costs: its start, and its memory when it has been idle for an hour.
fn idle_member() -> Vec<Row> {
    simulate(Seed(1), |run| async move {
        // The first member pays for what all share.
        let _first = fleet(run, 1).await;
        let memory = resident_kib();
        let start = now();
        let _fleet = fleet(run, MEMBERS).await;
        let each = start.elapsed() / u32::try_from(MEMBERS).expect("a small constant");
        run.clock.sleep(Duration::from_secs(3600)).await;
        let memory = resident_kib().zip(memory).map(|(after, before)| after.saturating_sub(before));
        vec![
            Row {
                what: "idle embedded member, start",
                figure: format!("{:.2} ms", each.as_secs_f64() * 1000.0),
                promise: "at most 1 ms",
            },
            Row {
                what: "idle embedded member, memory after an hour",
                figure: memory.map_or("not measured".into(), |kib| format!("{} KiB", kib / MEMBERS as u64)),
                promise: "at most 1024 KiB",
            },
        ]
    })
}

/// A fleet that has settled: its Nodes are there.
async fn fleet(run: Simulation, members: usize) -> Fleet {
    let members = (0..members).map(|number| MemberSpec::named(format!("m{number}"))).collect();
    let fleet = Fleet::embedded(run, &FleetSpec { members }, Arc::new(|_| Ok(None)));
    run.clock.sleep(Duration::from_secs(1)).await;
    fleet
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The resident memory of this process; only Linux tells.
pub(crate) fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
