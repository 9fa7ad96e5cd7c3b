//! The rules of the node lifecycle: nodes are the members, and pods the workloads.
//!
//! The rules are those of Kubernetes 1.36 without its bugs; `behaviour` has the differences of 1.16.

mod behaviour;
mod bugs;
mod drain;
mod health;
mod labels;
mod mark_pods_not_ready;
mod names;
mod pod_eviction;
mod rate_limited_queue;
mod release;
mod rules_trait;
mod taints;
mod zones;

pub use behaviour::NodeBehaviour;
pub use bugs::NodeBug;
pub use drain::{DrainAction, drained, draining, lost};
pub use health::{NodeHealth, node_health, ready_of, silent_conditions};
pub use labels::{mirrored_labels, zone_of};
pub use mark_pods_not_ready::{marked_conditions, marks_again, marks_newcomer, marks_pods};
pub use names::*;
pub use pod_eviction::{Timer, deletion_pause, disruption_target, pod_due, timer};
pub use rate_limited_queue::{Limiter, QueuePosition, WaitingNodes};
pub use release::NodeRelease;
pub use rules_trait::NodeRules;
pub use taints::{TaintAction, condition_taints, evicting_taints, tainting, without_evicting_taints};
pub use zones::{
    Disruption, NodeCounts, Rates, ZoneState, counts, disruption, remembered_zones, zone_rate, zone_state,
};
