//! Tests the section `delivery` of a dialect.
//! The items of a list come and go, and the evictions end with the items.

#![expect(clippy::expect_used, reason = "a test fails where it cannot go on")]

use std::fmt::Write as _;

use capsize_dialect::Dialect;
use capsize_history::Reader;
use capsize_history::dialect::Dialect as Fold;
use capsize_history::facts::Change;
use serde_json::{Value, json};

/// A dialect with zones, apps, and bundles that list the manifests for one zone.
const DIALECT: &str = "
dialect: zones
version: 1
domain: zones.example.com
watch:
  controlPlane:
    zones: {resources: [zones.example.com/v1/zones]}
    apps: {resources: [zones.example.com/v1/apps]}
    bundles: {resources: [zones.example.com/v1/bundles]}
member:
  of: zones
  name: object.metadata.name
  pulls: \"true\"
  taints:
    each: object.?spec.?taints.orValue([])
    as: taint
    key: taint.key
    effect: taint.effect
workload:
  of: apps
  key: {kind: object.spec.kind, namespace: object.metadata.namespace, name: object.metadata.name}
  placeable: \"true\"
  assignment: {members: object.spec.zones}
  evictions: leavesWhileTainted
";

const DELIVERY: &str = "
delivery:
  of: bundles
  member: object.spec.zone
  each: object.spec.manifests
  as: manifest
  key: {kind: manifest.kind, namespace: manifest.metadata.namespace, name: manifest.metadata.name}
";

/// Returns the facts about deliveries and evictions that these versions of objects yield.
/// The result has one list for each version.
fn facts(versions: &[Value]) -> Vec<Vec<String>> {
    let dialect =
        Dialect::parse("zones.yaml", &format!("{DIALECT}{DELIVERY}")).map_err(|error| error.to_string());
    let mut fold = Fold::new(&dialect.expect("the dialect has no mistake").kind());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}",
        json!({"at": 0.0, "mark": {"history": "v1", "implementation": "zones", "version": "1"}})
    );
    for (place, object) in versions.iter().enumerate() {
        let mut object = object.clone();
        object["apiVersion"] = "zones.example.com/v1".into();
        object["metadata"]["resourceVersion"] = (place + 1).to_string().into();
        let event = if object["metadata"]["generation"] == 2 { "MODIFIED" } else { "ADDED" };
        let line = json!({"at": place + 1, "on": "control-plane", "event": event, "object": object});
        let _ = writeln!(text, "{line}");
    }
    let described = |change: &Change| match change {
        Change::Delivered { workload, member, .. } => Some(format!("{} to {member}", workload.name())),
        Change::DeliveryGone { workload, member } => Some(format!("{} gone from {member}", workload.name())),
        Change::EvictionBegan { task, .. } => Some(format!("eviction from {} begins", task.member)),
        Change::EvictionEnded { task, .. } => Some(format!("eviction from {} ends", task.member)),
        _ => None,
    };
    let entries =
        Reader::new("history", text.as_bytes()).map(|entry| entry.expect("the history has no mistake"));
    let facts =
        entries.map(|entry| fold.observe(&entry).iter().filter_map(|fact| described(&fact.change)).collect());
    facts.skip(1).collect()
}

fn zone(name: &str, taints: Value) -> Value {
    json!({"kind": "Zone", "metadata": {"name": name}, "spec": {"taints": taints}})
}

fn bundle(generation: u64, zone: &str, names: &[&str]) -> Value {
    let manifest = |name: &&str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "default", "name": name}, "spec": {"replicas": 1}});
    let manifests: Vec<Value> = names.iter().map(manifest).collect();
    json!({"kind": "Bundle", "metadata": {"name": "of-a", "namespace": "default", "generation": generation},
        "spec": {"zone": zone, "manifests": manifests}})
}

fn app(generation: u64, zones: &[&str]) -> Value {
    json!({"kind": "App", "metadata": {"name": "web", "namespace": "default", "generation": generation},
        "spec": {"kind": "Deployment", "zones": zones}})
}

#[test]
fn a_manifest_that_leaves_the_list_is_gone() {
    let found =
        facts(&[bundle(1, "a", &["web", "db"]), bundle(2, "a", &["db"]), bundle(2, "a", &["db", "web"])]);
    assert_eq!(found, [vec!["web to a", "db to a"], vec!["web gone from a"], vec!["web to a"]]);
}

#[test]
fn a_list_that_moves_to_another_member_is_gone_from_the_first() {
    let found = facts(&[bundle(1, "a", &["web"]), bundle(2, "b", &["web"])]);
    assert_eq!(found, [vec!["web to a"], vec!["web gone from a", "web to b"]]);
}

#[test]
fn a_derived_eviction_ends_when_the_manifest_leaves_the_list() {
    let taint = json!([{"key": "zones.example.com/lost", "effect": "NoExecute"}]);
    let found = facts(&[
        zone("a", taint),
        zone("b", json!([])),
        app(1, &["a"]),
        bundle(1, "a", &["web"]),
        app(2, &["b"]),
        bundle(2, "a", &[]),
    ]);
    let ends = ["web gone from a", "eviction from a ends"];
    assert_eq!(found[3..], [vec!["web to a"], vec!["eviction from a begins"], ends.to_vec()]);
}

#[test]
fn derived_evictions_without_manifests_are_refused_with_their_place() {
    let error =
        Dialect::parse("zones.yaml", DIALECT).err().expect("the section `delivery` is absent").to_string();
    assert!(error.contains("zones.yaml:24:14") && error.contains("`delivery`"), "{error}");
}
