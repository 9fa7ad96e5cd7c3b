//! Eviction tasks: EVICTION.

mod assigned_and_evicted;
mod causes_and_pace;
mod end_events;
mod purge_mode_and_state;
mod replacement_readiness;
mod task_contents;
mod task_end;

pub(super) use assigned_and_evicted::NotBoth;
pub(super) use causes_and_pace::{Kept, Paced, SwitchedOff, Unhealthy};
pub(super) use end_events::EndIsAnnounced;
pub(super) use purge_mode_and_state::{AsAsked, HandedOn};
pub(super) use replacement_readiness::Graceful;
pub(super) use task_contents::{Begins, Stamped, Unchanged};
pub(super) use task_end::{Done, TimedOut};
