//! Starts all controllers, and stops them when the returned value is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use tokio::task::JoinSet;

use crate::api::{ClusterResourceBinding, ResourceBinding};
use crate::machinery::Context;
use crate::rules::Rules;
use crate::{
    Metrics, Settings, api, application_failover, binding, cluster, cluster_status, dependencies, detector,
    execution, graceful_eviction, hpa, namespace_sync, rebalance, remedy, scheduler, services, taint_manager,
    taint_policy, work_status,
};

/// The function that runs a controller.
type Run = fn(Arc<Context>) -> BoxFuture<'static, ()>;

/// All controllers, by the names that `--controllers` takes, in the order in which they start.
const CONTROLLERS: [(&str, Run); 27] = [
    ("cluster-status", |context| cluster_status::run(context).boxed()),
    ("cluster", |context| cluster::run(context).boxed()),
    ("cluster-monitor", |context| cluster::run_monitor(context).boxed()),
    ("cluster-taint-policy", |context| taint_policy::run(context).boxed()),
    ("remedy", |context| remedy::run(context).boxed()),
    ("namespace-sync", |context| namespace_sync::run(context).boxed()),
    ("detector", |context| detector::run(context).boxed()),
    ("dependencies-distributor", |context| dependencies::run(context).boxed()),
    ("scheduler", |context| scheduler::run::<ResourceBinding>(context).boxed()),
    ("cluster-scheduler", |context| scheduler::run::<ClusterResourceBinding>(context).boxed()),
    ("binding", |context| binding::run::<ResourceBinding>(context).boxed()),
    ("cluster-binding", |context| binding::run::<ClusterResourceBinding>(context).boxed()),
    ("execution", |context| execution::run(context).boxed()),
    ("work-status", |context| work_status::run(context).boxed()),
    ("taint-manager", |context| taint_manager::run::<ResourceBinding>(context).boxed()),
    ("cluster-taint-manager", |context| taint_manager::run::<ClusterResourceBinding>(context).boxed()),
    ("graceful-eviction", |context| graceful_eviction::run::<ResourceBinding>(context).boxed()),
    ("cluster-graceful-eviction", |context| {
        graceful_eviction::run::<ClusterResourceBinding>(context).boxed()
    }),
    ("application-failover", |context| application_failover::run::<ResourceBinding>(context).boxed()),
    ("cluster-application-failover", |context| {
        application_failover::run::<ClusterResourceBinding>(context).boxed()
    }),
    ("workload-rebalancer", |context| rebalance::run(context).boxed()),
    ("hpa", |context| hpa::run_copier(context).boxed()),
    ("hpa-scale-target-marker", |context| hpa::run_marker(context).boxed()),
    ("deployment-replicas-syncer", |context| hpa::run_syncer(context).boxed()),
    ("service-export", |context| services::run_service_export(context).boxed()),
    ("endpoint-slice", |context| services::run_endpoint_slice(context).boxed()),
    ("service-import", |context| services::run_service_import(context).boxed()),
];

/// The controllers of [`CONTROLLERS`] that an agent runs for its member.
const AGENT_CONTROLLERS: [&str; 3] = ["cluster-status", "execution", "work-status"];

/// Makes clients for members.
pub trait MemberClients: Send + Sync + 'static {
    /// A client for the member whose requests end within `timeout`, which is always the same;
    /// [`with_time_limit`](crate::with_time_limit) makes one. `None` where there are no credentials for the member.
    fn client(&self, cluster: &api::Cluster, timeout: Duration) -> Option<Client>;
}

/// The controllers, ready to be started.
pub struct Controllers {
    /// A client for the control plane, which serves the kinds of [`api::crds`].
    pub client: Client,
    /// The clients for the members.
    pub members: Arc<dyn MemberClients>,
    /// The clock of the controllers.
    pub clock: Clock,
    /// The flags of the controllers.
    pub settings: Settings,
    /// The rules that decide; [`crate::rules::ReferenceRules`] for correct decisions.
    pub rules: Arc<dyn Rules>,
    /// The metrics of the controllers.
    pub metrics: Metrics,
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controllers").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Controllers {
    /// The names of all controllers, as `--controllers` takes them.
    #[must_use]
    pub fn names() -> [&'static str; CONTROLLERS.len()] {
        CONTROLLERS.map(|(name, _)| name)
    }

    /// Starts all controllers on the current runtime. They run until the returned value is dropped.
    #[must_use = "the controllers stop when it is dropped"]
    pub fn start(self) -> RunningControllers {
        RunningControllers::of(work(Context::new(self)))
    }
}

/// Running controllers. Dropping this value stops them at once, as a crash would.
#[derive(Debug)]
pub struct RunningControllers {
    _tasks: JoinSet<()>,
}

impl RunningControllers {
    pub(crate) fn of(run: impl Future<Output = ()> + Send + 'static) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(run.boxed());
        Self { _tasks: tasks }
    }
}

/// Returns true if a controller is enabled.
/// A controller is enabled if no flag disables the controller, the release has the controller, and the gate that the
/// controller needs is on.
fn is_enabled(context: &Context, name: &str) -> bool {
    let settings = &context.settings;
    let gate = match name {
        "hpa" => context.rules.behaviour().copies_autoscalers,
        "cluster-taint-policy" => settings.gates.failover,
        "dependencies-distributor" => settings.gates.propagate_deps,
        _ => true,
    };
    gate && !settings.disabled_controllers.contains(name)
}

/// Runs the controllers that the context is for, except those that are disabled.
pub(crate) async fn work(context: Context) {
    let context = Arc::new(context);
    context.ready().await;
    let mut tasks = JoinSet::new();
    for (name, run) in CONTROLLERS {
        let is_included = !context.is_agent() || AGENT_CONTROLLERS.contains(&name);
        if is_included && is_enabled(&context, name) {
            tasks.spawn(run(Arc::clone(&context)));
        }
    }
    while tasks.join_next().await.is_some() {}
}
