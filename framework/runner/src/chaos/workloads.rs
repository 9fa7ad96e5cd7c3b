//! Draws the workloads of a random scenario. Without faults, each of them can be placed.

use capsize_clock::Stream;
use capsize_sorted::CollectSorted;
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::draw::{Draw, one_of};
use super::fleet::Fleet;
use super::style::Style;
use super::workload_options;
use capsize_judge::profile::Feature;

/// The steps that create the workloads. Their names are added to the fleet.
pub(super) fn draw(rng: &mut Stream, draw: &mut Draw<'_>, fleet: &mut Fleet) -> Vec<Value> {
    let count = match draw.style {
        Style::Lite => 1..=3,
        Style::Swarm | Style::Graft => 1..=6,
        Style::Storm => 2..=8,
    };
    let mut steps = Vec::new();
    for number in 1..=rng.random_range(count) {
        let name = format!("w{number}");
        let scoped = rng.random_bool(0.1);
        let policy = policy(rng, draw, fleet, scoped);
        let mut workload = json!({"name": name, "replicas": rng.random_range(1..=6), "policy": policy});
        if scoped {
            workload["replicas"] = json!(0);
            workload["clusterScoped"] = json!(true);
        } else {
            if rng.random_bool(0.3) {
                workload["cpu"] = json!("250m");
            }
            fleet.workloads.push(name.clone());
        }
        steps.push(json!({"workload": workload}));
        steps.extend(workload_options::draw(rng, draw, fleet, (&name, scoped)));
    }
    steps.extend(workload_options::taint_policy(rng, draw));
    steps
}

fn policy(rng: &mut Stream, draw: &mut Draw<'_>, fleet: &Fleet, scoped: bool) -> Value {
    let mut policy = Map::new();
    let mut set = |field: &str, value: Value| drop(policy.insert(field.to_owned(), value));
    let shape = rng.random_range(0..10);
    let all = fleet.members.len();
    // The members that a policy names: a random selection, but at least one.
    let some = some_of(rng, &fleet.members);
    match shape {
        0..=2 if draw.may(Feature::SpreadConstraints) => {
            let wanted = rng.random_range(1..=some.len());
            let most = rng.random_range(wanted..=some.len());
            set("spread", json!({"cluster": {"min": wanted, "max": most}}));
            if some.len() < all || rng.random_bool(0.3) {
                set("clusters", json!(some));
            }
            set("scheduling", json!("Duplicated"));
        }
        3 | 4 if !scoped && draw.may(Feature::StaticWeights) => {
            let weights: Map<String, Value> =
                some.iter().map(|member| (member.clone(), json!(rng.random_range(1..=3)))).collect_sorted();
            set("clusters", json!(some));
            set("scheduling", json!({"Divided": {"weights": weights}}));
        }
        5 if !scoped && draw.may(Feature::WeightsByRoom) => {
            set("scheduling", json!(one_of(rng, &["ByRoom", "Aggregated"])));
        }
        6 if draw.may(Feature::AffinityGroups) => {
            let split = rng.random_range(1..=all.saturating_sub(1).max(1));
            let (home, away) = fleet.members.split_at(split.min(all - 1).max(1));
            let mut groups = vec![json!({"name": "home", "clusters": home})];
            groups.extend((!away.is_empty()).then(|| json!({"name": "away", "clusters": away})));
            set("groups", json!(groups));
            set("scheduling", json!("Duplicated"));
        }
        7 if !fleet.zones.is_empty()
            && draw.may(Feature::SpreadConstraints)
            && draw.may(Feature::SpreadOverRegions) =>
        {
            let regions = rng.random_range(1..=2);
            let over =
                if draw.may(Feature::SpreadOverZones) { *one_of(rng, &["region", "zone"]) } else { "region" };
            set(
                "spread",
                json!({over: {"min": regions, "max": regions}, "cluster": {"min": regions, "max": all}}),
            );
            set("scheduling", json!("Duplicated"));
        }
        8 if !fleet.zones.is_empty() && draw.may(Feature::FieldAffinity) => {
            set("fields", json!([{"field": "zone", "in": ["z1"]}]));
            set("scheduling", json!("Duplicated"));
        }
        _ => {
            if rng.random_bool(0.3) && all > 1 {
                set("exclude", json!([fleet.any_member(rng)]));
            }
            set("scheduling", json!("Duplicated"));
        }
    }
    if let Some(tolerations) = tolerations(rng) {
        set("tolerations", tolerations);
    }
    Value::Object(policy)
}

/// The keys of taints that users add.
pub(super) const MAINTAINED: [&str; 2] = ["example.com/maintenance", "example.com/slow-disk"];

/// How long the workload stays in a member that fails, or `None` for the defaults of the target.
fn tolerations(rng: &mut Stream) -> Option<Value> {
    let seconds = match rng.random_range(0..10) {
        0..=4 => return None,
        5 => {
            let mut lasts = || format!("{}s", rng.random_range(5..=120));
            return Some(
                MAINTAINED.map(|key| json!({"key": key, "effect": "NoExecute", "for": lasts()})).into(),
            );
        }
        6 => 0,
        7 | 8 => rng.random_range(1..=300),
        _ => return Some(json!([{"key": "not-ready", "effect": "NoExecute"}])),
    };
    let lasts = format!("{seconds}s");
    let each = |key: &str| json!({"key": key, "effect": "NoExecute", "for": lasts});
    Some(json!([each("not-ready"), each("unreachable")]))
}

/// A random selection of `all` in its order, with at least one element.
fn some_of(rng: &mut Stream, all: &[String]) -> Vec<String> {
    let mut some: Vec<String> = all.iter().filter(|_| rng.random_bool(0.7)).cloned().collect();
    if some.is_empty() {
        some.push(one_of(rng, all).clone());
    }
    some
}
