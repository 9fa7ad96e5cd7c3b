//! The objects of a drawn workload, with the fields that a step changes.

use serde_json::{Value, json};

/// The template of the workload.
pub(super) fn deployment(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// The policy of the workload.
pub(super) fn policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// The policy of a cluster-scoped workload.
pub(super) fn cluster_policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
        "metadata": {"name": name}, "spec": spec,
    })
}
