//! The guarantees about eviction tasks: EVICTION.

mod application_failover;
mod assigned_and_evicted;
mod causes_and_pace;
mod end_events;
mod no_member_ready;
mod purge_mode_and_state;
mod replacement_readiness;
mod task_contents;
mod task_end;

pub(super) use application_failover::EvictionOfUnhealthyWorkload;
pub(super) use assigned_and_evicted::AssignedAndEvictedMembersAreDisjoint;
pub(super) use causes_and_pace::{EvictionPace, NoEvictionWhenDisabled, SuppressedDeletionKeepsCopy};
pub(super) use end_events::EvictionEndEvent;
pub(super) use no_member_ready::NothingLeavesWhileNoneIsReady;
pub(super) use purge_mode_and_state::{PreservedStateIsPassedOn, PurgeModeOfPolicy};
pub(super) use replacement_readiness::OldCopyStaysUntilReplacementRuns;
pub(super) use task_contents::{NewTaskContents, TaskGetsTimestamp, TaskStaysUnchanged};
pub(super) use task_end::{TaskEndsAtTimeout, TaskEndsWhenReplacementsAreHealthy};
