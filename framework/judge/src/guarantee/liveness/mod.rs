//! The guarantees about eventual results: LIVENESS.

mod fully_applied;
mod manifests_of_removed_members;
mod objects_without_status;
mod orphaned_records;
mod scheduling_and_removal;
mod unplaced_workloads;

pub(super) use manifests_of_removed_members::ManifestOfRemovedMemberIsDeleted;
pub(super) use objects_without_status::ObjectWithoutStatusIsHealthyWhenApplied;
pub(super) use orphaned_records::RecordIsDeletedWithTemplate;
pub(super) use scheduling_and_removal::{
    MemberRemovalCompletes, RemovedMemberLosesItsWorkloads, WorkloadIsScheduled,
};
pub(super) use unplaced_workloads::EvictedWorkloadIsAssignedAgain;
