//! Which part of an object's status is reported from a member to the control plane.
//!
//! karmada-io/karmada v1.18.2 `pkg/resourceinterpreter/default/native/reflectstatus.go`; `generation`,
//! `observedGeneration` and `resourceTemplateGeneration` are reported as from 1.10, so that a stale report can be
//! distinguished from a current one. Here the first two are reported in every release; the third if the copy has it.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use crate::Behaviour;
use crate::api::ANNOTATION_TEMPLATE_GENERATION;

/// The fields of the status that a kind reports.
struct ReportedFields {
    /// Fields that are left out if they are zero or absent.
    some: &'static [&'static str],
    /// Numbers that are reported even if they are zero.
    always: &'static [&'static str],
    /// Whether the generation of the object is reported.
    generation: bool,
}

/// The fields that a kind reports; `None`: all.
fn reported(behaviour: Behaviour, kind: &str) -> Option<ReportedFields> {
    let (some, always, generation): (&[_], &[_], _) = match kind {
        "Deployment" => (
            &[
                "replicas",
                "readyReplicas",
                "updatedReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "observedGeneration",
            ],
            &[],
            true,
        ),
        "ReplicaSet" if behaviour.interprets_replica_sets => {
            (&["readyReplicas", "availableReplicas", "observedGeneration"], &["replicas"], true)
        }
        "StatefulSet" => (
            &["readyReplicas", "currentReplicas", "updatedReplicas", "observedGeneration"],
            &["replicas", "availableReplicas"],
            true,
        ),
        "DaemonSet" => (
            &["updatedNumberScheduled", "numberAvailable", "numberUnavailable", "observedGeneration"],
            &["currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"],
            true,
        ),
        "Job" => {
            (&["active", "succeeded", "failed", "conditions", "startTime", "completionTime"], &[], false)
        }
        "Service" => (&["loadBalancer"], &[], false),
        "PodDisruptionBudget" => (
            &["disruptedPods"],
            &["disruptionsAllowed", "expectedPods", "desiredHealthy", "currentHealthy"],
            false,
        ),
        "HorizontalPodAutoscaler" => (&["currentReplicas"], &["desiredReplicas"], false),
        _ => return None,
    };
    Some(ReportedFields { some, always, generation })
}

/// Returns the part of the object's status that is reported to the control plane.
/// All of it is reported for unknown kinds. A Service reports its status only if it has a load balancer
/// (`reflectServiceStatus`, in every release).
#[must_use]
pub fn reflected_status(behaviour: Behaviour, kind: &str, object: &Value) -> Option<Map<String, Value>> {
    let status = object.get("status").and_then(Value::as_object);
    if kind == "Service" && object["spec"]["type"] != "LoadBalancer" {
        return None;
    }
    let Some(ReportedFields { some, always, generation }) = reported(behaviour, kind) else {
        return status.cloned();
    };
    if status.is_none() && !generation {
        return None;
    }
    let field = |field: &str| status.and_then(|status| status.get(field)).filter(|value| **value != 0);
    let mut reflected: Map<String, Value> =
        some.iter().filter_map(|name| Some(((*name).to_owned(), field(name)?.clone()))).collect_sorted();
    let numbers = always.iter().filter(|_| status.is_some());
    reflected.extend(numbers.map(|name| ((*name).to_owned(), field(name).cloned().unwrap_or(json!(0)))));
    if generation {
        let metadata = &object["metadata"];
        let of_template = metadata["annotations"][ANNOTATION_TEMPLATE_GENERATION].as_str();
        let of_template = of_template.and_then(|text| text.parse::<i64>().ok()).map(Value::from);
        let both = [
            ("generation", metadata.get("generation").cloned()),
            ("resourceTemplateGeneration", of_template),
        ];
        reflected.extend(both.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    Some(reflected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_set_reports_all_of_its_status_until_1_15() {
        let object = json!({"metadata": {"generation": 2}, "status": {"replicas": 0, "readyReplicas": 0,
            "fullyLabeledReplicas": 1, "observedGeneration": 2}});
        let cases = [
            ("1.15", object["status"].clone()),
            ("1.16", json!({"replicas": 0, "observedGeneration": 2, "generation": 2})),
        ];
        for (release, expected) in cases {
            let reported = reflected_status(Behaviour::of(release), "ReplicaSet", &object).map(Value::Object);
            assert_eq!(reported, Some(expected), "{release}");
        }
    }

    #[test]
    fn each_kind_reports_what_the_control_plane_adds_up() {
        let cases = [
            (
                "Deployment",
                json!({"metadata": {"generation": 3}, "status": {"observedGeneration": 2, "replicas": 2,
                    "readyReplicas": 0, "conditions": []}}),
                Some(json!({"generation": 3, "observedGeneration": 2, "replicas": 2})),
            ),
            (
                "Deployment",
                json!({"metadata": {"generation": 1, "annotations": {"resourcetemplate.karmada.io/generation": "2"}},
                    "status": {}}),
                Some(json!({"generation": 1, "resourceTemplateGeneration": 2})),
            ),
            (
                "StatefulSet",
                json!({"metadata": {"generation": 1}, "status": {"replicas": 2, "currentRevision": "a"}}),
                Some(json!({"generation": 1, "replicas": 2, "availableReplicas": 0})),
            ),
            (
                "DaemonSet",
                json!({"metadata": {"generation": 1}, "status": {"desiredNumberScheduled": 1, "numberAvailable": 1}}),
                Some(json!({"generation": 1, "desiredNumberScheduled": 1, "numberAvailable": 1,
                    "currentNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0})),
            ),
            (
                "Job",
                json!({"status": {"active": 1, "succeeded": 0, "uncountedTerminatedPods": {}}}),
                Some(json!({"active": 1})),
            ),
            ("Job", json!({}), None),
            (
                "Service",
                json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}, "conditions": []}}),
                Some(json!({"loadBalancer": {}})),
            ),
            ("Service", json!({"spec": {"type": "ClusterIP"}, "status": {"loadBalancer": {}}}), None),
            ("Service", json!({"status": {"loadBalancer": {}}}), None),
            (
                "HorizontalPodAutoscaler",
                json!({"status": {"currentReplicas": 0, "desiredReplicas": 0, "conditions": []}}),
                Some(json!({"desiredReplicas": 0})),
            ),
            (
                "PodDisruptionBudget",
                json!({"status": {"currentHealthy": 0, "desiredHealthy": 1, "conditions": []}}),
                Some(
                    json!({"currentHealthy": 0, "desiredHealthy": 1, "disruptionsAllowed": 0, "expectedPods": 0}),
                ),
            ),
            ("Thing", json!({"status": {"phase": "Good"}}), Some(json!({"phase": "Good"}))),
            ("ConfigMap", json!({"data": {}}), None),
        ];
        for (kind, object, expected) in cases {
            assert_eq!(
                reflected_status(Behaviour::default(), kind, &object).map(Value::Object),
                expected,
                "{kind}"
            );
        }
    }
}
