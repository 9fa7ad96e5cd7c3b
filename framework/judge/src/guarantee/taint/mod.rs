//! The guarantees about the taints of members: TAINT.

mod health_taints;
mod manual_changes;
mod policy_taints;
mod truthful_times;
mod unreachable;

pub(super) use health_taints::{
    HealthTaintsAreRemovedWhenReady, HealthTaintsExcludeEachOther, NoExecuteTaintAfterTimeout,
    NoExecuteTaintKeepsItsTime, NoScheduleTaintFollowsHealth,
};
pub(super) use manual_changes::ManualTaintsStay;
pub(super) use policy_taints::{NoExecuteTaintIsRequested, TaintsFollowPolicies};
pub(super) use truthful_times::TaintTimesAreTruthful;
pub(super) use unreachable::NoExecuteTaintAfterSilence;
