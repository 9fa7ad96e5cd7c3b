//! The guarantees about tolerations and their ends: TOLERATION.

mod eviction_deadline;
mod removed_taints;

pub(super) use eviction_deadline::EvictionAtTolerationEnd;
pub(super) use removed_taints::NoEvictionWithoutTaint;
