//! `ClusterTaintPolicy`: adds and removes taints by the conditions of clusters, as from 1.14.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/policy/v1alpha1/clustertaint_types.go`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterAffinity;

/// The taints, the clusters, and the conditions under which the taints are added and removed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "ClusterTaintPolicy")]
#[kube(plural = "clustertaintpolicies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ClusterTaintPolicySpec {
    /// The clusters; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_clusters: Option<ClusterAffinity>,
    /// The taints are added while all of these hold; an empty list never holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_on_conditions: Vec<MatchCondition>,
    /// The taints are removed while all of these hold; an empty list never holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_on_conditions: Vec<MatchCondition>,
    /// The taints.
    pub taints: Vec<PolicyTaint>,
}

/// A requirement on a condition of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchCondition {
    /// The type of the condition: `Ready`.
    pub condition_type: String,
    /// `In` or `NotIn`.
    pub operator: String,
    /// `True`, `False`, `Unknown`.
    pub status_values: Vec<String>,
}

/// A taint without its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyTaint {
    /// Its key.
    pub key: String,
    /// Its effect.
    pub effect: String,
    /// Its value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}
