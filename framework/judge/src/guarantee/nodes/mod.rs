//! What must hold of nodes: their health, taints, labels and pods, and the zones that they are tainted by: NODE.

mod drained;
mod follows;
mod heartbeat;
mod kept;
mod marks;
mod paced;
mod said;
mod tainted;
mod written;
mod zone;

pub(super) use drained::{Drained, DrainedInTime};
pub(super) use follows::Follows;
pub(super) use heartbeat::Heartbeat;
pub(super) use kept::{Others, Stays};
pub(super) use marks::Marked;
pub(super) use paced::Paced;
pub(super) use said::Said;
pub(super) use tainted::{Frozen, Tainted, Told};
pub(super) use written::{Starts, Written};
pub(super) use zone::Cut;
