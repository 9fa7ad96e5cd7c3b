//! The kinds of multi-cluster services: `ServiceExport` offers a Service, `ServiceImport` uses one.
//!
//! Shape: kubernetes-sigs/mcs-api `pkg/apis/v1alpha1/{serviceexport,serviceimport}.go`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A Service that is imported from other clusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "multicluster.x-k8s.io", version = "v1alpha1", kind = "ServiceImport", namespaced)]
#[kube(plural = "serviceimports", derive = "PartialEq")]
pub struct ServiceImportSpec {
    /// `ClusterSetIP`, or `Headless`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The ports of the Service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ImportedPort>,
    /// The addresses of the Service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedPort {
    /// The name of the port.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The protocol; empty: `TCP`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// The application protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
    /// The port number.
    pub port: i32,
}

/// The definition of `ServiceExport`, which has no fields of its own: its name is that of the Service.
#[must_use]
pub(super) fn service_export_definition() -> CustomResourceDefinition {
    let schema = json!({"type": "object", "properties": {
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let definition = serde_json::from_value(json!({
        "metadata": {"name": "serviceexports.multicluster.x-k8s.io"},
        "spec": {
            "group": "multicluster.x-k8s.io",
            "names": {"kind": "ServiceExport", "plural": "serviceexports", "singular": "serviceexport"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
            }],
        },
    }));
    definition.expect("a definition is what is written here")
}
