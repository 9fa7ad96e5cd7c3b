//! What a workload depends on, as bindings say it.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/config/v1alpha1/interpretercontext_types.go`
//! (`DependentObjectReference`). The order of the fields is the order in the annotation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

/// Objects that a workload depends on: one by its name, or some by their labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// `v1`.
    pub api_version: String,
    /// `ConfigMap`.
    pub kind: String,
    /// Where they are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The one of this name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Those with these labels, where no name is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}
