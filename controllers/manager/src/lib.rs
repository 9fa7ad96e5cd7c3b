//! The reference controllers as programs: flags, leader election, member clients, health, metrics.
//!
//! There are two programs: one for clusters, and one for nodes with the flags of kube-controller-manager.
//! The controllers are in the crate `capsize-controllers`; this crate is the process around them.

mod command;
mod connection;
mod endpoints;
mod flags;
mod gates;
mod leader;
mod leader_flags;
mod members;
mod metrics;
mod node_command;
mod node_flags;

pub use command::{ProcessError, exit_code, log_to_stderr, run};
pub use connection::{check_server, config_of};
pub use endpoints::{Answers, serve};
pub use flags::{Address, Flags};
pub use gates::GateSetting;
pub use leader::{Candidate, Claim, ObservedLease, Times, claim};
pub use leader_flags::LeaderFlags;
pub use node_command::run_nodes;
pub use node_flags::NodeFlags;
