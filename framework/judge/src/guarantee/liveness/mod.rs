//! What must come to an end: LIVENESS.

mod fully_applied;
mod orphaned_records;
mod scheduling_and_removal;
mod unassisted_end;

pub(super) use orphaned_records::Outlived;
pub(super) use scheduling_and_removal::{Forgotten, Removed, Scheduled};
pub(super) use unassisted_end::{Abandoned, Stateless};
