//! What a history says of a fault: its kind, whom it hits, and that it begins or ends.

use serde_json::{Map, Value};

use crate::history::Mark;

/// The mark of a fault that is in this `state`; `victim` is the word for what it hits (`cluster`, `node`) and its name, if it
/// hits one.
#[must_use]
pub fn fault_mark(kind: &str, victim: Option<(&str, &str)>, state: &str) -> Mark {
    let said = [Some(("fault", kind)), victim, Some(("state", state))];
    Map::from_iter(said.into_iter().flatten().map(|(key, value)| (key.to_owned(), Value::from(value))))
}
