//! The reference implementation of failover: moves workloads away from member clusters that fail.
//!
//! It runs on Karmada's own API groups, by the rules of its release 1.5 and without its bugs. All decisions are in
//! [`rules`], pure functions behind two traits. Each controller has a folder, and only reads, asks the rules, and
//! writes. The crate knows Kubernetes and the clock; the caller decides where control plane and members run.
//!
//! One level down, [`NodeControllers`] moves pods away from a node that fails, by the rules of Kubernetes 1.36.

mod agent;
mod application_failover;
mod binding;
mod cluster;
mod cluster_status;
mod dependencies;
mod detector;
mod execution;
mod graceful_eviction;
mod hpa;
mod machinery;
mod metrics;
mod namespace_sync;
mod node_lifecycle;
mod rebalance;
mod remedy;
mod scheduler;
mod services;
mod settings;
mod start;
mod taint_eviction;
mod taint_manager;
mod taint_policy;
#[cfg(test)]
mod test_values;
mod webhook;
mod work_status;

pub use agent::Agent;
/// The types of the custom resources.
pub use capsize_api as api;
/// The decisions of failover.
pub use capsize_rules as rules;
pub use machinery::{RateLimit, rate_limited, with_time_limit};
pub use metrics::Metrics;
pub use node_lifecycle::{NodeControllerSet, NodeControllers, NodeMetrics, NodeSettings};
pub use settings::{PublishedEvents, Settings};
pub use start::{Controllers, MemberClients, RunningControllers};
pub use webhook::{Identity, IdentityError, Webhooks, Write, admit, review};
