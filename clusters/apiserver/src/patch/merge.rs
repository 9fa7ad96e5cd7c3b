//! JSON merge patch (RFC 7386).

use bytes::Bytes;
use serde_json::Value;

use crate::failure::Failure;

/// The body as JSON.
pub(super) fn parse(body: &Bytes) -> Result<Value, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))
}

/// What Go calls the type of a value.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        _ => "value",
    }
}

pub(super) fn read(body: &Bytes) -> Result<Value, Failure> {
    let patch = parse(body)?;
    if patch.is_object() {
        return Ok(patch);
    }
    let what = go_type(&patch);
    Err(Failure::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
    )))
}

pub(super) fn apply(patch: &Value, object: &mut Value) {
    json_patch::merge(object, patch);
}
