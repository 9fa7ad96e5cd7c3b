//! The timings of an implementation, from which every bound is computed.

use std::time::Duration;

use miette::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::length;
use capsize_history::LONGEST;

/// The timings of one implementation; all but `evictionPolls` are lengths of time, like `30s` or `5m`.
/// The header of a history may give the lengths in seconds, by the same names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timings {
    /// The time from one probe of a member to the next.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub status_update_frequency: Duration,
    /// The time for which probes must fail until a member counts as not ready.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub failure_threshold: Duration,
    /// The time for which probes must succeed until a member counts as ready again.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub success_threshold: Duration,
    /// The time from one round of the monitor, over the conditions of all members, to the next.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub monitor_period: Duration,
    /// The time for which a member that reports by itself may be silent.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub monitor_grace_period: Duration,
    /// The same time for a member that has never reported; `None` if it makes no difference.
    #[serde(default, with = "length::optional")]
    #[schemars(with = "Option<String>")]
    pub startup_grace_period: Option<Duration>,
    /// The time until a member that is not ready is tainted, or until its pods are deleted.
    /// The taint is `NoExecute` (with `AutomaticNoExecute`). The member must be not ready for the whole time.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub failover_eviction_timeout: Duration,
    /// The longest time for which an old copy is kept until its replacement is ready.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub graceful_eviction_timeout: Duration,
    /// The toleration of `not-ready` that policies get by default (with `DefaultTolerations`).
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub not_ready_toleration_seconds: Duration,
    /// The toleration of `unreachable` that policies get by default (with `DefaultTolerations`).
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub unreachable_toleration_seconds: Duration,
    /// The longest that a probe takes whose connection is refused or reset.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub refused_probe: Duration,
    /// The longest that a probe takes whose packets vanish; `None` if nothing ends it.
    #[serde(default, with = "length::optional")]
    #[schemars(with = "Option<String>")]
    pub silent_probe: Option<Duration>,
    /// The time that a worker of the queue waits after each eviction; `None` if evictions are not paced.
    #[serde(default, with = "length::optional")]
    #[schemars(with = "Option<String>")]
    pub eviction_pace: Option<Duration>,
    /// The time until a workload without room is tried again.
    /// It is `None` if the workload is tried again with a back-off.
    #[serde(default, with = "length::optional")]
    #[schemars(with = "Option<String>")]
    pub unschedulable_retry: Option<Duration>,
    /// The time from one check of the workloads without room to the next.
    #[serde(default, with = "length::optional")]
    #[schemars(with = "Option<String>")]
    pub unschedulable_check: Option<Duration>,
    /// The number of times that eviction tasks are checked within the graceful-eviction-timeout.
    /// Events cause further checks.
    #[serde(default)]
    pub eviction_polls: u32,
    /// The time until a missed event is corrected.
    /// It is the time from one check of the workloads of a tainted member to the next.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub recheck: Duration,
    /// The longest time until restarted controllers work again.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub takeover: Duration,
    /// The longest time from the write of a cause to the observation of its effect, without a timer.
    /// It is the time of two watches and a write.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub latency: Duration,
    /// The longest time by which events of different watches may be out of order in a history.
    #[serde(with = "length::required")]
    #[schemars(with = "String")]
    pub skew: Duration,
}

/// An error in a setting of a timing.
#[derive(Debug, Error, Diagnostic)]
pub enum SettingError {
    /// The text is not a name and a value.
    #[error("`{0}` is not a setting: write `failureThreshold=30s`")]
    Shape(String),
    /// The value is not a length of time.
    #[error("`{0}` is not a length of time: write `30s` or `5m`")]
    Value(String),
    /// No timing has this name.
    #[error("there is no timing `{0}`: there are {known}", known = Timings::NAMES.join(", "))]
    Unknown(String),
}

impl Timings {
    /// Returns the timing called `name`, as in profiles, scenarios and headers.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Duration> {
        let mut copy = self.clone();
        copy.slot(name).copied()
    }

    /// Sets the timing called `name`. Returns false if there is none.
    pub fn set(&mut self, name: &str, value: Duration) -> bool {
        match name {
            "silentProbe" => self.silent_probe = Some(value),
            "evictionPace" => self.eviction_pace = Some(value),
            "unschedulableRetry" => self.unschedulable_retry = Some(value),
            "unschedulableCheck" => self.unschedulable_check = Some(value),
            "startupGracePeriod" | "nodeStartupGracePeriod" => self.startup_grace_period = Some(value),
            _ => match self.slot(name) {
                Some(slot) => *slot = value,
                None => return false,
            },
        }
        true
    }

    /// Returns true if the timing called `name` is a setting of a target.
    /// The other timings describe its speed, or the precision of observations.
    #[must_use]
    pub fn is_setting(name: &str) -> bool {
        !matches!(
            name,
            "refusedProbe"
                | "silentProbe"
                | "unschedulableRetry"
                | "unschedulableCheck"
                | "recheck"
                | "takeover"
                | "latency"
                | "skew"
        )
    }

    /// Sets a timing by `name=value`, the value written like `30s` or `5m`.
    ///
    /// # Errors
    /// An error if the text has another form, or no timing has the name.
    pub fn set_text(&mut self, text: &str) -> Result<(), SettingError> {
        let (name, length) = Self::setting(text)?;
        self.set(name, length).then_some(()).ok_or_else(|| SettingError::Unknown(name.to_owned()))
    }

    /// Reads a setting of the form `name=value`, the value written like `30s` or `5m`.
    ///
    /// # Errors
    /// An error if the text has another form, or no timing has the name.
    pub fn setting(text: &str) -> Result<(&str, Duration), SettingError> {
        let (name, value) = text.split_once('=').ok_or_else(|| SettingError::Shape(text.to_owned()))?;
        let length = value.parse::<jiff::SignedDuration>().ok();
        let length = length.and_then(|length| Duration::try_from(length).ok()).filter(|it| *it <= LONGEST);
        let length = length.ok_or_else(|| SettingError::Value(value.to_owned()))?;
        let known = Self::NAMES.contains(&name) || Self::ALIASES.contains(&name);
        known.then_some((name, length)).ok_or_else(|| SettingError::Unknown(name.to_owned()))
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
            "unschedulableRetry" => self.unschedulable_retry.as_mut()?,
            "unschedulableCheck" => self.unschedulable_check.as_mut()?,
            "startupGracePeriod" => self.startup_grace_period.as_mut()?,
            "recheck" => &mut self.recheck,
            "takeover" => &mut self.takeover,
            "latency" => &mut self.latency,
            "skew" => &mut self.skew,
            _ => return None,
        })
    }
}
