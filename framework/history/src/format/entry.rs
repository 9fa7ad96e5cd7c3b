//! One entry of a history: an event that some cluster's API sent, or a mark that the recorder made.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Object;

/// What `on` is for the control plane's API; for a member's it is the member's name.
pub const CONTROL_PLANE: &str = "control-plane";

/// What a mark says: `{"fault":"refuse","cluster":"m2","state":"begin"}` and the like.
pub type Mark = Map<String, Value>;

/// One entry. Entries come in the order of `at`, or nearly so.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Time since the start of the history.
    pub at: Duration,
    /// What happened.
    pub kind: Kind,
}

/// What an entry holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Said by the recorder: the header, faults, steps.
    Mark(Mark),
    /// Sent by an API server.
    Event {
        /// The cluster whose API sent it: `control-plane`, or the name of a member.
        on: Arc<str>,
        /// What the watch said.
        event: EventType,
        /// The object as the API server sent it.
        object: Object,
    },
}

/// What a watch says about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventType {
    /// It exists now, or existed when the watch began.
    Added,
    /// It changed.
    Modified,
    /// It is gone; the object is its last state.
    Deleted,
}

impl Entry {
    /// A mark at `at`.
    #[must_use]
    pub fn mark(at: Duration, mark: Mark) -> Self {
        Self { at, kind: Kind::Mark(mark) }
    }

    /// An event at `at`.
    #[must_use]
    pub fn event(at: Duration, on: impl Into<Arc<str>>, event: EventType, object: Object) -> Self {
        Self { at, kind: Kind::Event { on: on.into(), event, object } }
    }
}
