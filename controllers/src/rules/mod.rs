//! Every judgement of failover as a pure function: no I/O, and no clock, for times come in as arguments.
//!
//! They stand behind one trait, [`Rules`], whose default methods they are, so that an implementation of it changes
//! exactly the rules that it names. The rules are those of Karmada's release 1.5, but not its bugs.

mod affinity;
mod aggregate;
mod assign;
mod behaviour;
mod capacity;
mod delivery;
mod divide;
mod estimate;
mod eviction;
mod filter;
mod groups;
mod health;
mod image;
mod overrides;
mod policy;
mod readiness;
mod schedule;
mod select;
mod set;
mod summary;
mod taints;
mod toleration;
mod webhook;

pub use affinity::{affinity_matches, field_values};
pub use aggregate::{aggregated_status, fully_applied, template_status};
pub use assign::{assign, room_used, static_weights};
pub use behaviour::{Behaviour, Division, Release};
pub use capacity::{add_quantities, milli};
pub use delivery::{belongs_to_work, carriers, covers, manifest, template_replicas};
pub use divide::{divide, divide_by_largest_weight, divide_by_seats};
pub use estimate::{free_replicas, pod_requests, replica_requirements};
pub use eviction::{TaskFate, evict, is_replaced, stands_in, task_fate};
pub use filter::{
    Refusal, affinity_filter, api_filter, eviction_filter, locality_score, spread_filter, taint_filter,
    terminating_filter,
};
pub use groups::{Group, best_groups, divided_group_score, duplicated_group_score};
pub use health::{health, reflected_status};
pub use image::override_image;
pub use overrides::{OverridePolicyRef, override_object, overrides_for, validate_overrides};
pub use policy::{Claim, Match, owner, selects};
pub use readiness::{Probe, ProbeRun, Readiness, keeps_condition, probe_run, readiness};
pub use schedule::{
    Schedule, ScheduleError, asked_anew, is_aggregated, is_duplicated, is_static_weighted, needs_scheduling,
    schedule, scheduled_condition, terms_to_try,
};
pub use select::{Candidate, grouping_field, ranked, select};
pub use set::{Reference, Rules};
pub use summary::{node_summary, resource_summary};
pub use taints::{Ready, no_execute_taints, no_schedule_taints, terminating_taints};
pub use toleration::{Due, eviction_due, tolerates};
pub use webhook::{default_placement, default_tolerations, validate_placement};
