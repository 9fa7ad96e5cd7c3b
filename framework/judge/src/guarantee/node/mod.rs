//! What must hold of nodes: their health, taints, labels and pods, and the zones that they are tainted by: NODE.

mod derived_taints_and_labels;
mod drained_nodes;
mod heartbeat;
mod kept_taints;
mod no_execute_taints;
mod pod_disruption_condition;
mod pod_readiness;
mod taint_pace;
mod unknown_conditions;
mod zone;

pub(super) use derived_taints_and_labels::Follows;
pub(super) use drained_nodes::{Drained, DrainedInTime};
pub(super) use heartbeat::Heartbeat;
pub(super) use kept_taints::{Others, Stays};
pub(super) use no_execute_taints::{Frozen, Tainted, Told};
pub(super) use pod_disruption_condition::Said;
pub(super) use pod_readiness::Marked;
pub(super) use taint_pace::Paced;
pub(super) use unknown_conditions::{Starts, Written};
pub(super) use zone::Cut;
