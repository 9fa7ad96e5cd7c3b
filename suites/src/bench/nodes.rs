//! The figure about nodes: many of them, many pods, and one of three zones lost for an hour.
//!
//! The cluster is a scenario made up here, run like any other: every guarantee judges it.

use std::fmt::Write;

use capsize_clock::Seed;
use capsize_report::Status;
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario::Case;

use super::command::{Row, now, peak_kib, row_alone};
use super::scale::times;
use crate::exit::{CommandError, environment_error};
use crate::reference_nodes::NodeReference;
use crate::targets;

/// Nodes, pods for each of them, and pods of each workload.
const NODES: usize = 5000;
const PODS_EACH: usize = 20;
const REPLICAS: usize = 200;

/// The figures.
pub(crate) const ROWS: [Row; 1] =
    [row_alone("5000 nodes, 100000 pods, a zone lost for an hour", "at most 60 s, 4096 MiB", zone_lost)];

fn zone_lost() -> Result<String, CommandError> {
    let profile = targets::find(targets::REFERENCE_NODES).map_err(CommandError::input)?;
    let case = Case::from_text("bench", "zone-lost.yaml", &scenario())
        .map_err(|error| CommandError::input(*error))?;
    let target = Target { profile: &profile, implementation: &NodeReference::default() };
    let start = now();
    let outcome = run_case(&case, target, Seed(1), Keep::Nothing);
    let took = start.elapsed();
    let trouble = |why: String| environment_error!("the cluster of {NODES} nodes: {why}");
    if let Some(why) = outcome.broken {
        return Err(trouble(why));
    }
    if outcome.case.status == Status::Failed {
        return Err(trouble(capsize_report::failure(&outcome.case, capsize_report::COLUMNS)));
    }
    let verdicts = outcome.case.judgement.map(|judgement| judgement.verdicts).unwrap_or_default();
    let (tainted, evicted) = (times(&verdicts, "NODE-03"), times(&verdicts, "TOLERATION-01"));
    if tainted == 0 || evicted == 0 {
        return Err(trouble("nothing was evicted".into()));
    }
    let memory = peak_kib().map_or("not measured".into(), |kib| format!("{} MiB", kib / 1024));
    Ok(format!("{:.1} s, {memory}, {tainted} tainted, {evicted} evicted", took.as_secs_f64()))
}

fn scenario() -> String {
    let third = NODES / 3;
    let mut text = format!(
        "scenario: zone-lost\nabout: One of three zones is lost for an hour.\ncluster: {{zones: {{a: {third}, b: {third}, c: {}}}}}\ngiven:\n",
        NODES - 2 * third
    );
    for number in 0..NODES * PODS_EACH / REPLICAS {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  - pods: {{name: w{number}, kind: Deployment, replicas: {REPLICAS}}}");
    }
    text.push_str("  - wait: 1m\nwhen:\n  - silence: {node: {zone: a}}\nthen:\n  - wait: 1h\n");
    text
}
