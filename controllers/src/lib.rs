//! The reference implementation of failover: what moves workloads away from a member cluster that fails.
//!
//! It runs on Karmada's own API groups, by the rules of its release 1.5 and without its bugs. Judgement is in
//! [`rules`], pure functions behind one trait; each controller has a folder and does nothing but read, ask the rules
//! and write. It knows Kubernetes and the clock: where control plane and members run is left to whoever starts it.

mod admission;
pub mod api;
mod binding;
mod cluster;
mod cluster_status;
mod detector;
mod execution;
mod graceful_eviction;
mod machinery;
pub mod rules;
mod scheduler;
mod settings;
mod start;
mod taint_manager;
mod work_status;

pub use admission::admit;
pub use settings::Settings;
pub use start::{Controllers, MemberClients, Running};
