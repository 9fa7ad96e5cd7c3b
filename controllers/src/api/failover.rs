//! What a policy says about leaving a member, and about what is written to members: failover, suspension, conflicts.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/policy/v1alpha1/propagation_types.go`. Release 1.5 has none of it; the
//! releases that each field came with are beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a workload moves of its own accord, and how it leaves; as from 1.6.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailoverBehavior {
    /// Where the workload itself fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationFailover>,
    /// Where its cluster fails; as from 1.15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFailover>,
}

/// How a workload leaves a cluster on which it is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationFailover {
    /// When it leaves.
    pub decision_conditions: DecisionConditions,
    /// What becomes of the old copy.
    #[serde(default = "gracefully")]
    pub purge_mode: PurgeMode,
    /// How long the old copy stays at most, where it leaves gracefully.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// What the new copy is told of the old one; as from 1.12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// When an unhealthy workload leaves its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionConditions {
    /// How long it may be unhealthy.
    #[serde(default = "five_minutes")]
    pub toleration_seconds: i32,
}

/// How a workload leaves a cluster that fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterFailover {
    /// What becomes of the old copy.
    #[serde(default = "gracefully")]
    pub purge_mode: PurgeMode,
    /// What the new copy is told of the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// What becomes of the copy that a workload leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PurgeMode {
    /// It goes before there is a new one.
    Directly,
    /// The same, as it was called until 1.14.
    Immediately,
    /// It stays until the new one is healthy.
    #[default]
    Gracefully,
    /// The same, as it was called until 1.14.
    Graciously,
    /// It stays until a person says that it may go.
    Never,
}

impl PurgeMode {
    /// Whether the old copy goes before there is a new one.
    #[must_use]
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Directly | Self::Immediately)
    }

    /// Whether the old copy stays until the new one is healthy.
    #[must_use]
    pub fn is_graceful(self) -> bool {
        matches!(self, Self::Gracefully | Self::Graciously)
    }
}

/// What of the old copy's status the new copy is told, as labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatePreservation {
    /// Label by label.
    pub rules: Vec<StatePreservationRule>,
}

/// One label of the new copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservationRule {
    /// What the label is called.
    pub alias_label_name: String,
    /// Where its value is in the old copy's status: `{.currentRevision}`.
    pub json_path: String,
}

/// What is to become of an object that a member already has, and that nobody here put there; as from 1.7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConflictResolution {
    /// It is left alone, and the manifest is not applied.
    #[default]
    Abort,
    /// It is taken over.
    Overwrite,
}

/// To which members nothing is written for the time being; as from 1.11.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchSuspension {
    /// To none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
    /// To these.
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
