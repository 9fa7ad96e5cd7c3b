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
    Settings, api, application_failover, binding, cluster, cluster_status, dependencies, detector, execution,
    graceful_eviction, hpa, namespace_sync, scheduler, services, taint_manager, taint_policy, work_status,
};

/// The names of all controllers, as `--controllers` takes them.
pub const CONTROLLERS: &[&str] = &[
    "cluster-status",
    "cluster",
    "cluster-monitor",
    "cluster-taint-policy",
    "namespace-sync",
    "detector",
    "dependencies-distributor",
    "scheduler",
    "cluster-scheduler",
    "binding",
    "cluster-binding",
    "execution",
    "work-status",
    "taint-manager",
    "cluster-taint-manager",
    "graceful-eviction",
    "cluster-graceful-eviction",
    "application-failover",
    "cluster-application-failover",
    "hpa-scale-target-marker",
    "deployment-replicas-syncer",
    "service-export",
    "endpoint-slice",
    "service-import",
];

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
        Running::of(run(self))
    }
}

/// Controllers at work. Dropping it stops them where they are, as a crash would.
#[derive(Debug)]
pub struct Running {
    _tasks: JoinSet<()>,
}

impl Running {
    pub(crate) fn of(run: impl Future<Output = ()> + Send + 'static) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(run);
        Self { _tasks: tasks }
    }
}

async fn run(controllers: Controllers) {
    let context = Arc::new(Context::new(controllers));
    context.ready().await;
    let (astray, found_astray) = unbounded();
    let mut tasks = JoinSet::new();
    let mut start = |controller: &str, run: BoxFuture<'static, ()>| {
        assert!(CONTROLLERS.contains(&controller), "{controller} is not among the names");
        if !context.settings.disabled_controllers.contains(controller) {
            tasks.spawn(run);
        }
    };
    let given = || Arc::clone(&context);
    start("cluster-status", cluster_status::run(given()).boxed());
    start("cluster", cluster::run(given()).boxed());
    start("cluster-monitor", cluster::run_monitor(given()).boxed());
    start("cluster-taint-policy", taint_policy::run(given()).boxed());
    start("namespace-sync", namespace_sync::run(given()).boxed());
    start("detector", detector::run(given()).boxed());
    start("dependencies-distributor", dependencies::run(given()).boxed());
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
    start("application-failover", application_failover::run::<ResourceBinding>(given()).boxed());
    start(
        "cluster-application-failover",
        application_failover::run::<ClusterResourceBinding>(given()).boxed(),
    );
    start("hpa-scale-target-marker", hpa::run_marker(given()).boxed());
    start("deployment-replicas-syncer", hpa::run_syncer(given()).boxed());
    start("service-export", services::run_service_export(given()).boxed());
    start("endpoint-slice", services::run_endpoint_slice(given()).boxed());
    start("service-import", services::run_service_import(given()).boxed());
    while tasks.join_next().await.is_some() {}
}
