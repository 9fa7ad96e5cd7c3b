//! The objects that belong to a drawn workload, as far as a step says them.

use serde_json::{Value, json};

/// Its template.
pub(super) fn deployment(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// Its policy.
pub(super) fn policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// The policy of one that belongs to no namespace.
pub(super) fn cluster_policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
        "metadata": {"name": name}, "spec": spec,
    })
}
