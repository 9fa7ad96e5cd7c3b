//! Joins the reference implementation to the framework: neither knows the other.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use capsize_clock::Seed;
use capsize_clusters::{Admission, Fleet, SyncMode};
use capsize_controllers::Write;
use capsize_controllers::rules::{EvictsBy, Gates, ReferenceRules, Release, Rules, UnknownBug};
use capsize_controllers::{
    Agent, Controllers, MemberClients, Metrics, PublishedEvents, RateLimit, Settings, admit, api,
    rate_limited, with_time_limit,
};
use capsize_judge::profile::{Feature, Profile, Timings};
use capsize_runner::run::{
    Environment, Implementation, ImplementationInfo, RunningImplementation, StartFuture,
};
use capsize_sorted::CollectSorted;
use futures::future::ready;
use kube::Client;
use serde_json::Value;

/// The reference controllers, deciding by these rules.
pub struct Reference {
    rules: Arc<dyn Rules>,
    disabled: BTreeSet<String>,
    /// In a run nobody reads other events than those that are recorded.
    published_events: PublishedEvents,
    /// Made once, whatever the number of cases: schemas take longer than many a case. Without descriptions.
    definitions: Vec<Value>,
    /// The release that it behaves like, if it is made from a profile that names one.
    release: Option<String>,
    addresses: Addresses,
}

/// The URLs at which members of a fleet listen, with the names of these members.
/// They are set when all members listen.
pub type Addresses = Arc<OnceLock<BTreeMap<String, String>>>;

/// The highest rate and burst at which controllers send requests.
/// The values are the defaults of `--kube-api-qps` and `--cluster-api-qps`, and of their bursts. Two controllers that
/// disagree about an object write without end, and only this rate slows them down.
const RATE_LIMIT: RateLimit =
    RateLimit { qps: NonZeroU32::new(40).unwrap(), burst: NonZeroU32::new(60).unwrap() };

/// The part of the reference that stands before every write.
const WEBHOOKS: &str = "webhooks";

impl Reference {
    /// The reference controllers with `rules` in the place of their own.
    #[must_use]
    pub fn deciding_by(rules: Arc<dyn Rules>) -> Self {
        Self::with_definitions(rules, Self::described_definitions())
    }

    fn with_definitions(rules: Arc<dyn Rules>, mut definitions: Vec<Value>) -> Self {
        definitions.iter_mut().for_each(forget_prose);
        Self {
            rules,
            disabled: BTreeSet::new(),
            published_events: PublishedEvents::Evictions,
            definitions,
            release: None,
            addresses: Addresses::default(),
        }
    }

    /// The definitions of the kinds that it works on, with what there is to say of each field.
    #[must_use]
    pub fn described_definitions() -> Vec<Value> {
        as_values(&api::crds())
    }

    /// The reference controllers as a profile wants them: like a release, with bugs.
    ///
    /// # Errors
    /// When it names a bug that is not known.
    pub fn of(profile: &Profile) -> Result<Self, UnknownBug> {
        let release = profile.behaviour.as_deref().map(Release::of).unwrap_or_default();
        let bugs = profile.bugs.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
        let definitions = profile.behaviour.as_deref().map_or_else(api::crds, api::crds_of);
        let reference =
            Self::with_definitions(Arc::new(Release { bugs, ..release }), as_values(&definitions));
        Ok(Self { release: profile.behaviour.clone(), ..reference })
    }

    /// The reference for users who look at the control plane.
    /// It publishes all events, and its definitions have descriptions. It reaches a member also by a URL at which a
    /// member of the fleet listens.
    #[must_use]
    pub fn for_users(addresses: Addresses) -> Self {
        let (definitions, published_events) = (Self::described_definitions(), PublishedEvents::All);
        Self { definitions, published_events, addresses, ..Self::default() }
    }

    /// The arguments of [`Reference::without`]: the controllers, and the webhooks.
    #[must_use]
    pub fn parts() -> BTreeSet<&'static str> {
        Controllers::names().into_iter().chain([WEBHOOKS]).collect_sorted()
    }

    /// The reference controllers without one of its [`Reference::parts`].
    #[must_use]
    pub fn without(part: &str) -> Self {
        Self { disabled: [part.to_owned()].collect_sorted(), ..Self::default() }
    }
}

/// The definitions as JSON.
fn as_values(definitions: &[impl serde::Serialize]) -> Vec<Value> {
    let values = definitions.iter().map(serde_json::to_value).collect::<Result<_, _>>();
    values.expect("a definition is plain data")
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

    fn admission(&self, timings: &Timings, seed: Seed) -> Option<Admission> {
        if self.disabled.contains(WEBHOOKS) {
            return None;
        }
        let (mut settings, rules) = (settings(timings), Arc::clone(&self.rules));
        // As in the recordings, where no aggregated API server grades what joins.
        settings.gates.customized_cluster_resource_modeling = false;
        let created = AtomicU64::new(0);
        Some(Arc::new(move |request| {
            let Some(object) = request.object else { return Ok(None) };
            let is_new = request.operation == "CREATE" && rules.behaviour().permanent_ids;
            let number = || created.fetch_add(1, Ordering::Relaxed);
            let id = if is_new { uuid(seed, number()) } else { String::new() };
            let write = Write::of(request.kind, request.operation, object, request.old);
            admit(&settings, &*rules, Write { id: &id, ..write })
        }))
    }

    fn info(&self) -> ImplementationInfo {
        let switches: &[Feature] = match self.rules.behaviour().evicts_by {
            EvictsBy::TaintManager => {
                &[Feature::NoExecuteTaints, Feature::AutomaticNoExecute, Feature::GracefulEviction]
            }
            // Evictions are always by tasks there.
            EvictsBy::Everything => &[Feature::NoExecuteTaints, Feature::AutomaticNoExecute],
        };
        ImplementationInfo { switches, ..ImplementationInfo::default() }
    }

    /// The other release has no bugs.
    fn upgraded(&self, from: &str, to: &str) -> Option<Arc<dyn Implementation>> {
        self.release.as_deref().filter(|release| *release == from)?;
        let definitions = as_values(&api::crds_of(to));
        let upgraded = Self::with_definitions(Arc::new(Release::of(to)), definitions);
        Some(Arc::new(Self { release: Some(to.to_owned()), ..upgraded }))
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        Box::pin(ready(Ok(self.start_at(environment))))
    }
}

impl Reference {
    /// Starts it at once.
    fn start_at(&self, environment: &Environment<'_>) -> RunningImplementation {
        let settings = Settings {
            disabled_controllers: self.disabled.clone(),
            published_events: self.published_events,
            ..settings_without(environment.off, self.rules.behaviour().evicts_by, environment.timings)
        };
        // In large fleets the first of all has leave to ask more of the control plane.
        let client = |client| if environment.is_rival { rate_limited(client, RATE_LIMIT) } else { client };
        let pulling = environment.fleet.members().filter(|member| member.spec().sync == SyncMode::Pull);
        let agents: Vec<_> = pulling
            .map(|member| Agent {
                cluster: member.name().to_owned(),
                client: client(environment.fleet.client_from(member)),
                member: rate_limited(member.client(), RATE_LIMIT),
                clock: member.clock(),
                settings: settings.clone(),
                rules: Arc::clone(&self.rules),
            })
            .map(Agent::start)
            .collect();
        let controllers = Controllers {
            client: client(environment.fleet.controllers_client()),
            members: Arc::new(Links::of(environment.fleet, Arc::clone(&self.addresses))),
            clock: environment.clock,
            settings,
            rules: Arc::clone(&self.rules),
            metrics: Metrics::default(),
        };
        Box::new((controllers.start(), agents))
    }
}

/// The UUID, version 4, that chance has for what is made after so many others.
fn uuid(seed: Seed, number: u64) -> String {
    let half = |name: &str| seed.derive(&format!("{name} half of permanent id {number}")).0;
    let (high, low) = (half("first"), half("second"));
    let (variant, rest) = ((low >> 48) & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!(
        "{:08x}-{:04x}-4{:03x}-{variant:04x}-{rest:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff
    )
}

/// Takes the descriptions out of a definition.
/// Nobody reads the descriptions in a run, and each run installs them anew.
fn forget_prose(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(forget_prose);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_prose),
        _ => {}
    }
}

/// The way to each member that is pushed to, through its link.
struct Links {
    clients: BTreeMap<String, Client>,
    /// The same, as the controllers ask for them.
    bounded: Mutex<BTreeMap<String, Client>>,
    addresses: Addresses,
}

impl Links {
    fn of(fleet: &Fleet, addresses: Addresses) -> Self {
        let pushed = fleet.members().filter(|member| member.spec().sync == SyncMode::Push);
        let clients =
            pushed.map(|member| (member.name().to_owned(), member.remote_client())).collect_sorted();
        Self { clients, bounded: Mutex::default(), addresses }
    }

    /// The member of the fleet to which `endpoint` leads, whatever the name of the Cluster is.
    fn reached<'a>(&'a self, endpoint: &'a str) -> Option<&'a str> {
        let by_name = endpoint.strip_prefix("https://").and_then(|rest| rest.strip_suffix(".embedded"));
        let by_url = || self.addresses.get()?.get(endpoint.trim_end_matches('/')).map(String::as_str);
        by_name.or_else(by_url)
    }
}

impl MemberClients for Links {
    /// Returns a client for the member of `cluster`.
    /// Members ask for no credentials. If a Cluster asks for credentials, only those with the name of the Cluster are
    /// present.
    fn client(&self, cluster: &api::Cluster, timeout: Duration) -> Option<Client> {
        let name = cluster.metadata.name.as_deref()?;
        let known = cluster.spec.secret_ref.as_ref().is_none_or(|secret| secret.name == name);
        let reached = self.reached(&cluster.spec.api_endpoint)?;
        let client = self.clients.get(reached).filter(|_| known)?;
        let mut made = self.bounded.lock().unwrap_or_else(PoisonError::into_inner);
        Some(
            made.entry(reached.to_owned())
                .or_insert_with(|| with_time_limit(client.clone(), timeout, Some(RATE_LIMIT)))
                .clone(),
        )
    }
}

/// The settings of a reference without these features.
/// Since release 1.14, the gate `Failover` also ends evictions for taints that a person has set. There, automatic taints
/// are switched off by a timeout without end.
fn settings_without(off: &[Feature], evicts_by: EvictsBy, timings: &Timings) -> Settings {
    let is_on = |feature| !off.contains(&feature);
    let evicts = is_on(Feature::NoExecuteTaints);
    let mut settings = settings(timings);
    settings.gates = Gates {
        graceful_eviction: is_on(Feature::GracefulEviction),
        taint_manager: evicts,
        no_execute_taint_eviction: evicts,
        ..Gates::default()
    };
    if !is_on(Feature::AutomaticNoExecute) {
        match evicts_by {
            EvictsBy::TaintManager => settings.gates.failover = false,
            EvictsBy::Everything => settings.failover_eviction_timeout = Duration::MAX,
        }
    }
    settings
}

/// The times of a profile as the controllers take them.
fn settings(timings: &Timings) -> Settings {
    let defaults = Settings::default();
    Settings {
        cluster_status_update_frequency: timings.status_update_frequency,
        cluster_failure_threshold: timings.failure_threshold,
        cluster_success_threshold: timings.success_threshold,
        cluster_monitor_period: timings.monitor_period,
        cluster_monitor_grace_period: timings.monitor_grace_period,
        failover_eviction_timeout: timings.failover_eviction_timeout,
        resource_eviction_rate: timings.eviction_pace.map(|pace| pace.as_secs_f64().recip()),
        graceful_eviction_timeout: timings.graceful_eviction_timeout,
        not_ready_toleration: timings.not_ready_toleration_seconds,
        unreachable_toleration: timings.unreachable_toleration_seconds,
        member_client_timeout: timings.silent_probe.unwrap_or(defaults.member_client_timeout),
        // As in the deployments that the real system is tested in.
        allow_no_execute_taint_policy: true,
        ..defaults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets;

    #[test]
    fn requests_to_members_end_after_the_silent_probe_of_the_profile() {
        let profile = targets::find("reference").unwrap();
        let timeout = |silent_probe| {
            settings(&Timings { silent_probe, ..profile.timings.clone() }).member_client_timeout
        };
        assert_eq!(timeout(Some(Duration::from_secs(6))), Duration::from_secs(6));
        assert_eq!(timeout(None), Settings::default().member_client_timeout);
    }
}
