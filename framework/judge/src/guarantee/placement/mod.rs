//! Which members workloads are assigned to: PLACEMENT.

mod affinity_groups;
mod flapping;
mod kept_members;
mod member_count;
mod new_members;
mod reserved_workloads;
mod selection;

pub(super) use affinity_groups::{Meant, Next};
pub(super) use flapping::NotBack;
pub(super) use kept_members::{Kept, Spread};
pub(super) use member_count::{Everywhere, Refilled};
pub(super) use new_members::Newcomers;
pub(super) use reserved_workloads::LeftAlone;
pub(super) use selection::{ByName, Forward, NoFailback, Regions};
