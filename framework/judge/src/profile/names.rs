//! The timings by the names that scenarios and histories use.

use serde_json::{Map, Value};

use super::Timings;

impl Timings {
    /// The names of all timings.
    pub const NAMES: [&str; 17] = [
        "statusUpdateFrequency",
        "failureThreshold",
        "successThreshold",
        "monitorPeriod",
        "monitorGracePeriod",
        "startupGracePeriod",
        "failoverEvictionTimeout",
        "gracefulEvictionTimeout",
        "notReadyTolerationSeconds",
        "unreachableTolerationSeconds",
        "refusedProbe",
        "silentProbe",
        "evictionPace",
        "recheck",
        "takeover",
        "latency",
        "skew",
    ];

    /// Other names of some of them, by which the flags of Kubernetes' own controllers are known.
    pub const ALSO: [&str; 5] = [
        "leaseRenewInterval",
        "nodeMonitorPeriod",
        "nodeMonitorGracePeriod",
        "nodeStartupGracePeriod",
        "podEvictionTimeout",
    ];

    /// Each timing that there is, in seconds, as the header of a history has them.
    #[must_use]
    pub fn seconds(&self) -> Map<String, Value> {
        let second =
            |name: &&str| self.get(name).map(|time| ((*name).to_owned(), Value::from(time.as_secs_f64())));
        Self::NAMES.iter().filter_map(second).collect()
    }
}
