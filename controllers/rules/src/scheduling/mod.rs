//! When a binding is scheduled, which clusters are selected, and how many replicas each gets.

mod affinity;
mod assign;
mod components;
mod divide;
mod estimate;
mod filter;
mod groups;
mod quantities;
mod rebalance;
mod retry;
#[cfg(test)]
mod samples;
mod schedule;
mod select;
mod trigger;
mod workload_affinity;

pub use affinity::{affinity_matches, field_values};
pub use assign::{Selection, assign, room_used, static_weights, still_assigned};
pub use components::{free_sets, is_set, with_room_for_a_set};
pub use divide::{divide, divide_by_largest_weight, divide_by_seats};
pub use estimate::{free_replicas, pod_requests, replica_requirements};
pub use filter::{
    Refusal, affinity_filter, api_filter, begins_to_serve, eviction_filter, locality_score, spread_filter,
    taint_filter, terminating_filter,
};
pub use groups::{Group, best_groups, divided_group_score, duplicated_group_score, fewest_groups};
pub use quantities::{add_quantities, milli};
pub use rebalance::{is_new_request, observed_workloads, rebalance_expires};
pub use retry::{BACK_OFF_BY_PRIORITY, Retries, Retry, look_after, queue_priority, retry, schedule_priority};
pub use schedule::{
    Schedule, ScheduleError, SchedulingInput, is_aggregated, is_divided_by_room, is_duplicated,
    is_static_weighted, schedule, scheduled_condition, terms_to_try,
};
pub use select::{Candidate, grouping_field, ranked, select};
pub use trigger::{
    LostTargets, concerns, is_for_scheduler, is_reschedule_requested, needs_scheduling, observed_generation,
    scales_only,
};
pub use workload_affinity::{
    AffinityClusters, affinity_clusters, affinity_groups, binds_group, workload_affinity_filter,
    workload_anti_affinity_filter,
};
