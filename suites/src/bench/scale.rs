//! Measures the figures about size and about a long time.
//! The size is that of many members and many workloads, with a tenth of the members lost at once.
//!
//! The fleets are scenarios made up here, run like any other: every guarantee judges them.

use std::fmt::Write;

use capsize_clock::Seed;
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_report::Status;
use capsize_runner::run::{Keep, Outcome as Ran, Target, run_case};
use capsize_runner::scenario::Case;

use super::command::{Row, now, peak_kib, row_alone};
use crate::exit::{CommandError, environment_error};
use crate::reference::Reference;
use crate::targets;

const MEMBERS: usize = 1000;

/// Workloads, for each member.
const WORKLOADS_EACH: usize = 10;

/// One member in so many is lost.
const LOST: usize = 10;

/// The figures.
pub(crate) const ROWS: [Row; 3] = [
    row_alone("1000 members, 10000 workloads, a tenth lost", "at most 60 s, 3072 MiB", || lost(MEMBERS)),
    row_alone("2000 members, 20000 workloads, a tenth lost", "at most 2.3 times that", || lost(2 * MEMBERS)),
    row_alone("memory that a simulated day takes more than an hour", "at most 1024 KiB", over_a_day),
];

/// Returns the time and the memory until all that was lost runs elsewhere.
/// The guarantees have judged the run by then.
fn lost(members: usize) -> Result<String, CommandError> {
    let start = now();
    let verdicts = judged(&format!("a fleet of {members} members"), &scenario(members))?;
    let took = start.elapsed();
    let evicted = times(&verdicts, "TOLERATION-01");
    if evicted == 0 {
        return Err(environment_error!("a fleet of {members} members: nothing was evicted"));
    }
    let memory = peak_kib().map_or("not measured".into(), |kib| format!("{} MiB", kib / 1024));
    Ok(format!("{:.1} s, {memory}, {evicted} evicted", took.as_secs_f64()))
}

/// Returns how much more memory a fleet takes for a day than for an hour.
/// A member of the fleet fails once an hour.
fn over_a_day() -> Result<String, CommandError> {
    let peak_of = |hours: usize| -> Result<Option<u64>, CommandError> {
        judged(&format!("a fleet for {hours} hours"), &outages(hours)).map(|_| peak_kib())
    };
    let (hour, day) = (peak_of(1)?, peak_of(24)?);
    Ok(day.zip(hour).map_or("not measured".into(), |(day, hour)| format!("{} KiB", day.saturating_sub(hour))))
}

/// Runs the scenario, and answers with what the guarantees say of it: none that it is broken.
fn judged(what: &str, scenario: &str) -> Result<Vec<Verdict>, CommandError> {
    let profile = targets::find("reference").map_err(CommandError::input)?;
    let case =
        Case::from_text("bench", "bench.yaml", scenario).map_err(|error| CommandError::input(*error))?;
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let Ran { case, broken, .. } = run_case(&case, target, Seed(1), Keep::Nothing);
    let trouble = |why: String| environment_error!("{what}: {why}");
    if let Some(why) = broken {
        return Err(trouble(why));
    }
    if case.status == Status::Failed {
        return Err(trouble(capsize_report::failure(&case, capsize_report::COLUMNS)));
    }
    Ok(case.judgement.map(|judgement| judgement.verdicts).unwrap_or_default())
}

pub(crate) fn times(verdicts: &[Verdict], id: &str) -> u64 {
    let verdict = verdicts.iter().find(|verdict| verdict.spec.id == id);
    match verdict.map(|verdict| &verdict.outcome) {
        Some(Outcome::Held { times, .. }) => *times,
        _ => 0,
    }
}

/// A fleet in which every tenth member is in the zone that is lost.
/// Half of the workloads are duplicated to two of three members, half divided over two.
fn scenario(members: usize) -> String {
    let name = |number: usize| format!("m{}", number % members + 1);
    let zone: Vec<_> = (0..members).step_by(LOST).map(|number| format!("{}: lost", name(number))).collect();
    let mut text = format!(
        "scenario: tenth-lost\nabout: A tenth of all members refuses at once.\nfleet: {{members: {members}, zones: {{{}}}}}\ngiven:\n",
        zone.join(", ")
    );
    for number in 0..members * WORKLOADS_EACH {
        let (one, two, three) = (name(number), name(number + 1), name(number + 2));
        let policy = if number % 2 == 0 {
            format!(
                "clusters: [{one}, {two}, {three}], spread: {{cluster: {{min: 2, max: 2}}}}, scheduling: Duplicated"
            )
        } else {
            format!("clusters: [{one}, {two}], scheduling: {{Divided: {{weights: {{{one}: 1, {two}: 1}}}}}}")
        };
        // Writing to a String does not fail.
        let _ = writeln!(text, "  - workload: {{name: w{number}, replicas: 2, policy: {{{policy}}}}}");
    }
    text.push_str("  - wait: 1m\nwhen:\n  - refuse: {cluster: {zone: lost}}\nthen:\n  - wait: 15m\n");
    text
}

/// A fleet in which a member refuses for a while, once an hour, and what it ran goes elsewhere.
fn outages(hours: usize) -> String {
    let mut text =
        String::from("scenario: outages\nabout: A member fails once an hour.\nfleet: {members: 4}\ngiven:\n");
    for number in 0..10 {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "  - workload: {{name: w{number}, replicas: 2, policy: {{spread: {{cluster: {{min: 2, max: 2}}}}, scheduling: Duplicated}}}}"
        );
    }
    text.push_str("  - wait: 1m\nwhen:\n");
    for hour in 0..hours {
        let member = hour % 4 + 1;
        let _ = write!(
            text,
            "  - refuse: {{cluster: m{member}}}\n  - wait: 20m\n  - heal: m{member}\n  - wait: 40m\n"
        );
    }
    text.push_str("then:\n  - wait: 1m\n");
    text
}
