//! The taints of members: TAINT.

mod health_taints;
mod manual_changes;
mod policy_taints;
mod unreachable;

pub(super) use health_taints::{Exclusive, Lasting, NoExecute, NoSchedule, Untainted};
pub(super) use manual_changes::Stays;
pub(super) use policy_taints::{ByPolicy, Wished};
pub(super) use unreachable::Unreachable;
