//! JSON merge patch (RFC 7386).

use bytes::Bytes;
use serde_json::Value;

use crate::failure::Failure;

pub(super) fn read(body: &Bytes) -> Result<Value, Failure> {
    let patch: Value = serde_json::from_slice(body)
        .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))?;
    if patch.is_object() {
        return Ok(patch);
    }
    let what = match patch {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        _ => "value",
    };
    Err(Failure::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
    )))
}

pub(super) fn apply(patch: &Value, object: &mut Value) {
    json_patch::merge(object, patch);
}
