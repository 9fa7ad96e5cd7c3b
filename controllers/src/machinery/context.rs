//! The context of all controllers: clients, clock, rules, and the stores of the control plane.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Config;
use kube::{Api, Client, ResourceExt};

use super::{
    Binding, DriftedWorks, EventRecorder, Informer, InvolvedObject, ObservedVersions, RetryDelays,
    with_time_limit,
};
use crate::api::{
    Cluster, ClusterOverridePolicy, ClusterPropagationPolicy, ClusterResourceBinding, LABEL_BINDING_ID,
    LABEL_BINDING_KEY, LABEL_CLUSTER_BINDING_ID, LABEL_CLUSTER_BINDING_KEY, NAMESPACE_CLUSTER_LEASES,
    OverridePolicy, PropagationPolicy, ResourceBinding, ResourceBindingSpec, Work, execution_namespace,
};
use crate::dependencies::{BY_DEPENDENCY, dependencies_of};
use crate::detector::Templates;
use crate::rules::{ReportedAction, Rules, Write};
use crate::{Agent, Controllers, MemberClients, Metrics, PublishedEvents, Settings};

/// The context of all controllers.
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub settings: Settings,
    pub rules: Arc<dyn Rules>,
    pub metrics: Metrics,
    pub clusters: Informer<Cluster>,
    pub policies: Informer<PropagationPolicy>,
    pub cluster_policies: Informer<ClusterPropagationPolicy>,
    pub override_policies: Informer<OverridePolicy>,
    pub cluster_override_policies: Informer<ClusterOverridePolicy>,
    pub bindings: Informer<ResourceBinding>,
    pub cluster_bindings: Informer<ClusterResourceBinding>,
    pub works: Informer<Work>,
    /// The Leases of Pull members.
    pub leases: Informer<Lease>,
    pub templates: Templates,
    /// The Works whose copy in the member does not match.
    pub drifted_works: DriftedWorks,
    pub observed_versions: ObservedVersions,
    events: EventRecorder,
    members: Arc<dyn MemberClients>,
    /// The cluster whose agent these controllers are; `None` on the control plane.
    agent_of: Option<String>,
}

impl Context {
    /// Starts the watches on the control plane.
    pub(crate) fn new(controllers: Controllers) -> Self {
        let Controllers { client, members, clock, settings, rules, metrics } = controllers;
        let config = Config::default;
        let leases = Api::namespaced(client.clone(), NAMESPACE_CLUSTER_LEASES);
        Self {
            clusters: Informer::start(Api::all(client.clone()), config()),
            policies: Informer::start(Api::all(client.clone()), config()),
            cluster_policies: Informer::start(Api::all(client.clone()), config()),
            override_policies: Informer::start(Api::all(client.clone()), config()),
            cluster_override_policies: Informer::start(Api::all(client.clone()), config()),
            bindings: indexed_by_target(Informer::start(Api::all(client.clone()), config()))
                .indexed(BY_DEPENDENCY, dependencies_of),
            cluster_bindings: indexed_by_target(Informer::start(Api::all(client.clone()), config())),
            works: indexed_works(Api::all(client.clone()), config()),
            leases: Informer::start(leases, config()),
            templates: Templates::default(),
            drifted_works: DriftedWorks::default(),
            observed_versions: ObservedVersions::default(),
            events: EventRecorder::start(client.clone(), clock),
            client,
            clock,
            settings,
            rules,
            metrics,
            members,
            agent_of: None,
        }
    }

    /// Starts the watches of an agent on the control plane: its own Cluster and its Works.
    pub(crate) fn of_agent(agent: Agent) -> Self {
        let Agent { cluster, client, member, clock, settings, rules } = agent;
        let timeout = rules.member_timeout(settings.member_client_timeout);
        let (client, config) = (with_time_limit(client, timeout, None), watch_config(timeout));
        let own = config.clone().fields(&format!("metadata.name={cluster}"));
        let works = Api::namespaced(client.clone(), &execution_namespace(&cluster));
        Self {
            clusters: Informer::start(Api::all(client.clone()), own),
            policies: Informer::empty(),
            cluster_policies: Informer::empty(),
            override_policies: Informer::empty(),
            cluster_override_policies: Informer::empty(),
            bindings: Informer::empty(),
            cluster_bindings: Informer::empty(),
            works: indexed_works(works, config),
            leases: Informer::empty(),
            templates: Templates::default(),
            drifted_works: DriftedWorks::default(),
            observed_versions: ObservedVersions::default(),
            events: EventRecorder::start(client.clone(), clock),
            client,
            clock,
            settings,
            rules,
            metrics: Metrics::default(),
            members: Arc::new(OwnMember(with_time_limit(member, timeout, None))),
            agent_of: Some(cluster),
        }
    }

    /// Returns when all stores have their first list.
    pub(crate) async fn ready(&self) {
        self.clusters.ready().await;
        self.policies.ready().await;
        self.cluster_policies.ready().await;
        self.override_policies.ready().await;
        self.cluster_override_policies.ready().await;
        self.bindings.ready().await;
        self.cluster_bindings.ready().await;
        self.works.ready().await;
        self.leases.ready().await;
    }

    /// Whether these controllers connect to the member.
    /// Those of the control plane connect to Push members, those of an agent to their own member.
    pub(crate) fn reaches(&self, cluster: &Cluster) -> bool {
        match &self.agent_of {
            None => !cluster.pulls(),
            Some(own) => cluster.metadata.name.as_ref() == Some(own),
        }
    }

    /// Whether these controllers belong to an agent.
    pub(crate) fn is_agent(&self) -> bool {
        self.agent_of.is_some()
    }

    /// Whether a write must be refused if the object has changed since it was read.
    /// For an unguarded write, this first sleeps for the lag that the rules give.
    pub(crate) async fn guards(&self, write: Write) -> bool {
        let Some(lag) = self.rules.unguarded_write_delay(write) else { return true };
        self.clock.sleep(lag).await;
        false
    }

    /// Publishes an event about objects as `component`, if the release has an event for what happened.
    pub(crate) fn publish<const N: usize>(
        &self,
        component: impl Into<Cow<'static, str>>,
        action: &ReportedAction<'_>,
        about: impl FnOnce() -> [InvolvedObject; N],
    ) {
        if self.settings.published_events == PublishedEvents::Evictions && !action.is_eviction() {
            return;
        }
        let Some(event) = self.rules.event(action) else { return };
        let component = component.into();
        for involved in about() {
            self.events.publish(component.clone(), involved, event.clone());
        }
    }

    /// Returns the specs of all bindings, without the bindings that are being deleted.
    /// The Works of bindings that are being deleted are deleted in any case.
    pub(crate) fn binding_specs(&self) -> Vec<ResourceBindingSpec> {
        let is_live = |meta: &ObjectMeta| meta.deletion_timestamp.is_none();
        let namespaced = self.bindings.list().into_iter().filter(|binding| is_live(&binding.metadata));
        let cluster_scoped =
            self.cluster_bindings.list().into_iter().filter(|binding| is_live(&binding.metadata));
        let namespaced = namespaced.map(|binding| binding.spec.clone());
        namespaced.chain(cluster_scoped.map(|binding| binding.spec.binding.clone())).collect()
    }

    /// A client for a member, with a time limit on each request; `None` where there are no credentials.
    pub(crate) fn member(&self, cluster: &Cluster) -> Option<Client> {
        self.members.client(cluster, self.member_timeout())
    }

    /// The configuration of the watches of members.
    pub(crate) fn member_watch(&self) -> Config {
        watch_config(self.member_timeout())
    }

    /// How long a request to a member may take.
    pub(crate) fn member_timeout(&self) -> Duration {
        self.rules.member_timeout(self.settings.member_client_timeout)
    }
}

impl RetryDelays for Context {
    fn delays(&self) -> (Duration, Duration) {
        (self.settings.rate_limiter_base_delay, self.settings.rate_limiter_max_delay)
    }
}

/// The index of bindings by the clusters that they are placed on.
pub(crate) const BY_TARGET: &str = "target";
/// The index of Works by their execution namespace.
pub(crate) const BY_NAMESPACE: &str = "namespace";
/// The index of Works by the key or id of their binding.
pub(crate) const BY_BINDING: &str = "binding";

fn indexed_by_target<B: Binding>(bindings: Informer<B>) -> Informer<B> {
    bindings.indexed(BY_TARGET, |binding| {
        binding.spec().clusters.iter().map(|target| target.name.clone()).collect()
    })
}

fn indexed_works(api: Api<Work>, config: Config) -> Informer<Work> {
    let works = Informer::start(api, config);
    let works = works.indexed(BY_NAMESPACE, |work| work.namespace().into_iter().collect());
    works.indexed(BY_BINDING, |work| {
        let labels =
            [LABEL_BINDING_KEY, LABEL_CLUSTER_BINDING_KEY, LABEL_BINDING_ID, LABEL_CLUSTER_BINDING_ID];
        labels.iter().filter_map(|label| work.labels().get(*label).cloned()).collect()
    })
}

/// The configuration of watches over a link.
/// They are renewed as often as any request times out, so that a watch that has gone silent is noticed within that
/// time.
fn watch_config(request_timeout: Duration) -> Config {
    let seconds = request_timeout.as_secs().clamp(1, 290);
    Config::default().timeout(u32::try_from(seconds).unwrap_or(290))
}

/// The clients of an agent, which connects to its own member only. The client has its timeout already.
struct OwnMember(Client);

impl MemberClients for OwnMember {
    fn client(&self, _: &Cluster, _: Duration) -> Option<Client> {
        Some(self.0.clone())
    }
}
