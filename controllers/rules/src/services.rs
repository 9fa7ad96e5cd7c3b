//! How endpoints of a Service get from the clusters that export it to those that import it.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/mcs/{service_export,endpointslice,service_import}_controller.go`.

use kube::ResourceExt;
use serde_json::{Map, Value, json};

use crate::api::{
    Cluster, Identity, LABEL_COLLECTED_SERVICE_NAME, LABEL_COLLECTED_SERVICE_NAMESPACE, LABEL_SERVICE_NAME,
    RawObject, ServiceImport, WORK_NAME, WORK_NAMESPACE, Work, derived_service_name, imported_slice_name,
};

/// Returns the namespace and the name of the Service that a Work exports from its member.
#[must_use]
pub fn exported_service(work: &Work) -> Option<(&str, &str)> {
    let Identity { api_version, kind, namespace, name } = work.spec.workload.manifests.first()?.identity();
    let is_export = api_version.starts_with("multicluster.x-k8s.io/") && kind == "ServiceExport";
    (is_export && !namespace.is_empty() && !name.is_empty()).then_some((namespace, name))
}

/// Returns the namespace and the name of the Service whose endpoints a Work brings from its member.
#[must_use]
pub fn collected_service(work: &Work) -> Option<(&str, &str)> {
    let label = |key: &str| work.labels().get(key).map(String::as_str);
    Some((label(LABEL_COLLECTED_SERVICE_NAMESPACE)?, label(LABEL_COLLECTED_SERVICE_NAME)?))
}

/// Whether a slice in a member has endpoints of a Service of that member.
/// A slice that was delivered there from other members does not count.
#[must_use]
pub fn is_collected(slice: &RawObject, service_namespace: &str, service: &str) -> bool {
    let label = |key: &str| slice.labels().get(key).map(String::as_str);
    slice.metadata.deletion_timestamp.is_none()
        && slice.namespace().as_deref() == Some(service_namespace)
        && label(LABEL_SERVICE_NAME) == Some(service)
        && label(WORK_NAME).is_none()
        && !slice.annotations().contains_key(WORK_NAME)
}

/// Returns the parts of a member's slice that are brought to the control plane.
///
/// # Errors
/// When the slice is nested too deeply to be read.
pub fn collected_slice(slice: &RawObject) -> serde_json::Result<Map<String, Value>> {
    let tree = slice.tree()?;
    let mut manifest = Map::new();
    manifest.insert("apiVersion".into(), "discovery.k8s.io/v1".into());
    manifest.insert("kind".into(), "EndpointSlice".into());
    let metadata =
        json!({"name": slice.name_any(), "namespace": slice.namespace(), "labels": slice.labels()});
    manifest.insert("metadata".into(), metadata);
    let fields = ["addressType", "endpoints", "ports"];
    manifest.extend(fields.into_iter().map(|field| (field.to_owned(), tree[field].clone())));
    Ok(manifest)
}

/// Whether the slices collected from a member stay while the member is not ready.
/// They do, so that an outage shorter than an eviction cuts off no clients (#6258).
#[must_use]
pub fn keeps_slices(_cluster: &Cluster) -> bool {
    true
}

/// Returns the slice that is made on the control plane from a Work with a member's slice.
/// It belongs to the derived Service, and its name contains the name of the member.
#[must_use]
pub fn imported_slice(work: &Work, cluster: &str) -> Option<Value> {
    let (namespace, service) = collected_service(work)?;
    let mut slice = Value::Object(work.spec.workload.manifests.first()?.tree().ok()?);
    let name = imported_slice_name(cluster, slice.pointer("/metadata/name")?.as_str()?);
    slice["metadata"] = json!({
        "name": name,
        "namespace": namespace,
        "labels": {
            WORK_NAMESPACE: work.namespace(),
            WORK_NAME: work.name_any(),
            LABEL_SERVICE_NAME: derived_service_name(service),
        },
    });
    Some(slice)
}

/// Returns the Service derived from a `ServiceImport`.
/// The function returns `None` for an import without an address of its own, or for an import that is being deleted.
#[must_use]
pub fn derived_service(import: &ServiceImport) -> Option<Value> {
    if import.spec.type_ != "ClusterSetIP" || import.metadata.deletion_timestamp.is_some() {
        return None;
    }
    Some(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": derived_service_name(&import.name_any()), "namespace": import.namespace()},
        "spec": {"type": "ClusterIP", "ports": import.spec.ports},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::from_json;

    fn slice(labels: Value) -> RawObject {
        from_json(json!({
            "metadata": {"name": "web-x7", "namespace": "default", "labels": labels, "uid": "1", "resourceVersion": "2"},
            "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}],
        }))
    }

    fn work(labels: Value, manifest: Value) -> Work {
        from_json(json!({
            "metadata": {"name": "w", "namespace": "karmada-es-m1", "labels": labels},
            "spec": {"workload": {"manifests": [manifest]}},
        }))
    }

    #[test]
    fn a_member_exports_what_a_work_says() {
        let export = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "web", "namespace": "default"}});
        let cases = [
            (export("multicluster.x-k8s.io/v1alpha1", "ServiceExport"), Some(("default", "web"))),
            (export("multicluster.x-k8s.io/v1alpha1", "ServiceImport"), None),
            (export("v1", "Service"), None),
        ];
        for (manifest, expected) in cases {
            assert_eq!(exported_service(&work(json!({}), manifest.clone())), expected, "{manifest}");
        }
    }

    #[test]
    fn only_the_members_own_addresses_are_collected() {
        let cases = [
            (json!({LABEL_SERVICE_NAME: "web"}), true),
            (json!({LABEL_SERVICE_NAME: "derived-web"}), false),
            (json!({LABEL_SERVICE_NAME: "web", WORK_NAME: "w"}), false),
            (json!({}), false),
        ];
        for (labels, expected) in cases {
            assert_eq!(is_collected(&slice(labels.clone()), "default", "web"), expected, "{labels}");
        }
        assert!(!is_collected(&slice(json!({LABEL_SERVICE_NAME: "web"})), "other", "web"));
    }

    #[test]
    fn a_slice_is_imported_behind_the_derived_service() {
        let collected = collected_slice(&slice(json!({LABEL_SERVICE_NAME: "web"}))).unwrap();
        assert!(collected["metadata"].get("uid").is_none());
        let labels =
            json!({LABEL_COLLECTED_SERVICE_NAMESPACE: "default", LABEL_COLLECTED_SERVICE_NAME: "web"});
        let imported = imported_slice(&work(labels, Value::Object(collected)), "m1").unwrap();
        assert_eq!(imported["metadata"]["name"], "imported-m1-web-x7");
        assert_eq!(imported["metadata"]["labels"][LABEL_SERVICE_NAME], "derived-web");
        assert_eq!(imported["endpoints"], json!([{"addresses": ["10.0.0.1"]}]));
        assert_eq!(imported_slice(&work(json!({}), json!({})), "m1"), None);
    }

    #[test]
    fn an_import_with_an_address_has_a_service() {
        let import = |type_: &str| -> ServiceImport {
            from_json(json!({
                "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport",
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"type": type_, "ports": [{"port": 80, "protocol": "TCP"}]},
            }))
        };
        let service = derived_service(&import("ClusterSetIP")).unwrap();
        assert_eq!(service["metadata"]["name"], "derived-web");
        assert_eq!(service["spec"], json!({"type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]}));
        assert_eq!(derived_service(&import("Headless")), None);
    }
}
