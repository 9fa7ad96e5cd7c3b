//! `OverridePolicy` and its cluster-scoped twin: what is different in some clusters.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/policy/v1alpha1/override_types.go`.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClusterAffinity, ResourceSelector};

/// What is different in some clusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "OverridePolicy", namespaced)]
#[kube(plural = "overridepolicies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct OverridePolicySpec {
    /// The templates; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// What is different, and where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub override_rules: Vec<OverrideRule>,
    /// The older form of a single rule: where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// The older form of a single rule: what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overriders: Option<Overriders>,
}

/// What is different in some clusters, for all namespaces and for cluster-scoped templates.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "ClusterOverridePolicy")]
#[kube(plural = "clusteroverridepolicies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ClusterOverridePolicySpec {
    /// The same as in a namespaced policy.
    #[serde(flatten)]
    pub policy: OverridePolicySpec,
}

/// What is different, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverrideRule {
    /// Where; absent: in all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// What.
    pub overriders: Overriders,
}

/// Changes to an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overriders {
    /// Of any field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plaintext: Vec<PlaintextOverrider>,
    /// Of images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_overrider: Vec<ImageOverrider>,
    /// Of the commands of containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_overrider: Vec<CommandArgsOverrider>,
    /// Of the arguments of containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args_overrider: Vec<CommandArgsOverrider>,
    /// Of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels_overrider: Vec<LabelAnnotationOverrider>,
    /// Of annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations_overrider: Vec<LabelAnnotationOverrider>,
    /// Of JSON or YAML that is the text of a field; as from 1.12.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_overrider: Vec<FieldOverrider>,
}

/// How a value is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverriderOperator {
    /// Put in.
    #[default]
    Add,
    /// Taken away.
    Remove,
    /// Put in the place of what is there.
    Replace,
}

/// A change of any field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaintextOverrider {
    /// JSON pointer to it.
    pub path: String,
    /// How.
    pub operator: OverriderOperator,
    /// What to put there.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "anything")]
    pub value: Value,
}

/// A change of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageOverrider {
    /// Which image; absent: those of all containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicate: Option<ImagePredicate>,
    /// Which part of it.
    pub component: ImageComponent,
    /// How; what is added goes to the end.
    pub operator: OverriderOperator,
    /// What to put there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// Where an image is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePredicate {
    /// JSON pointer to it.
    pub path: String,
}

/// A part of the name of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImageComponent {
    /// Up to the first slash.
    #[default]
    Registry,
    /// From there on.
    Repository,
    /// The tag, or the digest.
    Tag,
}

/// A change of a container's command or arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandArgsOverrider {
    /// Which container.
    pub container_name: String,
    /// `add` puts the values at the end, `remove` takes all that are the same away; nothing else does anything.
    pub operator: OverriderOperator,
    /// The values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value: Vec<String>,
}

/// A change of labels or annotations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabelAnnotationOverrider {
    /// How; what is not there is neither replaced nor removed.
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
    /// Changes, where it is JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<FieldPatch>,
    /// Changes, where it is YAML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yaml: Vec<FieldPatch>,
}

/// A change within a field's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldPatch {
    /// JSON pointer within it.
    pub sub_path: String,
    /// How.
    pub operator: OverriderOperator,
    /// What to put there.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "anything")]
    pub value: Value,
}

/// The schema of a value of any type (Go's `apiextensionsv1.JSON`).
fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}
