//! Kubernetes' own objects: Node, Lease, Pod. Nodes are the members, and pods the workloads.

mod fold;
mod node;
mod pod;

pub use fold::Nodes;
