//! What an object in a member says about itself: the part of its status that is reported, and its health.
//!
//! karmada-io/karmada `pkg/resourceinterpreter/default/native/{healthy,reflectstatus}.go`; `generation` and
//! `observedGeneration` are reported as from 1.10, so that a stale report can be told from a fresh one.

use serde_json::{Map, Value};

use crate::api::Health;

const WORKLOAD_FIELDS: [&str; 6] = [
    "replicas",
    "readyReplicas",
    "updatedReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "observedGeneration",
];

/// The part of the object's status that goes up to the control plane: of a workload its numbers, of anything else
/// all of it. Zeros are left out.
#[must_use]
pub fn reflected_status(kind: &str, object: &Value) -> Option<Map<String, Value>> {
    let status = object.get("status").and_then(Value::as_object);
    if !matches!(kind, "Deployment" | "StatefulSet") {
        return status.cloned();
    }
    let mut reflected: Map<String, Value> = WORKLOAD_FIELDS
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), status?.get(*field)?.clone())))
        .filter(|(_, value)| value.as_i64() != Some(0))
        .collect();
    if let Some(generation) = object.pointer("/metadata/generation") {
        reflected.insert("generation".into(), generation.clone());
    }
    Some(reflected)
}

/// Whether the object does its work. Kinds about which nothing is known do, as from 1.12.
#[must_use]
pub fn health(kind: &str, object: &Value) -> Health {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64).unwrap_or_default();
    let observed = number("/status/observedGeneration") >= number("/metadata/generation");
    let condition = |type_: &str| {
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        conditions.is_some_and(|all| all.iter().any(|one| one["type"] == type_ && one["status"] == "True"))
    };
    let healthy = match kind {
        "Deployment" | "StatefulSet" => {
            let wanted = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
            let running = ["replicas", "updatedReplicas", "readyReplicas"];
            observed && running.iter().all(|field| number(&format!("/status/{field}")) == wanted)
        }
        "DaemonSet" => {
            let wanted = number("/status/desiredNumberScheduled");
            observed
                && number("/status/updatedNumberScheduled") >= wanted
                && number("/status/numberAvailable") >= wanted
        }
        "Pod" => {
            object.pointer("/status/phase").is_some_and(|phase| phase == "Succeeded") || condition("Ready")
        }
        "PersistentVolumeClaim" => object.pointer("/status/phase").is_some_and(|phase| phase == "Bound"),
        _ => true,
    };
    if healthy { Health::Healthy } else { Health::Unhealthy }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(generation: i64, replicas: i64, status: &Value) -> Value {
        json!({"metadata": {"generation": generation}, "spec": {"replicas": replicas}, "status": status})
    }

    #[test]
    fn a_workload_is_healthy_when_all_of_it_is_new_and_ready() {
        let all = |observed: i64, count: i64| {
            json!({"observedGeneration": observed, "replicas": count, "updatedReplicas": count,
                "readyReplicas": count, "availableReplicas": count})
        };
        let cases = [
            ("all ready", deployment(1, 2, &all(1, 2)), Health::Healthy),
            ("nothing yet", deployment(1, 2, &json!({})), Health::Unhealthy),
            ("scaled, not looked at yet", deployment(2, 2, &all(1, 2)), Health::Unhealthy),
            ("scaled, not there yet", deployment(2, 3, &all(2, 2)), Health::Unhealthy),
            ("scaled to zero", deployment(1, 0, &json!({"observedGeneration": 1})), Health::Healthy),
            (
                "one not ready",
                deployment(
                    1,
                    2,
                    &json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2,
                    "readyReplicas": 1}),
                ),
                Health::Unhealthy,
            ),
            (
                "the old ones are still there",
                deployment(
                    1,
                    2,
                    &json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 2,
                    "readyReplicas": 3}),
                ),
                Health::Unhealthy,
            ),
        ];
        for (about, object, expected) in cases {
            assert_eq!(health("Deployment", &object), expected, "{about}");
        }
    }

    #[test]
    fn other_kinds_have_rules_of_their_own_or_none() {
        let cases = [
            (
                "Pod",
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                Health::Healthy,
            ),
            ("Pod", json!({"status": {"phase": "Pending"}}), Health::Unhealthy),
            ("Pod", json!({"status": {"phase": "Succeeded"}}), Health::Healthy),
            ("PersistentVolumeClaim", json!({"status": {"phase": "Bound"}}), Health::Healthy),
            ("PersistentVolumeClaim", json!({}), Health::Unhealthy),
            ("ConfigMap", json!({"data": {}}), Health::Healthy),
        ];
        for (kind, object, expected) in cases {
            assert_eq!(health(kind, &object), expected, "{kind} {object}");
        }
    }

    #[test]
    fn a_workloads_report_is_its_numbers_without_zeros() {
        let object = deployment(
            3,
            2,
            &json!({"observedGeneration": 2, "replicas": 2, "readyReplicas": 0, "conditions": []}),
        );
        let expected = json!({"generation": 3, "observedGeneration": 2, "replicas": 2});
        assert_eq!(reflected_status("Deployment", &object).map(Value::Object), Some(expected));
        assert_eq!(reflected_status("ConfigMap", &json!({"data": {}})), None);
    }
}
