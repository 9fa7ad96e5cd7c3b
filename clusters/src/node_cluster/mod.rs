//! A simulated cluster with Nodes and Pods: kubelets, a scheduler, and the controllers that own pods.
//!
//! It is used by scenarios about the node lifecycle. The node controllers under test are responsible for taints and
//! evictions.

mod cluster;
mod event_loop;
mod kubelet;
mod kubelets;
mod observed_pod;
mod owners;
mod pods;
mod scheduler;
mod stage;

pub use cluster::{Cluster, ClusterSpec, NodeSpec};
pub use kubelet::{Kubelet, KubeletGuard, NodeFault};
pub use stage::{Delay, Stages};
