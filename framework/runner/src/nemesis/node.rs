//! One fault of a node, with its beginning and its end.

use capsize_clusters::{Kubelet, NodeFault};
use serde_json::json;

use super::{FaultGuard, fault_mark};
use capsize_history::{FaultKind, Mark};

/// Begins `fault` on a node.
/// It ends when the guard is dropped. `record` receives a mark of this `kind` now, and another one at the end.
pub fn break_node(
    (node, kubelet): (&str, &Kubelet),
    (kind, fault): (FaultKind, NodeFault),
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
