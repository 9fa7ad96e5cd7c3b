//! The defaults of workloads in the group `apps`, and of replication controllers.

use serde_json::{Value, json};

use super::kinds::{default, objects, times};
use super::{batch, pod};
use crate::kind::object::child;

/// Defaults of a workload in the group `apps`.
pub(super) fn set_defaults(plural: &str, object: &mut Value) {
    let spec = child(object, "spec");
    if plural != "daemonsets" {
        default(spec, "replicas", || 1.into());
    }
    if plural != "replicasets" {
        default(spec, "revisionHistoryLimit", || 10.into());
    }
    let strategy = if plural == "deployments" { "strategy" } else { "updateStrategy" };
    if plural != "replicasets" {
        let strategy = child(spec, strategy);
        default(strategy, "type", || "RollingUpdate".into());
        if strategy["type"] == "RollingUpdate" {
            let rolling = child(strategy, "rollingUpdate");
            match plural {
                "deployments" => {
                    default(rolling, "maxUnavailable", || "25%".into());
                    default(rolling, "maxSurge", || "25%".into());
                }
                "statefulsets" => default(rolling, "partition", || 0.into()),
                _ => {
                    default(rolling, "maxUnavailable", || 1.into());
                    default(rolling, "maxSurge", || 0.into());
                }
            }
        }
    }
    match plural {
        "deployments" => default(spec, "progressDeadlineSeconds", || 600.into()),
        "statefulsets" => {
            objects(spec, "volumeClaimTemplates").for_each(batch::claim_template);
            default(spec, "podManagementPolicy", || "OrderedReady".into());
            default(spec, "serviceName", || "".into());
            default(
                spec,
                "persistentVolumeClaimRetentionPolicy",
                || json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            );
        }
        _ => {}
    }
    pod::spec(child(child(spec, "template"), "spec"));
    let status = child(object, "status");
    let counts: &[&str] = match plural {
        "deployments" => &[],
        "replicasets" => &["replicas"],
        "statefulsets" => &["replicas", "availableReplicas"],
        _ => &["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"],
    };
    counts.iter().for_each(|field| default(status, field, || 0.into()));
    let all: &[&str] = &["lastTransitionTime", "lastUpdateTime"];
    times(object, if plural == "deployments" { all } else { &all[..1] });
}

/// Defaults of a `ReplicationController`: its labels and its selector are those of its pod template.
pub(super) fn replication_controller(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        default(child(object, "spec"), "selector", || labels.clone());
        default(child(object, "metadata"), "labels", || labels);
    }
    let spec = child(object, "spec");
    default(spec, "replicas", || 1.into());
    if spec["template"].is_object() {
        pod::spec(child(child(spec, "template"), "spec"));
    }
    default(child(object, "status"), "replicas", || 0.into());
}
