//! Starts the node controllers, and stops them when the returned value is dropped.

use std::fmt;
use std::sync::Arc;

use capsize_clock::Clock;
use futures::FutureExt;
use kube::Client;
use tokio::task::JoinSet;

use super::{NodeContext, NodeMetrics, NodeSettings, mark_pods, monitor, reconcile, tainter};
use crate::rules::node::NodeRules;
use crate::start::RunningControllers;
use crate::taint_eviction;

/// The node controllers, ready to be started.
pub struct NodeControllers {
    /// A client for the cluster of the nodes.
    pub client: Client,
    /// The clock of the controllers.
    pub clock: Clock,
    /// The flags of the controllers.
    pub settings: NodeSettings,
    /// The rules that decide.
    pub rules: Arc<dyn NodeRules>,
    /// The metrics of the controllers.
    pub metrics: NodeMetrics,
}

impl fmt::Debug for NodeControllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeControllers").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl NodeControllers {
    /// Starts the controllers on the current runtime. They run until the returned value is dropped.
    #[must_use = "the controllers stop when it is dropped"]
    pub fn start(self) -> RunningControllers {
        RunningControllers::of(work(Arc::new(NodeContext::new(self))))
    }
}

async fn work(context: Arc<NodeContext>) {
    context.ready().await;
    let started = context.settings.controllers;
    let mut tasks = JoinSet::new();
    if started.lifecycle {
        tasks.spawn(reconcile::run(Arc::clone(&context)).boxed());
        tasks.spawn(mark_pods::run(Arc::clone(&context)).boxed());
        tasks.spawn(monitor::run(Arc::clone(&context)).boxed());
        tasks.spawn(tainter::run(Arc::clone(&context)).boxed());
    }
    if started.taint_eviction {
        tasks.spawn(taint_eviction::run(context).boxed());
    }
    while tasks.join_next().await.is_some() {}
}
