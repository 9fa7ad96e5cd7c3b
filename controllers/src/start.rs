//! Starts all controllers, and stops them at once.

use std::fmt;
use std::sync::Arc;

use capsize_clock::Clock;
use futures::FutureExt;
use futures::channel::mpsc::unbounded;
use futures::future::BoxFuture;
use kube::Client;
use tokio::task::JoinSet;

use crate::api::{ClusterResourceBinding, ResourceBinding};
use crate::machinery::Context;
use crate::rules::Rules;
use crate::{
    Settings, api, binding, cluster, cluster_status, detector, execution, graceful_eviction, scheduler,
    taint_manager, work_status,
};

/// How the members are reached.
pub trait MemberClients: Send + Sync + 'static {
    /// A client for the member; `None` where there are no credentials for it.
    fn client(&self, cluster: &api::Cluster) -> Option<Client>;
}

/// What the controllers need.
pub struct Controllers {
    /// The control plane. It serves the kinds of [`api::crds`].
    pub client: Client,
    /// The members.
    pub members: Arc<dyn MemberClients>,
    /// The time that they go by.
    pub clock: Clock,
    /// Their flags.
    pub settings: Settings,
    /// How they judge; [`crate::rules::Reference`] for as they should.
    pub rules: Arc<dyn Rules>,
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controllers").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Controllers {
    /// Starts all controllers on the current runtime. They go on until what is returned is dropped.
    #[must_use = "the controllers stop when it is dropped"]
    pub fn start(self) -> Running {
        let mut tasks = JoinSet::new();
        tasks.spawn(run(self));
        Running { _tasks: tasks }
    }
}

/// Controllers at work. Dropping it stops them where they are, as a crash would.
#[derive(Debug)]
pub struct Running {
    _tasks: JoinSet<()>,
}

async fn run(controllers: Controllers) {
    let context = Arc::new(Context::new(controllers));
    context.ready().await;
    let (astray, found_astray) = unbounded();
    let mut tasks = JoinSet::new();
    let mut start = |controller: &str, run: BoxFuture<'static, ()>| {
        if !context.settings.disabled_controllers.contains(controller) {
            tasks.spawn(run);
        }
    };
    let given = || Arc::clone(&context);
    start("cluster-status", cluster_status::run(given()).boxed());
    start("cluster", cluster::run(given()).boxed());
    start("cluster-monitor", cluster::run_monitor(given()).boxed());
    start("detector", detector::run(given()).boxed());
    start("scheduler", scheduler::run::<ResourceBinding>(given()).boxed());
    start("cluster-scheduler", scheduler::run::<ClusterResourceBinding>(given()).boxed());
    start("binding", binding::run::<ResourceBinding>(given()).boxed());
    start("cluster-binding", binding::run::<ClusterResourceBinding>(given()).boxed());
    start("execution", execution::run(given(), found_astray).boxed());
    start("work-status", work_status::run(given(), astray).boxed());
    start("taint-manager", taint_manager::run::<ResourceBinding>(given()).boxed());
    start("cluster-taint-manager", taint_manager::run::<ClusterResourceBinding>(given()).boxed());
    start("graceful-eviction", graceful_eviction::run::<ResourceBinding>(given()).boxed());
    start("cluster-graceful-eviction", graceful_eviction::run::<ClusterResourceBinding>(given()).boxed());
    while tasks.join_next().await.is_some() {}
}
