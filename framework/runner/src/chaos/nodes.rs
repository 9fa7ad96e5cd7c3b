//! Draws a cluster with nodes, its pods, and the faults of nodes.

use std::collections::BTreeMap;

use capsize_clock::{Seed, Stream};
use capsize_sorted::CollectSorted;
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::draw::{Draw, one_of};
use super::faults::{DrawFault, kill, victim};
use super::fleet::Fleet;
use super::style::Style;
use super::workloads::MAINTAINED;
use capsize_judge::profile::Feature;

/// The kinds of faults for nodes. A kind that stands twice is drawn twice as often.
pub(super) const KINDS: [DrawFault; 10] =
    [silence, silence, partition, condition, skew, kill, taint, delete_node, cordon, relabel];

/// Draws the cluster and the steps that create its pods.
/// The result is the cluster in the form of a scenario, the cluster for drawing faults, and the steps.
pub(super) fn draw(seed: Seed, draw: &mut Draw<'_>) -> (Value, Fleet, Vec<Value>) {
    let rng = &mut seed.stream("cluster");
    let (zones, largest) = match draw.style {
        Style::Lite => (0..=2, 3),
        Style::Swarm | Style::Graft => (0..=3, 5),
        Style::Storm => (2..=3, 8),
    };
    let sizes: BTreeMap<String, u64> = ["a", "b", "c"]
        .into_iter()
        .take(rng.random_range(zones))
        .map(|zone| (zone.to_owned(), rng.random_range(1..=largest)))
        .collect_sorted();
    let alone = if sizes.is_empty() { rng.random_range(2..=largest + 1) } else { 0 };
    let mut fleet = Fleet::of_nodes(alone, &sizes);
    let mut shape = if sizes.is_empty() { json!({"nodes": alone}) } else { json!({"zones": sizes}) };
    let flags = flags(rng, draw);
    if !flags.is_empty() {
        shape["flags"] = json!(flags);
    }
    if rng.random_bool(0.2) && draw.may(Feature::ExcludesByLabel) {
        let excluded = fleet.members.iter().filter(|_| rng.random_bool(0.4));
        let label = json!({"node.kubernetes.io/exclude-disruption": ""});
        let labels: Map<String, Value> = excluded.map(|node| (node.clone(), label.clone())).collect_sorted();
        if !labels.is_empty() {
            shape["labels"] = json!(labels);
        }
    }
    let given = pods(&mut seed.stream("pods"), draw.style, &mut fleet);
    (shape, fleet, given)
}

/// Rates and thresholds that differ from those of the target.
fn flags(rng: &mut Stream, draw: &Draw<'_>) -> Map<String, Value> {
    let mut flags = Map::new();
    if draw.profile.zones.is_none() || rng.random_bool(0.5) {
        return flags;
    }
    let choices: [(&str, &[f64]); 4] = [
        ("nodeEvictionRate", &[0.05, 0.2, 1.0]),
        ("secondaryNodeEvictionRate", &[0.02, 0.05]),
        ("largeClusterSizeThreshold", &[2.0, 4.0]),
        ("unhealthyZoneThreshold", &[0.3, 0.7, 0.9]),
    ];
    for (flag, values) in choices {
        if rng.random_bool(0.5) {
            flags.insert(flag.to_owned(), json!(one_of(rng, values)));
        }
    }
    flags
}

fn pods(rng: &mut Stream, style: Style, fleet: &mut Fleet) -> Vec<Value> {
    let count = match style {
        Style::Lite => 1..=3,
        Style::Swarm | Style::Graft => 1..=5,
        Style::Storm => 2..=6,
    };
    let mut steps = Vec::new();
    for number in 1..=rng.random_range(count) {
        let name = format!("w{number}");
        let kind = *one_of(
            rng,
            &["Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Pod", "StaticPod"],
        );
        let mut pods = json!({"name": name, "kind": kind});
        match kind {
            "Deployment" | "StatefulSet" => pods["replicas"] = json!(rng.random_range(1..=8)),
            "DaemonSet" => {}
            _ => pods["on"] = json!([fleet.any_member(rng)]),
        }
        let tolerations: Vec<Value> = (0..rng.random_range(0..=2)).map(|_| toleration(rng)).collect();
        if !tolerations.is_empty() {
            pods["tolerations"] = json!(tolerations);
        }
        steps.push(json!({"pods": pods}));
        fleet.workloads.push(name);
    }
    steps
}

/// A toleration of one taint or of all taints, for a limited time or for ever.
fn toleration(rng: &mut Stream) -> Value {
    let mut toleration = json!({"effect": "NoExecute"});
    let key = *one_of(rng, &["not-ready", "unreachable", MAINTENANCE, MAINTENANCE, RESERVED, ""]);
    if !key.is_empty() {
        toleration["key"] = json!(key);
    }
    match rng.random_range(0..6) {
        0 => {}
        1 => toleration["seconds"] = json!(-5),
        2 => toleration["seconds"] = json!(0),
        _ => toleration["seconds"] = json!(rng.random_range(1..=200)),
    }
    toleration
}

const MAINTENANCE: &str = MAINTAINED[0];
const RESERVED: &str = MAINTAINED[1];

fn silence(rng: &mut Stream, fleet: &Fleet) -> Value {
    fleet.hit("silence", &victim(rng, fleet))
}

fn partition(rng: &mut Stream, fleet: &Fleet) -> Value {
    fleet.hit("partition", &victim(rng, fleet))
}

fn condition(rng: &mut Stream, fleet: &Fleet) -> Value {
    let is = one_of(rng, &["NotReady", "NotReady", "MemoryPressure", "DiskPressure", "PIDPressure"]);
    json!({"condition": {"node": victim(rng, fleet), "is": is}})
}

fn skew(rng: &mut Stream, fleet: &Fleet) -> Value {
    let (way, by) = (*one_of(rng, &["ahead", "behind"]), one_of(rng, &["5s", "30s", "5m"]));
    json!({"skew": {"node": victim(rng, fleet), way: by}})
}

fn taint(rng: &mut Stream, fleet: &Fleet) -> Value {
    let key = one_of(rng, &[MAINTENANCE, MAINTENANCE, RESERVED]);
    let effect = one_of(rng, &["NoSchedule", "NoExecute", "NoExecute", "PreferNoSchedule"]);
    json!({"taint": {"node": victim(rng, fleet), "key": key, "effect": effect}})
}

fn delete_node(rng: &mut Stream, fleet: &Fleet) -> Value {
    json!({"deleteMember": victim(rng, fleet)})
}

fn cordon(rng: &mut Stream, fleet: &Fleet) -> Value {
    change(rng, fleet, &json!({"spec": {"unschedulable": true}}))
}

fn relabel(rng: &mut Stream, fleet: &Fleet) -> Value {
    let key = *one_of(rng, &["kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os"]);
    change(rng, fleet, &json!({"metadata": {"labels": {key: "other"}}}))
}

/// A user changes a Node for a while.
fn change(rng: &mut Stream, fleet: &Fleet, how: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": fleet.any_member(rng)}});
    for (field, value) in how.as_object().into_iter().flatten() {
        match object.get_mut(field).and_then(Value::as_object_mut) {
            Some(there) => there.extend(value.as_object().cloned().unwrap_or_default()),
            None => object[field] = value.clone(),
        }
    }
    json!({"apply": {"to": "controlPlane", "object": object}})
}
