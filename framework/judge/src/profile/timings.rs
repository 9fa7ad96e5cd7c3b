//! The times that an implementation is set to, and from which every bound is computed.

use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::length;
use capsize_history::LONGEST;

/// One duration each, written like `30s` or `5m`. The header of a history gives some of them in seconds, by the
/// same names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timings {
    /// Time from one probe of a member to the next.
    #[serde(with = "length::required")]
    pub status_update_frequency: Duration,
    /// How long probes must have failed until a member counts as not ready.
    #[serde(with = "length::required")]
    pub failure_threshold: Duration,
    /// How long probes must have succeeded until it counts as ready again.
    #[serde(with = "length::required")]
    pub success_threshold: Duration,
    /// Time from one look at all members' conditions to the next.
    #[serde(with = "length::required")]
    pub monitor_period: Duration,
    /// How long a member that reports by itself may be silent.
    #[serde(with = "length::required")]
    pub monitor_grace_period: Duration,
    /// The same for one that has never said anything; absent where that makes no difference.
    #[serde(default, with = "length::optional")]
    pub startup_grace_period: Option<Duration>,
    /// How long a member is not ready until it gets a `NoExecute` taint (with `AutomaticNoExecute`).
    #[serde(with = "length::required")]
    pub failover_eviction_timeout: Duration,
    /// How long an old copy is kept at most while its replacement gets ready.
    #[serde(with = "length::required")]
    pub graceful_eviction_timeout: Duration,
    /// The toleration of `not-ready` that policies get by default (with `DefaultTolerations`).
    #[serde(with = "length::required")]
    pub not_ready_toleration_seconds: Duration,
    /// The toleration of `unreachable` that policies get by default (with `DefaultTolerations`).
    #[serde(with = "length::required")]
    pub unreachable_toleration_seconds: Duration,
    /// The longest that a probe takes whose connection is refused or reset.
    #[serde(with = "length::required")]
    pub refused_probe: Duration,
    /// The longest that a probe takes whose packets vanish; absent where nothing ends it.
    #[serde(default, with = "length::optional")]
    pub silent_probe: Option<Duration>,
    /// Time that one eviction of a queue of evictions takes at most; absent where there is no such pace.
    #[serde(default, with = "length::optional")]
    pub eviction_pace: Option<Duration>,
    /// How often eviction tasks are looked at within the graceful-eviction-timeout, events apart.
    #[serde(default)]
    pub eviction_polls: u32,
    /// Time until a missed event is made up for: from one look at a tainted member's workloads to the next.
    #[serde(with = "length::required")]
    pub recheck: Duration,
    /// The longest that killed controllers take to work again once they are started.
    #[serde(with = "length::required")]
    pub takeover: Duration,
    /// The longest from a cause being written to its effect being seen where nothing is waited for: two watches
    /// and a write.
    #[serde(with = "length::required")]
    pub latency: Duration,
    /// How far events of different watches may be out of order in a history.
    #[serde(with = "length::required")]
    pub skew: Duration,
}

/// A timing that cannot be set.
#[derive(Debug, Error, Diagnostic)]
pub enum SettingError {
    /// It is not a name and a value.
    #[error("`{0}` is not a setting: write `failureThreshold=30s`")]
    Shape(String),
    /// The value is not a length of time.
    #[error("`{0}` is not a length of time: write `30s` or `5m`")]
    Value(String),
    /// There is no such timing.
    #[error("there is no timing `{0}`: there are {known}", known = Timings::NAMES.join(", "))]
    Unknown(String),
}

impl Timings {
    /// The timing called `name` as it is written in profiles, scenarios and headers.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Duration> {
        let mut copy = self.clone();
        copy.slot(name).copied()
    }

    /// Sets the timing called `name`, if there is one. Answers whether there is.
    pub fn set(&mut self, name: &str, value: Duration) -> bool {
        match name {
            "silentProbe" => self.silent_probe = Some(value),
            "evictionPace" => self.eviction_pace = Some(value),
            "startupGracePeriod" | "nodeStartupGracePeriod" => self.startup_grace_period = Some(value),
            _ => match self.slot(name) {
                Some(slot) => *slot = value,
                None => return false,
            },
        }
        true
    }

    /// Whether the timing called `name` is one that a target is set to, rather than one that tells how fast it is or how
    /// exactly it is seen.
    #[must_use]
    pub fn is_setting(name: &str) -> bool {
        !matches!(name, "refusedProbe" | "silentProbe" | "recheck" | "takeover" | "latency" | "skew")
    }

    /// Sets a timing by `name=value`, the value written like `30s` or `5m`.
    ///
    /// # Errors
    /// When it is not so written, or there is no such timing.
    pub fn set_text(&mut self, text: &str) -> Result<(), SettingError> {
        let (name, value) = text.split_once('=').ok_or_else(|| SettingError::Shape(text.to_owned()))?;
        let length = value.parse::<jiff::SignedDuration>().ok();
        let length = length.and_then(|length| Duration::try_from(length).ok()).filter(|it| *it <= LONGEST);
        let length = length.ok_or_else(|| SettingError::Value(value.to_owned()))?;
        self.set(name, length).then_some(()).ok_or_else(|| SettingError::Unknown(name.to_owned()))
    }

    fn slot(&mut self, name: &str) -> Option<&mut Duration> {
        Some(match name {
            "statusUpdateFrequency" | "leaseRenewInterval" => &mut self.status_update_frequency,
            "failureThreshold" => &mut self.failure_threshold,
            "successThreshold" => &mut self.success_threshold,
            "monitorPeriod" | "nodeMonitorPeriod" => &mut self.monitor_period,
            "monitorGracePeriod" | "nodeMonitorGracePeriod" => &mut self.monitor_grace_period,
            "failoverEvictionTimeout" | "podEvictionTimeout" => &mut self.failover_eviction_timeout,
            "gracefulEvictionTimeout" => &mut self.graceful_eviction_timeout,
            "notReadyTolerationSeconds" => &mut self.not_ready_toleration_seconds,
            "unreachableTolerationSeconds" => &mut self.unreachable_toleration_seconds,
            "refusedProbe" => &mut self.refused_probe,
            "silentProbe" => self.silent_probe.as_mut()?,
            "evictionPace" => self.eviction_pace.as_mut()?,
            "startupGracePeriod" => self.startup_grace_period.as_mut()?,
            "recheck" => &mut self.recheck,
            "takeover" => &mut self.takeover,
            "latency" => &mut self.latency,
            "skew" => &mut self.skew,
            _ => return None,
        })
    }
}
