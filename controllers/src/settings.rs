//! Every flag of the real controllers that has to do with time, with its real default.
//!
//! Sources: karmada-io/karmada v1.5.0 `cmd/controller-manager/app/options/options.go`, `cmd/webhook/app/options/
//! options.go`, `cmd/agent/app/options/options.go`, `pkg/sharedcli/ratelimiterflag`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::{DEFAULT_SCHEDULER, PurgeMode};
use crate::rules::{Gates, NamePattern};

/// The times that failover goes by. Written as seconds, with fractions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// From the end of one probe of a member to the next.
    #[serde(with = "seconds")]
    pub cluster_status_update_frequency: Duration,
    /// How long probes must fail until a ready cluster is not ready.
    #[serde(with = "seconds")]
    pub cluster_failure_threshold: Duration,
    /// How long probes must succeed until a cluster that is not ready is ready.
    #[serde(with = "seconds")]
    pub cluster_success_threshold: Duration,
    /// From one look at all clusters' readiness to the next.
    #[serde(with = "seconds")]
    pub cluster_monitor_period: Duration,
    /// How long a member may be silent until its readiness is unknown. Of meaning for Pull members only.
    #[serde(with = "seconds")]
    pub cluster_monitor_grace_period: Duration,
    /// The same for a member that has not reported yet. Of meaning for Pull members only.
    #[serde(with = "seconds")]
    pub cluster_startup_grace_period: Duration,
    /// How long a Pull member's Lease says that it holds.
    #[serde(with = "seconds")]
    pub cluster_lease_duration: Duration,
    /// How often the agent renews the Lease, as a part of that.
    pub cluster_lease_renew_interval_fraction: f64,
    /// From the end of readiness to the taint that drives workloads out.
    #[serde(with = "seconds")]
    pub failover_eviction_timeout: Duration,
    /// How many workloads each of the taint manager's workers looks at in a second (`--resource-eviction-rate`, 0.5 as
    /// from 1.16); no bound where nothing is said.
    pub resource_eviction_rate: Option<f64>,
    /// What becomes of copies on clusters with a taint that evicts, where the policy does not say
    /// (`--no-execute-taint-eviction-purge-mode`, as from 1.14). Nothing said is gracefully.
    pub no_execute_taint_eviction_purge_mode: Option<PurgeMode>,
    /// How old an eviction task gets at most.
    #[serde(with = "seconds")]
    pub graceful_eviction_timeout: Duration,
    /// Toleration of the not-ready taint for policies that say nothing about it; whole seconds.
    #[serde(with = "seconds")]
    pub not_ready_toleration: Duration,
    /// Toleration of the unreachable taint for policies that say nothing about it; whole seconds.
    #[serde(with = "seconds")]
    pub unreachable_toleration: Duration,
    /// How long one request to a member may take (32 s as from release 1.16, #6829; unbounded before).
    #[serde(with = "seconds")]
    pub member_client_timeout: Duration,
    /// From one look at whether a cluster that is being removed is empty to the next.
    #[serde(with = "seconds")]
    pub cluster_removal_check: Duration,
    /// How often a ready member is asked for its release and the kinds that it serves. The real controllers ask with
    /// every probe, which is most of all that they do.
    #[serde(with = "seconds")]
    pub api_collection_period: Duration,
    /// From one look at which of the kinds that are asked for the control plane serves to the next.
    #[serde(with = "seconds")]
    pub discovery_period: Duration,
    /// First delay before something that failed is tried again; doubled with each failure.
    #[serde(with = "seconds")]
    pub rate_limiter_base_delay: Duration,
    /// Longest delay before something that failed is tried again.
    #[serde(with = "seconds")]
    pub rate_limiter_max_delay: Duration,
    /// Namespaces that members do not get, and out of which nothing is propagated.
    pub skipped_propagating_namespaces: Vec<NamePattern>,
    /// Whether a `ClusterTaintPolicy` may have taints of effect NoExecute.
    pub allow_no_execute_taint_policy: bool,
    /// Kinds that are not propagated, beside those that never are: `group`, `group/version` and
    /// `group/version/kind,kind`, with `;` between them.
    pub skipped_propagating_apis: String,
    /// The name of the scheduler; bindings that name another are not its own.
    pub scheduler_name: String,
    /// The events that are published. The real controllers publish all.
    pub published_events: PublishedEvents,
    /// What is switched on.
    pub gates: Gates,
    /// Controllers that are not started (`--controllers=*,-NAME`). Those of cluster-scoped bindings are called as the
    /// others with `cluster-` in front.
    pub disabled_controllers: BTreeSet<String>,
}

/// Which events the controllers publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PublishedEvents {
    /// All of them.
    #[default]
    All,
    /// Only those about evictions: where nobody but a judge reads events, writing the others would take most of the time.
    Evictions,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster_status_update_frequency: Duration::from_secs(10),
            cluster_failure_threshold: Duration::from_secs(30),
            cluster_success_threshold: Duration::from_secs(30),
            cluster_monitor_period: Duration::from_secs(5),
            cluster_monitor_grace_period: Duration::from_secs(40),
            cluster_startup_grace_period: Duration::from_secs(60),
            cluster_lease_duration: Duration::from_secs(40),
            cluster_lease_renew_interval_fraction: 0.25,
            failover_eviction_timeout: Duration::from_secs(300),
            resource_eviction_rate: None,
            no_execute_taint_eviction_purge_mode: None,
            graceful_eviction_timeout: Duration::from_secs(600),
            not_ready_toleration: Duration::from_secs(300),
            unreachable_toleration: Duration::from_secs(300),
            member_client_timeout: Duration::from_secs(32),
            cluster_removal_check: Duration::from_secs(10),
            api_collection_period: Duration::from_secs(300),
            discovery_period: Duration::from_secs(30),
            rate_limiter_base_delay: Duration::from_millis(5),
            rate_limiter_max_delay: Duration::from_secs(1000),
            skipped_propagating_namespaces: vec!["kube-.*".parse().expect("it is an expression")],
            allow_no_execute_taint_policy: false,
            skipped_propagating_apis: String::new(),
            scheduler_name: DEFAULT_SCHEDULER.into(),
            published_events: PublishedEvents::default(),
            gates: Gates::default(),
            disabled_controllers: BTreeSet::new(),
        }
    }
}

/// Durations as seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        let settings: Settings = serde_json::from_str(r#"{"cluster_failure_threshold": 2.5}"#).unwrap();
        let expected =
            Settings { cluster_failure_threshold: Duration::from_millis(2500), ..Settings::default() };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_negative_time_is_refused() {
        assert!(serde_json::from_str::<Settings>(r#"{"cluster_failure_threshold": -1}"#).is_err());
    }
}
