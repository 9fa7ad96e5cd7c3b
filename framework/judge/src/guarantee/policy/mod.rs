//! The guarantees about the effects of policies on workloads: POLICY.

mod policy_changes;
mod suspension;

pub(super) use policy_changes::{LazyPolicyWaitsForTemplate, RecordFollowsPolicy, TemplateKeepsItsPolicy};
pub(super) use suspension::SuspensionIsKept;
