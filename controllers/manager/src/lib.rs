//! The reference controllers as a program that works on a control plane that exists: flags, leader election, clients
//! for members from their secrets, health and metrics.
//!
//! What the controllers do is in `capsize-controllers`; here is only what a process around them needs.

mod command;
mod endpoints;
mod flags;
mod gates;
mod leader;
mod members;
mod metrics;
mod pace;

pub use command::{Trouble, run};
pub use flags::{Address, Flags};
pub use gates::GateSetting;
pub use leader::{Candidate, Claim, Observed, Times, claim};
