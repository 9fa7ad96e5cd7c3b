//! The parameters of faults of an API server, as `faults` and `disturb` use them.
//! `faults` strikes the control plane as its controllers observe it, `disturb` a member as the control plane observes
//! it. Users and the recorder are not affected.

use capsize_clusters::{ErrorStatus, Verb};
use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::time::Length;

/// `fail`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fail {
    /// The error of the responses.
    pub with: ErrorStatus,
    /// Every how many requests get an error.
    pub every: FileValue<u32>,
    /// Only requests with this verb get an error; all if absent.
    pub verb: Option<Verb>,
}

/// `conflict`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conflict {
    /// Every how many writes conflict with another.
    pub every: FileValue<u32>,
}

/// `slow`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slow {
    /// By how much each request is delayed.
    pub by: Length,
    /// Only requests with this verb are delayed; all if absent.
    pub verb: Option<Verb>,
}

/// `lag`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WatchLag {
    /// By how much each watch event is delayed.
    pub by: Length,
}

/// `cut`, and `cutWatches` of a member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cut {
    /// In place of every how many events a watch ends.
    pub every: FileValue<u32>,
}

/// `repeat`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Repeat {
    /// Every how many events are repeated.
    pub every: FileValue<u32>,
}

/// `crash`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// At which write the controllers crash, counted from 1.
    pub write: FileValue<u32>,
    /// Whether the API server performs the write before they crash.
    #[serde(default)]
    pub done: bool,
}
