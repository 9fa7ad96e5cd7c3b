//! The guarantees about the members that workloads are assigned to: PLACEMENT.

mod affinity_groups;
mod choice_order;
mod flapping;
mod kept_members;
mod lost_members;
mod member_count;
mod new_members;
mod priority;
mod reserved_workloads;
mod suitable_members;

pub(super) use affinity_groups::{NextAffinityGroupIsUsed, WorkloadLeavesExcludedMembers};
pub(super) use choice_order::{
    AffinityGroupsMoveForward, NewMembersInNameOrder, NoFailback, RegionCountWithinConstraint,
};
pub(super) use flapping::NoReturnToTaintedMember;
pub(super) use kept_members::HealthyPlacementStays;
pub(super) use lost_members::{ChosenAgainKeepsCopy, NewMembersAreReady};
pub(super) use member_count::MemberCountWithinConstraint;
pub(super) use new_members::NewMembersAreEligible;
pub(super) use priority::HigherPriorityIsPlacedFirst;
pub(super) use reserved_workloads::ReservedWorkloadsAreNotScheduled;
pub(super) use suitable_members::{AllFittingMembersAreChosen, MembersLostByEvictionAreReplaced};
