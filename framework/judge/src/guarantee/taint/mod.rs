//! The guarantees about the taints of members: TAINT.

mod health_taints;
mod manual_taints;
mod policy_taints;
mod truthful_times;
mod unknown_members;

pub(super) use health_taints::{
    HealthTaintsAreRemovedWhenReady, HealthTaintsExcludeEachOther, NoExecuteTaintAfterTimeout,
    NoExecuteTaintKeepsItsTime, NoScheduleTaintFollowsHealth,
};
pub(super) use manual_taints::ManualTaintsStay;
pub(super) use policy_taints::{NoExecuteTaintIsRequested, TaintsFollowPolicies};
pub(super) use truthful_times::TaintTimesAreTruthful;
pub(super) use unknown_members::NoExecuteTaintAfterSilence;
