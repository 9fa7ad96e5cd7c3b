//! JSON patch (RFC 6902) by the `json-patch` crate, with the limits and the responses of an API server.

use bytes::Bytes;
use json_patch::PatchOperation;
use json_patch::jsonptr::Pointer;
use serde_json::Value;

use crate::http::failure::Failure;
use crate::kind::object::{is_too_deep, text_length};
use crate::kind::types;

/// The maximum number of operations in one patch.
const MOST_OPERATIONS: usize = 10_000;

/// The limit in bytes of the copies of one patch.
/// The limit is `jsonpatch.AccumulatedCopySizeLimit` as kube-apiserver sets it.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// The maximum number of list items that the inserts and removals of one patch may move.
const MOST_MOVED: usize = 100_000_000;

pub(super) fn read(body: &Bytes) -> Result<json_patch::Patch, Failure> {
    let operations = super::merge::parse(body)
        .map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))?;
    if !operations.is_array() {
        let what = types::json_type_name(&operations);
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

/// Applies a patch. If an operation fails, the object keeps the changes of the operations before it.
///
/// # Errors
/// If the patch does not fit the object, or makes it grow beyond the limits.
pub(super) fn apply(patch: &json_patch::Patch, object: &mut Value) -> Result<(), Failure> {
    run(patch, object).map_err(|_| Failure::unprocessable())
}

/// As [`apply`], with the reason as the error.
pub(crate) fn run(patch: &[PatchOperation], object: &mut Value) -> Result<(), String> {
    let (mut copied, mut moved) = (0_usize, 0_usize);
    for operation in patch {
        if let PatchOperation::Copy(copy) = operation {
            copied += object.pointer(copy.from.as_str()).map_or(0, text_length);
            if copied > MOST_COPIED {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding \
                     the limit {MOST_COPIED}"
                ));
            }
        }
        moved += shifted(object, operation);
        if moved > MOST_MOVED {
            return Err("the patch inserts into long lists and removes from them too often".into());
        }
        json_patch::patch_unsafe(object, std::slice::from_ref(operation))
            .map_err(|error| error.to_string())?;
    }
    if is_too_deep(object) {
        return Err("the patched object is nested too deeply".into());
    }
    Ok(())
}

/// Returns the maximum number of list items that an operation moves.
/// The lists are those that the operation inserts into or removes from.
fn shifted(object: &Value, operation: &PatchOperation) -> usize {
    let items = |path: &Pointer| {
        let parent = path.split_back().and_then(|(parent, _)| object.pointer(parent.as_str()));
        parent.and_then(Value::as_array).map_or(0, Vec::len)
    };
    match operation {
        PatchOperation::Add(_) | PatchOperation::Remove(_) | PatchOperation::Copy(_) => {
            items(operation.path())
        }
        PatchOperation::Move(moving) => items(&moving.path) + items(&moving.from),
        PatchOperation::Replace(_) | PatchOperation::Test(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn applied(operations: Value, object: &Value) -> Result<Value, String> {
        let patch: json_patch::Patch = serde_json::from_value(operations).unwrap();
        let mut object = object.clone();
        run(&patch, &mut object).map(|()| object)
    }

    #[test]
    fn copies_may_add_three_mebibytes_and_no_more() {
        let copies = |count: usize| -> Value {
            (0..count).map(|n| json!({"op": "copy", "from": "/a", "path": format!("/b{n}")})).collect()
        };
        let object = json!({"a": "x".repeat(1024 * 1024 - 2)});
        assert!(applied(copies(3), &object).is_ok());
        let refused = applied(copies(4), &object).unwrap_err();
        assert!(refused.contains("accumulated size increase of copy is 4194304"), "{refused}");
    }

    #[test]
    fn a_value_that_is_copied_into_itself_does_not_grow_without_bound() {
        let mut operations = vec![json!({"op": "add", "path": "/a", "value": {"b": "xxxxxxxxxxxxxxxx"}})];
        operations.extend((0..26).map(|n| json!({"op": "copy", "from": "/a", "path": format!("/a/b{n}")})));
        assert!(applied(operations.into(), &json!({})).is_err());
    }

    #[test]
    fn moves_do_not_nest_without_bound() {
        let mut operations = vec![json!({"op": "add", "path": "/a", "value": {}})];
        for _ in 0..3_000 {
            operations.push(json!({"op": "add", "path": "/b", "value": {}}));
            operations.push(json!({"op": "move", "from": "/a", "path": "/b/a"}));
            operations.push(json!({"op": "move", "from": "/b", "path": "/a"}));
        }
        assert_eq!(
            applied(operations.into(), &json!({})),
            Err("the patched object is nested too deeply".into())
        );
    }

    #[test]
    fn insertions_before_a_long_list_are_bounded() {
        let operations: Value =
            (0..10_000).map(|_| json!({"op": "add", "path": "/a/0", "value": 0})).collect();
        assert!(applied(operations.clone(), &json!({"a": []})).is_ok());
        assert!(applied(operations, &json!({"a": vec![0; 100_000]})).is_err());
    }
}
