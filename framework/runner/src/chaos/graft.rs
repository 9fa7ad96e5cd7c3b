//! Adds random faults to a scenario that a person wrote, and makes its steps optional.
//!
//! Such scenarios contain situations that the other styles never draw.

use std::collections::BTreeSet;

use capsize_clock::Seed;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{FailoverTimes, seconds};
use super::faults;
use super::fleet::{Fleet, runs_in_process};
use super::plan::Plan;
use super::style::Style;
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Feature, Profile};

/// The steps that are not made optional.
const SURE: [&str; 3] = ["workload", "pods", "wait"];

/// The graft on one of `bases`, which take turns by seed, or `None` if the target can run none of them.
pub(super) fn graft(seed: Seed, profile: &Profile, bases: &[Plan]) -> Option<Plan> {
    let can = |base: &&Plan| {
        let features = |list: &str| -> BTreeSet<Feature> {
            serde_json::from_value(base.0[list].clone()).unwrap_or_default()
        };
        let dialect = if base.0.get("cluster").is_some() { DialectKind::Nodes } else { DialectKind::Karmada };
        // An upgrade would begin from another state than the scenario expects.
        let upgrades = base.0["when"].to_string().contains("\"upgrade\"");
        dialect == profile.dialect
            && !upgrades
            && features("features").iter().all(|feature| profile.has(*feature))
            && !features("without").iter().any(|feature| profile.has(*feature))
    };
    let bases: Vec<&Plan> = bases.iter().filter(can).collect();
    let turn = seed.0.checked_rem(bases.len() as u64)?;
    let base = &bases[usize::try_from(turn).ok()?].0;
    let rng = &mut seed.derive("graft").stream("faults");
    let times = FailoverTimes::of(profile, &serde_json::Map::new());
    let fleet = Fleet::of(base, runs_in_process(profile));
    let faults = json!({"faults": faults::overlapping(rng, times, &fleet, 3)});
    let steps = |list: &str| base[list].as_array().cloned().unwrap_or_default();
    let given: Vec<Value> = steps("given").into_iter().map(perhaps).collect();
    let when: Vec<Value> = [steps("when"), steps("then")].concat().into_iter().map(perhaps).collect();
    let place = rng.random_range(0..=when.len());
    let (mut plan, end) = (base.clone(), json!({"wait": seconds(times.noticed * 2.0)}));
    plan["scenario"] = json!(format!("{}-{seed}", Style::Graft));
    let name = base["scenario"].as_str().unwrap_or_default();
    plan["about"] = json!(format!("Drawn with seed {seed}, {}, on {name}.", Style::Graft));
    plan["seed"] = json!(seed.0);
    plan["given"] = json!(given);
    if let Some(fields) = plan.as_object_mut() {
        fields.remove("then");
        fields.remove("failsWithout");
    }
    // Between a `kill` and its `start` there are no controllers to kill. The faults then come earlier.
    let with_faults_at = |place: usize| {
        let mut plan = plan.clone();
        let (before, after) = when.split_at(place);
        plan["when"] =
            json!([before, std::slice::from_ref(&faults), after, std::slice::from_ref(&end)].concat());
        Plan(plan)
    };
    (0..=place).rev().map(with_faults_at).find(|plan| plan.case().is_ok())
}

/// The step, made optional because a fault may prevent it.
fn perhaps(step: Value) -> Value {
    let sure = step.as_object().is_some_and(|step| step.keys().any(|key| SURE.contains(&key.as_str())));
    if sure { step } else { json!({"perhaps": step}) }
}
