//! Every decision of failover as a pure function: no I/O, no clock; times are arguments.
//!
//! The functions are the default methods of two traits, so that an implementation can replace single rules. [`Rules`] has
//! the rules of Karmada's release 1.5 without its bugs, and [`node::NodeRules`] those of Kubernetes 1.36. The folders
//! group the rules by topic.

mod bug_table;
mod cluster;
mod delivery;
mod events;
mod eviction;
pub mod node;
mod policy;
mod release;
mod rules_trait;
mod scheduling;
mod services;
mod status;
#[cfg(test)]
mod test_values;
mod webhook;

pub use bug_table::UnknownBug;
/// The types of the custom resources.
pub use capsize_api as api;
pub use cluster::*;
pub use delivery::*;
pub use events::{Event, ObjectName, ReportedAction, event};
pub use eviction::*;
pub use policy::*;
pub use release::{
    Behaviour, Bug, Division, Grouping, Inheritance, ReferenceRules, Release, Removal, UnservedTargets, Zones,
};
pub use rules_trait::{AsRules, Rules};
pub use scheduling::*;
pub use services::{
    collected_service, collected_slice, derived_service, exported_service, imported_slice, is_collected,
    keeps_slices,
};
pub use status::*;
pub use webhook::{
    default_failover, default_placement, default_selectors, default_tolerations, needs_dependencies,
    validate_cluster_name, validate_overrides, validate_policy, validate_policy_name, validate_selectors,
};
