//! Which templates policies own, which dependencies follow, and how templates follow autoscalers.

mod activation;
mod autoscaler_object;
mod autoscaler_rules;
mod binding_fields;
mod claim_marks;
mod dependencies;
mod name_pattern;
mod policy_choice;
mod propagatable;
mod required_by;

pub use activation::{activates, touched};
pub use autoscaler_object::Autoscaler;
pub use autoscaler_rules::{
    autoscaler_targets, delivered_autoscaler, keeps_autoscaler, replicas_to_sync, scales,
};
pub use binding_fields::{owners_of_binding, suspension_of_binding};
pub use claim_marks::{Owner, claim_marks, claimed_by, has_finalizer, policy_finalizer};
pub use dependencies::{dependencies, is_dependency};
pub use name_pattern::NamePattern;
pub use policy_choice::{Claim, Match, owner, selects};
pub use propagatable::{propagated_version, skips_kind, skips_object};
pub use required_by::{InheritedFields, inheritance_conflicts, inherited, require, snapshot};
