//! Values that many unit tests make: times, and objects from JSON.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The time at this second.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("the second is in range")
}

/// The object that the JSON describes.
/// It is read from text as the controllers do, because reading trees would compile other code for each type.
pub(crate) fn from_json<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_str(&json.to_string()).expect("the JSON describes the type")
}
