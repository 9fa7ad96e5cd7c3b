//! `Placement`: where a workload may go, and how its replicas are spread.
//!
//! Shape: karmada-io/karmada v1.5.0 `pkg/apis/policy/v1alpha1/propagation_types.go`. The order of the fields is the
//! order in the applied-placement annotation.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a workload may go, and how its replicas are spread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The clusters that it may go to; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// Several choices of clusters, tried one after another; not beside `clusterAffinity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_affinities: Vec<ClusterAffinityTerm>,
    /// The taints that it puts up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_tolerations: Vec<Toleration>,
    /// Over how many groups of clusters it is spread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread_constraints: Vec<SpreadConstraint>,
    /// How replicas are divided; absent: each cluster gets all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_scheduling: Option<ReplicaScheduling>,
    /// Which other workloads it is to be with, and which not; as from 1.17.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_affinity: Option<WorkloadAffinity>,
}

/// A choice of clusters: `exclude` rejects, the others must all accept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinity {
    /// By the labels of the Cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// By provider, region and zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<FieldSelector>,
    /// By name; empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
    /// Never these names.
    #[serde(default, rename = "exclude", skip_serializing_if = "Vec::is_empty")]
    pub exclude_clusters: Vec<String>,
}

/// One of several choices of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinityTerm {
    /// What it is called in the status of a binding.
    pub affinity_name: String,
    /// The clusters.
    #[serde(flatten)]
    pub affinity: ClusterAffinity,
    /// More clusters, for what these have no room for: in order, each only when those before are full; as from 1.18.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overflow_affinities: Vec<OverflowAffinity>,
}

/// Clusters for what others have no room for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverflowAffinity {
    /// What it is called.
    pub affinity_name: String,
    /// The clusters.
    #[serde(flatten)]
    pub affinity: ClusterAffinity,
}

/// Which other workloads a workload is to be with, and which not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinity {
    /// It goes only where all others of its group are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<WorkloadAffinityTerm>,
    /// It goes only where no other of its group is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<WorkloadAffinityTerm>,
}

/// What makes a group of the workloads of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinityTerm {
    /// The same value of this label.
    pub group_by_label_key: String,
}

/// A choice by fields: key `provider`, `region` or `zone`, operator as in a node selector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldSelector {
    /// All must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
}

/// How many groups of clusters a workload is spread over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// What makes a group: `cluster`, `region`, `zone` or `provider`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spread_by_field: String,
    /// What makes a group: the value of this label.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spread_by_label: String,
    /// At most this many groups.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_groups: i64,
    /// At least this many groups.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_groups: i64,
}

/// How replicas are divided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaScheduling {
    /// `Duplicated` (each cluster gets all) or `Divided`.
    #[serde(default = "divided")]
    pub replica_scheduling_type: String,
    /// `Weighted` or `Aggregated`; of meaning for `Divided` only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replica_division_preference: String,
    /// The weights; absent: all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_preference: Option<WeightPreference>,
}

/// The weights that replicas are divided by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WeightPreference {
    /// Weights said in the policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub static_weight_list: Vec<StaticWeight>,
    /// Weights found out at scheduling time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dynamic_weight: String,
}

/// The weight of some clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticWeight {
    /// The clusters.
    pub target_cluster: ClusterAffinity,
    /// Their weight, at least 1.
    pub weight: i64,
}

fn divided() -> String {
    "Divided".into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
