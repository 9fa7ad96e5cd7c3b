//! Every judgement of failover as a pure function: no I/O, and no clock, for times come in as arguments.
//!
//! They stand behind one trait, [`Rules`], whose default methods they are, so that an implementation of it changes
//! exactly the rules that it names. The rules are those of Karmada's release 1.5, but not its bugs.

mod affinity;
mod aggregate;
mod assign;
mod capacity;
mod delivery;
mod eviction;
mod filter;
mod health;
mod policy;
mod readiness;
mod schedule;
mod set;
mod taints;
mod toleration;
mod webhook;

pub use affinity::affinity_matches;
pub use aggregate::{aggregated_status, fully_applied, template_status};
pub use assign::{assign, divide, static_weights};
pub use capacity::add_quantities;
pub use delivery::{belongs_to_work, carriers, covers, manifest, template_replicas};
pub use eviction::{TaskFate, evict, is_replaced, stands_in, task_fate};
pub use filter::{
    Refusal, affinity_filter, api_filter, eviction_filter, locality_score, taint_filter, terminating_filter,
};
pub use health::{health, reflected_status};
pub use policy::{Claim, Match, selects, winner};
pub use readiness::{Probe, ProbeRun, Readiness, keeps_condition, probe_run, readiness};
pub use schedule::{
    Candidate, ScheduleError, is_duplicated, is_static_weighted, needs_scheduling, ranked, schedule, select,
};
pub use set::{Reference, Rules};
pub use taints::{Ready, no_execute_taints, no_schedule_taints, terminating_taints};
pub use toleration::{Due, eviction_due, tolerates};
pub use webhook::{default_placement, default_tolerations, validate_placement};
