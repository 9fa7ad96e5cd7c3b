//! What every controller is given: clients, the clock, the rules, and the stores of the control plane.

use std::sync::Arc;

use capsize_clock::Clock;
use kube::runtime::watcher::Config;
use kube::{Api, Client};

use super::{Informer, bounded};
use crate::api::{
    Cluster, ClusterOverridePolicy, ClusterPropagationPolicy, ClusterResourceBinding, OverridePolicy,
    PropagationPolicy, ResourceBinding, ResourceBindingSpec, Work,
};
use crate::detector::Templates;
use crate::rules::Rules;
use crate::{Controllers, MemberClients, Settings};

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
    pub templates: Templates,
    members: Arc<dyn MemberClients>,
}

impl Context {
    /// Starts the watches on the control plane.
    pub(crate) fn new(controllers: Controllers) -> Self {
        let Controllers { client, members, clock, settings, rules } = controllers;
        let config = Config::default;
        Self {
            clusters: Informer::start(Api::all(client.clone()), config(), ()),
            policies: Informer::start(Api::all(client.clone()), config(), ()),
            cluster_policies: Informer::start(Api::all(client.clone()), config(), ()),
            override_policies: Informer::start(Api::all(client.clone()), config(), ()),
            cluster_override_policies: Informer::start(Api::all(client.clone()), config(), ()),
            bindings: Informer::start(Api::all(client.clone()), config(), ()),
            cluster_bindings: Informer::start(Api::all(client.clone()), config(), ()),
            works: Informer::start(Api::all(client.clone()), config(), ()),
            templates: Templates::default(),
            client,
            clock,
            settings,
            rules,
            members,
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

    /// How a member is watched: renewed as often as any request ends, so that a watch that has gone silent is
    /// noticed within that time.
    pub(crate) fn member_watch(&self) -> Config {
        let seconds = self.settings.member_client_timeout.as_secs().clamp(1, 290);
        Config::default().timeout(u32::try_from(seconds).unwrap_or(290))
    }
}
