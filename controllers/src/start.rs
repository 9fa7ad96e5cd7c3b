//! Starts all controllers, and stops them at once.

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
    execution, graceful_eviction, hpa, namespace_sync, rebalance, scheduler, services, taint_manager,
    taint_policy, work_status,
};

/// What runs a controller.
type Run = fn(Arc<Context>) -> BoxFuture<'static, ()>;

/// All controllers, by the names that `--controllers` takes, in the order in which they start.
const TABLE: [(&str, Run); 26] = [
    ("cluster-status", |context| cluster_status::run(context).boxed()),
    ("cluster", |context| cluster::run(context).boxed()),
    ("cluster-monitor", |context| cluster::run_monitor(context).boxed()),
    ("cluster-taint-policy", |context| taint_policy::run(context).boxed()),
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

/// Those of [`TABLE`] that an agent runs for its member.
const OF_AGENT: [&str; 3] = ["cluster-status", "execution", "work-status"];

/// How the members are reached.
pub trait MemberClients: Send + Sync + 'static {
    /// A client for the member whose requests end within `timeout`, which is always the same; [`bounded`](crate::bounded)
    /// makes one. `None` where there are no credentials for it.
    fn client(&self, cluster: &api::Cluster, timeout: Duration) -> Option<Client>;
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
    /// How they judge; [`crate::rules::ReferenceRules`] for as they should.
    pub rules: Arc<dyn Rules>,
    /// Where they count.
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
    pub fn names() -> [&'static str; TABLE.len()] {
        TABLE.map(|(name, _)| name)
    }

    /// Starts all controllers on the current runtime. They go on until what is returned is dropped.
    #[must_use = "the controllers stop when it is dropped"]
    pub fn start(self) -> Running {
        Running::of(work(Context::new(self)))
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

/// Whether the controller is one of those that are asked for, the release has it, and the gate that it needs is on.
fn is_on(context: &Context, name: &str) -> bool {
    let settings = &context.settings;
    let gate = match name {
        "hpa" => context.rules.behaviour().copies_autoscalers,
        "cluster-taint-policy" => settings.gates.failover,
        "dependencies-distributor" => settings.gates.propagate_deps,
        _ => true,
    };
    gate && !settings.disabled_controllers.contains(name)
}

/// Runs the controllers that the context is for, but for those that are switched off.
pub(crate) async fn work(context: Context) {
    let context = Arc::new(context);
    context.ready().await;
    let mut tasks = JoinSet::new();
    for (name, run) in TABLE {
        let is_its = !context.is_agent() || OF_AGENT.contains(&name);
        if is_its && is_on(&context, name) {
            tasks.spawn(run(Arc::clone(&context)));
        }
    }
    while tasks.join_next().await.is_some() {}
}
