//! `PropagationPolicy` and `ClusterPropagationPolicy`: which templates go where.
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
    /// The selected templates; one matching selector is enough.
    pub resource_selectors: Vec<ResourceSelector>,
    /// Where the templates go.
    #[serde(default)]
    pub placement: Placement,
    /// The priority; the highest wins among policies that match equally well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// `Always`: the policy takes templates from policies of lower priority; empty: `Never`. As from 1.7.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preemption: String,
    /// Whether the objects that the workload depends on are propagated with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub propagate_deps: bool,
    /// The override policies that must exist before the policy takes effect.
    /// For a namespaced policy these are override policies of its namespace. For a cluster-scoped policy these are
    /// cluster-scoped override policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependent_overrides: Vec<String>,
    /// `Lazy`: a change of the policy takes effect with the next change of the template itself.
    /// As from 1.9.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub activation_preference: String,
    /// The name of the scheduler; empty: `default-scheduler`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// How workloads leave a cluster; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// How conflicts with objects that members already have are resolved; as from 1.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// The members to which nothing is written; as from 1.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<DispatchSuspension>,
    /// Whether members keep their copies when the template is deleted; as from 1.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The priority of the workloads in the queue of the scheduler; as from 1.13.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<PolicySchedulePriority>,
}

/// The class that gives workloads their priority in the queue of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySchedulePriority {
    /// The kind of the class: `KubePriorityClass`.
    pub priority_class_source: String,
    /// The name of the class.
    pub priority_class_name: String,
}

/// Which templates go where, for all namespaces and for cluster-scoped templates.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "policy.karmada.io", version = "v1alpha1", kind = "ClusterPropagationPolicy")]
#[kube(plural = "clusterpropagationpolicies", derive = "PartialEq")]
#[serde(transparent)]
pub struct ClusterPropagationPolicySpec {
    /// The same as in a namespaced policy.
    pub policy: PropagationPolicySpec,
}

/// Selects objects by name, by labels, or all of a kind.
/// Policies select templates with it, and bindings list the dependencies of their template with it
/// (`DependentObjectReference` has the same fields in the same order).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSelector {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// The namespace; empty: the policy's own namespace, or any namespace for a cluster-scoped policy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name; empty: any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The labels; ignored where a name is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}
