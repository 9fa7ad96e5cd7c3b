//! Which templates policies own, which dependencies follow, and how templates follow autoscalers.

mod activation;
mod autoscale;
mod autoscaler;
mod claim;
mod dependencies;
mod name_pattern;
mod owner;
mod propagatable;
mod record;
mod required_by;

pub use activation::{activates, touched};
pub use autoscale::{autoscaler_targets, delivered_autoscaler, keeps_autoscaler, replicas_to_sync, scales};
pub use autoscaler::Autoscaler;
pub use claim::{Owner, claim_marks, claimed_by, has_finalizer, policy_finalizer};
pub use dependencies::{dependencies, is_dependency};
pub use name_pattern::NamePattern;
pub use owner::{Claim, Match, owner, selects};
pub use propagatable::{propagated_version, skips_kind, skips_object};
pub use record::{owners_of_binding, suspension_of_binding};
pub use required_by::{InheritedFields, inheritance_conflicts, inherited, require, snapshot};
