//! The agent of a Pull member: the controllers that run in the member, for that member only.
//!
//! The agent connects to the control plane, and does for its own member what the control plane's controllers do for
//! Push members.

use std::fmt;
use std::sync::Arc;

use capsize_clock::Clock;
use kube::Client;

use crate::Settings;
use crate::machinery::Context;
use crate::rules::Rules;
use crate::start::{RunningControllers, work};

/// An agent, ready to be started.
pub struct Agent {
    /// The name of the member's Cluster.
    pub cluster: String,
    /// A client for the control plane, as it is reached from the member.
    pub client: Client,
    /// A client for the member in which the agent runs.
    pub member: Client,
    /// The clock of the agent.
    pub clock: Clock,
    /// The flags of the agent.
    pub settings: Settings,
    /// The rules that decide.
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
    /// Starts the agent on the current runtime. The agent runs until the returned value is dropped.
    #[must_use = "the agent stops when it is dropped"]
    pub fn start(self) -> RunningControllers {
        RunningControllers::of(work(Context::of_agent(self)))
    }
}
