//! The command: its options, and the rows that it measures.
//!
//! It prints what it measured beside the promise and never fails for being slow: machines are noisy.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use capsize_clock::{Seed, Simulation, simulate};
use capsize_clusters::{Fleet, FleetSpec, MemberSpec};
use capsize_runner::run::{Keep, Target, run_case};
use clap::Args;

use super::{api, https, judge, link, members, nodes, scale};
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::reference::Reference;
use crate::{conformance, output, targets};

/// How many idle members are started to measure one.
const MEMBERS: usize = 200;

/// How often a rate is measured; the best counts, as machines are noisy.
const ROUNDS: usize = 5;

/// The scenario that is measured: about 21 simulated minutes with 4 members.
const MEASURED: &str = "eviction/partition";

/// A figure that is promised.
pub(crate) struct Row {
    /// The name of the figure. No name is a part of another.
    pub what: &'static str,
    pub promise: &'static str,
    /// Whether the figure is about memory, and needs a process of its own.
    /// Freed memory would hide how much memory the figure takes.
    pub alone: bool,
    pub measure: fn() -> Result<String, CommandError>,
}

/// A figure that is measured in this process.
pub(crate) const fn row(
    what: &'static str,
    promise: &'static str,
    measure: fn() -> Result<String, CommandError>,
) -> Row {
    Row { what, promise, alone: false, measure }
}

/// A figure that is measured in a process of its own.
pub(crate) const fn row_alone(
    what: &'static str,
    promise: &'static str,
    measure: fn() -> Result<String, CommandError>,
) -> Row {
    Row { what, promise, alone: true, measure }
}

/// Measure the figures that are promised, on this machine
#[derive(Args, Debug)]
pub struct Bench {
    /// Measure only the figures whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Measure also those that take minutes, which --only does for those that it names
    #[arg(long, conflicts_with = "only")]
    long: bool,
}

impl Bench {
    /// Measures and prints.
    ///
    /// # Errors
    /// When no figure has such a name, the machine does not let it measure, or stdout does not take what it says.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        // A figure that is named is measured, however long it takes.
        let mut rows = rows(self.long || !self.only.is_empty());
        rows.retain(|row| row.what.contains(&self.only));
        let [] = rows[..] else { return print(&rows) };
        let names: Vec<&str> = self::rows(true).iter().map(|row| row.what).collect();
        let why = format!("no figure is called `{}`; there are: {}", self.only, names.join("; "));
        Err(input_error!("{why}"))
    }
}

fn rows(long: bool) -> Vec<Row> {
    let mut rows = vec![
        row("idle embedded member, start", "at most 1 ms", member_start),
        row_alone("idle embedded member, memory after an hour", "at most 1024 KiB", member_memory),
    ];
    rows.extend(api::ROWS);
    rows.extend(link::ROWS);
    rows.extend([
        row("simulated seconds a second, one scenario", "at least 10000", simulated_rate),
        row("creates over HTTPS, 16 connections", "at least 15000/s", https::creates_a_second),
    ]);
    if long {
        rows.extend(judge::ROWS);
        rows.extend(scale::ROWS);
        rows.extend(nodes::ROWS);
        rows.extend(members::ROWS);
    }
    rows
}

/// Measures rows and prints each as soon as it is known.
fn print(rows: &[Row]) -> Result<ExitStatus, CommandError> {
    for Row { what, promise, alone, measure } in rows {
        if *alone && rows.len() > 1 {
            measure_alone(what)?;
        } else {
            output::print(&format!("{what:<44} {:>14}   {promise}\n", measure()?))?;
        }
    }
    Ok(ExitStatus::Conforms)
}

/// Measures the row called `what` in a process of its own, which prints it.
fn measure_alone(what: &str) -> Result<(), CommandError> {
    let this =
        env::current_exe().and_then(|this| Command::new(this).args(["bench", "--only", what]).status());
    match this {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(environment_error!("measuring the {what} ended with {status}")),
        Err(error) => Err(environment_error!("cannot start a process to measure the {what}: {error}")),
    }
}

/// How much virtual time passes in a second, in one scenario at default timings.
fn simulated_rate() -> Result<String, CommandError> {
    let cases = conformance::cases().map_err(|error| CommandError::input(*error))?;
    let profile = targets::find("reference").map_err(CommandError::input)?;
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let case = cases.iter().find(|case| case.id() == MEASURED).expect("the scenario is part of the suite");
    let rate = |_| {
        let start = now();
        let outcome = run_case(case, target, Seed(1), Keep::Nothing);
        outcome.case.span.as_secs_f64() / start.elapsed().as_secs_f64()
    };
    Ok(format!("{:.0}", (0..ROUNDS).map(rate).fold(0.0, f64::max)))
}

/// How long an embedded member takes to start.
fn member_start() -> Result<String, CommandError> {
    let each = simulate(Seed(1), |run| async move {
        // The first member pays for what all share.
        let _first = fleet(run, 1).await;
        let start = now();
        let _fleet = fleet(run, MEMBERS).await;
        start.elapsed() / u32::try_from(MEMBERS).expect("a small constant")
    });
    Ok(format!("{:.2} ms", each.as_secs_f64() * 1000.0))
}

/// How much memory an embedded member takes that has been idle for an hour.
fn member_memory() -> Result<String, CommandError> {
    let taken = simulate(Seed(1), |run| async move {
        let _first = fleet(run, 1).await;
        let before = resident_kib();
        let _fleet = fleet(run, MEMBERS).await;
        run.clock.sleep(Duration::from_secs(3600)).await;
        resident_kib().zip(before).map(|(after, before)| after.saturating_sub(before))
    });
    Ok(taken.map_or("not measured".into(), |kib| format!("{} KiB", kib / MEMBERS as u64)))
}

/// A fleet that has settled: its Nodes are there.
async fn fleet(run: Simulation, members: usize) -> Fleet {
    let members = (0..members).map(|number| MemberSpec::named(format!("m{number}"))).collect();
    let fleet = Fleet::embedded(run, &FleetSpec { members }, None);
    run.clock.sleep(Duration::from_secs(1)).await;
    fleet
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The resident memory of this process; known on Linux only.
pub(crate) fn resident_kib() -> Option<u64> {
    kib_of("VmRSS:")
}

/// The most memory that this process has had.
pub(crate) fn peak_kib() -> Option<u64> {
    kib_of("VmHWM:")
}

fn kib_of(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
