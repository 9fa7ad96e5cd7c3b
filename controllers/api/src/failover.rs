//! The fields of policies about failover, suspension, and conflicts with existing objects.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/policy/v1alpha1/propagation_types.go`. Release 1.5 has none of these
//! fields; each field names the release that introduced it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a workload fails over, and how it leaves a cluster; as from 1.6.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailoverBehavior {
    /// Failover of a workload that fails itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationFailover>,
    /// Failover of a workload whose cluster fails; as from 1.15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFailover>,
}

/// How a workload leaves a cluster on which it is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationFailover {
    /// The conditions under which the workload leaves.
    pub decision_conditions: DecisionConditions,
    /// The treatment of the old copy.
    #[serde(default = "gracefully")]
    pub purge_mode: PurgeMode,
    /// How long the old copy stays at most, where it leaves gracefully.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// The state of the old copy that is passed to the new copy; as from 1.12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// When an unhealthy workload leaves its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionConditions {
    /// How long the workload may be unhealthy.
    #[serde(default = "five_minutes")]
    pub toleration_seconds: i32,
}

/// How a workload leaves a cluster that fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterFailover {
    /// The treatment of the old copy.
    #[serde(default = "gracefully")]
    pub purge_mode: PurgeMode,
    /// The state of the old copy that is passed to the new copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// The treatment of the copy that a workload leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PurgeMode {
    /// The old copy is deleted before there is a new one.
    Directly,
    /// `Directly`, as it was called until 1.14; refused as from 1.19.
    Immediately,
    /// The old copy stays until the new one is healthy.
    #[default]
    Gracefully,
    /// `Gracefully`, as it was called until 1.14; refused as from 1.19.
    Graciously,
    /// The old copy stays until a person ends the eviction.
    Never,
}

/// The parts of the old copy's status that are passed to the new copy as labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatePreservation {
    /// One rule for each label.
    pub rules: Vec<StatePreservationRule>,
}

/// One label of the new copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservationRule {
    /// The name of the label.
    pub alias_label_name: String,
    /// The JSON path of the value in the status of the old copy: `{.currentRevision}`.
    pub json_path: String,
}

/// The treatment of an object that a member already has and that no Work delivered; as from 1.7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ConflictResolution {
    /// The object is left alone, and the manifest is not applied.
    #[default]
    Abort,
    /// The object is taken over.
    Overwrite,
}

/// The members to which nothing is written; as from 1.11.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchSuspension {
    /// `true`: nothing is written to any member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
    /// The members to which nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching_on_clusters: Option<SuspendedClusters>,
}

/// Members, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuspendedClusters {
    /// Their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
}

fn gracefully() -> PurgeMode {
    PurgeMode::Gracefully
}

fn five_minutes() -> i32 {
    300
}
