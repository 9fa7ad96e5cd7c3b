//! `ResourceBinding`: one template's way to its clusters.
//!
//! Shape: karmada-io/karmada v1.5.0 `pkg/apis/work/v1alpha2/binding_types.go`; the task's time stamp is absent until
//! set, as from 1.9 (#4407).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ConflictResolution, DispatchSuspension, FailoverBehavior, Placement, PurgeMode};

/// What is to be placed, where it is placed, and what is leaving.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "work.karmada.io", version = "v1alpha2", kind = "ResourceBinding", namespaced)]
#[kube(plural = "resourcebindings", status = "BindingStatus")]
#[kube(derive = "Default", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingSpec {
    /// The template.
    pub resource: ObjectReference,
    /// Whether what the workload depends on goes with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub propagate_deps: bool,
    /// What one replica needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
    /// Replicas that the template asks for; 0 for what has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// Where it is placed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// Copy of the policy's placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// What is leaving, and not before others can stand in for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// Other bindings whose workloads depend on the template, and which it follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_by: Vec<BindingSnapshot>,
    /// Who schedules.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// How the workload leaves a cluster; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// What becomes of objects that members already have; as from 1.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// When somebody last asked for a placement from scratch; as from 1.10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reschedule_triggered_at: Option<Time>,
    /// What is not done for the time being.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// Members keep what they have when the template goes; as from 1.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The groups that it is in by its placement's affinity for workloads; as from 1.17.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_affinity_groups: Option<WorkloadAffinityGroups>,
    /// Its parts, where it has several pod templates; as from 1.15.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
}

/// The same for a template without a namespace.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "work.karmada.io", version = "v1alpha2", kind = "ClusterResourceBinding")]
#[kube(plural = "clusterresourcebindings", status = "BindingStatus")]
#[kube(derive = "Default", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ClusterResourceBindingSpec {
    /// The same as in a namespaced binding.
    #[serde(flatten)]
    pub binding: ResourceBindingSpec,
}

/// What one replica needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaRequirements {
    /// By resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_request: BTreeMap<String, Quantity>,
}

/// Groups of workloads, as `key=value` of the label that makes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinityGroups {
    /// Of those that are to be together; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub affinity_group: String,
    /// Of those that are to be apart; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub anti_affinity_group: String,
}

/// One of several kinds of pods that make a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// What it is called.
    pub name: String,
    /// How many pods of it there are.
    pub replicas: i32,
    /// What each of them needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
}

/// What is not done for a binding for the time being.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspension {
    /// To which members nothing is written.
    #[serde(flatten)]
    pub dispatch: DispatchSuspension,
    /// The scheduler leaves it alone; as from 1.13.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scheduling: bool,
}

/// A template.
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
    /// Its version when the binding was last brought in line with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// A cluster that carries the workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCluster {
    /// Its name.
    pub name: String,
    /// How many replicas it runs; 0 for what has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: i32,
}

/// A workload's stay on a cluster that it has to leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GracefulEvictionTask {
    /// The cluster to leave.
    pub from_cluster: String,
    /// What becomes of the old copy; gracefully, where nothing is said. As from 1.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purge_mode: Option<PurgeMode>,
    /// Replicas it had there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Why.
    pub reason: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Who asked for it.
    pub producer: String,
    /// How old the task gets at most, in the place of what the controller's flag says; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// `true`: it stays as long as that; `false`: it ends now. A person's word, or that of a policy; as from 1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_deletion: Option<bool>,
    /// What the new copy is told of the old one, as labels; as from 1.12.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub preserved_label_state: BTreeMap<String, String>,
    /// The targets before the eviction, where a state is preserved; as from 1.12.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters_before_failover: Vec<String>,
    /// Since when; set by the graceful eviction controller, and counted from by its timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
}

/// Where another binding's workload is placed.
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

/// What became of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// The generation that the scheduler has dealt with.
    #[serde(default, skip_serializing_if = "is_zero_64")]
    pub scheduler_observed_generation: i64,
    /// Which of several affinities the placement is by.
    #[serde(rename = "schedulerObservingAffinityName", default, skip_serializing_if = "String::is_empty")]
    pub scheduler_observed_affinity_name: String,
    /// When targets were last worked out; as from 1.10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scheduled_time: Option<Time>,
    /// `Scheduled` and `FullyApplied`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What the members say, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated_status: Vec<AggregatedStatus>,
}

/// What one member says about the workload.
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
    /// Why it was not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub applied_message: String,
    /// Whether the workload does its work there.
    pub health: Health,
}

/// Whether a workload does its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Health {
    /// It does.
    Healthy,
    /// It does not.
    Unhealthy,
    /// Nobody has looked yet.
    #[default]
    Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero_64(number: &i64) -> bool {
    *number == 0
}
