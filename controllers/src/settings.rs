//! The flags of the real controllers that matter for failover, with their real defaults.
//!
//! Sources: karmada-io/karmada v1.5.0 `cmd/controller-manager/app/options/options.go`, `cmd/webhook/app/options/
//! options.go`, `cmd/agent/app/options/options.go`, `pkg/sharedcli/ratelimiterflag`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::{DEFAULT_SCHEDULER, PurgeMode};
use crate::rules::{Gates, NamePattern};

/// The settings of the controllers. Durations are written as seconds, with fractions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The time from the end of one probe of a member to the next.
    #[serde(with = "seconds")]
    pub cluster_status_update_frequency: Duration,
    /// How long probes must fail until a ready cluster is not ready.
    #[serde(with = "seconds")]
    pub cluster_failure_threshold: Duration,
    /// How long probes must succeed until a cluster that is not ready is ready.
    #[serde(with = "seconds")]
    pub cluster_success_threshold: Duration,
    /// The time between two checks of the readiness of all clusters.
    #[serde(with = "seconds")]
    pub cluster_monitor_period: Duration,
    /// How long a member may be silent until its readiness is unknown. For Pull members only.
    #[serde(with = "seconds")]
    pub cluster_monitor_grace_period: Duration,
    /// How long a member that has not reported yet may be silent. For Pull members only.
    #[serde(with = "seconds")]
    pub cluster_startup_grace_period: Duration,
    /// The duration of a Pull member's Lease.
    #[serde(with = "seconds")]
    pub cluster_lease_duration: Duration,
    /// The time between two renewals of the Lease, as a fraction of its duration.
    pub cluster_lease_renew_interval_fraction: f64,
    /// The time from the end of readiness to the taint that evicts workloads.
    #[serde(with = "seconds")]
    pub failover_eviction_timeout: Duration,
    /// The number of workloads per second that each worker of the taint manager handles.
    /// The flag is `--resource-eviction-rate` (0.5 as from 1.16). If the setting is absent, there is no limit.
    pub resource_eviction_rate: Option<f64>,
    /// The treatment of copies on clusters with a taint that evicts, where the policy does not decide.
    /// The flag is `--no-execute-taint-eviction-purge-mode` (as from 1.14). If the setting is absent, the copies are
    /// evicted gracefully.
    pub no_execute_taint_eviction_purge_mode: Option<PurgeMode>,
    /// The maximum age of an eviction task.
    #[serde(with = "seconds")]
    pub graceful_eviction_timeout: Duration,
    /// The toleration of the not-ready taint for policies that have none; whole seconds.
    #[serde(with = "seconds")]
    pub not_ready_toleration: Duration,
    /// The toleration of the unreachable taint for policies that have none; whole seconds.
    #[serde(with = "seconds")]
    pub unreachable_toleration: Duration,
    /// How long one request to a member may take (32 s as from release 1.16, #6829; unbounded before).
    #[serde(with = "seconds")]
    pub member_client_timeout: Duration,
    /// The time between two checks whether a cluster that is being removed is empty.
    #[serde(with = "seconds")]
    pub cluster_removal_check: Duration,
    /// How often a ready member is asked for its version and the kinds that it serves.
    /// The real controllers ask with every probe, which is most of their work.
    #[serde(with = "seconds")]
    pub api_collection_period: Duration,
    /// The time between two checks which of the requested kinds the control plane serves.
    #[serde(with = "seconds")]
    pub discovery_period: Duration,
    /// First delay before a failed reconciliation is retried; each failure doubles it.
    #[serde(with = "seconds")]
    pub rate_limiter_base_delay: Duration,
    /// Longest delay before a failed reconciliation is retried.
    #[serde(with = "seconds")]
    pub rate_limiter_max_delay: Duration,
    /// Namespaces that are not created in members, and whose objects are not propagated.
    pub skipped_propagating_namespaces: Vec<NamePattern>,
    /// Whether a `ClusterTaintPolicy` may have taints of effect NoExecute.
    pub allow_no_execute_taint_policy: bool,
    /// The kinds that are not propagated, in addition to the kinds that are never propagated.
    /// The forms are `group`, `group/version` and `group/version/kind,kind`, with `;` between them.
    pub skipped_propagating_apis: String,
    /// The name of the scheduler; bindings with the name of another are ignored.
    pub scheduler_name: String,
    /// The events that are published. The real controllers publish all.
    pub published_events: PublishedEvents,
    /// The feature gates.
    pub gates: Gates,
    /// Controllers that are not started (`--controllers=*,-NAME`).
    /// The names of those for cluster-scoped bindings begin with `cluster-`.
    pub disabled_controllers: BTreeSet<String>,
}

/// Which events the controllers publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PublishedEvents {
    /// All events.
    #[default]
    All,
    /// Only events about evictions are published.
    /// Where only a judge reads events, writing the other events would take most of the time.
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
    fn a_missing_setting_has_its_default() {
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
