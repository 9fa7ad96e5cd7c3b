//! What policies do to workloads: POLICY.

mod policy_changes;
mod suspension;

pub(super) use policy_changes::{Followed, Lazy, Stays};
pub(super) use suspension::Suspension;
