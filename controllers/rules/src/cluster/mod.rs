//! Readiness, silence and taints of clusters, and the resources that their nodes offer.

mod heartbeat;
mod member_pod;
mod readiness;
mod remedies;
mod resource_models;
mod resource_summary;
mod taint_policy;
mod taints;

pub use heartbeat::{Heartbeat, abandons_works, falls_silent, heartbeat, not_ready_since, silence};
pub use member_pod::MemberPod;
pub use readiness::{
    Probe, ProbeRun, Readiness, brings_probe_forward, collects_status, complete_apis, is_damped,
    keeps_condition, member_timeout, probe_run, readiness, replaces_enablements,
};
pub use remedies::{remedy_actions, with_kept_remedies};
pub use resource_models::{default_models, modelings, replicas_by_models};
pub use resource_summary::{node_summary, resource_summary};
pub use taint_policy::{taints_by_policies, validate_taint_policy};
pub use taints::{Ready, no_execute_taints, no_schedule_taints, terminating_taints};
