//! Tests the reference from outside.
//!
//! Failover is simulated, recordings of real controllers are compared, and an API server calls the webhooks.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod failover;
mod kubelets;
mod node_cluster;
mod nodes;
mod nodes_recorded;
mod recordings;
mod webhooks;
mod world;
