//! Every judgement of failover as a pure function: no I/O, and no clock, for times come in as arguments.
//!
//! They stand behind one trait, [`Rules`], whose default methods they are, so that an implementation of it changes
//! exactly the rules that it names. The rules are those of Karmada's release 1.5, but not its bugs.

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
mod webhook;

pub use cluster::*;
pub use delivery::*;
pub use events::{Event, Happening, ObjectName, event};
pub use eviction::*;
pub use policy::*;
pub use release::{
    Behaviour, Bug, Division, Grouping, ReferenceRules, Release, Removal, UnknownBug, UnservedTargets,
};
pub use rules_trait::Rules;
pub use scheduling::*;
pub use services::{
    collected_service, collected_slice, derived_service, exported_service, imported_slice, is_collected,
    keeps_slices,
};
pub use status::*;
pub use webhook::{
    default_failover, default_placement, default_selectors, default_tolerations, needs_dependencies,
    validate_cluster_name, validate_overrides, validate_policy, validate_policy_name,
};
