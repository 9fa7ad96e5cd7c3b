//! What an object asks for: a template, a manifest or a copy.

use std::collections::BTreeSet;

use serde_json::Value;

use super::digest::digest;
use crate::facts::Content;

/// What of `object` is looked at, beside what it refers to.
pub(super) fn content(object: &Value) -> Content {
    let number = |name: &str| object["spec"][name].as_u64();
    let is_job = object["kind"] == "Job";
    let containers = pod_spec(object).and_then(|spec| spec["containers"].as_array()).into_iter().flatten();
    let data = ["data", "binaryData"].map(|field| object.get(field).filter(|data| !is_empty(data)));
    let has_data = matches!(object["kind"].as_str(), Some("ConfigMap" | "Secret"));
    Content {
        replicas: number(if is_job { "parallelism" } else { "replicas" }),
        completions: number("completions").filter(|_| is_job),
        images: containers.filter_map(|each| each["image"].as_str()).map(str::to_owned).collect(),
        data: has_data.then(|| data.into_iter().flatten().map(digest).fold(0, u64::wrapping_add)),
        refers_to: BTreeSet::new(),
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn pod_spec(object: &Value) -> Option<&Value> {
    object.get("spec")?.get("template")?.get("spec")
}

/// Kind and name of the `ConfigMap`s and Secrets that the pods of `object` use.
pub(super) fn refers_to(object: &Value) -> BTreeSet<(String, String)> {
    let Some(spec) = pod_spec(object) else { return BTreeSet::new() };
    let list = |value: &'_ Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let volumes = list(spec, "volumes").into_iter().flat_map(|volume| {
        [
            ("ConfigMap", volume["configMap"]["name"].clone()),
            ("Secret", volume["secret"]["secretName"].clone()),
        ]
    });
    let containers = list(spec, "containers").into_iter().chain(list(spec, "initContainers"));
    let used = containers.flat_map(|container| {
        let whole = list(&container, "envFrom").into_iter().flat_map(|from| {
            [
                ("ConfigMap", from["configMapRef"]["name"].clone()),
                ("Secret", from["secretRef"]["name"].clone()),
            ]
        });
        let one = list(&container, "env").into_iter().flat_map(|env| {
            let from = &env["valueFrom"];
            [
                ("ConfigMap", from["configMapKeyRef"]["name"].clone()),
                ("Secret", from["secretKeyRef"]["name"].clone()),
            ]
        });
        whole.chain(one).collect::<Vec<_>>()
    });
    let named = |(kind, name): (&str, Value)| Some((kind.to_owned(), name.as_str()?.to_owned()));
    volumes.chain(used).filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let named = refers_to(&object);
        let named: Vec<_> = named.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
        assert_eq!(named, ["ConfigMap one", "ConfigMap three", "Secret four", "Secret two"]);
    }

    #[test]
    fn data_that_is_not_there_is_as_data_that_is_empty() {
        let data = |object: Value| content(&object).data;
        assert_eq!(data(json!({"kind": "ConfigMap"})), data(json!({"kind": "ConfigMap", "data": {}})));
        assert_ne!(
            data(json!({"kind": "ConfigMap"})),
            data(json!({"kind": "ConfigMap", "data": {"a": "b"}}))
        );
        assert_eq!(data(json!({"kind": "Deployment"})), None);
    }
}
