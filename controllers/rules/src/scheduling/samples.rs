//! Objects that several tests of the rules share: a workload, its placements, and its targets as text.

use serde_json::{Value, json};

use crate::api::{ResourceBindingSpec, TargetCluster};

/// Clusters with their replicas, from a text such as `m1:2 m2:1`.
pub(super) fn targets(text: &str) -> Vec<TargetCluster> {
    let target = |text: &str| {
        let (name, replicas) = text.split_once(':').expect("a target has replicas");
        TargetCluster { name: name.into(), replicas: replicas.parse().expect("they are a number") }
    };
    text.split_whitespace().map(target).collect()
}

/// The same text for these targets.
pub(super) fn shown(targets: &[TargetCluster]) -> String {
    let shown = |target: &TargetCluster| format!("{}:{}", target.name, target.replicas);
    targets.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Affinities with their names and their clusters.
pub(super) type Terms<'a> = &'a [(&'a str, &'a [&'a str])];

/// A placement with these affinities.
pub(super) fn terms(terms: Terms<'_>) -> Value {
    let term = |(name, clusters): &(&str, &[&str])| json!({"affinityName": name, "clusterNames": clusters});
    json!({
        "clusterAffinities": terms.iter().map(term).collect::<Vec<_>>(),
        "replicaScheduling": {"replicaSchedulingType": "Divided"},
    })
}

/// A Deployment that is placed on `placed` and is leaving the others.
pub(super) fn binding(
    placement: &Value,
    replicas: i32,
    placed: &str,
    leaving: &[&str],
) -> ResourceBindingSpec {
    let task =
        |name: &&str| json!({"fromCluster": name, "reason": "TaintUntolerated", "producer": "TaintManager"});
    serde_json::from_value(json!({
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
        "replicas": replicas, "placement": placement, "clusters": targets(placed),
        "gracefulEvictionTasks": leaving.iter().map(task).collect::<Vec<_>>(),
    }))
    .expect("it is a binding")
}

/// A placement with all replicas on each of two of four clusters.
pub(super) fn two_of_four() -> Value {
    json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2", "m3", "m5"]},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    })
}

/// A placement that divides the replicas one to two between `m1` and `m2`.
pub(super) fn one_to_two() -> Value {
    json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2"]},
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": [
                {"targetCluster": {"clusterNames": ["m1"]}, "weight": 1},
                {"targetCluster": {"clusterNames": ["m2"]}, "weight": 2}]}},
    })
}
