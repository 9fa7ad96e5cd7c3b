//! The empty form of a built-in kind, with the fields that every object has and no manager owns.

use serde_json::{Value, json};

use crate::kind::kinds::Kind;

/// The empty form of a kind. Custom kinds have none.
pub(crate) fn empty_form(kind: &Kind) -> Value {
    if kind.is_custom() {
        return json!({});
    }
    if kind.plural == "events" || kind.is_core("nodes") {
        let mut empty = json!({"metadata": {}, "spec": {}});
        super::set_defaults(kind, &mut empty);
        return empty;
    }
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    match (&*kind.group, &*kind.plural) {
        ("", "pods") => json!({"metadata": {}, "spec": {"containers": null}, "status": {}}),
        ("apps", "deployments") => {
            json!({"metadata": {}, "spec": {"selector": null, "template": template, "strategy": {}}, "status": {}})
        }
        ("apps", "replicasets") => {
            json!({"metadata": {}, "spec": {"selector": null, "template": template}, "status": {"replicas": 0}})
        }
        ("apps", "statefulsets" | "daemonsets") => {
            json!({"metadata": {}, "spec": {"selector": null, "template": template, "updateStrategy": {}}, "status": {}})
        }
        ("batch", "jobs") => json!({"metadata": {}, "spec": {"template": template}, "status": {}}),
        ("batch", "cronjobs") => {
            let job = json!({"metadata": {}, "spec": {"template": template}});
            json!({"metadata": {}, "spec": {"jobTemplate": job}, "status": {}})
        }
        ("", "services") => json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}),
        ("autoscaling", _) => json!({"metadata": {}, "spec": {"scaleTargetRef": {}}, "status": {}}),
        ("apiextensions.k8s.io", _) => {
            json!({"metadata": {}, "spec": {"names": {}, "versions": null}, "status": {"acceptedNames": {}}})
        }
        _ if kind.traits.status => json!({"metadata": {}, "spec": {}, "status": {}}),
        ("coordination.k8s.io", _) => json!({"metadata": {}, "spec": {}}),
        _ => json!({"metadata": {}}),
    }
}
