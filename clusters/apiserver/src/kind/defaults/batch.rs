//! The defaults of jobs, cron jobs, claims and autoscalers.

use serde_json::{Value, json};

use super::kinds::default;
use super::pod;
use crate::kind::object::child;

/// Defaults of a Job. If it has no labels, it gets those of its pod template.
pub(super) fn job(object: &mut Value) {
    let spec = child(object, "spec");
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        default(spec, "completions", || 1.into());
    }
    default(spec, "parallelism", || 1.into());
    let by_index = !spec["backoffLimitPerIndex"].is_null();
    default(spec, "backoffLimit", || if by_index { i32::MAX.into() } else { 6.into() });
    default(spec, "completionMode", || "NonIndexed".into());
    default(spec, "suspend", || false.into());
    default(spec, "manualSelector", || false.into());
    let failing = !spec["podFailurePolicy"].is_null();
    default(spec, "podReplacementPolicy", || if failing { "Failed" } else { "TerminatingOrFailed" }.into());
    pod::spec(child(child(spec, "template"), "spec"));
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        default(child(object, "metadata"), "labels", || labels);
    }
    default(object, "status", || json!({}));
}

/// Defaults of a `CronJob`. The defaults of its jobs are set when the jobs are created.
pub(super) fn cron_job(object: &mut Value) {
    let spec = child(object, "spec");
    default(spec, "concurrencyPolicy", || "Allow".into());
    default(spec, "suspend", || false.into());
    default(spec, "successfulJobsHistoryLimit", || 3.into());
    default(spec, "failedJobsHistoryLimit", || 1.into());
    let job = child(child(spec, "jobTemplate"), "spec");
    pod::spec(child(child(job, "template"), "spec"));
    default(object, "status", || json!({}));
}

/// Defaults of a persistent volume claim.
pub(super) fn claim(object: &mut Value) {
    default(child(object, "spec"), "volumeMode", || "Filesystem".into());
    default(child(object, "status"), "phase", || "Pending".into());
}

/// Defaults of a claim in a template. The claim has its own type fields.
pub(super) fn claim_template(object: &mut Value) {
    default(object, "apiVersion", || "v1".into());
    default(object, "kind", || "PersistentVolumeClaim".into());
    claim(object);
}

/// Defaults of an autoscaler in the stored version.
pub(super) fn scaler(object: &mut Value) {
    let target = json!({"type": "Utilization", "averageUtilization": 80});
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    let spec = child(object, "spec");
    default(spec, "minReplicas", || 1.into());
    default(spec, "metrics", || metrics);
    for (direction, stabilization) in [("scaleUp", Some(0)), ("scaleDown", None)] {
        if spec["behavior"][direction].is_object() {
            scaling_rules(&mut spec["behavior"][direction], stabilization);
        }
    }
    default(object, "status", || json!({"desiredReplicas": 0}));
    default(child(object, "status"), "currentMetrics", || Value::Null);
}

fn scaling_rules(rules: &mut Value, stabilization: Option<i64>) {
    if let Some(seconds) = stabilization {
        default(rules, "stabilizationWindowSeconds", || seconds.into());
    }
    default(rules, "selectPolicy", || "Max".into());
    let all = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let policies = if stabilization.is_some() {
        json!([{"type": "Pods", "value": 4, "periodSeconds": 15}, all])
    } else {
        json!([all])
    };
    default(rules, "policies", || policies);
}
