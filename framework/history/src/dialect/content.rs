//! The content of an object: a template, a manifest or a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_sorted::CollectSorted;

use super::digest::digest;
use super::quantity::quantities;
use crate::facts::Content;
use crate::format::digest::digest as bytes;
use crate::format::{Field, Object, Tree};

/// The parts of an object that hold its content.
pub const PARTS: [&str; 3] = ["spec", "data", "binaryData"];

/// Kinds whose objects always have a `spec`, and the field of it that they always have.
const SPECIFIED: [(&str, &str); 5] = [
    ("Deployment", "template"),
    ("StatefulSet", "template"),
    ("DaemonSet", "template"),
    ("Job", "template"),
    ("CronJob", "jobTemplate"),
];

/// The content of `manifest`. The domain `own` is that of the control plane: its labels are left out.
#[must_use]
pub fn manifest(manifest: &Tree<'_>, own: &str) -> Content {
    let kind = (manifest["apiVersion"].text(), manifest["kind"].text());
    let asked = content(kind, PARTS.map(|part| &manifest[part]), own);
    let labels = labels(&manifest["metadata"]["labels"], own);
    let endpoints = manifest["endpoints"].items().iter().filter(|_| kind.1 == "EndpointSlice");
    let addresses = endpoints.map(|endpoint| endpoint["addresses"].items().len()).sum();
    Content { refers_to: refers_to(manifest), labels, addresses, ..asked }
}

/// Returns true if the content of an object is hidden, now that `shown` says whether data was observed.
/// A `ConfigMap` or a Secret without data is hidden until one with data is observed among the same objects: templates,
/// manifests, or copies. A recorder may leave out all data.
pub fn is_hidden(content: &Content, shown: &mut bool) -> bool {
    let Some(data) = content.data else { return content.hidden };
    *shown |= data != 0;
    !*shown
}

/// Marks shared content as hidden if it [`is_hidden`], and copies it only for a change.
pub fn hide_missing_data(content: &mut Arc<Content>, shown: &mut bool) {
    let hidden = is_hidden(content, shown);
    if content.hidden != hidden {
        Arc::make_mut(content).hidden = hidden;
    }
}

/// The labels of an object without the labels of the domain `own`.
fn labels(labels: &Tree<'_>, own: &str) -> BTreeMap<String, String> {
    let is_own = |key: &str| key.split_once('/').is_some_and(|(domain, _)| domain.ends_with(own));
    let labels = labels.fields().iter().filter(|(key, _)| !is_own(key));
    labels.map(|(key, value)| (key.to_string(), value.text().to_owned())).collect_sorted()
}

/// Whether the kind belongs to neither Kubernetes nor the domain `own`.
#[must_use]
pub fn is_custom(api_version: &str, own: &str) -> bool {
    let Some((group, _)) = api_version.split_once('/') else { return false };
    group.contains('.') && !group.ends_with("k8s.io") && !group.ends_with(own)
}

/// The content of an object, without its references.
#[must_use]
pub fn object(object: &Object, own: &str) -> Content {
    let version = object.whole("apiVersion").and_then(Field::text).unwrap_or_default();
    let [spec, data, binary_data] = PARTS.map(|part| object.whole(part).map(Field::tree).unwrap_or_default());
    let asked = content((&version, &object.kind()), [&spec, &data, &binary_data], own);
    Content {
        labels: labels(&object.field("metadata", "labels").map(Field::tree).unwrap_or_default(), own),
        ..asked
    }
}

fn content((version, kind): (&str, &str), [spec, data, binary_data]: [&Tree<'_>; 3], own: &str) -> Content {
    let is_job = kind == "Job";
    let has_data = matches!(kind, "ConfigMap" | "Secret");
    let data = [data, binary_data].into_iter().filter(|data| !is_empty(data));
    let pod = &spec["template"]["spec"];
    let (main, init) = (pod["containers"].items(), pod["initContainers"].items());
    let images =
        |all: &[Tree<'_>]| all.iter().filter_map(|each| each["image"].as_str()).map(str::to_owned).collect();
    let of_all = |fields: &[&str]| of_containers(main.iter().chain(init), fields);
    Content {
        hidden: SPECIFIED.iter().any(|(of, field)| *of == kind && spec[*field].is_null()),
        replicas: spec[if is_job { "parallelism" } else { "replicas" }].as_u64(),
        completions: spec["completions"].as_u64().filter(|_| is_job),
        images: images(main),
        init_images: images(init),
        environment: of_all(&["env", "envFrom"]),
        commands: of_all(&["command", "args"]),
        resources: resources(main.iter().chain(init)),
        pods: pods(pod),
        service: (kind == "Service" && !spec.is_null()).then(|| service(spec)),
        custom: (is_custom(version, own) && !spec.is_null()).then(|| custom(spec)),
        data: has_data.then(|| data.map(digest).fold(0, u64::wrapping_add)),
        scales: if kind == "HorizontalPodAutoscaler" { scaled(&spec["scaleTargetRef"]) } else { None },
        ..Content::default()
    }
}

/// The workload that an autoscaler scales. Targets of other API versions than `apps/v1` are ignored.
fn scaled(target: &Tree<'_>) -> Option<(String, String)> {
    let is_known = matches!(target["apiVersion"].text(), "" | "apps/v1");
    let kind_and_name = target["kind"].as_str().zip(target["name"].as_str()).filter(|_| is_known);
    kind_and_name.map(|(kind, name)| (kind.to_owned(), name.to_owned()))
}

/// A digest of these fields of all containers; `None` if no container has any of them.
fn of_containers<'a>(containers: impl Iterator<Item = &'a Tree<'a>>, fields: &[&str]) -> Option<u64> {
    let named = containers.flat_map(|container| {
        let name = digest(&container["name"]);
        let there = fields.iter().filter(|field| !is_empty(&container[**field]));
        there.map(move |field| digest(&container[*field]) ^ name.rotate_left(field.len() as u32))
    });
    named.reduce(u64::wrapping_add)
}

/// A digest of the node selector, the service account and the names of the volumes.
/// It is `None` without any of them. Other fields of volumes have default values that a cluster fills in.
fn pods(spec: &Tree<'_>) -> Option<u64> {
    let names: Vec<_> = spec["volumes"].items().iter().map(|volume| volume["name"].clone()).collect();
    let parts = [spec["nodeSelector"].clone(), spec["serviceAccountName"].clone(), Tree::List(names)];
    let there = parts.iter().enumerate().filter(|(_, part)| !is_empty(part) && part.text() != "default");
    there.map(|(place, part)| digest(part).rotate_left(place as u32)).reduce(u64::wrapping_add)
}

/// Returns a digest of the requests and limits of all containers.
/// The digest does not depend on the notation of the quantities.
fn resources<'a>(containers: impl Iterator<Item = &'a Tree<'a>>) -> Option<u64> {
    let each = containers.flat_map(|container| {
        let name = digest(&container["name"]);
        ["limits", "requests"].into_iter().flat_map(move |kind| {
            let amounts = quantities(&container["resources"][kind]);
            amounts.into_iter().map(move |(resource, amount)| {
                let resource = bytes(bytes(name, kind.as_bytes()), resource.as_bytes());
                bytes(resource, &amount.to_le_bytes())
            })
        })
    });
    each.reduce(u64::wrapping_add)
}

/// A digest of a Service without the addresses and node ports, which each cluster chooses itself.
fn service(spec: &Tree<'_>) -> u64 {
    let ports = spec["ports"].items().iter().map(|port| {
        ["name", "port", "targetPort"]
            .iter()
            .fold(0, |sum: u64, field| sum.rotate_left(7) ^ digest(&port[*field]))
    });
    ports.fold(digest(&spec["selector"]), |sum, port| sum.rotate_left(9).wrapping_add(port))
}

/// A digest of the whole specification without its replicas.
fn custom(spec: &Tree<'_>) -> u64 {
    let fields = spec.fields().iter().filter(|(name, _)| name != "replicas");
    fields.fold(0, |sum, (name, field)| {
        sum.wrapping_add(digest(field).wrapping_mul(digest(&Tree::Text(name.clone())) | 1))
    })
}

fn is_empty(value: &Tree<'_>) -> bool {
    let no_items = value.is_list() && value.items().is_empty();
    value.is_null() || no_items || matches!(value, Tree::Fields(fields) if fields.is_empty())
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
    volumes.chain(used).filter_map(named).collect_sorted()
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
        let named = manifest(&Tree::read(&object.to_string()), "karmada.io").refers_to;
        let named: Vec<_> = named.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
        assert_eq!(named, ["ConfigMap one", "ConfigMap three", "Secret four", "Secret two"]);
    }

    #[test]
    fn an_autoscaler_scales_its_target() {
        let scales = |target: Value| {
            let object = json!({"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": target}});
            manifest(&Tree::read(&object.to_string()), "karmada.io").scales
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
        let data = |object: Value| manifest(&Tree::read(&object.to_string()), "karmada.io").data;
        assert_eq!(data(json!({"kind": "ConfigMap"})), data(json!({"kind": "ConfigMap", "data": {}})));
        assert_ne!(
            data(json!({"kind": "ConfigMap"})),
            data(json!({"kind": "ConfigMap", "data": {"a": "b"}}))
        );
        assert_eq!(data(json!({"kind": "Deployment"})), None);
    }
}
