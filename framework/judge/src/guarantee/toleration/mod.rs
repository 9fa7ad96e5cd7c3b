//! Tolerations and their ends: TOLERATION.

mod eviction_deadline;
mod removed_taints;

pub(super) use eviction_deadline::Deadline;
pub(super) use removed_taints::Spared;
