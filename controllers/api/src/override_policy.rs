//! `OverridePolicy` and `ClusterOverridePolicy`: changes to templates for some clusters.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/policy/v1alpha1/override_types.go`.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClusterAffinity, ResourceSelector};

/// Changes to templates for some clusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "OverridePolicy", namespaced)]
#[kube(plural = "overridepolicies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct OverridePolicySpec {
    /// The selected templates; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// The changes, each with its clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub override_rules: Vec<OverrideRule>,
    /// The older form of a single rule: its clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// The older form of a single rule: its changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overriders: Option<Overriders>,
}

/// Changes for some clusters, to templates of all namespaces and cluster-scoped templates.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "ClusterOverridePolicy")]
#[kube(plural = "clusteroverridepolicies", derive = "PartialEq")]
#[serde(transparent)]
pub struct ClusterOverridePolicySpec {
    /// The same as in a namespaced policy.
    pub policy: OverridePolicySpec,
}

/// Changes, and the clusters that they are for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverrideRule {
    /// The clusters; absent: all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// The changes.
    pub overriders: Overriders,
}

/// Changes to an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overriders {
    /// Changes of any field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plaintext: Vec<PlaintextOverrider>,
    /// Changes of images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_overrider: Vec<ImageOverrider>,
    /// Changes of the commands of containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_overrider: Vec<CommandArgsOverrider>,
    /// Changes of the arguments of containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args_overrider: Vec<CommandArgsOverrider>,
    /// Changes of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels_overrider: Vec<LabelAnnotationOverrider>,
    /// Changes of annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations_overrider: Vec<LabelAnnotationOverrider>,
    /// Changes of JSON or YAML in the text of a field; as from 1.12.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_overrider: Vec<FieldOverrider>,
}

/// How a value is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverriderOperator {
    /// The value is added.
    #[default]
    Add,
    /// The value is removed.
    Remove,
    /// The value replaces the present one.
    Replace,
}

/// A change of any field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaintextOverrider {
    /// JSON pointer to the field.
    pub path: String,
    /// How the field is changed.
    pub operator: OverriderOperator,
    /// The new value.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "anything")]
    pub value: Value,
}

/// A change of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageOverrider {
    /// The image; absent: the images of all containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicate: Option<ImagePredicate>,
    /// The part of the image's name.
    pub component: ImageComponent,
    /// How the part is changed; `add` appends to it.
    pub operator: OverriderOperator,
    /// The new value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// Selects an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePredicate {
    /// JSON pointer to the image.
    pub path: String,
}

/// A part of the name of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImageComponent {
    /// The part up to the first slash.
    #[default]
    Registry,
    /// The part after the registry.
    Repository,
    /// The tag, or the digest.
    Tag,
}

/// A change of a container's command or arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandArgsOverrider {
    /// The name of the container.
    pub container_name: String,
    /// `add` appends the values, `remove` removes all equal values; other operators do nothing.
    pub operator: OverriderOperator,
    /// The values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value: Vec<String>,
}

/// A change of labels or annotations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabelAnnotationOverrider {
    /// How the labels or annotations are changed; absent keys are neither replaced nor removed.
    pub operator: OverriderOperator,
    /// Keys and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub value: BTreeMap<String, String>,
}

/// Changes within a field whose text is JSON or YAML.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldOverrider {
    /// JSON pointer to the field.
    pub field_path: String,
    /// Changes to a text that is JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<FieldPatch>,
    /// Changes to a text that is YAML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yaml: Vec<FieldPatch>,
}

/// A change within a field's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldPatch {
    /// JSON pointer within the text.
    pub sub_path: String,
    /// How the value is changed.
    pub operator: OverriderOperator,
    /// The new value.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "anything")]
    pub value: Value,
}

/// The schema of a value of any type (Go's `apiextensionsv1.JSON`).
fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}
