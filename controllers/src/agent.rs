//! The agent of a Pull member: it runs in the member, reaches out to the control plane, and does there for its own
//! member what the control plane's controllers do for the others.

use std::fmt;
use std::sync::Arc;

use capsize_clock::Clock;
use kube::Client;

use crate::Settings;
use crate::machinery::Context;
use crate::rules::Rules;
use crate::start::{Running, work};

/// What an agent needs.
pub struct Agent {
    /// The name of its Cluster.
    pub cluster: String,
    /// The control plane, as it is reached from the member.
    pub client: Client,
    /// The member that it runs in.
    pub member: Client,
    /// The time that it goes by.
    pub clock: Clock,
    /// Its flags.
    pub settings: Settings,
    /// How it judges.
    pub rules: Arc<dyn Rules>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("cluster", &self.cluster)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// Starts the agent on the current runtime. It goes on until what is returned is dropped.
    #[must_use = "the agent stops when it is dropped"]
    pub fn start(self) -> Running {
        Running::of(work(Context::of_agent(self)))
    }
}
