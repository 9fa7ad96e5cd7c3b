//! The workloads of a drawn scenario and their policies. Without faults each finds its place.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::draw::{Draw, one_of};
use super::fleet::Fleet;
use super::style::Style;
use super::workload_options;
use capsize_judge::profile::Feature;

/// The steps that make the workloads; their names go into the fleet.
pub(super) fn draw(chance: &mut Stream, draw: &mut Draw<'_>, fleet: &mut Fleet) -> Vec<Value> {
    let count = match draw.style {
        Style::Lite => 1..=3,
        Style::Swarm | Style::Graft => 1..=6,
        Style::Storm => 2..=8,
    };
    let mut steps = Vec::new();
    for number in 1..=chance.random_range(count) {
        let name = format!("w{number}");
        let scoped = chance.random_bool(0.1);
        let policy = policy(chance, draw, fleet, scoped);
        let mut workload = json!({"name": name, "replicas": chance.random_range(1..=6), "policy": policy});
        if scoped {
            workload["replicas"] = json!(0);
            workload["clusterScoped"] = json!(true);
        } else {
            if chance.random_bool(0.3) {
                workload["cpu"] = json!("250m");
            }
            fleet.workloads.push(name.clone());
        }
        steps.push(json!({"workload": workload}));
        steps.extend(workload_options::draw(chance, draw, fleet, (&name, scoped)));
    }
    steps.extend(workload_options::taint_policy(chance, draw));
    steps
}

fn policy(chance: &mut Stream, draw: &mut Draw<'_>, fleet: &Fleet, scoped: bool) -> Value {
    let mut policy = Map::new();
    let mut set = |field: &str, value: Value| drop(policy.insert(field.to_owned(), value));
    let shape = chance.random_range(0..10);
    let all = fleet.members.len();
    // Those that a policy names; as many as it likes, but one at least.
    let some = some_of(chance, &fleet.members);
    match shape {
        0..=2 if draw.may(Feature::SpreadConstraints) => {
            let wanted = chance.random_range(1..=some.len());
            let most = chance.random_range(wanted..=some.len());
            set("spread", json!({"cluster": {"min": wanted, "max": most}}));
            if some.len() < all || chance.random_bool(0.3) {
                set("clusters", json!(some));
            }
            set("scheduling", json!("Duplicated"));
        }
        3 | 4 if !scoped && draw.may(Feature::StaticWeights) => {
            let weights: Map<String, Value> =
                some.iter().map(|member| (member.clone(), json!(chance.random_range(1..=3)))).collect();
            set("clusters", json!(some));
            set("scheduling", json!({"Divided": {"weights": weights}}));
        }
        5 if !scoped && draw.may(Feature::WeightsByRoom) => {
            set("scheduling", json!(one_of(chance, &["ByRoom", "Aggregated"])));
        }
        6 if draw.may(Feature::AffinityGroups) => {
            let split = chance.random_range(1..=all.saturating_sub(1).max(1));
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
            let regions = chance.random_range(1..=2);
            let over = if draw.may(Feature::SpreadOverZones) {
                *one_of(chance, &["region", "zone"])
            } else {
                "region"
            };
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
            if chance.random_bool(0.3) && all > 1 {
                set("exclude", json!([fleet.any_member(chance)]));
            }
            set("scheduling", json!("Duplicated"));
        }
    }
    if let Some(tolerations) = tolerations(chance) {
        set("tolerations", tolerations);
    }
    Value::Object(policy)
}

/// The keys that people taint members with.
pub(super) const MAINTAINED: [&str; 2] = ["example.com/maintenance", "example.com/slow-disk"];

/// How long it stays where it is when its member fails; nothing where the target's defaults hold.
fn tolerations(chance: &mut Stream) -> Option<Value> {
    let seconds = match chance.random_range(0..10) {
        0..=4 => return None,
        5 => {
            let mut lasts = || format!("{}s", chance.random_range(5..=120));
            return Some(
                MAINTAINED.map(|key| json!({"key": key, "effect": "NoExecute", "for": lasts()})).into(),
            );
        }
        6 => 0,
        7 | 8 => chance.random_range(1..=300),
        _ => return Some(json!([{"key": "not-ready", "effect": "NoExecute"}])),
    };
    let lasts = format!("{seconds}s");
    let each = |key: &str| json!({"key": key, "effect": "NoExecute", "for": lasts});
    Some(json!([each("not-ready"), each("unreachable")]))
}

/// Some of `all`, in their order, and one at least.
fn some_of(chance: &mut Stream, all: &[String]) -> Vec<String> {
    let mut some: Vec<String> = all.iter().filter(|_| chance.random_bool(0.7)).cloned().collect();
    if some.is_empty() {
        some.push(one_of(chance, all).clone());
    }
    some
}
