//! Measures outages: times until detection, eviction and recovery, and double or missing copies.
//!
//! Numbers give no verdict, which is the task of [`crate::guarantee`].

mod builder;
mod outage;
mod summary;
mod workload_numbers;

pub use builder::{Numbers, NumbersBuilder};
pub use outage::{Outage, WorkloadEffect};
pub use summary::{Milestone, Percentiles, Summary};
pub use workload_numbers::{WorkloadNumbers, reachable_replicas, requested_replicas};
