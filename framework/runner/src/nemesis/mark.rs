//! The marks of faults in histories: the kind, the victim, and whether the fault begins or ends.

use capsize_clusters::Breakdown;
use serde_json::{Map, Value, json};

use capsize_history::Mark;

/// The mark of a fault in this `state`. `victim` contains the field for the victim (`cluster`, `node`) and its name, if
/// there is one.
#[must_use]
pub fn fault_mark(kind: &str, victim: Option<(&str, &str)>, state: &str) -> Mark {
    let said = [Some(("fault", kind)), victim, Some(("state", state))];
    Map::from_iter(said.into_iter().flatten().map(|(key, value)| (key.to_owned(), Value::from(value))))
}

/// The mark of a broken machine of `member` in this `state`.
#[must_use]
pub fn breakdown_mark(how: Breakdown, member: &str, state: &str) -> Mark {
    let mut mark = fault_mark(how.name(), Some(("cluster", member)), state);
    let said = match how {
        Breakdown::Vanish(direction) => Some(("direction", json!(direction))),
        Breakdown::LosePackets(percent) => Some(("percent", json!(percent))),
        Breakdown::LatePackets(by) => Some(("seconds", json!(by.as_secs_f64()))),
        _ => None,
    };
    mark.extend(said.map(|(key, value)| (key.to_owned(), value)));
    mark
}
