//! The taints of members: TAINT.

mod health_taints;
mod manual_changes;
mod policy_taints;

pub(super) use health_taints::{Exclusive, Lasting, NoExecute, NoSchedule, Untainted};
pub(super) use manual_changes::{Left, Stays};
pub(super) use policy_taints::{ByPolicy, NeverHeard, Unreachable, Wished};
