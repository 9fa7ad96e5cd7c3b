//! What an object asks for: a template, a manifest or a copy.

use std::collections::BTreeSet;

use super::digest::digest;
use super::seen::{Seen, value};
use crate::facts::Content;
use crate::format::Tree;

/// Where an object says what it asks for.
pub(super) const PARTS: [&str; 3] = ["spec", "data", "binaryData"];

/// What of `manifest` is looked at.
pub(super) fn manifest(manifest: &Tree<'_>) -> Content {
    let asked = content(manifest["kind"].text(), PARTS.map(|part| &manifest[part]));
    Content { refers_to: refers_to(manifest), ..asked }
}

/// What of an object is looked at, beside what it refers to.
pub(super) fn object(seen: &Seen<'_>) -> Content {
    content(seen.witness.kind(), PARTS.map(|part| value(seen.object.whole(part))).each_ref())
}

fn content(kind: &str, [spec, data, binary_data]: [&Tree<'_>; 3]) -> Content {
    let is_job = kind == "Job";
    let has_data = matches!(kind, "ConfigMap" | "Secret");
    let data = [data, binary_data].into_iter().filter(|data| !is_empty(data));
    let containers = spec["template"]["spec"]["containers"].items().iter();
    Content {
        replicas: spec[if is_job { "parallelism" } else { "replicas" }].as_u64(),
        completions: spec["completions"].as_u64().filter(|_| is_job),
        images: containers.filter_map(|each| each["image"].as_str()).map(str::to_owned).collect(),
        data: has_data.then(|| data.map(digest).fold(0, u64::wrapping_add)),
        refers_to: BTreeSet::new(),
        scales: if kind == "HorizontalPodAutoscaler" { scaled(&spec["scaleTargetRef"]) } else { None },
    }
}

/// The workload that an autoscaler scales. A target of another group than that of Deployments is not looked at.
fn scaled(target: &Tree<'_>) -> Option<(String, String)> {
    let is_known = matches!(target["apiVersion"].text(), "" | "apps/v1");
    let kind_and_name = target["kind"].as_str().zip(target["name"].as_str()).filter(|_| is_known);
    kind_and_name.map(|(kind, name)| (kind.to_owned(), name.to_owned()))
}

fn is_empty(value: &Tree<'_>) -> bool {
    value.is_null() || matches!(value, Tree::Fields(fields) if fields.is_empty())
}

/// Kind and name of the `ConfigMap`s and Secrets that the pods of `object` use.
fn refers_to(object: &Tree<'_>) -> BTreeSet<(String, String)> {
    let spec = &object["spec"]["template"]["spec"];
    let volumes = spec["volumes"].items().iter().flat_map(|volume| {
        [("ConfigMap", &volume["configMap"]["name"]), ("Secret", &volume["secret"]["secretName"])]
    });
    let containers = spec["containers"].items().iter().chain(spec["initContainers"].items());
    let used = containers.flat_map(|container| {
        let whole = container["envFrom"].items().iter().flat_map(|from| {
            [("ConfigMap", &from["configMapRef"]["name"]), ("Secret", &from["secretRef"]["name"])]
        });
        let one = container["env"].items().iter().flat_map(|env| {
            let from = &env["valueFrom"];
            [("ConfigMap", &from["configMapKeyRef"]["name"]), ("Secret", &from["secretKeyRef"]["name"])]
        });
        whole.chain(one)
    });
    let named = |(kind, name): (&str, &Tree<'_>)| Some((kind.to_owned(), name.as_str()?.to_owned()));
    volumes.chain(used).filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_pod_refers_to_what_its_volumes_and_variables_are_made_of() {
        let object = json!({"kind": "Deployment", "spec": {"template": {"spec": {
            "volumes": [{"name": "a", "configMap": {"name": "one"}}, {"name": "b", "secret": {"secretName": "two"}}, {"name": "c"}],
            "containers": [{
                "image": "web:1",
                "envFrom": [{"configMapRef": {"name": "three"}}],
                "env": [{"name": "A", "value": "x"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "four", "key": "k"}}}],
            }],
        }}}});
        let named = manifest(&Tree::read(&object.to_string())).refers_to;
        let named: Vec<_> = named.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
        assert_eq!(named, ["ConfigMap one", "ConfigMap three", "Secret four", "Secret two"]);
    }

    #[test]
    fn an_autoscaler_scales_its_target() {
        let scales = |target: Value| {
            let object = json!({"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": target}});
            manifest(&Tree::read(&object.to_string())).scales
        };
        let web = Some(("Deployment".to_owned(), "web".to_owned()));
        assert_eq!(scales(json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})), web);
        assert_eq!(scales(json!({"kind": "Deployment", "name": "web"})), web);
        assert_eq!(
            scales(json!({"apiVersion": "example.org/v1", "kind": "Deployment", "name": "web"})),
            None
        );
        assert_eq!(scales(json!({"kind": "Deployment"})), None);
    }

    #[test]
    fn data_that_is_not_there_is_as_data_that_is_empty() {
        let data = |object: Value| manifest(&Tree::read(&object.to_string())).data;
        assert_eq!(data(json!({"kind": "ConfigMap"})), data(json!({"kind": "ConfigMap", "data": {}})));
        assert_ne!(
            data(json!({"kind": "ConfigMap"})),
            data(json!({"kind": "ConfigMap", "data": {"a": "b"}}))
        );
        assert_eq!(data(json!({"kind": "Deployment"})), None);
    }
}
