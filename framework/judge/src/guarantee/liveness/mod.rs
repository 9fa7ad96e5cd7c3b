//! The guarantees about eventual results: LIVENESS.

mod fully_applied;
mod lost_members_and_objects_without_status;
mod orphaned_records;
mod scheduling_and_removal;
mod unplaced_workloads;

pub(super) use lost_members_and_objects_without_status::{
    ManifestOfRemovedMemberGoes, StatelessWorkloadIsHealthyWhenApplied,
};
pub(super) use orphaned_records::RecordGoesWithTemplate;
pub(super) use scheduling_and_removal::{
    MemberRemovalCompletes, RemovedMemberLosesItsWorkloads, WorkloadIsScheduled,
};
pub(super) use unplaced_workloads::EvictedWorkloadRunsSomewhere;
