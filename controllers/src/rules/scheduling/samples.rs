//! Objects that several tests of the rules share: a workload, and two placements of it.

use serde_json::{Value, json};

use crate::api::ResourceBindingSpec;

/// A Deployment that is placed on `targets` and is leaving the others.
pub(super) fn binding(
    placement: &Value,
    replicas: i32,
    targets: &[(&str, i32)],
    leaving: &[&str],
) -> ResourceBindingSpec {
    let clusters: Vec<Value> =
        targets.iter().map(|(name, replicas)| json!({"name": name, "replicas": replicas})).collect();
    let task =
        |name: &&str| json!({"fromCluster": name, "reason": "TaintUntolerated", "producer": "TaintManager"});
    serde_json::from_value(json!({
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
        "replicas": replicas, "placement": placement, "clusters": clusters,
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
