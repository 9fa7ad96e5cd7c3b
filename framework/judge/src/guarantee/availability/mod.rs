//! The guarantees about how many copies of a workload run at a time: AVAILABILITY.

mod moves;

pub(super) use moves::{RemainingCopyIsDeleted, ReplacementRunsBeforeRemoval};
