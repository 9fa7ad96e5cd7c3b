//! `Remedy`: actions that a cluster needs under conditions, as from 1.9.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/remedy/v1alpha1/remedy_types.go`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterAffinity;

/// The clusters, the conditions and the actions.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "remedy.karmada.io", version = "v1alpha1", kind = "Remedy")]
#[kube(plural = "remedies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct RemedySpec {
    /// The clusters; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// The actions are needed while any of these holds; an empty list always holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_matches: Vec<DecisionMatch>,
    /// The actions: `TrafficControl`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
}

/// One of the conditions under which the actions are needed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionMatch {
    /// A requirement on a condition of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_condition_match: Option<ClusterConditionRequirement>,
}

/// A requirement on a condition of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConditionRequirement {
    /// The type of the condition: `Ready`.
    pub condition_type: String,
    /// `Equal` or `NotEqual`.
    pub operator: String,
    /// `True`, `False`, `Unknown`.
    pub condition_status: String,
}
