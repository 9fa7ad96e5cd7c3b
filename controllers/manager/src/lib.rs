//! The reference controllers as a program that works on a control plane that exists: flags, leader election, clients
//! for members from their secrets, health and metrics.
//!
//! There are two programs: one for clusters, and one for nodes that has the flags of kube-controller-manager.
//! What the controllers do is in `capsize-controllers`; here is only what a process around them needs.

mod command;
mod endpoints;
mod flags;
mod gates;
mod leader;
mod leader_flags;
mod members;
mod metrics;
mod node_command;
mod node_flags;

pub use command::{Trouble, exit_code, run};
pub use flags::{Address, Flags};
pub use gates::GateSetting;
pub use leader::{Candidate, Claim, Observed, Times, claim};
pub use leader_flags::LeaderFlags;
pub use node_command::run_nodes;
pub use node_flags::NodeFlags;
