//! A simulated cluster with Nodes and Pods: kubelets, a scheduler, and the controllers that own pods.
//!
//! Scenarios about the node lifecycle run on it. Taints and evictions are left to the node controllers under test.

mod cluster;
mod event_loop;
mod kubelet;
mod kubelets;
mod observed;
mod owners;
mod pods;
mod scheduler;
mod stage;

pub use cluster::{Cluster, ClusterSpec, NodeSpec};
pub use kubelet::{Kubelet, KubeletGuard, NodeFault};
pub use stage::{Delay, Stages};
