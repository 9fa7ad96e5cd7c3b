//! One entry of a history: an event that the API of a cluster sent, or a mark that the recorder made.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Object;

/// The value of `on` for the API of the control plane.
/// The value for a member is the name of the member.
pub const CONTROL_PLANE: &str = "control-plane";

/// The fields of a mark, for example `{"fault":"refuse","cluster":"m2","state":"begin"}`.
pub type Mark = Map<String, Value>;

/// One entry. Entries come in the order of `at`, or nearly so.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Time since the start of the history.
    pub at: Duration,
    /// The event or the mark.
    pub kind: Kind,
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A mark of the recorder: the header, a fault, a step.
    Mark(Mark),
    /// An event that an API server sent.
    Event {
        /// The cluster whose API sent it: `control-plane`, or the name of a member.
        on: Arc<str>,
        /// The type of the watch event.
        event: EventType,
        /// The object as the API server sent it.
        object: Object,
    },
}

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventType {
    /// The object exists now, or existed when the watch began.
    Added,
    /// The object changed.
    Modified,
    /// The object is deleted; the event holds its last state.
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
