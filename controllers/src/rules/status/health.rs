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
            ("all ready", deployment(1, 2, &all(1, 2)), Health::Healthy),
            ("nothing yet", deployment(1, 2, &json!({})), Health::Unhealthy),
            ("scaled, not looked at yet", deployment(2, 2, &all(1, 2)), Health::Unhealthy),
            ("scaled, not there yet", deployment(2, 3, &all(2, 2)), Health::Unhealthy),
            ("scaled to zero", deployment(1, 0, &json!({"observedGeneration": 1})), Health::Healthy),
            ("one not available", counts(2, 2, 2, 1), Health::Unhealthy),
            ("ready, and not available for long enough", counts(2, 2, 2, 0), Health::Unhealthy),
            ("one is still old", counts(2, 2, 1, 2), Health::Unhealthy),
            ("an old one is left", counts(2, 3, 2, 3), Health::Healthy),
            ("a new one too many, which is not available", counts(2, 3, 3, 2), Health::Unhealthy),
        ];
        for (about, object, expected) in cases {
            for kind in ["Deployment", "StatefulSet"] {
                assert_eq!(of("apps/v1", kind, object.clone()), expected, "{kind}: {about}");
            }
        }
    }

    #[test]
    fn what_is_partly_well_or_well_by_an_old_account_is_not() {
        let cases = [
            (
                "DaemonSet",
                json!({"status": {"desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberAvailable": 2}}),
                Health::Unhealthy,
            ),
            (
                "DaemonSet",
                json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "desiredNumberScheduled": 1,
                    "updatedNumberScheduled": 1, "numberAvailable": 1}}),
                Health::Unhealthy,
            ),
            (
                "DaemonSet",
                json!({"status": {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}}),
                Health::Healthy,
            ),
            (
                "Pod",
                json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}, {"type": "Initialized", "status": "True"}]}}),
                Health::Unhealthy,
            ),
            (
                "ClusterPolicy",
                json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Waiting"}]}}),
                Health::Unhealthy,
            ),
        ];
        for (kind, object, expected) in cases {
            let (version, _) = WITH_HEALTH.iter().find(|(_, known)| *known == kind).unwrap();
            assert_eq!(of(version, kind, object.clone()), expected, "{kind} {object}");
        }
    }

    #[test]
    fn other_kinds_have_rules_of_their_own_or_none() {
        let cases = [
            (
                "Pod",
                json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
                Health::Healthy,
            ),
            ("Pod", json!({"status": {"phase": "Running"}}), Health::Unhealthy),
            ("Pod", json!({"status": {"phase": "Pending"}}), Health::Unhealthy),
            ("Pod", json!({"status": {"phase": "Succeeded"}}), Health::Healthy),
            ("PersistentVolumeClaim", json!({"status": {"phase": "Bound"}}), Health::Healthy),
            ("PersistentVolumeClaim", json!({}), Health::Unhealthy),
            (
                "ReplicaSet",
                json!({"spec": {"replicas": 2}, "status": {"availableReplicas": 2}}),
                Health::Healthy,
            ),
            (
                "ReplicaSet",
                json!({"spec": {"replicas": 2}, "status": {"availableReplicas": 1}}),
                Health::Unhealthy,
            ),
            (
                "DaemonSet",
                json!({"status": {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1}}),
                Health::Unhealthy,
            ),
            ("Service", json!({"spec": {"type": "ClusterIP"}}), Health::Healthy),
            ("Service", json!({"spec": {"type": "LoadBalancer"}}), Health::Unhealthy),
            (
                "Service",
                json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}),
                Health::Healthy,
            ),
            ("Ingress", json!({"status": {"loadBalancer": {}}}), Health::Unhealthy),
            (
                "PodDisruptionBudget",
                json!({"status": {"currentHealthy": 1, "desiredHealthy": 2}}),
                Health::Unhealthy,
            ),
            ("ConfigMap", json!({"data": {}}), Health::Healthy),
            ("ClusterPolicy", json!({"status": {"ready": false}}), Health::Unhealthy),
            ("ClusterPolicy", json!({"status": {"ready": true}}), Health::Healthy),
            ("ClusterPolicy", json!({}), Health::Unhealthy),
            (
                "ClusterPolicy",
                json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded"}]}}),
                Health::Healthy,
            ),
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
        assert_eq!(of("apps/v1", "Deployment", silent.clone()), Health::Unhealthy);
        assert_eq!(of("example.com/v1", "Deployment", silent), Health::Healthy);
    }
}
