//! What every controller is given: clients, the clock, the rules, and the stores of the control plane.

use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use k8s_openapi::api::coordination::v1::Lease;
use kube::runtime::watcher::Config;
use kube::{Api, Client};

use super::{Informer, bounded};
use crate::api::{
    Cluster, ClusterOverridePolicy, ClusterPropagationPolicy, ClusterResourceBinding,
    NAMESPACE_CLUSTER_LEASES, OverridePolicy, PropagationPolicy, ResourceBinding, ResourceBindingSpec, Work,
    execution_namespace,
};
use crate::detector::Templates;
use crate::rules::Rules;
use crate::{Agent, Controllers, MemberClients, Settings};

/// What every controller is given.
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub settings: Settings,
    pub rules: Arc<dyn Rules>,
    pub clusters: Informer<Cluster>,
    pub policies: Informer<PropagationPolicy>,
    pub cluster_policies: Informer<ClusterPropagationPolicy>,
    pub override_policies: Informer<OverridePolicy>,
    pub cluster_override_policies: Informer<ClusterOverridePolicy>,
    pub bindings: Informer<ResourceBinding>,
    pub cluster_bindings: Informer<ClusterResourceBinding>,
    pub works: Informer<Work>,
    /// Of Pull members.
    pub leases: Informer<Lease>,
    pub templates: Templates,
    members: Arc<dyn MemberClients>,
    /// The one cluster that these controllers are the agent of.
    agent_of: Option<String>,
}

impl Context {
    /// Starts the watches on the control plane.
    pub(crate) fn new(controllers: Controllers) -> Self {
        let Controllers { client, members, clock, settings, rules } = controllers;
        let config = Config::default;
        let leases = Api::namespaced(client.clone(), NAMESPACE_CLUSTER_LEASES);
        Self {
            clusters: Informer::start(Api::all(client.clone()), config(), ()),
            policies: Informer::start(Api::all(client.clone()), config(), ()),
            cluster_policies: Informer::start(Api::all(client.clone()), config(), ()),
            override_policies: Informer::start(Api::all(client.clone()), config(), ()),
            cluster_override_policies: Informer::start(Api::all(client.clone()), config(), ()),
            bindings: Informer::start(Api::all(client.clone()), config(), ()),
            cluster_bindings: Informer::start(Api::all(client.clone()), config(), ()),
            works: Informer::start(Api::all(client.clone()), config(), ()),
            leases: Informer::start(leases, config(), ()),
            templates: Templates::default(),
            client,
            clock,
            settings,
            rules,
            members,
            agent_of: None,
        }
    }

    /// Starts what an agent watches on the control plane: its own Cluster and its Works.
    pub(crate) fn of_agent(agent: Agent) -> Self {
        let Agent { cluster, client, member, clock, settings, rules } = agent;
        let client = bounded(client, settings.member_client_timeout);
        let config = watched_across(settings.member_client_timeout);
        let own = config.clone().fields(&format!("metadata.name={cluster}"));
        let works = Api::namespaced(client.clone(), &execution_namespace(&cluster));
        Self {
            clusters: Informer::start(Api::all(client.clone()), own, ()),
            policies: Informer::empty(()),
            cluster_policies: Informer::empty(()),
            override_policies: Informer::empty(()),
            cluster_override_policies: Informer::empty(()),
            bindings: Informer::empty(()),
            cluster_bindings: Informer::empty(()),
            works: Informer::start(works, config, ()),
            leases: Informer::empty(()),
            templates: Templates::default(),
            client,
            clock,
            settings,
            rules,
            members: Arc::new(Own(member)),
            agent_of: Some(cluster),
        }
    }

    /// Ends when the stores hold what there is.
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

    /// Whether these controllers are what talks to the member: those of the control plane do, except where an agent
    /// in the member does.
    pub(crate) fn reaches(&self, cluster: &Cluster) -> bool {
        match &self.agent_of {
            None => !cluster.pulls(),
            Some(own) => cluster.metadata.name.as_ref() == Some(own),
        }
    }

    /// Whether these controllers are an agent's.
    pub(crate) fn is_agent(&self) -> bool {
        self.agent_of.is_some()
    }

    /// What every binding says, of either kind.
    pub(crate) fn placed(&self) -> Vec<ResourceBindingSpec> {
        let namespaced = self.bindings.list().into_iter().map(|binding| binding.spec.clone());
        let cluster_scoped =
            self.cluster_bindings.list().into_iter().map(|binding| binding.spec.binding.clone());
        namespaced.chain(cluster_scoped).collect()
    }

    /// A client for a member, with a bound on each request; `None` where there are no credentials.
    pub(crate) fn member(&self, cluster: &Cluster) -> Option<Client> {
        self.members.client(cluster).map(|client| bounded(client, self.settings.member_client_timeout))
    }

    /// How a member is watched.
    pub(crate) fn member_watch(&self) -> Config {
        watched_across(self.settings.member_client_timeout)
    }
}

/// How the other end of a link is watched: renewed as often as any request ends, so that a watch that has gone silent
/// is noticed within that time.
fn watched_across(request_timeout: Duration) -> Config {
    let seconds = request_timeout.as_secs().clamp(1, 290);
    Config::default().timeout(u32::try_from(seconds).unwrap_or(290))
}

/// An agent reaches its own member and no other.
struct Own(Client);

impl MemberClients for Own {
    fn client(&self, _: &Cluster) -> Option<Client> {
        Some(self.0.clone())
    }
}
