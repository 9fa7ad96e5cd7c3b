//! Joins the reference implementation to the framework: neither knows the other.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_clusters::{Admission, Fleet};
use capsize_controllers::rules::{Reference as ReferenceRules, Rules};
use capsize_controllers::{Controllers, MemberClients, Settings, admit, api};
use capsize_framework::run::{Implementation, Site};
use capsize_framework::target::Timings;
use kube::Client;
use serde_json::Value;

/// The reference controllers, deciding by these rules.
pub struct Reference {
    rules: Arc<dyn Rules>,
    disabled: BTreeSet<String>,
    /// Made once, whatever the number of cases: schemas take longer than many a case.
    definitions: Vec<Value>,
}

impl Reference {
    /// The reference controllers with `rules` in the place of their own.
    #[must_use]
    pub fn deciding_by(rules: Arc<dyn Rules>) -> Self {
        let definitions = api::crds().iter().map(serde_json::to_value).collect::<Result<_, _>>();
        let definitions = definitions.expect("a definition is plain data");
        Self { rules, disabled: BTreeSet::new(), definitions }
    }

    /// The reference controllers without the one called `controller`.
    #[must_use]
    pub fn without(controller: &str) -> Self {
        Self { disabled: BTreeSet::from([controller.to_owned()]), ..Self::default() }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::deciding_by(Arc::new(ReferenceRules))
    }
}

impl Implementation for Reference {
    fn definitions(&self) -> Vec<Value> {
        self.definitions.clone()
    }

    fn admission(&self, timings: &Timings) -> Admission {
        let (settings, rules) = (settings(timings), Arc::clone(&self.rules));
        Arc::new(move |request| {
            let Some(object) = request.object else { return Ok(None) };
            admit(&settings, &*rules, request.kind, request.operation, object)
        })
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Any> {
        Box::new(
            Controllers {
                client: site.fleet.control_plane().client(),
                members: Arc::new(Links::of(site.fleet)),
                clock: site.clock,
                settings: Settings { disabled_controllers: self.disabled.clone(), ..settings(site.timings) },
                rules: Arc::clone(&self.rules),
            }
            .start(),
        )
    }
}

/// The way to each member through its link.
struct Links(BTreeMap<String, Client>);

impl Links {
    fn of(fleet: &Fleet) -> Self {
        Self(fleet.members().map(|member| (member.name().to_owned(), member.remote_client())).collect())
    }
}

impl MemberClients for Links {
    fn client(&self, cluster: &api::Cluster) -> Option<Client> {
        self.0.get(cluster.metadata.name.as_deref()?).cloned()
    }
}

/// The times of a profile as the controllers take them.
fn settings(timings: &Timings) -> Settings {
    Settings {
        cluster_status_update_frequency: timings.status_update_frequency,
        cluster_failure_threshold: timings.failure_threshold,
        cluster_success_threshold: timings.success_threshold,
        cluster_monitor_period: timings.monitor_period,
        cluster_monitor_grace_period: timings.monitor_grace_period,
        failover_eviction_timeout: timings.failover_eviction_timeout,
        graceful_eviction_timeout: timings.graceful_eviction_timeout,
        not_ready_toleration: timings.not_ready_toleration_seconds,
        unreachable_toleration: timings.unreachable_toleration_seconds,
        ..Settings::default()
    }
}
