//! Checks the result of a patch: its kind, and the types of its fields.
//!
//! Messages show the patch: a strategic patch as Go prints a map, other patches by the resulting object.

use serde_json::Value;

use super::read::Patch;
use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};
use crate::kind::kinds::Kind;
use crate::kind::object::check_metadata_types;
use crate::kind::types::Problem;
use crate::validation::fields::{self, Mode};

/// Checks `object`, which is the result of `patch` on `old`.
/// Fields that the kind of `object` does not have are dropped. Returns the warnings for the client.
///
/// # Errors
/// If the patch changes the kind, or sets a field to a value of the wrong type.
pub(crate) fn check(
    call: &Call<'_>,
    mode: Mode,
    patch: &Patch,
    old: &Value,
    object: &mut Value,
) -> Result<Vec<String>, Failure> {
    let kind = &call.kind;
    check_type(kind, patch, old, object)?;
    if let Err(failure) = check_metadata_types(object) {
        let problem = fields::metadata_problem(kind, object);
        return Err(problem.map_or(failure, |problem| refused(patch, object, &message(patch, &problem))));
    }
    let before = (mode == Mode::Strict).then(|| object.clone());
    let warnings = match fields::read(kind, &call.path.subresource, object, old) {
        Ok(warnings) => warnings,
        Err(problem) => return Err(refused(patch, object, &message(patch, &problem))),
    };
    match before {
        Some(before) if !warnings.is_empty() => {
            Err(refused(patch, &before, &fields::strict_message(warnings)))
        }
        _ if mode == Mode::Ignore => Ok(Vec::new()),
        _ => Ok(warnings),
    }
}

/// Checks the type of the result.
/// A strategic patch cannot change the type; the results of other patches are decoded anew.
fn check_type(kind: &Kind, patch: &Patch, old: &Value, object: &mut Value) -> Result<(), Failure> {
    let same = ["apiVersion", "kind"].iter().all(|field| object[*field] == old[*field]);
    if same || !object.is_object() {
        return Ok(());
    }
    if let Patch::Strategic(_) = patch {
        for field in ["apiVersion", "kind"] {
            object[field] = old[field].clone();
        }
        return Ok(());
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if kind.is_custom() {
        let shown = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let field = if object["apiVersion"] == old["apiVersion"] { "kind" } else { "apiVersion" };
        return Err(Failure::bad_request(format!(
            "the {field} of {} cannot be changed by a patch: {} to {}",
            kind.kind,
            shown(old, field),
            shown(object, field)
        )));
    }
    Err(refused(patch, object, &body::unconvertible(kind, text("apiVersion"), text("kind"))))
}

/// The message of a problem.
/// A real server converts strategic patches field by field, with messages of its own.
fn message(patch: &Patch, problem: &Problem) -> String {
    match patch {
        Patch::Strategic(_) => problem.converting.clone(),
        _ => problem.decoding.clone(),
    }
}

fn refused(patch: &Patch, object: &Value, why: &str) -> Failure {
    let shown = match patch {
        Patch::Strategic(patch) => go_map(patch),
        _ => object.to_string(),
    };
    Failure::invalid_of("", "", "", &[Cause::invalid("patch", &shown.into(), why)])
}

/// A value as Go prints it: `map[spec:map[replicas:2]]`.
pub(super) fn go_map(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(go_map).collect::<Vec<_>>().join(" "))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| key.as_str());
            let shown: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key}:{}", go_map(value))).collect();
            format!("map[{}]", shown.join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_map_is_printed_as_go_does() {
        let patch = json!({"spec": {"replicas": 2, "b": null, "a": ["x", {"y": true}]}});
        assert_eq!(go_map(&patch), "map[spec:map[a:[x map[y:true]] b:<nil> replicas:2]]");
    }
}
