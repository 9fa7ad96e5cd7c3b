//! `Cluster`: a member of the fleet, as the control plane knows it.
//!
//! Shape: karmada-io/karmada v1.5.0 `pkg/apis/cluster/v1alpha1/types.go`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a person, or `karmadactl join`, says about a member cluster.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "cluster.karmada.io", version = "v1alpha1", kind = "Cluster", plural = "clusters")]
#[kube(status = "ClusterStatus", derive = "Default", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Who reaches out: `Push` (the control plane) or `Pull` (an agent in the member).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sync_mode: String,
    /// URL of the member's API server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_endpoint: String,
    /// Secret with the credentials for the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Secret with the credentials for impersonation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<SecretReference>,
    /// Whether the member's certificate is left unchecked.
    #[serde(rename = "insecureSkipTLSVerification", default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure_skip_tls_verification: bool,
    /// Cloud provider; selected on and spread over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Region; selected on and spread over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Zone; selected on and spread over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    /// Zones, where there are several; as from 1.7.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// What keeps workloads away from the cluster, or drives them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Grades that nodes are sorted into by what is free on them, the smallest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_models: Vec<ResourceModel>,
}

/// A grade of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceModel {
    /// Its number, from 0.
    pub grade: i64,
    /// What is free on a node of it, resource by resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<ResourceModelRange>,
}

/// How much of a resource is free.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceModelRange {
    /// The resource.
    pub name: String,
    /// As much as this.
    pub min: Quantity,
    /// But not as much as this.
    pub max: Quantity,
}

/// How many nodes there are of a grade.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatableModeling {
    /// The number of the grade.
    pub grade: i64,
    /// How many nodes.
    pub count: i64,
}

/// Where a secret is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Namespace of the secret.
    pub namespace: String,
    /// Name of the secret.
    pub name: String,
}

/// What the control plane saw of a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Release of the member's API server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes_version: String,
    /// What the member's API server serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_enablements: Vec<ApiEnablement>,
    /// `Ready` and its like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// How many nodes there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_summary: Option<NodeSummary>,
    /// What the nodes offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_summary: Option<ResourceSummary>,
}

/// The resources of one group and version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEnablement {
    /// `apps/v1`, or `v1` for the core group.
    pub group_version: String,
    /// Its resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ApiResource>,
}

/// One kind of resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApiResource {
    /// Plural name, as in paths.
    pub name: String,
    /// Kind, as in objects.
    pub kind: String,
}

/// Nodes of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// All nodes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub total_num: i32,
    /// Nodes whose `Ready` is `True`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ready_num: i32,
}

/// Capacity of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSummary {
    /// What pods may use on the ready nodes, by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// What pods that wait for a node ask for, by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocating: BTreeMap<String, Quantity>,
    /// What pods on nodes ask for, by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocated: BTreeMap<String, Quantity>,
    /// How many nodes of each grade there are; nothing where the Cluster has no grades.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocatable_modelings: Vec<AllocatableModeling>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

impl Cluster {
    /// The condition called `Ready`.
    #[must_use]
    pub fn ready_condition(&self) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == super::CONDITION_READY)
    }

    /// The zones that it stands in: `zones`, or the older `zone` where there is no such list.
    #[must_use]
    pub fn zones(&self) -> Vec<&str> {
        let old =
            std::iter::once(&self.spec.zone).filter(|zone| self.spec.zones.is_empty() && !zone.is_empty());
        self.spec.zones.iter().chain(old).map(String::as_str).collect()
    }

    /// Whether an agent in the member speaks for it, rather than the control plane reaching out to it.
    #[must_use]
    pub fn pulls(&self) -> bool {
        self.spec.sync_mode == "Pull"
    }

    /// Whether `Ready` is `True`.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready_condition().is_some_and(|condition| condition.status == "True")
    }
}
