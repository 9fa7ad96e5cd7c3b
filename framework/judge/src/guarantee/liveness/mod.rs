//! The guarantees about eventual results: LIVENESS.

mod fully_applied;
mod orphaned_records;
mod scheduling_and_removal;
mod unassisted_end;

pub(super) use orphaned_records::RecordGoesWithTemplate;
pub(super) use scheduling_and_removal::{
    MemberRemovalCompletes, RemovedMemberLosesItsWorkloads, WorkloadIsScheduled,
};
pub(super) use unassisted_end::{ManifestOfRemovedMemberGoes, StatelessWorkloadIsHealthyWhenApplied};
