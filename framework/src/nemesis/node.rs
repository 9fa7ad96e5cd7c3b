//! One fault of a node of a cluster, and how it begins and ends.

use capsize_clusters::{Kubelet, NodeFault};

use super::{FaultGuard, fault_mark};
use crate::history::Mark;

/// Lets `fault` strike a node until the guard is dropped. It is recorded by the name `kind`, by marks of its beginning now
/// and of its end then.
pub fn break_node(
    (node, kubelet): (&str, &Kubelet),
    (kind, fault): (&str, NodeFault),
    record: impl Fn(Mark) + Send + 'static,
) -> FaultGuard {
    let mark = |state: &str| fault_mark(kind, Some(("node", node)), state);
    record(mark("begin"));
    FaultGuard::new(kubelet.apply(fault), mark("end"), record)
}
