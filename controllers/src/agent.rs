//! The agent of a Pull member: it runs in the member, reaches out to the control plane, and does there for its own
//! member what the control plane's controllers do for the others.

use std::fmt;
use std::sync::Arc;

use capsize_clock::Clock;
use futures::FutureExt;
use futures::channel::mpsc::unbounded;
use futures::future::BoxFuture;
use kube::Client;
use tokio::task::JoinSet;

use crate::machinery::Context;
use crate::rules::Rules;
use crate::start::Running;
use crate::{Settings, cluster_status, execution, work_status};

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
        Running::of(run(self))
    }
}

async fn run(agent: Agent) {
    let context = Arc::new(Context::of_agent(agent));
    context.ready().await;
    let (astray, found_astray) = unbounded();
    let mut tasks = JoinSet::new();
    let mut start = |controller: &str, run: BoxFuture<'static, ()>| {
        if !context.settings.disabled_controllers.contains(controller) {
            tasks.spawn(run);
        }
    };
    start("cluster-status", cluster_status::run(Arc::clone(&context)).boxed());
    start("execution", execution::run(Arc::clone(&context), found_astray).boxed());
    start("work-status", work_status::run(Arc::clone(&context), astray).boxed());
    while tasks.join_next().await.is_some() {}
}
