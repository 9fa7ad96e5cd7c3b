//! Converts autoscalers between version 1 and version 2. They are stored as version 2.
//!
//! Version 1 has one metric, the CPU utilization. Other fields of version 2 are kept in annotations of version 1. The
//! annotations have the names of real servers; their values are written as in version 2.

use serde_json::{Map, Value, json};

/// The annotations, and the fields of version 2 that they hold.
const CARRIED: [(&str, &str, &str); 4] = [
    ("autoscaling.alpha.kubernetes.io/metrics", "spec", "metrics"),
    ("autoscaling.alpha.kubernetes.io/behavior", "spec", "behavior"),
    ("autoscaling.alpha.kubernetes.io/current-metrics", "status", "currentMetrics"),
    ("autoscaling.alpha.kubernetes.io/conditions", "status", "conditions"),
];

/// Returns the CPU utilization of a metric in percent.
/// The wanted utilization is under `target`, and the observed one is under `current`.
fn cpu_of<'a>(metric: &'a Value, under: &str) -> Option<&'a Value> {
    let resource = &metric["resource"];
    let is_cpu = metric["type"] == "Resource" && resource["name"] == "cpu";
    Some(&resource[under]["averageUtilization"]).filter(|percent| is_cpu && percent.is_number())
}

fn cpu_metric(under: &str, percent: &Value) -> Value {
    let mut value = json!({"averageUtilization": percent});
    if under == "target" {
        value["type"] = "Utilization".into();
    }
    json!({"type": "Resource", "resource": {"name": "cpu", under: value}})
}

/// The CPU metric of version 1, in the spec and in the status.
/// A row has the part of the object, and the field of version 1 in this part. The list of version 2 and the member of
/// its metrics follow.
const CPU: [(&str, &str, &str, &str); 2] = [
    ("spec", "targetCPUUtilizationPercentage", "metrics", "target"),
    ("status", "currentCPUUtilizationPercentage", "currentMetrics", "current"),
];

/// Converts an autoscaler of version 2 to version 1.
pub(crate) fn to_version_1(object: &Value) -> Value {
    let mut old = object.clone();
    old["apiVersion"] = "autoscaling/v1".into();
    for (part, field, list, under) in CPU {
        let Some(Value::Array(mut metrics)) = old[part].get(list).cloned() else { continue };
        if let Some(at) = metrics.iter().position(|metric| cpu_of(metric, under).is_some()) {
            let metric = metrics.remove(at);
            old[part][field] = cpu_of(&metric, under).cloned().unwrap_or_default();
        }
        old[part][list] = metrics.into();
    }
    for (annotation, part, field) in CARRIED {
        let carried =
            old.get_mut(part).and_then(Value::as_object_mut).and_then(|fields| fields.remove(field));
        let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if let Some(value) = carried.filter(|value| !is_empty(value)) {
            old["metadata"]["annotations"][annotation] = value.to_string().into();
        }
    }
    old
}

/// Converts an autoscaler of version 1 to the stored version 2.
pub(crate) fn from_version_1(object: &Value) -> Value {
    let mut new = object.clone();
    new["apiVersion"] = "autoscaling/v2".into();
    if object["spec"]["targetCPUUtilizationPercentage"].is_number()
        && let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut)
    {
        // These metrics were defaults, set because the object had none.
        spec.remove("metrics");
    }
    for (annotation, part, field) in CARRIED {
        let annotations = new.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        let carried = annotations.and_then(|all| all.remove(annotation));
        let value = carried.as_ref().and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
        if let Some(value) = value {
            new[part][field] = value;
        }
    }
    if new["metadata"]["annotations"].as_object().is_some_and(Map::is_empty)
        && let Some(metadata) = new["metadata"].as_object_mut()
    {
        metadata.remove("annotations");
    }
    for (part, field, list, under) in CPU {
        let Some(percent) =
            new.get_mut(part).and_then(Value::as_object_mut).and_then(|fields| fields.remove(field))
        else {
            continue;
        };
        let mut metrics = new[part][list].as_array().cloned().unwrap_or_default();
        metrics.insert(0, cpu_metric(under, &percent));
        new[part][list] = metrics.into();
    }
    new
}

/// Moves defaults that were added in the form of version 2 to the fields of version 1.
pub(crate) fn move_defaults_to_version_1(object: &mut Value) {
    *object = to_version_1(&from_version_1(object));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_unknown_to_version_1_survive_a_round_trip() {
        let pods =
            json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"averageValue": "1"}}});
        let kept = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {"maxReplicas": 3, "metrics": [cpu_metric("target", &json!(80)), pods], "behavior": {"scaleUp": {}}},
            "status": {"currentMetrics": [cpu_metric("current", &json!(10))], "conditions": [{"type": "AbleToScale"}]}});
        let old = to_version_1(&kept);
        assert_eq!(old["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 80}));
        assert_eq!(old["status"], json!({"currentCPUUtilizationPercentage": 10}));
        assert_eq!(from_version_1(&old), kept);
    }

    #[test]
    fn a_metric_that_is_set_replaces_the_default_metric() {
        let default = json!([cpu_metric("target", &json!(80))]);
        let mut set = json!({"spec": {"targetCPUUtilizationPercentage": 50, "metrics": default}});
        move_defaults_to_version_1(&mut set);
        assert_eq!(set["spec"], json!({"targetCPUUtilizationPercentage": 50}));
        let mut unset = json!({"spec": {"metrics": default}});
        move_defaults_to_version_1(&mut unset);
        assert_eq!(unset["spec"], json!({"targetCPUUtilizationPercentage": 80}));
    }
}
