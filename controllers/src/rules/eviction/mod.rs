//! Evictions: tolerations, eviction tasks, gates, and the failover of unhealthy applications.

mod application;
mod feature_gates;
mod json_path;
mod preserved_state;
mod tasks;
mod toleration;

pub use application::{
    UnhealthySince, application_failover, application_task, tolerated_until, unhealthy_since,
};
pub use feature_gates::{EvictsBy, Gates, awaits_workloads, evicts_for_taints, leave, taints_after};
pub use json_path::json_path;
pub use preserved_state::{handed_on, injected_state, preserved_state};
pub use tasks::{
    TaskFate, evict, is_replaced, sees_to_tasks, stands_in, taint_task, task_fate, task_timeouts,
    wakes_for_tasks,
};
pub use toleration::{Due, eviction_due, eviction_pause, takes_a_turn, tolerates};
