//! The dependencies of a template: objects that its pods or its own kind refer to.
//!
//! karmada-io/karmada v1.18.2 `pkg/resourceinterpreter/default/native/dependencies.go`, `pkg/util/helper/pod.go`,
//! `pkg/util/lifted/visitpod.go`; ingresses and service imports as from 1.4, `ReplicaSets` as from 1.16.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};
use serde_json::Value;

use crate::Behaviour;
use crate::api::{LABEL_SERVICE_NAME, ResourceSelector, derived_service_name};

/// The fields in which a volume names a secret.
const SECRETS_OF_VOLUMES: [&str; 10] = [
    "/secret/secretName",
    "/azureFile/secretName",
    "/cephfs/secretRef/name",
    "/cinder/secretRef/name",
    "/csi/nodePublishSecretRef/name",
    "/flexVolume/secretRef/name",
    "/iscsi/secretRef/name",
    "/rbd/secretRef/name",
    "/scaleIO/secretRef/name",
    "/storageos/secretRef/name",
];

/// Returns the dependencies of a template, by kind and name; none for unknown kinds.
#[must_use]
pub fn dependencies(behaviour: Behaviour, kind: &str, template: &Value) -> Vec<ResourceSelector> {
    let text = |path: &str| template.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let pod = match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => "/spec/template/spec",
        "ReplicaSet" if behaviour.interprets_replica_sets => "/spec/template/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        "Pod" => "/spec",
        "Ingress" => {
            let secrets = strings(&template["spec"]["tls"], "/secretName");
            return named(namespace, [("Secret", secrets)]);
        }
        "ServiceImport" => return of_service_import(namespace, text("/metadata/name")),
        _ => return Vec::new(),
    };
    let Some(pod) = template.pointer(pod) else { return Vec::new() };
    let mut claims: BTreeSet<_> =
        strings(&pod["volumes"], "/persistentVolumeClaim/claimName").collect_sorted();
    // A StatefulSet creates the claims of its own templates itself.
    for own in
        strings(&template["spec"]["volumeClaimTemplates"], "/metadata/name").filter(|_| kind == "StatefulSet")
    {
        claims.remove(own);
    }
    let account = pod["serviceAccountName"].as_str().filter(|name| *name != "default");
    named(
        namespace,
        [
            ("ConfigMap", config_maps(pod)),
            ("PersistentVolumeClaim", Box::new(claims.into_iter())),
            ("Secret", secrets(pod)),
            ("ServiceAccount", Box::new(account.into_iter())),
        ],
    )
}

type Names<'a> = Box<dyn Iterator<Item = &'a str> + 'a>;

/// The text at `path` in each element of a list.
fn strings<'a>(list: &'a Value, path: &'static str) -> Names<'a> {
    Box::new(list.as_array().into_iter().flatten().filter_map(move |element| element.pointer(path)?.as_str()))
}

fn named<'a>(
    namespace: &str,
    kinds: impl IntoIterator<Item = (&'a str, Names<'a>)>,
) -> Vec<ResourceSelector> {
    let of_kind = |(kind, names): (&str, Names<'a>)| {
        let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect_sorted();
        let one = |name: &str| ResourceSelector {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
            label_selector: None,
        };
        names.into_iter().map(one).collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let kinds = ["containers", "initContainers", "ephemeralContainers"];
    kinds.into_iter().flat_map(|kind| pod[kind].as_array().into_iter().flatten())
}

/// The sources of the projected volumes of a pod.
fn projected(pod: &Value) -> impl Iterator<Item = &Value> {
    let volumes = pod["volumes"].as_array().into_iter().flatten();
    volumes.map(|volume| &volume["projected"]["sources"])
}

fn config_maps(pod: &Value) -> Names<'_> {
    let of_containers = containers(pod).flat_map(|container| {
        strings(&container["env"], "/valueFrom/configMapKeyRef/name")
            .chain(strings(&container["envFrom"], "/configMapRef/name"))
    });
    let of_volumes = strings(&pod["volumes"], "/configMap/name");
    let of_projections = projected(pod).flat_map(|sources| strings(sources, "/configMap/name"));
    Box::new(of_containers.chain(of_volumes).chain(of_projections))
}

fn secrets(pod: &Value) -> Names<'_> {
    let of_containers = containers(pod).flat_map(|container| {
        strings(&container["env"], "/valueFrom/secretKeyRef/name")
            .chain(strings(&container["envFrom"], "/secretRef/name"))
    });
    let of_volumes = SECRETS_OF_VOLUMES.into_iter().flat_map(|path| strings(&pod["volumes"], path));
    let of_projections = projected(pod).flat_map(|sources| strings(sources, "/secret/name"));
    let for_images = strings(&pod["imagePullSecrets"], "/name");
    Box::new(of_containers.chain(of_volumes).chain(of_projections).chain(for_images))
}

/// The derived Service and its `EndpointSlice` objects.
fn of_service_import(namespace: &str, name: &str) -> Vec<ResourceSelector> {
    let derived = derived_service_name(name);
    let labels = [(LABEL_SERVICE_NAME.to_owned(), derived.clone())].collect_sorted();
    let addresses = ResourceSelector {
        api_version: "discovery.k8s.io/v1".into(),
        kind: "EndpointSlice".into(),
        namespace: namespace.into(),
        name: String::new(),
        label_selector: Some(LabelSelector { match_labels: Some(labels), ..LabelSelector::default() }),
    };
    let service = ResourceSelector {
        api_version: "v1".into(),
        kind: "Service".into(),
        namespace: namespace.into(),
        name: derived,
        label_selector: None,
    };
    vec![addresses, service]
}

/// Whether the selector of a dependency matches an object.
#[must_use]
pub fn is_dependency(dependency: &ResourceSelector, object: &Value) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let ResourceSelector { api_version, kind, namespace, name, label_selector } = dependency;
    if text("/apiVersion") != api_version || text("/kind") != kind || text("/metadata/namespace") != namespace
    {
        return false;
    }
    if !name.is_empty() {
        return text("/metadata/name") == name;
    }
    let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
    let labels = serde_json::from_value(labels).unwrap_or_default();
    let selector = label_selector.clone().and_then(|selector| Selector::try_from(selector).ok());
    selector.is_some_and(|selector| selector.matches(&labels))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(kind: &str, template: &Value) -> Vec<String> {
        let of = |one: &ResourceSelector| format!("{}/{}", one.kind, one.name);
        dependencies(Behaviour::of("1.16"), kind, template).iter().map(of).collect()
    }

    #[test]
    fn the_dependencies_of_a_replica_set_are_known_as_from_1_16() {
        let pod = json!({"volumes": [{"configMap": {"name": "c"}}]});
        let template = json!({"metadata": {"namespace": "default"}, "spec": {"template": {"spec": pod}}});
        let count = |release| dependencies(Behaviour::of(release), "ReplicaSet", &template).len();
        assert_eq!(["1.15", "1.16"].map(count), [0, 1]);
    }

    #[test]
    fn whatever_a_pod_mentions_is_depended_on() {
        let cases = [
            ("nothing", json!({"containers": [{"name": "a"}]}), vec![]),
            (
                "variables",
                json!({"containers": [{"env": [
                    {"valueFrom": {"configMapKeyRef": {"name": "c"}}}, {"valueFrom": {"secretKeyRef": {"name": "s"}}},
                    {"valueFrom": {"fieldRef": {"fieldPath": "x"}}}, {"value": "v"}]}]}),
                vec!["ConfigMap/c", "Secret/s"],
            ),
            (
                "all variables at once, of any container",
                json!({"initContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}],
                    "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "s"}}]}]}),
                vec!["ConfigMap/c", "Secret/s"],
            ),
            (
                "volumes",
                json!({"volumes": [{"configMap": {"name": "c"}}, {"secret": {"secretName": "s"}},
                    {"persistentVolumeClaim": {"claimName": "p"}}, {"rbd": {"secretRef": {"name": "r"}}},
                    {"emptyDir": {}}]}),
                vec!["ConfigMap/c", "PersistentVolumeClaim/p", "Secret/r", "Secret/s"],
            ),
            (
                "projected volumes",
                json!({"volumes": [{"projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}}]}),
                vec!["ConfigMap/c", "Secret/s"],
            ),
            ("secrets of registries", json!({"imagePullSecrets": [{"name": "s"}]}), vec!["Secret/s"]),
            ("an account", json!({"serviceAccountName": "a"}), vec!["ServiceAccount/a"]),
            ("the account that all have", json!({"serviceAccountName": "default"}), vec![]),
            (
                "the same twice",
                json!({"volumes": [{"configMap": {"name": "c"}}, {"configMap": {"name": "c"}}]}),
                vec!["ConfigMap/c"],
            ),
        ];
        for (about, pod, expected) in cases {
            assert_eq!(
                named("Deployment", &json!({"spec": {"template": {"spec": pod}}})),
                expected,
                "{about}"
            );
            assert_eq!(named("Pod", &json!({ "spec": pod })), expected, "{about}");
            let cron = json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}});
            assert_eq!(named("CronJob", &cron), expected, "{about}");
            assert_eq!(named("ConfigMap", &json!({ "spec": pod })), Vec::<String>::new(), "{about}");
        }
    }

    #[test]
    fn a_stateful_set_does_not_depend_on_the_claims_that_it_makes() {
        let volumes = json!([{"persistentVolumeClaim": {"claimName": "own"}}, {"persistentVolumeClaim": {"claimName": "other"}}]);
        let set = json!({"spec": {"template": {"spec": {"volumes": volumes}},
            "volumeClaimTemplates": [{"metadata": {"name": "own"}}]}});
        assert_eq!(named("StatefulSet", &set), ["PersistentVolumeClaim/other"]);
    }

    #[test]
    fn ingresses_need_their_certificates_and_imports_what_is_derived_from_them() {
        let ingress = json!({"spec": {"tls": [{"secretName": "b"}, {"hosts": []}, {"secretName": "a"}]}});
        assert_eq!(named("Ingress", &ingress), ["Secret/a", "Secret/b"]);
        let import = json!({"metadata": {"name": "web", "namespace": "default"}});
        let found = dependencies(Behaviour::default(), "ServiceImport", &import);
        let slice = |name: &str, service: &str| {
            json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": service}}})
        };
        let service = |name: &str| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}});
        let cases = [
            (slice("imported-m1-a", "derived-web"), true),
            (slice("a", "web"), false),
            (service("derived-web"), true),
            (service("web"), false),
            (
                json!({"apiVersion": "v2", "kind": "Service", "metadata": {"name": "derived-web", "namespace": "default"}}),
                false,
            ),
            (
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "derived-web", "namespace": "default"}}),
                false,
            ),
            (
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "derived-web", "namespace": "other"}}),
                false,
            ),
        ];
        for (object, expected) in cases {
            assert_eq!(found.iter().any(|one| is_dependency(one, &object)), expected, "{object}");
        }
    }
}
