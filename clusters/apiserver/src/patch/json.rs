//! JSON patch (RFC 6902), by the `json-patch` crate, with an API server's answers to what does not work.

use bytes::Bytes;
use serde_json::Value;

use crate::failure::Failure;

/// The most operations that one patch may have.
const MOST_OPERATIONS: usize = 10_000;

pub(super) fn read(body: &Bytes) -> Result<json_patch::Patch, Failure> {
    let operations = super::merge::parse(body)
        .map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))?;
    if !operations.is_array() {
        let what = super::merge::go_type(&operations);
        return Err(Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
        )));
    }
    let count = operations.as_array().map_or(0, Vec::len);
    if count > MOST_OPERATIONS {
        return Err(Failure::too_many_operations(MOST_OPERATIONS, count));
    }
    serde_json::from_value(operations).map_err(|_| Failure::unprocessable())
}

pub(super) fn apply(patch: &json_patch::Patch, object: &mut Value) -> Result<(), Failure> {
    json_patch::patch(object, patch).map_err(|_| Failure::unprocessable())
}
