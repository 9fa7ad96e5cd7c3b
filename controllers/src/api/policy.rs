//! `PropagationPolicy` and its cluster-scoped twin: which templates go where.
//!
//! Shape: karmada-io/karmada v1.5.0 `pkg/apis/policy/v1alpha1/propagation_types.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConflictResolution, DispatchSuspension, FailoverBehavior, Placement};

/// Which templates go where.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "PropagationPolicy", namespaced)]
#[kube(plural = "propagationpolicies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct PropagationPolicySpec {
    /// The templates; one match is enough.
    pub resource_selectors: Vec<ResourceSelector>,
    /// Where they go.
    #[serde(default)]
    pub placement: Placement,
    /// Of several policies that match as well, the highest wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// `Always`: takes templates away from policies of lower priority; `Never` where empty. As from 1.7.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preemption: String,
    /// Whether what the workload depends on goes with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub propagate_deps: bool,
    /// Override policies that must be there before the policy does anything: namespaced ones of its namespace, or
    /// cluster-scoped ones for a cluster-scoped policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependent_overrides: Vec<String>,
    /// `Lazy`: what changes in the policy waits for the next change of the template itself. As from 1.9.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub activation_preference: String,
    /// Who schedules; empty: `default-scheduler`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// How workloads leave a cluster; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// What becomes of objects that members already have; as from 1.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// To which members nothing is written for the time being; as from 1.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<DispatchSuspension>,
    /// Members keep what they have when the template goes; as from 1.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
}

/// Which templates go where, for all namespaces and for cluster-scoped templates.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "ClusterPropagationPolicy")]
#[kube(plural = "clusterpropagationpolicies", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ClusterPropagationPolicySpec {
    /// The same as in a namespaced policy.
    #[serde(flatten)]
    pub policy: PropagationPolicySpec,
}

/// Picks objects: by name, by labels, or all of the kind. Policies pick templates so, and bindings say so what their
/// template depends on (`DependentObjectReference`, which has the same fields in the same order).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSelector {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Where nothing is said: the policy's own namespace, or any for a cluster-scoped policy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Empty: any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Ignored where a name is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}
