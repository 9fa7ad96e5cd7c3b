//! The pauses between taints in a zone, and the thresholds that choose between the pauses.

use std::time::Duration;

use capsize_sorted::CollectSorted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::length;
use capsize_history::LONGEST;

/// The settings of a zone.
/// Where kube-controller-manager has rates, these are the pauses between two members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Zones {
    /// The pause between two members in a zone that is healthy or fully disrupted (`--node-eviction-rate`).
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub eviction_pause: Duration,
    /// The pause in a large zone that is partly disrupted (`--secondary-node-eviction-rate`).
    /// Members of a small one get no taint.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub secondary_eviction_pause: Duration,
    /// A zone of more members than this is large (`--large-cluster-size-threshold`).
    pub large: u64,
    /// The percentage of members that are not ready from which a zone is partly disrupted.
    /// At least three members must not be ready (`--unhealthy-zone-threshold`).
    pub unhealthy_percent: u64,
}

impl Zones {
    /// The flags about zones, by their names in headers of histories.
    pub const FLAGS: [&str; 4] = [
        "nodeEvictionRate",
        "secondaryNodeEvictionRate",
        "largeClusterSizeThreshold",
        "unhealthyZoneThreshold",
    ];

    /// Returns the flags of the controllers, by the same names.
    #[must_use]
    pub fn flags(&self) -> Map<String, Value> {
        let values =
            [self.rate(), self.secondary_rate(), self.large as f64, self.unhealthy_percent as f64 / 100.0];
        Self::FLAGS
            .iter()
            .zip(values)
            .map(|(name, value)| ((*name).to_owned(), Value::from(value)))
            .collect_sorted()
    }

    /// The number of members per second that are tainted in a zone that is healthy or fully disrupted.
    #[must_use]
    pub fn rate(&self) -> f64 {
        rate(self.eviction_pause)
    }

    /// The number per second in a large zone that is partly disrupted.
    #[must_use]
    pub fn secondary_rate(&self) -> f64 {
        rate(self.secondary_eviction_pause)
    }

    /// Sets the flag called `name` from the header of a history. Returns false if there is no such flag.
    pub(super) fn set(&mut self, name: &str, value: &Value) -> bool {
        let number = value.as_f64().unwrap_or_default();
        let pause = || Duration::try_from_secs_f64(1.0 / number).unwrap_or(LONGEST).min(LONGEST);
        match name {
            "nodeEvictionRate" => self.eviction_pause = pause(),
            "secondaryNodeEvictionRate" => self.secondary_eviction_pause = pause(),
            "largeClusterSizeThreshold" => self.large = number as u64,
            "unhealthyZoneThreshold" => self.unhealthy_percent = (number * 100.0).round() as u64,
            _ => return false,
        }
        true
    }
}

/// Converts a pause into a rate. The longest pause stands for a rate of zero.
fn rate(pause: Duration) -> f64 {
    if pause >= LONGEST { 0.0 } else { pause.as_secs_f64().recip() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_flags_of_a_header_are_taken_over() {
        let second = Duration::from_secs(1);
        let mut zones = Zones {
            eviction_pause: second,
            secondary_eviction_pause: second,
            large: 1,
            unhealthy_percent: 1,
        };
        let flags = [
            ("nodeEvictionRate", json!(0.1)),
            ("secondaryNodeEvictionRate", json!(0)),
            ("largeClusterSizeThreshold", json!(50)),
            ("unhealthyZoneThreshold", json!(0.55)),
        ];
        assert!(flags.iter().all(|(name, value)| zones.set(name, value)));
        assert!(!zones.set("monitorPeriod", &json!(1)));
        let expected = Zones {
            eviction_pause: 10 * second,
            secondary_eviction_pause: LONGEST,
            large: 50,
            unhealthy_percent: 55,
        };
        assert_eq!(zones, expected);
    }
}
