//! What must hold of nodes: their health, taints, labels and pods, and the zones that they are tainted by: NODE.

mod follows;
mod heartbeat;
mod marks;
mod paced;
mod tainted;
mod zone;

pub(super) use follows::Follows;
pub(super) use heartbeat::Heartbeat;
pub(super) use marks::Marked;
pub(super) use paced::Paced;
pub(super) use tainted::{Frozen, Tainted, Told};
