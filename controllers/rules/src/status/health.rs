//! Whether an object in a member is healthy, by its own status.
//!
//! karmada-io/karmada v1.18.2 `pkg/resourceinterpreter/default/native/healthy.go`. Of the kinds of other projects
//! (`default/thirdparty`), only the cluster-scoped one is supported.

use serde_json::Value;

use crate::api::Health;

/// The kinds whose objects can be unhealthy.
const WITH_HEALTH: [(&str, &str); 10] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "DaemonSet"),
    ("v1", "Service"),
    ("networking.k8s.io/v1", "Ingress"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("policy/v1", "PodDisruptionBudget"),
    ("kyverno.io/v1", "ClusterPolicy"),
];

/// Whether objects of the kind can be unhealthy.
#[must_use]
pub fn has_health(api_version: &str, kind: &str) -> bool {
    WITH_HEALTH.contains(&(api_version, kind))
}

/// Returns the health of an object.
/// Objects of unknown kinds are healthy (as from 1.12), also those without a status (as from 1.9, #4453). Workloads are
/// healthy while enough new replicas are available, whether or not old ones are left (in every release).
#[must_use]
pub fn health(object: &Value) -> Health {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let known = WITH_HEALTH.iter().find(|known| **known == (text("apiVersion"), text("kind")));
    let kind = known.map_or("", |(_, kind)| kind);
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64).unwrap_or_default();
    let wanted = || object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    let observed = number("/status/observedGeneration") == number("/metadata/generation");
    let healthy = match kind {
        "Deployment" | "StatefulSet" => {
            let updated = number("/status/updatedReplicas");
            observed && updated >= wanted() && number("/status/availableReplicas") >= updated
        }
        "ReplicaSet" => observed && number("/status/availableReplicas") >= wanted(),
        "DaemonSet" => {
            let updated = number("/status/updatedNumberScheduled");
            observed
                && updated >= number("/status/desiredNumberScheduled")
                && number("/status/numberAvailable") >= updated
        }
        "Service" => {
            object.pointer("/spec/type").is_none_or(|kind| kind != "LoadBalancer") || has_address(object)
        }
        "Ingress" => has_address(object),
        "PersistentVolumeClaim" => phase == "Bound",
        "Pod" => phase == "Succeeded" || (phase == "Running" && is_ready(object)),
        "PodDisruptionBudget" => number("/status/currentHealthy") >= number("/status/desiredHealthy"),
        "ClusterPolicy" => match object.pointer("/status/ready").and_then(Value::as_bool) {
            Some(ready) => ready,
            None => has_condition(object, |it| it["type"] == "Ready" && it["reason"] == "Succeeded"),
        },
        _ => true,
    };
    if healthy { Health::Healthy } else { Health::Unhealthy }
}

fn is_ready(object: &Value) -> bool {
    has_condition(object, |condition| condition["type"] == "Ready")
}

/// Whether a matching condition is true.
fn has_condition(object: &Value, meant: impl Fn(&Value) -> bool) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|one| one["status"] == "True" && meant(one)))
}

/// Whether the load balancer has an address or a host name.
fn has_address(object: &Value) -> bool {
    let ingress = object.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
    let given = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    ingress.is_some_and(|all| all.iter().any(|one| given(&one["ip"]) || given(&one["hostname"])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Health::{Healthy, Unhealthy};
    use super::*;

    fn of(api_version: &str, kind: &str, mut object: Value) -> Health {
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        health(&object)
    }

    fn deployment(generation: i64, replicas: i64, status: &Value) -> Value {
        json!({"metadata": {"generation": generation}, "spec": {"replicas": replicas}, "status": status})
    }

    #[test]
    fn a_workload_is_healthy_when_enough_of_it_is_new_and_available() {
        let all = |observed: i64, count: i64| {
            json!({"observedGeneration": observed, "replicas": count, "updatedReplicas": count,
                "readyReplicas": count, "availableReplicas": count})
        };
        let counts = |wanted: i64, replicas: i64, updated: i64, available: i64| {
            let status = json!({"observedGeneration": 1, "replicas": replicas, "updatedReplicas": updated,
                "readyReplicas": replicas, "availableReplicas": available});
            deployment(1, wanted, &status)
        };
        let cases = [
            ("all ready", deployment(1, 2, &all(1, 2)), Healthy),
            ("nothing yet", deployment(1, 2, &json!({})), Unhealthy),
            ("scaled, not looked at yet", deployment(2, 2, &all(1, 2)), Unhealthy),
            ("scaled, not there yet", deployment(2, 3, &all(2, 2)), Unhealthy),
            ("scaled to zero", deployment(1, 0, &json!({"observedGeneration": 1})), Healthy),
            ("one not available", counts(2, 2, 2, 1), Unhealthy),
            ("ready, and not available for long enough", counts(2, 2, 2, 0), Unhealthy),
            ("one is still old", counts(2, 2, 1, 2), Unhealthy),
            ("an old one is left", counts(2, 3, 2, 3), Healthy),
            ("a new one too many, which is not available", counts(2, 3, 3, 2), Unhealthy),
        ];
        for (about, object, expected) in cases {
            for kind in ["Deployment", "StatefulSet"] {
                assert_eq!(of("apps/v1", kind, object.clone()), expected, "{kind}: {about}");
            }
        }
    }

    fn daemon_set(desired: i64, updated: i64, available: i64) -> Value {
        json!({"status": {"desiredNumberScheduled": desired, "updatedNumberScheduled": updated,
            "numberAvailable": available}})
    }

    fn running(conditions: &Value) -> Value {
        json!({"status": {"phase": "Running", "conditions": conditions}})
    }

    fn policy(reason: &str) -> Value {
        json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": reason}]}})
    }

    #[test]
    fn what_is_partly_well_or_well_by_an_old_account_is_not() {
        let partly = json!([{"type": "Ready", "status": "False"}, {"type": "Initialized", "status": "True"}]);
        let mut unobserved = daemon_set(1, 1, 1);
        unobserved["metadata"]["generation"] = 2.into();
        unobserved["status"]["observedGeneration"] = 1.into();
        let cases = [
            ("DaemonSet", daemon_set(2, 1, 2), Unhealthy),
            ("DaemonSet", unobserved, Unhealthy),
            ("DaemonSet", daemon_set(2, 2, 2), Healthy),
            ("Pod", running(&partly), Unhealthy),
            ("ClusterPolicy", policy("Waiting"), Unhealthy),
        ];
        for (kind, object, expected) in cases {
            let (version, _) = WITH_HEALTH.iter().find(|(_, known)| *known == kind).unwrap();
            assert_eq!(of(version, kind, object.clone()), expected, "{kind} {object}");
        }
    }

    #[test]
    fn other_kinds_have_rules_of_their_own_or_none() {
        let cases = [
            ("Pod", running(&json!([{"type": "Ready", "status": "True"}])), Healthy),
            ("Pod", json!({"status": {"phase": "Running"}}), Unhealthy),
            ("Pod", json!({"status": {"phase": "Pending"}}), Unhealthy),
            ("Pod", json!({"status": {"phase": "Succeeded"}}), Healthy),
            ("PersistentVolumeClaim", json!({"status": {"phase": "Bound"}}), Healthy),
            ("PersistentVolumeClaim", json!({}), Unhealthy),
            ("ReplicaSet", json!({"spec": {"replicas": 2}, "status": {"availableReplicas": 2}}), Healthy),
            ("ReplicaSet", json!({"spec": {"replicas": 2}, "status": {"availableReplicas": 1}}), Unhealthy),
            ("DaemonSet", daemon_set(2, 2, 1), Unhealthy),
            ("Service", json!({"spec": {"type": "ClusterIP"}}), Healthy),
            ("Service", json!({"spec": {"type": "LoadBalancer"}}), Unhealthy),
            (
                "Service",
                json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}),
                Healthy,
            ),
            ("Ingress", json!({"status": {"loadBalancer": {}}}), Unhealthy),
            ("PodDisruptionBudget", json!({"status": {"currentHealthy": 1, "desiredHealthy": 2}}), Unhealthy),
            ("ConfigMap", json!({"data": {}}), Healthy),
            ("ClusterPolicy", json!({"status": {"ready": false}}), Unhealthy),
            ("ClusterPolicy", json!({"status": {"ready": true}}), Healthy),
            ("ClusterPolicy", json!({}), Unhealthy),
            ("ClusterPolicy", policy("Succeeded"), Healthy),
        ];
        for (kind, object, expected) in cases {
            let known = WITH_HEALTH.iter().find(|(_, known)| *known == kind);
            let version = known.map_or("v1", |(version, _)| version);
            assert_eq!(of(version, kind, object.clone()), expected, "{kind} {object}");
            assert_eq!(has_health(version, kind), kind != "ConfigMap", "{kind}");
        }
    }

    #[test]
    fn a_kind_of_the_same_name_in_another_group_is_another_kind() {
        assert!(has_health("apps/v1", "Deployment"));
        assert!(!has_health("example.com/v1", "Deployment"));
        let silent = deployment(1, 2, &json!({}));
        assert_eq!(of("apps/v1", "Deployment", silent.clone()), Unhealthy);
        assert_eq!(of("example.com/v1", "Deployment", silent), Healthy);
    }
}
