//! Which writes are refused if the object has changed since it was read.

use std::time::Duration;

/// A write of a part of an object that others write, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The graceful eviction controller writes the tasks of a binding.
    Tasks,
    /// The cluster taint policy controller writes the taints of a cluster.
    PolicyTaints,
    /// The scheduler writes the targets of a binding.
    Placement,
    /// The cluster status controller writes the status of a cluster.
    ClusterStatus,
    /// The dependencies distributor writes the dependencies of a template.
    /// The dependencies are written into the annotations of the binding of the template.
    Dependencies,
}

/// Returns the delay between read and write if a write ignores changes since the read.
/// The function returns `None` if the write is refused after a change. The reference refuses all such writes, because a list that
/// was read before another write would undo that write (#7290, #7346; for a status #5227, for annotations #7208). In
/// Karmada, the write of the scheduler is unguarded in every release.
#[must_use]
pub fn unguarded_write_delay(_write: Write) -> Option<Duration> {
    None
}
