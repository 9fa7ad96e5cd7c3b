//! Tolerations, eviction tasks, feature gates, and the failover of unhealthy applications.

mod application_failover;
mod feature_gates;
mod json_path;
mod preserved_state;
mod tasks;
mod toleration;

pub use application_failover::{
    UnhealthySince, application_failover, application_task, tolerated_until, unhealthy_since,
};
pub use feature_gates::{EvictsBy, Gates, awaits_workloads, evict_or_drop, evicts_for_taints, taints_after};
pub use json_path::json_path;
pub use preserved_state::{inherited_state, injected_state, preserved_state};
pub use tasks::{
    TaskOutcome, confirms_replacement, evict, is_replaced, processes_tasks, taint_task, task_outcome,
    task_timeouts, wakes_for_tasks,
};
pub use toleration::{EvictionTime, counts_against_eviction_rate, eviction_due, eviction_pause, tolerates};
