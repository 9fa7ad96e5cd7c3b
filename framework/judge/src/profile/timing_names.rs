//! Lists the names of the timings that are lengths of time, and writes their values in seconds.
//!
//! Headers of histories contain the values.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value};

use super::Timings;

impl Timings {
    /// The names of all timings that are lengths of time.
    pub const NAMES: [&str; 19] = [
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
        "unschedulableRetry",
        "unschedulableCheck",
        "recheck",
        "takeover",
        "latency",
        "skew",
    ];

    /// Alternative names of some timings: flags of kube-controller-manager, and one for Leases.
    pub const ALIASES: [&str; 5] = [
        "leaseRenewInterval",
        "nodeMonitorPeriod",
        "nodeMonitorGracePeriod",
        "nodeStartupGracePeriod",
        "podEvictionTimeout",
    ];

    /// Returns all timings in seconds, as in the header of a history.
    #[must_use]
    pub fn seconds(&self) -> Map<String, Value> {
        let second =
            |name: &&str| self.get(name).map(|time| ((*name).to_owned(), Value::from(time.as_secs_f64())));
        Self::NAMES.iter().filter_map(second).collect_sorted()
    }
}
