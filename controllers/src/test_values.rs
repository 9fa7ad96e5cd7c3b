//! Values that many unit tests make: times, and objects from JSON.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The time at this second.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("the second is in range")
}

/// The object that the JSON describes.
pub(crate) fn from_json<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("the JSON describes the type")
}
