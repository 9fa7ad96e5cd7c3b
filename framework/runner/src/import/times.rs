//! Finds out when an object was written, from the object itself.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// The precision of times in objects.
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// The time of the last write of `object` that it shows, rounded up to the end of its second.
/// `None` if the object shows no write, because it was printed without `--show-managed-fields`.
pub(super) fn written_at(object: &Value) -> Option<Timestamp> {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    let times = managers.iter().filter_map(|manager| manager["time"].as_str()?.parse::<Timestamp>().ok());
    times.max()?.checked_add(SECOND).ok()
}

/// A time of an audit log, which has microseconds.
pub(super) fn audited_at(event: &Value, field: &str) -> Option<Timestamp> {
    event[field].as_str()?.parse().ok()
}
