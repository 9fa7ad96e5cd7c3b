//! A scenario that somebody wrote, with faults from a seed, in which nothing need come about.
//!
//! What people thought of and nobody draws is taken from them.

use std::collections::BTreeSet;

use capsize_clock::Seed;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{FailoverTimes, seconds};
use super::faults;
use super::fleet::{Fleet, is_inside};
use super::plan::Plan;
use super::style::Style;
use capsize_history::dialect::Speaks;
use capsize_judge::profile::{Feature, Profile};

/// Steps that come about in any case.
const SURE: [&str; 3] = ["workload", "pods", "wait"];

/// What becomes of one of `bases` with this seed, which take turns; `None` where the target can do none of them.
pub(super) fn graft(seed: Seed, profile: &Profile, bases: &[Plan]) -> Option<Plan> {
    let can = |base: &&Plan| {
        let needs: BTreeSet<Feature> = serde_json::from_value(base.0["features"].clone()).unwrap_or_default();
        let speaks = if base.0.get("cluster").is_some() { Speaks::Nodes } else { Speaks::Karmada };
        speaks == profile.dialect && needs.iter().all(|feature| profile.has(*feature))
    };
    let bases: Vec<&Plan> = bases.iter().filter(can).collect();
    let turn = seed.0.checked_rem(bases.len() as u64)?;
    let base = &bases[usize::try_from(turn).ok()?].0;
    let chance = &mut seed.derive("graft").stream("faults");
    let span = FailoverTimes::of(profile, &serde_json::Map::new());
    let fleet = Fleet::of(base, is_inside(profile));
    let faults = json!({"faults": faults::as_they_fall(chance, span, &fleet, 3)});
    let steps = |list: &str| base[list].as_array().cloned().unwrap_or_default();
    let given: Vec<Value> = steps("given").into_iter().map(perhaps).collect();
    let when: Vec<Value> = [steps("when"), steps("then")].concat().into_iter().map(perhaps).collect();
    let place = chance.random_range(0..=when.len());
    let (mut plan, end) = (base.clone(), json!({"wait": seconds(span.noticed * 2.0)}));
    plan["scenario"] = json!(format!("{}-{seed}", Style::Graft));
    let name = base["scenario"].as_str().unwrap_or_default();
    plan["about"] = json!(format!("Drawn with seed {seed}, {}, on {name}.", Style::Graft));
    plan["seed"] = json!(seed.0);
    plan["given"] = json!(given);
    if let Some(fields) = plan.as_object_mut() {
        fields.remove("then");
        fields.remove("failsWithout");
    }
    // Between a `kill` and its `start` there is nobody left to kill: then earlier.
    let with_faults_at = |place: usize| {
        let mut plan = plan.clone();
        let (before, after) = when.split_at(place);
        plan["when"] =
            json!([before, std::slice::from_ref(&faults), after, std::slice::from_ref(&end)].concat());
        Plan(plan)
    };
    (0..=place).rev().map(with_faults_at).find(|plan| plan.case().is_ok())
}

/// The step, which a fault may prevent.
fn perhaps(step: Value) -> Value {
    let sure = step.as_object().is_some_and(|step| step.keys().any(|key| SURE.contains(&key.as_str())));
    if sure { step } else { json!({"perhaps": step}) }
}
