//! What policies do to workloads: POLICY.

mod policy_changes;
mod suspension;

pub(super) use policy_changes::{LazyPolicyWaitsForTemplate, PlacementFollowsPolicy, TemplateKeepsItsPolicy};
pub(super) use suspension::SuspensionIsKept;
