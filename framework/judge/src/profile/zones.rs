//! How fast the members of a zone are tainted for their ill health.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::length;
use capsize_history::LONGEST;

/// What kube-controller-manager says by rates is said by the pauses between two members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Zones {
    /// From one member to the next, in a zone that is well or altogether gone (`--node-eviction-rate`).
    #[serde(with = "length::required")]
    pub eviction_pause: Duration,
    /// The same in a large zone that is partly gone (`--secondary-node-eviction-rate`). In a small one none is tainted.
    #[serde(with = "length::required")]
    pub secondary_eviction_pause: Duration,
    /// A zone of more members than this is large (`--large-cluster-size-threshold`).
    pub large: u64,
    /// From so many of a hundred on that are not ready, and three at least, a zone is partly gone
    /// (`--unhealthy-zone-threshold`).
    pub unhealthy_percent: u64,
}

impl Zones {
    /// The flags that are about zones, by the names that headers of histories have for them.
    pub const FLAGS: [&str; 4] = [
        "nodeEvictionRate",
        "secondaryNodeEvictionRate",
        "largeClusterSizeThreshold",
        "unhealthyZoneThreshold",
    ];

    /// What the controllers are told, by the same names.
    #[must_use]
    pub fn flags(&self) -> Map<String, Value> {
        let values =
            [self.rate(), self.secondary_rate(), self.large as f64, self.unhealthy_percent as f64 / 100.0];
        Self::FLAGS.iter().zip(values).map(|(name, value)| ((*name).to_owned(), Value::from(value))).collect()
    }

    /// How many members a second are tainted in a zone that is well or altogether gone.
    #[must_use]
    pub fn rate(&self) -> f64 {
        rate(self.eviction_pause)
    }

    /// The same in a large zone that is partly gone.
    #[must_use]
    pub fn secondary_rate(&self) -> f64 {
        rate(self.secondary_eviction_pause)
    }

    /// Takes over what the header of a history says of the flag called `name`. Answers whether it is one of these.
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

/// The longest pause stands for no rate at all.
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
