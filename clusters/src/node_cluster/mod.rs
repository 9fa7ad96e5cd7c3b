//! One cluster with Nodes and Pods, and who makes them live: kubelets, a scheduler, the owners of pods.
//!
//! It is what the node lifecycle is tried on. What comes of it when a node fails is left to the controllers of nodes.

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
