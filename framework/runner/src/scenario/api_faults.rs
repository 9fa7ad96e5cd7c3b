//! What `faults` can do to the control plane's API server, as its controllers see it, and `disturb` to that of a member, as the
//! control plane sees it. People and the recorder see both whole.

use capsize_clusters::{ErrorStatus, Verb};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::time::Length;

/// `fail`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fail {
    /// With what it answers.
    pub with: ErrorStatus,
    /// Every how many requests.
    pub every: Spanned<u32>,
}

/// `conflict`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conflict {
    /// Every how many writes.
    pub every: Spanned<u32>,
}

/// `slow`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slow {
    /// How much later a request is done.
    pub by: Length,
    /// Those with this verb; all where nothing is said.
    pub verb: Option<Verb>,
}

/// `lag`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WatchLag {
    /// How much later each event comes.
    pub by: Length,
}

/// `cut`, and `cutWatches` of a member.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cut {
    /// In the place of every how many events.
    pub every: Spanned<u32>,
}

/// `repeat`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Repeat {
    /// Every how many events.
    pub every: Spanned<u32>,
}

/// `crash`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// Of which write, counted from 1.
    pub write: Spanned<u32>,
    /// Whether it is done before they die.
    #[serde(default)]
    pub done: bool,
}
