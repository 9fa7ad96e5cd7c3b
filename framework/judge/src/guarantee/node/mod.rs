//! The guarantees about nodes: their health, taints, labels and pods, and their zones: NODE.

mod derived_taints_and_labels;
mod heartbeat;
mod kept_taints;
mod no_execute_taints;
mod pod_disruption_condition;
mod pod_readiness;
mod pods_of_unhealthy_nodes;
mod taint_pace;
mod unknown_conditions;
mod zone;

pub(super) use derived_taints_and_labels::DerivedTaintsAndLabels;
pub(super) use heartbeat::UnknownAfterMissedHeartbeats;
pub(super) use kept_taints::{ForeignTaintsStay, TaintStaysWhileJustified};
pub(super) use no_execute_taints::{NoTaintsInHaltedZone, TaintMatchesHealth, UnhealthyNodeGetsTaint};
pub(super) use pod_disruption_condition::PodConditionBeforeEviction;
pub(super) use pod_readiness::PodsOfUnknownNodeAreNotReady;
pub(super) use pods_of_unhealthy_nodes::{PodDeletionPace, PodsOfUnhealthyNodeAreDeleted};
pub(super) use taint_pace::TaintPaceOfZone;
pub(super) use unknown_conditions::{UnknownAfterStartupGrace, UnknownConditions};
pub(super) use zone::AllNodesNotReady;
