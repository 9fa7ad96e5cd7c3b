//! The bodies of requests: read as JSON or YAML, and made sure to be of the type that the endpoint takes.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::kinds::Kind;
use crate::object;
use crate::service::Call;

/// The text of a body as JSON, whether it is written as JSON or YAML.
pub(crate) fn parse(call: &Call<'_>, accepted: &str) -> Result<Value, Failure> {
    match call.content_type() {
        "" | "application/json" => serde_json::from_slice(&call.body).map_err(|error| {
            let shown = match String::from_utf8_lossy(&call.body).into_owned() {
                text if text.is_empty() => "<empty>".to_owned(),
                text => text,
            };
            let kind = &call.kind.kind;
            Failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
                 error: {error} ({shown})"
            ))
        }),
        "application/yaml" => yaml(&call.body).map_err(Failure::bad_request),
        _ => Err(Failure::media_type(accepted)),
    }
}

/// YAML as JSON.
pub(crate) fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        let line = error.lines().next().unwrap_or_default();
        format!("error decoding YAML: error converting YAML to JSON: yaml: {line}")
    })
}

/// The options that the body of a delete carries, if it has one.
pub(crate) fn delete_options(call: &Call<'_>) -> Result<Value, Failure> {
    if call.body.is_empty() { Ok(json!({})) } else { parse(call, "application/json, application/yaml") }
}

/// The object that a body carries, with the type that the endpoint serves.
pub(crate) fn decode(call: &Call<'_>) -> Result<Value, Failure> {
    let kind = &call.kind;
    let accepted = if kind.is_custom() {
        "application/json, application/yaml"
    } else {
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    };
    let mut object = parse(call, accepted)?;
    object::check_shape(&object)?;
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (version, name) = (text("apiVersion"), text("kind"));
    let expected = kind.api_version();
    let fits = |given: &str, wanted: &str| given == wanted || (given.is_empty() && !kind.is_custom());
    if !fits(version, &expected) || !fits(name, &kind.kind) {
        return Err(Failure::bad_request(mismatch(kind, version, name)));
    }
    object["apiVersion"] = expected.into();
    object["kind"] = kind.kind.as_ref().into();
    Ok(object)
}

/// What is said of an object that is of another type than the endpoint's.
fn mismatch(kind: &Kind, version: &str, name: &str) -> String {
    if name.is_empty() {
        return "Object 'Kind' is missing in the body".into();
    }
    if kind.is_custom() && name == kind.kind && !version.is_empty() {
        let expected = kind.api_version();
        return format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        );
    }
    if version.is_empty() {
        return "Object 'apiVersion' is missing in the body".into();
    }
    if kind.is_custom() {
        return format!(
            "{name} in version {version:?} in the body of the request does not match {} in version {:?}",
            kind.kind,
            kind.api_version()
        );
    }
    let group = if kind.group.is_empty() { "core" } else { kind.group.split('.').next().unwrap_or_default() };
    format!(
        "{name} in version {version:?} cannot be handled as a {}: converting ({version}.{name}) to ({group}.{}): \
         unknown conversion",
        kind.kind, kind.kind
    )
}
