//! `Work`: a manifest for one member, in that member's execution namespace.
//!
//! Shape: karmada-io/karmada v1.5.0 `pkg/apis/work/v1alpha1/work_types.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Health, Manifest};

/// The manifests for the member, and how they are delivered.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "work.karmada.io", version = "v1alpha1", kind = "Work", plural = "works", namespaced)]
#[kube(status = "WorkStatus", derive = "Default", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct WorkSpec {
    /// The manifests; a Work of a binding has one.
    pub workload: WorkloadTemplate,
    /// Whether nothing is written to the member; as from 1.11.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend_dispatching: bool,
    /// Whether the member keeps its copy when the Work is deleted; as from 1.12.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preserve_resources_on_deletion: bool,
}

/// A list of manifests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadTemplate {
    /// The manifests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Manifest>,
}

/// The status of the manifests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// `Applied` and `Dispatching`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The member's report about each manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_statuses: Vec<ManifestStatus>,
}

/// The member's report about a manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ManifestStatus {
    /// The manifest.
    pub identifier: ManifestIdentifier,
    /// The part of the object's status that is reported; some kinds have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub status: Option<Map<String, Value>>,
    /// The health of the object.
    pub health: Health,
}

/// Names a manifest of a Work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ManifestIdentifier {
    /// The index in the list, from 0.
    pub ordinal: i32,
    /// API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Plural; left empty, as the real controllers leave it.
    pub resource: String,
    /// Empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The schema of an arbitrary object (Go's `runtime.RawExtension`).
pub(super) fn free_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
