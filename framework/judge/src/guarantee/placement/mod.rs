//! The guarantees about the members that workloads are assigned to: PLACEMENT.

mod affinity_groups;
mod flapping;
mod kept_members;
mod member_count;
mod new_members;
mod priority;
mod ready_members;
mod reserved_workloads;
mod selection;

pub(super) use affinity_groups::{NextAffinityGroupIsUsed, WorkloadLeavesExcludedMembers};
pub(super) use flapping::NoReturnToTaintedMember;
pub(super) use kept_members::{HealthyPlacementStays, MemberCountWithinConstraint};
pub(super) use member_count::{AllFittingMembersAreChosen, EvictedMembersAreReplaced};
pub(super) use new_members::NewMembersAreEligible;
pub(super) use priority::HigherPriorityIsPlacedFirst;
pub(super) use ready_members::{ChosenAgainKeepsCopy, NewMembersAreReady};
pub(super) use reserved_workloads::ReservedWorkloadsAreNotScheduled;
pub(super) use selection::{
    AffinityGroupsMoveForward, NewMembersInNameOrder, NoFailback, RegionCountWithinConstraint,
};
