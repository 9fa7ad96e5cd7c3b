//! A mark that says how exactly a cluster is observed. What follows from it for a moment is left to the facts.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Mark;

/// `{"observer":{"on":"m1","latency":0.12,"clockOffset":-0.03}}`: from this mark on, entries of `m1` are so exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observer {
    /// The cluster: `control-plane`, or the name of a member.
    pub on: String,
    /// How long after it happened an entry may have been recorded.
    pub latency: Duration,
    /// How far its clock may be from the recorder's, in either direction.
    pub clock_offset: Duration,
}

impl Observer {
    /// Who sees at once whatever happens in the cluster `on`.
    #[must_use]
    pub fn exact(on: &str) -> Self {
        Self { on: on.to_owned(), latency: Duration::ZERO, clock_offset: Duration::ZERO }
    }

    /// The mark that says so.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let micros = |length: Duration| (length.as_secs_f64() * 1e6).round() / 1e6;
        let told =
            json!({"on": self.on, "latency": micros(self.latency), "clockOffset": micros(self.clock_offset)});
        Map::from_iter([("observer".to_owned(), told)])
    }

    /// What `mark` says of an observer; `None` where it is a mark of another sort.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(mark: &Mark) -> Result<Option<Self>, String> {
        let Some(told) = mark.get("observer") else { return Ok(None) };
        let on = told["on"].as_str().ok_or("`observer` has no `on`, the name of a cluster")?.to_owned();
        let seconds = |name: &str| match &told[name] {
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
