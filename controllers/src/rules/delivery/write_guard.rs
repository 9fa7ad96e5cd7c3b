//! Which writes are refused if somebody else has written since what they are based on was read.

use std::time::Duration;

/// A write of something of which others write a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The graceful eviction controller's, of the tasks of a binding.
    Tasks,
    /// The cluster taint policy controller's, of the taints of a cluster.
    PolicyTaints,
    /// The scheduler's, of the targets of a binding.
    Placement,
    /// The cluster status controller's, of the status of a cluster.
    ClusterStatus,
    /// The dependencies distributor's, of what a binding says of its template's dependencies.
    Dependencies,
}

/// Whether a write is made whoever has written since, and how long it comes after the read: none is. Whoever writes a list
/// that he read before somebody else wrote it undoes the other's work (#7290, #7346, and of a status #5227, of annotations #7208);
/// of a scheduler's write that is so in every release.
#[must_use]
pub fn unguarded_write_delay(_write: Write) -> Option<Duration> {
    None
}
