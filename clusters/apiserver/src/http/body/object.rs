//! Reads the object of a body, checks its type, and reports unknown and duplicate fields.
//!
//! The parameter `fieldValidation` says whether such fields are errors, warnings, or nothing.

use serde_json::{Value, json};

use super::read::{self, Format};
use super::strict_json;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::kind::builtin::BUILTIN;
use crate::kind::kinds::Kind;
use crate::kind::object;
use crate::kind::types;
use crate::validation::fields::{self, Mode};

/// Decodes the object of a body, and returns the warnings for the client.
/// Fields that the kind does not have are removed. `options` is a kind such as `CreateOptions`. Errors about query
/// parameters contain its name.
///
/// # Errors
/// Unsupported media type, or a bad request with the message of a real server.
pub(crate) fn decode(call: &Call<'_>, options: &str) -> Result<(Value, Vec<String>), Failure> {
    let kind = &call.kind;
    let mode = Mode::read(call.query.get("fieldValidation"), options)?;
    let format = Format::of(call.content_type(), kind.is_custom())?;
    if format == Format::Protobuf {
        return Ok((protobuf(call)?, Vec::new()));
    }
    let read = read::text(format, &call.body).map_err(|why| unrecognized(&kind.kind, &why, &call.body))?;
    let (mut object, mut problems) = (read.value, read.problems);
    settle_type(kind, &mut object, &call.body)?;
    let mut unknown = fields::unknown_fields(kind, &call.path.subresource, &mut object)?;
    object::check_metadata_types(&object).map_err(|failure| {
        let problem = fields::metadata_problem(kind, &object);
        problem.map_or(failure, |problem| fields::unfit(kind, &problem))
    })?;
    if mode != Mode::Ignore && format == Format::Json && (read.has_duplicates || !unknown.is_empty()) {
        let of = types::find(&kind.group, &kind.version, &kind.kind).filter(|_| !kind.is_custom());
        problems = strict_json::strict(&call.body, of);
        unknown.retain(|_| of.is_none());
    }
    problems.extend(unknown);
    Ok((object, fields::apply_mode(kind, mode, problems)?))
}

/// Decodes an object in protobuf.
fn protobuf(call: &Call<'_>) -> Result<Value, Failure> {
    let kind = &call.kind;
    let envelope = types::open(&call.body).map_err(|why| unrecognized(&kind.kind, &why, &call.body))?;
    let mut of_type = json!({"apiVersion": envelope.api_version, "kind": envelope.kind});
    settle_type(kind, &mut of_type, &call.body)?;
    let of = types::find(&kind.group, &kind.version, &kind.kind).ok_or_else(|| {
        // A kind without a protobuf form accepts text only.
        Failure::unsupported_media_type("application/json, application/yaml")
    })?;
    let mut object =
        envelope.decode(of).map_err(|why| Failure::bad_request(cannot_be_handled(kind, &why)))?;
    object["apiVersion"] = of_type["apiVersion"].take();
    object["kind"] = of_type["kind"].take();
    object::check_metadata_types(&object)?;
    Ok(object)
}

/// The message for an object of the endpoint's type that has an error.
pub(super) fn cannot_be_handled(kind: &Kind, why: &str) -> String {
    let (kind, version) = (&kind.kind, &kind.version);
    format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}")
}

/// Refuses a body whose type cannot be determined.
pub(super) fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Failure {
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        summary(body)
    ))
}

/// The beginning of a body: text if the body looks like JSON, otherwise hexadecimal digits.
fn summary(body: &[u8]) -> String {
    const LONGEST: usize = 30;
    let rest = if body.len() > LONGEST { " ..." } else { "" };
    let body = &body[..body.len().min(LONGEST)];
    match body {
        [] => "<empty>".to_owned(),
        [b'{', ..] => format!("{}{rest}", String::from_utf8_lossy(body)),
        _ => {
            let digits: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{rest}")
        }
    }
}

/// Checks the type that an object declares, and adds the endpoint's type if the object has none.
fn settle_type(kind: &Kind, object: &mut Value, body: &[u8]) -> Result<(), Failure> {
    if object.is_null() {
        *object = json!({});
    }
    let wrong = |why: String| {
        unrecognized(&kind.kind, &format!("couldn't get version/kind; json parse error: {why}"), body)
    };
    let Some(fields) = object.as_object() else {
        let go = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        let shown = types::json_type_name(object);
        return Err(wrong(format!("json: cannot unmarshal {shown} into Go value of type {go}")));
    };
    let mut given = ["", ""];
    for (text, field) in given.iter_mut().zip(["apiVersion", "kind"]) {
        *text = match fields.get(field) {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(other) => {
                let shown = types::json_type_name(other);
                return Err(wrong(format!(
                    "json: cannot unmarshal {shown} into Go struct field .{field} of type string"
                )));
            }
        };
    }
    let [version, name] = given;
    let expected = kind.api_version();
    let fits = |given: &str, wanted: &str| given == wanted || (given.is_empty() && !kind.is_custom());
    if !fits(version, &expected) || !fits(name, &kind.kind) {
        return Err(mismatch(kind, version, name, body));
    }
    object["apiVersion"] = expected.into();
    object["kind"] = kind.kind.as_ref().into();
    Ok(())
}

/// The message for an object of a type other than the endpoint's.
fn mismatch(kind: &Kind, version: &str, name: &str, body: &[u8]) -> Failure {
    let expected = kind.api_version();
    if kind.is_custom() {
        return match (version, name) {
            (_, "") => {
                let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
                unrecognized(&kind.kind, &why, body)
            }
            (version, name) if name == kind.kind => Failure::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            )),
            _ => Failure::bad_request(format!(
                "{name} in version {version:?} in the body of the request does not match {} in version {expected:?}",
                kind.kind,
            )),
        };
    }
    let name = if name.is_empty() { &kind.kind } else { name };
    let version = if version.is_empty() { &expected } else { version };
    let short = version.rsplit('/').next().unwrap_or_default();
    let why = unconvertible(kind, version, name);
    Failure::bad_request(format!("{name} in version {short:?} cannot be handled as a {}: {why}", kind.kind))
}

/// The message for a built-in type `name` in `version` that cannot be converted to `kind`.
pub(crate) fn unconvertible(kind: &Kind, version: &str, name: &str) -> String {
    let short = version.rsplit('/').next().unwrap_or_default();
    if BUILTIN.iter().any(|known| known.api_version() == version && known.kind == name) {
        let group =
            if kind.group.is_empty() { "core" } else { kind.group.split('.').next().unwrap_or_default() };
        return format!("converting ({short}.{name}) to ({group}.{}): unknown conversion", kind.kind);
    }
    format!(
        "no kind {name:?} is registered for version {version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
    )
}
