//! One fault of a node of a cluster, and how it begins and ends.

use capsize_clusters::{Kubelet, NodeFault};
use serde_json::json;

use super::{FaultGuard, fault_mark};
use capsize_history::Mark;

/// Lets `fault` strike a node until the guard is dropped. It is recorded by the name `kind`, by marks of its beginning now
/// and of its end then.
pub fn break_node(
    (node, kubelet): (&str, &Kubelet),
    (kind, fault): (&str, NodeFault),
    record: impl Fn(Mark) + Send + 'static,
) -> FaultGuard {
    let mark = |state: &str| {
        let mut mark = fault_mark(kind, Some(("node", node)), state);
        if let NodeFault::Skew(by) = &fault {
            mark.insert("seconds".into(), json!(by.as_secs_f64()));
        }
        mark
    };
    record(mark("begin"));
    let end = mark("end");
    FaultGuard::new(kubelet.apply(fault), end, record)
}
