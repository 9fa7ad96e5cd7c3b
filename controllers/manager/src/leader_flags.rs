//! The flags of leader election; the real controllers differ only in the namespace of the Lease.

use std::time::Duration;

use capsize_clock::Clock;
use clap::Args;
use kube::Client;

use crate::flags::duration;
use crate::leader::{Candidate, Times};

/// Whether leader election is on, and how fast another process takes over.
#[derive(Args, Clone, Debug)]
pub struct LeaderFlags {
    /// Whether a leader is elected, so that only one of several processes works
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub leader_elect: bool,
    /// How long the others wait for a leader that does not renew its Lease
    #[arg(long, default_value = "15s", value_parser = duration, value_name = "TIME")]
    pub leader_elect_lease_duration: Duration,
    /// How long a leader tries to renew its Lease before it gives up
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub leader_elect_renew_deadline: Duration,
    /// Time between two tries
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "TIME")]
    pub leader_elect_retry_period: Duration,
}

impl LeaderFlags {
    /// Returns this process as a candidate for the Lease of this namespace and name.
    /// Returns `None` where leader election is off.
    #[must_use]
    pub fn candidate(&self, client: &Client, clock: Clock, lease: (&str, &str)) -> Option<Candidate> {
        let times = Times {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        };
        self.leader_elect.then(|| Candidate::new(client.clone(), clock, lease, candidate_name(), times))
    }
}

/// The name of a candidate: the machine and the process.
fn candidate_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}_{}", host.trim(), std::process::id())
}
