//! JSON merge patch (RFC 7386).

use bytes::Bytes;
use serde_json::Value;

use crate::http::body::go_message;
use crate::http::failure::Failure;
use crate::kind::types::json_type_name;

/// Parses the body as JSON; the error is the message of Go.
pub(super) fn parse(body: &Bytes) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| go_message(&error, body))
}

/// Parses the body as a map; the error is the message of Go.
pub(super) fn parse_map(body: &Bytes) -> Result<Value, String> {
    let patch = parse(body)?;
    if patch.is_object() {
        return Ok(patch);
    }
    let what = json_type_name(&patch);
    Err(format!("json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"))
}

pub(super) fn read(body: &Bytes) -> Result<Value, Failure> {
    parse_map(body).map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))
}

pub(super) fn apply(patch: &Value, object: &mut Value) {
    json_patch::merge(object, patch);
}
