//! Checks the object that a patch made: its kind, and the types of its fields.
//!
//! Messages show the patch: a strategic patch as Go prints a map, the others by the object that they made.

use serde_json::Value;

use super::read::Patch;
use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};
use crate::kind::kinds::Kind;
use crate::kind::object::check_shape;
use crate::kind::types::Problem;
use crate::validation::fields::{self, Mode};

/// Checks `object`, which `patch` made of `old`, and drops the fields that its kind does not have; what the client is
/// to be warned of comes back.
///
/// # Errors
/// Where the patch makes it another kind, or what its fields cannot hold.
pub(crate) fn check(
    call: &Call<'_>,
    mode: Mode,
    patch: &Patch,
    old: &Value,
    object: &mut Value,
) -> Result<Vec<String>, Failure> {
    let kind = &call.kind;
    check_type(kind, patch, old, object)?;
    if let Err(failure) = check_shape(object) {
        let problem = fields::metadata_problem(kind, object);
        return Err(problem.map_or(failure, |problem| refused(patch, object, &words(patch, &problem))));
    }
    let before = (mode == Mode::Strict).then(|| object.clone());
    let told = match fields::read(kind, &call.path.subresource, object, old) {
        Ok(told) => told,
        Err(problem) => return Err(refused(patch, object, &words(patch, &problem))),
    };
    match before {
        Some(before) if !told.is_empty() => Err(refused(patch, &before, &fields::strict_message(told))),
        _ if mode == Mode::Ignore => Ok(Vec::new()),
        _ => Ok(told),
    }
}

/// A strategic patch is put into the endpoint's type whatever it says of types; the others are read anew.
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

/// A strategic patch is put into a type field by field, which has words of its own for what does not fit.
fn words(patch: &Patch, problem: &Problem) -> String {
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
