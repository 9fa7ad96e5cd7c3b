//! Every judgement of failover as a pure function: no I/O, and no clock, for times come in as arguments.
//!
//! They stand behind one trait, [`Rules`], whose default methods they are, so that an implementation of it changes
//! exactly the rules that it names. The rules are those of Karmada's release 1.5, but not its bugs.

mod activation;
mod affinity;
mod aggregate;
mod application;
mod applied;
mod assign;
mod autoscale;
mod behaviour;
mod bugs;
mod capacity;
mod claim;
mod components;
mod delivery;
mod dependencies;
mod divide;
mod estimate;
mod events;
mod eviction;
mod filter;
mod gates;
mod groups;
mod guard;
mod health;
mod heartbeat;
mod image;
mod json_path;
mod marks;
mod models;
mod namespaces;
mod neighbours;
pub mod node;
mod overrides;
mod parting;
mod pattern;
mod policy;
mod propagated;
mod prune;
mod readiness;
mod rebalance;
mod reflect;
mod release;
mod required;
mod retain;
#[cfg(test)]
mod samples;
mod schedule;
mod select;
mod services;
mod set;
mod state;
mod summary;
mod taint_policy;
mod taints;
mod targets;
mod template_status;
mod toleration;
mod trigger;
mod webhook;

pub use activation::{activates, touched};
pub use affinity::{affinity_matches, field_values};
pub use aggregate::{aggregated_status, fully_applied};
pub use application::{
    UnhealthySince, application_failover, application_task, tolerated_until, unhealthy_since,
};
pub use applied::{Done, applied_condition, dispatching_condition, holds_back};
pub use assign::{assign, room_used, static_weights, still_assigned};
pub use autoscale::{autoscaler_targets, delivered_autoscaler, keeps_autoscaler, replicas_to_sync, scales};
pub use behaviour::{Behaviour, Division, Grouping, Removal, UnservedTargets};
pub use bugs::{Bug, UnknownBug};
pub use capacity::{add_quantities, milli};
pub use claim::{Owner, claim_marks, claimed_by, has_finalizer, policy_finalizer};
pub use components::{free_sets, is_set, with_room_for_a_set};
pub use delivery::{Delivery, covers, is_as_said, manifest, template_replicas};
pub use dependencies::{dependencies, is_meant};
pub use divide::{divide, divide_by_largest_weight, divide_by_seats};
pub use estimate::{free_replicas, pod_requests, replica_requirements};
pub use events::{Event, Happening, Named, event};
pub use eviction::{
    TaskFate, evict, is_replaced, sees_to_tasks, stands_in, taint_task, task_fate, task_timeouts,
    wakes_for_tasks,
};
pub use filter::{
    Refusal, affinity_filter, api_filter, begins_to_serve, eviction_filter, locality_score, spread_filter,
    taint_filter, terminating_filter,
};
pub use gates::{EvictsBy, Gates, awaits_workloads, evicts_for_taints, leave, taints_after};
pub use groups::{Group, best_groups, divided_group_score, duplicated_group_score, fewest_groups};
pub use guard::{Write, unguarded};
pub use health::{has_health, health};
pub use heartbeat::{Heartbeat, abandons_works, falls_silent, heartbeat, not_ready_since, silence};
pub use image::override_image;
pub use json_path::json_path;
pub use marks::{BindingRef, belongs_to_work, binding_mark, identify};
pub use models::{default_models, modelings, replicas_by_models};
pub use namespaces::is_synced;
pub use neighbours::{
    Neighbours, affinity_groups, neighbours, workload_affinity_filter, workload_anti_affinity_filter,
};
pub use overrides::{OverridePolicyRef, override_object, overrides_for};
pub use parting::{LastCopy, last_copy, may_serve_more};
pub use pattern::NamePattern;
pub use policy::{Claim, Match, owner, selects};
pub use propagated::{propagated_version, skips_kind, skips_object};
pub use prune::prune;
pub use readiness::{
    Probe, ProbeRun, Readiness, brings_probe_forward, complete_apis, is_asked, is_damped, keeps_condition,
    member_timeout, probe_run, readiness, replaces_enablements,
};
pub use rebalance::{call_ends, is_new_call, observed_workloads};
pub use reflect::reflected_status;
pub use release::{Reference, Release};
pub use required::{require, snapshot};
pub use retain::retained;
pub use schedule::{
    Scene, Schedule, ScheduleError, is_aggregated, is_divided_by_room, is_duplicated, is_static_weighted,
    schedule, scheduled_condition, terms_to_try,
};
pub use select::{Candidate, grouping_field, ranked, select};
pub use services::{
    collected_service, collected_slice, derived_service, exported_service, imported_slice, is_collected,
    keeps_slices,
};
pub use set::Rules;
pub use state::{handed_on, injected_state, preserved_state};
pub use summary::{node_summary, resource_summary};
pub use taint_policy::{taints_by_policies, validate_taint_policy};
pub use taints::{Ready, no_execute_taints, no_schedule_taints, terminating_taints};
pub use targets::{
    awaits_purge, carriers, completions, holds_up_removal, is_dispatch_suspended, work_targets,
};
pub use template_status::template_status;
pub use toleration::{Due, eviction_due, eviction_pause, takes_a_turn, tolerates};
pub use trigger::{
    Lost, asked_anew, concerns, is_for_scheduler, needs_scheduling, observed_generation, scales_only,
};
pub use webhook::{
    default_failover, default_placement, default_selectors, default_tolerations, needs_dependencies,
    validate_cluster_name, validate_overrides, validate_policy, validate_policy_name,
};
