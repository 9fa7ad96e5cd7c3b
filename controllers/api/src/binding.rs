//! `ResourceBinding`: the clusters on which a template is placed.
//!
//! Shape: karmada-io/karmada v1.5.0 `pkg/apis/work/v1alpha2/binding_types.go`; the task's time stamp is absent until
//! set, as from 1.9 (#4407).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::placement::is_zero;
use super::{ConflictResolution, DispatchSuspension, FailoverBehavior, Placement, PurgeMode};

/// The template, its target clusters, and the clusters that it is leaving.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "work.karmada.io", version = "v1alpha2", kind = "ResourceBinding", namespaced)]
#[kube(plural = "resourcebindings", status = "BindingStatus")]
#[kube(derive = "Default", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingSpec {
    /// The template.
    pub resource: ObjectReference,
    /// Whether the objects that the workload depends on are propagated with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub propagate_deps: bool,
    /// The resources that one replica needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
    /// The replicas of the template; 0 for kinds without replicas.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// The target clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// Copy of the policy's placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The eviction tasks: clusters that the workload is leaving once it is replaced elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// The bindings whose workloads depend on the template; the template follows their targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_by: Vec<BindingSnapshot>,
    /// The name of the scheduler.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// How the workload leaves a cluster; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// How conflicts with objects that members already have are resolved; as from 1.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// When a placement from scratch was last requested; as from 1.10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reschedule_triggered_at: Option<Time>,
    /// The actions that are suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// Whether members keep their copies when the template is deleted; as from 1.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The groups of the workload by the workload affinity of its placement; as from 1.17.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_affinity_groups: Option<WorkloadAffinityGroups>,
    /// The components of a workload that has several pod templates; as from 1.15.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    /// The priority of the binding in the queue of the scheduler.
    /// The field exists as from 1.13, with the gate `PriorityBasedScheduling`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<SchedulePriority>,
}

/// The priority of a binding in the queue of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulePriority {
    /// The priority; the highest is scheduled first.
    pub priority: i32,
}

/// The spec of a binding for a cluster-scoped template.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "work.karmada.io", version = "v1alpha2", kind = "ClusterResourceBinding")]
#[kube(plural = "clusterresourcebindings", status = "BindingStatus")]
#[kube(derive = "Default", derive = "PartialEq")]
#[serde(transparent)]
pub struct ClusterResourceBindingSpec {
    /// The same as in a namespaced binding.
    pub binding: ResourceBindingSpec,
}

/// The nodes and the resources that one replica needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaRequirements {
    /// The nodes on which a replica can run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_claim: Option<NodeClaim>,
    /// The requests by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_request: BTreeMap<String, Quantity>,
}

/// The nodes on which a replica can run, as in the specification of its pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaim {
    /// The required terms of the node affinity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_node_affinity: Option<NodeSelector>,
    /// The labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// The taints of nodes that a replica tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

/// The groups of a workload, each written as `key=value` of the label that defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinityGroups {
    /// The group of workloads to be placed together; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub affinity_group: String,
    /// The group of workloads to be kept apart; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub anti_affinity_group: String,
}

/// One pod template of a workload that has several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// The name of the component.
    pub name: String,
    /// The number of pods of the component.
    pub replicas: i32,
    /// The resources that each pod needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
}

/// The actions that are suspended for a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspension {
    /// The members to which nothing is written.
    #[serde(flatten)]
    pub dispatch: DispatchSuspension,
    /// Whether the scheduler ignores the binding; as from 1.13.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scheduling: bool,
}

/// A reference to a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Empty for cluster-scoped templates.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The version of the template when the binding was last updated from it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// A cluster that carries the workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCluster {
    /// Its name.
    pub name: String,
    /// The replicas assigned to the cluster; 0 for kinds without replicas.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: i32,
}

/// A task to evict a workload from a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GracefulEvictionTask {
    /// The cluster to leave.
    pub from_cluster: String,
    /// The treatment of the old copy; absent: gracefully. As from 1.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purge_mode: Option<PurgeMode>,
    /// The replicas that were assigned to the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The reason for the eviction.
    pub reason: String,
    /// A message about the eviction for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The controller that made the task.
    pub producer: String,
    /// The maximum age of the task, instead of that of the controller's flag; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// `true`: the task stays while this is set; `false`: the task ends now.
    /// Set by a person or a policy; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_deletion: Option<bool>,
    /// Labels for the new copy, with values from the status of the old copy; as from 1.12.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub preserved_label_state: BTreeMap<String, String>,
    /// The targets before the eviction, where a state is preserved; as from 1.12.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters_before_failover: Vec<String>,
    /// When the graceful eviction controller stamped the task; the timeout counts from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
}

/// The targets of another binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BindingSnapshot {
    /// The namespace of the binding.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
}

/// The observed status of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// The last generation that the scheduler processed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub scheduler_observed_generation: i64,
    /// The name of the affinity term that the placement follows.
    #[serde(rename = "schedulerObservingAffinityName", default, skip_serializing_if = "String::is_empty")]
    pub scheduler_observed_affinity_name: String,
    /// When the targets were last scheduled; as from 1.10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scheduled_time: Option<Time>,
    /// `Scheduled` and `FullyApplied`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The reports of the members, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated_status: Vec<AggregatedStatus>,
}

/// The report of one member about the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AggregatedStatus {
    /// The member.
    pub cluster_name: String,
    /// The part of the object's status that is reported; some kinds have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::work::free_form")]
    pub status: Option<Map<String, Value>>,
    /// Whether the manifest was written to the member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub applied: bool,
    /// Why the manifest was not applied.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub applied_message: String,
    /// The health of the workload in the member.
    pub health: Health,
}

/// The health of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Health {
    /// The workload is healthy.
    Healthy,
    /// The workload is unhealthy.
    Unhealthy,
    /// The health has not been observed yet.
    #[default]
    Unknown,
}
