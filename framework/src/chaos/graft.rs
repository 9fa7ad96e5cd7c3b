//! A scenario that somebody wrote, with faults from a seed in the place of its expectations.
//!
//! What people thought of (dependencies, services, overrides, policies that compete) is not drawn: it is taken from them.

use std::collections::BTreeSet;

use capsize_clock::{Seed, Stream};
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{Span, one_of, seconds};
use super::faults;
use super::fleet::Fleet;
use super::plan::Plan;
use super::style::Style;
use crate::target::{Feature, Profile};

/// The steps that do something. The others wait for what a fault may well prevent.
const ACTS: [&str; 18] = [
    "workload",
    "scale",
    "override",
    "call",
    "refuse",
    "partition",
    "delay",
    "flap",
    "heal",
    "kill",
    "start",
    "wait",
    "taint",
    "untaint",
    "deleteMember",
    "startUp",
    "apply",
    "delete",
];

/// What becomes of one of `bases` with this seed; `None` where the target can do none of them.
pub(super) fn graft(seed: Seed, profile: &Profile, bases: &[Plan]) -> Option<Plan> {
    let can = |base: &&Plan| {
        let needs: BTreeSet<Feature> = serde_json::from_value(base.0["features"].clone()).unwrap_or_default();
        needs.iter().all(|feature| profile.has(*feature))
    };
    let bases: Vec<&Plan> = bases.iter().filter(can).collect();
    if bases.is_empty() {
        return None;
    }
    let own = seed.derive("graft");
    let chance = &mut own.stream("faults");
    let base = &one_of(chance, &bases).0;
    let span = Span::of(&profile.timings, &serde_json::Map::new());
    let fleet = Fleet::of(base, profile);
    let faults = json!({"faults": faults::as_they_fall(chance, span, &fleet)});
    let steps = |list: &str| base[list].as_array().cloned().unwrap_or_default();
    let given = acts(chance, span, steps("given"));
    let when = acts(chance, span, [steps("when"), steps("then")].concat());
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

/// The steps that do something, with a time in the place of each that waits for something.
fn acts(chance: &mut Stream, span: Span, steps: Vec<Value>) -> Vec<Value> {
    let acts = |step: &Value| {
        step.as_object().is_some_and(|step| step.keys().any(|key| ACTS.contains(&key.as_str())))
    };
    let waits = [1.0, 15.0, span.noticed, span.moved];
    steps
        .into_iter()
        .map(|step| if acts(&step) { step } else { json!({"wait": seconds(*one_of(chance, &waits))}) })
        .collect()
}
