//! Rules of built-in kinds: those that failover touches, not all that Kubernetes has.

use serde_json::Value;

use crate::failure::Cause;
use crate::kinds::Kind;

/// What is wrong with an object of a built-in kind; `old` is what it replaces.
pub(crate) fn problems(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (&*kind.group, &*kind.plural) {
        ("apps", plural @ ("deployments" | "replicasets" | "statefulsets" | "daemonsets")) => {
            workload(plural, object, old, &mut causes);
        }
        ("", "nodes") => taints(object, &mut causes),
        ("", "pods") => tolerations(&object["spec"]["tolerations"], "spec.tolerations", &mut causes),
        ("", "configmaps" | "secrets") => immutable_data(object, old, &mut causes),
        ("coordination.k8s.io", "leases") => lease(object, &mut causes),
        _ => {}
    }
    causes
}

fn workload(plural: &str, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let replicas = &spec["replicas"];
    if replicas.as_i64().is_some_and(|replicas| replicas < 0) {
        causes.push(Cause::invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if spec["selector"].is_null() {
        causes.push(Cause::required("spec.selector", ""));
    }
    let wanted = spec["selector"]["matchLabels"].as_object();
    let expressions = spec["selector"]["matchExpressions"].is_array();
    let matches =
        wanted.map_or(expressions, |wanted| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)));
    if !matches {
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, detail));
    }
    if spec["template"]["spec"]["containers"].as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.template.spec.containers", ""));
    }
    tolerations(&spec["template"]["spec"]["tolerations"], "spec.template.spec.tolerations", causes);
    let fixed = old.filter(|old| plural != "replicasets" && old["spec"]["selector"] != spec["selector"]);
    if fixed.is_some() {
        causes.push(Cause::invalid("spec.selector", &spec["selector"], "field is immutable"));
    }
}

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

fn taints(node: &Value, causes: &mut Vec<Cause>) {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    for (index, taint) in taints.enumerate() {
        let path = format!("metadata.taints[{index}]");
        if taint["key"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.key"), ""));
        }
        if !EFFECTS.iter().any(|effect| taint["effect"] == *effect) {
            causes.push(Cause::unsupported(format!("{path}.effect"), &taint["effect"], &EFFECTS));
        }
    }
}

fn tolerations(list: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (index, toleration) in list.as_array().into_iter().flatten().enumerate() {
        let path = |field: &str| format!("{path}[{index}].{field}");
        let text = |field: &str| toleration[field].as_str().unwrap_or_default();
        match text("operator") {
            "Exists" if !text("value").is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                causes.push(Cause::invalid(path("operator"), &toleration["value"], detail));
            }
            "" | "Equal" | "Exists" => {}
            _ => causes.push(Cause::unsupported(
                path("operator"),
                &toleration["operator"],
                &["Equal", "Exists"],
            )),
        }
        if text("key").is_empty() && text("operator") != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            causes.push(Cause::invalid(path("operator"), &toleration["operator"], detail));
        }
        if !toleration["tolerationSeconds"].is_null() && text("effect") != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            causes.push(Cause::invalid(path("effect"), &toleration["effect"], detail));
        } else if !text("effect").is_empty() && !EFFECTS.contains(&text("effect")) {
            causes.push(Cause::unsupported(path("effect"), &toleration["effect"], &EFFECTS));
        }
    }
}

fn immutable_data(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return };
    if object["immutable"] != true {
        let detail = "field is immutable when `immutable` is set";
        causes.push(Cause::forbidden("immutable", detail));
    }
    for field in ["data", "binaryData"] {
        if old[field] != object[field] {
            causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
        }
    }
}

fn lease(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    for (field, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
        let value = &spec[field];
        if value.as_i64().is_some_and(|value| value < least) {
            let detail =
                if least == 1 { "must be greater than 0" } else { "must be greater than or equal to 0" };
            causes.push(Cause::invalid(format!("spec.{field}"), value, detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

    #[test]
    fn a_selector_of_a_workload_stays() {
        let deployment = |app: &str| {
            json!({"spec": {"selector": {"matchLabels": {"app": app}}, "template": {"metadata": {"labels": {"app": app}},
                "spec": {"containers": [{"name": "c"}]}}}})
        };
        let kind = builtin("apps", "v1", "deployments");
        assert!(problems(kind, &deployment("a"), Some(&deployment("a"))).is_empty());
        assert_eq!(problems(kind, &deployment("b"), Some(&deployment("a")))[0].field, "spec.selector");
    }

    #[test]
    fn data_that_is_immutable_stays() {
        let kind = builtin("", "v1", "configmaps");
        let map = |value: &str| json!({"immutable": true, "data": {"k": value}});
        assert!(problems(kind, &map("1"), Some(&map("1"))).is_empty());
        assert_eq!(problems(kind, &map("2"), Some(&map("1")))[0].field, "data");
    }
}
