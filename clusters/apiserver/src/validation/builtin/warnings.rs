//! The warnings about valid objects.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{At, text};
use crate::kind::kinds::Kind;

/// Deprecated labels of nodes, and their replacements.
const OLD_LABELS: [(&str, &str, &str); 5] = [
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
    ("beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"),
];

/// The warnings about an object of a built-in kind; `old` is the object that it replaces.
pub(crate) fn warnings(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<String> {
    let root = At::root(object);
    let mut warnings = Vec::new();
    let path: &[&str] = match (&*kind.group, &*kind.plural) {
        ("", "pods") => &[],
        ("apps" | "batch", "deployments" | "replicasets" | "statefulsets" | "daemonsets" | "jobs") => {
            &["spec", "template"]
        }
        ("batch", "cronjobs") => &["spec", "jobTemplate", "spec", "template"],
        _ => return warnings,
    };
    let whose = if path.is_empty() { "the Pod's hostname" } else { "Pod names and hostnames" };
    let named = ["pods", "deployments", "replicasets", "jobs", "statefulsets"].contains(&&*kind.plural);
    let problems = text::label(crate::kind::object::meta(object, "name"));
    if old.is_none() && named && !problems.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in {whose}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            problems.join(" ")
        ));
    }
    within(&root, path, &mut |template| {
        // An update causes warnings only if it changes the spec.
        let before = old.and_then(|old| path.iter().try_fold(old, |value, field| value.get(*field)));
        if before.is_none_or(|before| before["spec"] != template.value["spec"]) {
            pod_spec(&template.field("spec"), &mut warnings);
        }
    });
    warnings
}

fn within(at: &At<'_>, path: &[&str], then: &mut dyn FnMut(&At<'_>)) {
    match path.split_first() {
        None => then(at),
        Some((field, rest)) => within(&at.field(field), rest, then),
    }
}

fn pod_spec(spec: &At<'_>, warnings: &mut Vec<String>) {
    let selector = spec.field("nodeSelector");
    for (old, since, new) in OLD_LABELS {
        if selector.value.get(old).is_some() {
            warnings
                .push(format!("{}: deprecated since {since}; use {new:?} instead", selector.key(old).path()));
        }
    }
    for secret in spec.field("imagePullSecrets").items() {
        if secret.field("name").text().is_empty() {
            warnings.push(format!("{}: invalid empty name {:?}", secret.field("name").path(), ""));
        }
    }
    for list in ["initContainers", "containers"] {
        for container in spec.field(list).items() {
            variables(&container.field("env"), warnings);
            ports(&container.field("ports"), warnings);
        }
    }
    let grace = spec.field("terminationGracePeriodSeconds");
    if grace.value.as_i64().is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            grace.path()
        ));
    }
}

fn variables(at: &At<'_>, warnings: &mut Vec<String>) {
    let mut seen: BTreeMap<&str, Value> = BTreeMap::new();
    for variable in at.value.as_array().into_iter().flatten().enumerate() {
        let (index, value) = variable;
        let name = value["name"].as_str().unwrap_or_default();
        if seen.contains_key(name) {
            let detail = "hides previous definition of";
            let tail = "which may be dropped when using apply";
            warnings.push(format!("{}: {detail} {name:?}, {tail}", at.item(index).path()));
        }
        seen.insert(name, value.clone());
    }
}

fn ports(at: &At<'_>, warnings: &mut Vec<String>) {
    let mut seen = BTreeMap::new();
    for (index, port) in at.items().enumerate() {
        let pair = (port.value["containerPort"].to_string(), port.value["protocol"].to_string());
        let first = *seen.entry(pair).or_insert(index);
        if first != index {
            warnings.push(format!(
                "{}: duplicate port definition with {}",
                port.path(),
                at.item(first).path()
            ));
        }
    }
}
