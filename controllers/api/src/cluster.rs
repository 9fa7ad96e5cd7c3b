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

use super::placement::is_zero;

/// The settings of a member cluster, written by a person or by `karmadactl join`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "cluster.karmada.io", version = "v1alpha1", kind = "Cluster", plural = "clusters")]
#[kube(status = "ClusterStatus", derive = "Default", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The side that opens connections: `Push` (the control plane) or `Pull` (an agent in the member).
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
    /// Cloud provider; used to select clusters and to spread over them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Region; used to select clusters and to spread over them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Zone; used to select clusters and to spread over them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    /// Zones, where there are several; as from 1.7.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Taints that keep workloads away from the cluster, or evict them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Grades of nodes by their free resources, the smallest grade first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_models: Vec<ResourceModel>,
}

/// A grade of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceModel {
    /// The number of the grade, from 0.
    pub grade: i64,
    /// The free resources of a node of the grade.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<ResourceModelRange>,
}

/// A range of the free amount of a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceModelRange {
    /// The resource.
    pub name: String,
    /// The lower bound, inclusive.
    pub min: Quantity,
    /// The upper bound, exclusive.
    pub max: Quantity,
}

/// The number of nodes of a grade.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatableModeling {
    /// The number of the grade.
    pub grade: i64,
    /// The number of nodes.
    pub count: i64,
}

/// A reference to a secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Namespace of the secret.
    pub namespace: String,
    /// Name of the secret.
    pub name: String,
}

/// The observed status of a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The version of the member's API server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes_version: String,
    /// The kinds that the member's API server serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_enablements: Vec<ApiEnablement>,
    /// The conditions, such as `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The numbers of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_summary: Option<NodeSummary>,
    /// The resources of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_summary: Option<ResourceSummary>,
    /// The actions that Remedies request; as from 1.9.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedy_actions: Vec<String>,
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
    /// The resources that pods may use on ready nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// The requests of pods that wait for a node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocating: BTreeMap<String, Quantity>,
    /// The requests of pods that are bound to nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocated: BTreeMap<String, Quantity>,
    /// The number of nodes of each grade; empty where the Cluster has no grades.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocatable_modelings: Vec<AllocatableModeling>,
}

impl Cluster {
    /// The condition called `Ready`.
    #[must_use]
    pub fn ready_condition(&self) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == super::CONDITION_READY)
    }

    /// The zones of the cluster: `zones`, or the older `zone` where `zones` is empty.
    #[must_use]
    pub fn zones(&self) -> Vec<&str> {
        let old =
            std::iter::once(&self.spec.zone).filter(|zone| self.spec.zones.is_empty() && !zone.is_empty());
        self.spec.zones.iter().chain(old).map(String::as_str).collect()
    }

    /// Returns true if an agent in the member connects to the control plane.
    /// Otherwise the control plane connects to the member.
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
