//! A mark about how exactly a cluster is observed. Facts derive the uncertainty of a time from it.

use std::time::Duration;

use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use super::Mark;

/// A mark that says how exact the entries of a cluster are from this mark on.
/// An example for the cluster `m1` is `{"observer":{"on":"m1","latency":0.12,"clockOffset":-0.03}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observer {
    /// The cluster: `control-plane`, or the name of a member.
    pub on: String,
    /// The longest time between an event and its recording.
    pub latency: Duration,
    /// The offset of the cluster's clock from the recorder's clock, in either direction.
    pub clock_offset: Duration,
}

impl Observer {
    /// An observer that observes every event of the cluster `on` at once.
    #[must_use]
    pub fn exact(on: &str) -> Self {
        Self { on: on.to_owned(), latency: Duration::ZERO, clock_offset: Duration::ZERO }
    }

    /// The mark for the observer.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let micros = |length: Duration| (length.as_secs_f64() * 1e6).round() / 1e6;
        let value =
            json!({"on": self.on, "latency": micros(self.latency), "clockOffset": micros(self.clock_offset)});
        [("observer".to_owned(), value)].collect_sorted()
    }

    /// The observer in `mark`; `None` if the mark is of another sort.
    ///
    /// # Errors
    /// The error in the mark.
    pub fn of(mark: &Mark) -> Result<Option<Self>, String> {
        let Some(value) = mark.get("observer") else { return Ok(None) };
        let on = value["on"].as_str().ok_or("`observer` has no `on`, the name of a cluster")?.to_owned();
        let seconds = |name: &str| match &value[name] {
            Value::Null => Ok(0.0),
            value => {
                value.as_f64().ok_or_else(|| format!("`observer.{name}` is {value}, which is no number"))
            }
        };
        let length = |name: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds).ok().filter(|length| *length <= super::LONGEST).ok_or_else(
                || format!("`observer.{name}` is {seconds}, which is no length of time in seconds"),
            )
        };
        let latency = length("latency", seconds("latency")?)?;
        let clock_offset = length("clockOffset", seconds("clockOffset")?.abs())?;
        Ok(Some(Self { on, latency, clock_offset }))
    }
}
