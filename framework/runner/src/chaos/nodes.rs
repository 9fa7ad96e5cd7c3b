//! The cluster with nodes of a drawn scenario, the pods that run in it, and what strikes nodes.

use std::collections::BTreeMap;

use capsize_clock::{Seed, Stream};
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::draw::{Draw, one_of};
use super::faults::{kill, victim};
use super::fleet::Fleet;
use super::style::Style;
use super::workloads::MAINTAINED;
use capsize_judge::profile::Feature;

/// A kind of fault: how one of it is drawn.
type DrawFault = fn(&mut Stream, &Fleet) -> Value;

/// All kinds that strike nodes.
pub(super) const KINDS: [DrawFault; 10] =
    [silence, silence, partition, condition, skew, kill, taint, delete_node, cordon, relabel];

/// The cluster as a scenario has it, what faults may strike in it, and the steps that make its pods.
pub(super) fn draw(seed: Seed, draw: &mut Draw<'_>) -> (Value, Fleet, Vec<Value>) {
    let chance = &mut seed.stream("cluster");
    let (zones, largest) = match draw.style {
        Style::Lite => (0..=2, 3),
        Style::Swarm | Style::Graft => (0..=3, 5),
        Style::Storm => (2..=3, 8),
    };
    let sizes: BTreeMap<String, u64> = ["a", "b", "c"]
        .into_iter()
        .take(chance.random_range(zones))
        .map(|zone| (zone.to_owned(), chance.random_range(1..=largest)))
        .collect();
    let alone = if sizes.is_empty() { chance.random_range(2..=largest + 1) } else { 0 };
    let mut fleet = Fleet::of_nodes(alone, &sizes);
    let mut shape = if sizes.is_empty() { json!({"nodes": alone}) } else { json!({"zones": sizes}) };
    let flags = flags(chance, draw);
    if !flags.is_empty() {
        shape["flags"] = json!(flags);
    }
    if chance.random_bool(0.2) && draw.may(Feature::ExcludesByLabel) {
        let excluded = fleet.members.iter().filter(|_| chance.random_bool(0.4));
        let label = json!({"node.kubernetes.io/exclude-disruption": ""});
        let labels: Map<String, Value> = excluded.map(|node| (node.clone(), label.clone())).collect();
        if !labels.is_empty() {
            shape["labels"] = json!(labels);
        }
    }
    let given = pods(&mut seed.stream("pods"), draw.style, &mut fleet);
    (shape, fleet, given)
}

/// Rates and thresholds that are not as the target has them.
fn flags(chance: &mut Stream, draw: &Draw<'_>) -> Map<String, Value> {
    let mut flags = Map::new();
    if draw.profile.zones.is_none() || chance.random_bool(0.5) {
        return flags;
    }
    let choices: [(&str, &[f64]); 4] = [
        ("nodeEvictionRate", &[0.05, 0.2, 1.0]),
        ("secondaryNodeEvictionRate", &[0.02, 0.05]),
        ("largeClusterSizeThreshold", &[2.0, 4.0]),
        ("unhealthyZoneThreshold", &[0.3, 0.7, 0.9]),
    ];
    for (flag, values) in choices {
        if chance.random_bool(0.5) {
            flags.insert(flag.to_owned(), json!(one_of(chance, values)));
        }
    }
    flags
}

fn pods(chance: &mut Stream, style: Style, fleet: &mut Fleet) -> Vec<Value> {
    let count = match style {
        Style::Lite => 1..=3,
        Style::Swarm | Style::Graft => 1..=5,
        Style::Storm => 2..=6,
    };
    let mut steps = Vec::new();
    for number in 1..=chance.random_range(count) {
        let name = format!("w{number}");
        let kind = *one_of(
            chance,
            &["Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Pod", "StaticPod"],
        );
        let mut pods = json!({"name": name, "kind": kind});
        match kind {
            "Deployment" | "StatefulSet" => pods["replicas"] = json!(chance.random_range(1..=8)),
            "DaemonSet" => {}
            _ => pods["on"] = json!([fleet.any_member(chance)]),
        }
        let tolerations: Vec<Value> = (0..chance.random_range(0..=2)).map(|_| toleration(chance)).collect();
        if !tolerations.is_empty() {
            pods["tolerations"] = json!(tolerations);
        }
        steps.push(json!({"pods": pods}));
        fleet.workloads.push(name);
    }
    steps
}

/// A toleration of some taint, or of all, for some time.
fn toleration(chance: &mut Stream) -> Value {
    let mut toleration = json!({"effect": "NoExecute"});
    let key = *one_of(chance, &["not-ready", "unreachable", MAINTENANCE, MAINTENANCE, RESERVED, ""]);
    if !key.is_empty() {
        toleration["key"] = json!(key);
    }
    match chance.random_range(0..6) {
        0 => {}
        1 => toleration["seconds"] = json!(-5),
        2 => toleration["seconds"] = json!(0),
        _ => toleration["seconds"] = json!(chance.random_range(1..=200)),
    }
    toleration
}

const MAINTENANCE: &str = MAINTAINED[0];
const RESERVED: &str = MAINTAINED[1];

fn silence(chance: &mut Stream, fleet: &Fleet) -> Value {
    fleet.hit("silence", &victim(chance, fleet))
}

fn partition(chance: &mut Stream, fleet: &Fleet) -> Value {
    fleet.hit("partition", &victim(chance, fleet))
}

fn condition(chance: &mut Stream, fleet: &Fleet) -> Value {
    let is = one_of(chance, &["NotReady", "NotReady", "MemoryPressure", "DiskPressure", "PIDPressure"]);
    json!({"condition": {"node": victim(chance, fleet), "is": is}})
}

fn skew(chance: &mut Stream, fleet: &Fleet) -> Value {
    let (way, by) = (*one_of(chance, &["ahead", "behind"]), one_of(chance, &["5s", "30s", "5m"]));
    json!({"skew": {"node": victim(chance, fleet), way: by}})
}

fn taint(chance: &mut Stream, fleet: &Fleet) -> Value {
    let key = one_of(chance, &[MAINTENANCE, MAINTENANCE, RESERVED]);
    let effect = one_of(chance, &["NoSchedule", "NoExecute", "NoExecute", "PreferNoSchedule"]);
    json!({"taint": {"node": victim(chance, fleet), "key": key, "effect": effect}})
}

fn delete_node(chance: &mut Stream, fleet: &Fleet) -> Value {
    json!({"deleteMember": victim(chance, fleet)})
}

fn cordon(chance: &mut Stream, fleet: &Fleet) -> Value {
    change(chance, fleet, &json!({"spec": {"unschedulable": true}}))
}

fn relabel(chance: &mut Stream, fleet: &Fleet) -> Value {
    let key = *one_of(chance, &["kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os"]);
    change(chance, fleet, &json!({"metadata": {"labels": {key: "other"}}}))
}

/// A person changes a Node for a while.
fn change(chance: &mut Stream, fleet: &Fleet, how: &Value) -> Value {
    let mut object =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": fleet.any_member(chance)}});
    for (field, value) in how.as_object().into_iter().flatten() {
        match object.get_mut(field).and_then(Value::as_object_mut) {
            Some(there) => there.extend(value.as_object().cloned().unwrap_or_default()),
            None => object[field] = value.clone(),
        }
    }
    json!({"apply": {"to": "controlPlane", "object": object}})
}
