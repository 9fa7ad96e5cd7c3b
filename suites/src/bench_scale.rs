//! The figure about size: many members, many workloads, and a tenth of the members lost at once.
//!
//! The fleet is a scenario made up here, run like any other: every guarantee judges it.

use std::fmt::Write;

use capsize_clock::Seed;
use capsize_framework::guarantee::{Outcome, Verdict};
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};
use capsize_framework::scenario::Case;
use miette::miette;

use crate::bench::{Row, now, peak_kib};
use crate::exit::Trouble;
use crate::reference::Reference;
use crate::targets;

const MEMBERS: usize = 1000;

/// Workloads, for each member.
const WORKLOADS_EACH: usize = 10;

/// One member in so many is lost.
const LOST: usize = 10;

/// What is measured.
pub(crate) const ROWS: [Row; 2] = [
    Row {
        what: "1000 members, 10000 workloads, a tenth lost",
        promise: "at most 60 s, 3072 MiB",
        alone: true,
        measure: at_size,
    },
    Row {
        what: "2000 members, 20000 workloads, a tenth lost",
        promise: "at most 2.3 times that",
        alone: true,
        measure: at_twice_the_size,
    },
];

fn at_size() -> Result<String, Trouble> {
    lost(MEMBERS)
}

fn at_twice_the_size() -> Result<String, Trouble> {
    lost(MEMBERS * 2)
}

/// How long it takes, and in how much memory, until all that was lost runs elsewhere and the guarantees have judged it.
fn lost(members: usize) -> Result<String, Trouble> {
    let profile = targets::find("reference").map_err(Trouble::input)?;
    let case = Case::from_text("bench", "tenth-lost.yaml", &scenario(members))
        .map_err(|error| Trouble::input(*error))?;
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let start = now();
    let outcome = run_case(&case, target, Seed(1), false);
    let took = start.elapsed();
    let trouble = |why: String| Trouble::Environment(miette!("the fleet of {members} members: {why}"));
    if let Some(why) = outcome.broken {
        return Err(trouble(why));
    }
    let verdicts = outcome.case.judgement.map(|judgement| judgement.verdicts).unwrap_or_default();
    if outcome.case.status != Status::Passed {
        return Err(trouble(format!("{:?}, violated: {}", outcome.case.failures, violated(&verdicts))));
    }
    let evicted = times(&verdicts, "TOLERATION-01");
    if evicted == 0 {
        return Err(trouble("nothing was evicted".into()));
    }
    let memory = peak_kib().map_or("not measured".into(), |kib| format!("{} MiB", kib / 1024));
    Ok(format!("{:.1} s, {memory}, {evicted} evicted", took.as_secs_f64()))
}

fn times(verdicts: &[Verdict], id: &str) -> u64 {
    let verdict = verdicts.iter().find(|verdict| verdict.rule.id == id);
    match verdict.map(|verdict| &verdict.outcome) {
        Some(Outcome::Held { times, .. }) => *times,
        _ => 0,
    }
}

fn violated(verdicts: &[Verdict]) -> String {
    let violated = verdicts.iter().filter(|verdict| verdict.outcome.is_violated());
    violated
        .map(|verdict| format!("{} {:?}", verdict.rule.id, verdict.outcome))
        .collect::<Vec<_>>()
        .join("; ")
}

/// A fleet in which every tenth member is in the zone that is lost. Half of the workloads are duplicated to two of three
/// members, half divided over two.
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
