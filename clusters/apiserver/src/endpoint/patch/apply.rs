//! Server-side apply: the endpoint, and the checks of a configuration.

use http::{Response, StatusCode};
use serde_json::Value;

use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::Kind;
use crate::kind::merge_schema::{ListForm, Shape};
use crate::kind::object::{self, check_metadata_types, meta, set_meta};
use crate::validation::fields::{self, Mode};
use crate::validation::metadata;
use crate::write::managed_fields::{self, Tracking};
use crate::write::update::check_name;
use crate::write::writer::Change;
use crate::write::writer::{Manager, NewObject};

/// Applies the configuration in the body; creates the object if it does not exist.
///
/// # Errors
/// A bad request, a conflict with another manager, or any failure of a write.
pub(crate) fn apply(call: &Call<'_>, change: Change<'_>) -> Result<Response<ApiBody>, Failure> {
    let mut config = read(call, &change)?;
    let applied = (change.manager.name == "kubectl").then(|| format!("{config}\n"));
    Mode::read(call.query.get("fieldValidation"), "PatchOptions")?;
    check_declared(call, &mut config)?;
    let warnings = metadata::tidy(&call.kind, &mut config);
    let force = call.query.flag("force") && call.query.get("force").parse().unwrap_or(false);
    let name = change.manager.name;
    let change = Change { manager: Manager { tracked: true, ..change.manager }, ..change };
    let Change { kind, namespace, name: object_name, subresource, dry_run, manager, .. } = change;
    let answer = call.writing(|writer| {
        let now = object::time(writer.now());
        let all_writes = writer.server.tracks_updates;
        let tracking = Tracking { kind, manager: name, subresource, now: &now, all_writes };
        if writer.stored(kind, namespace, object_name).is_some() {
            let written = writer.update(&change, |old| {
                let mut object = managed_fields::apply(&tracking, Some(old), &config, force)?;
                follow_last_applied(applied.as_deref(), &mut object);
                Ok(object)
            })?;
            return Ok(written.answer(StatusCode::OK, kind));
        }
        if !subresource.is_empty() {
            return Err(Failure::not_found(kind, object_name));
        }
        if !meta(&config, "uid").is_empty() {
            let why = "uid mismatch: the provided object specified uid, and no existing object was found";
            return Err(Failure::conflict(kind, object_name, why));
        }
        let object = managed_fields::apply(&tracking, None, &config, force)?;
        let written =
            writer.create(NewObject { kind, namespace, name: object_name, object, dry_run, manager })?;
        Ok(written.answer(StatusCode::CREATED, kind))
    })?;
    Ok(respond::with_warnings(answer, &warnings))
}

/// The annotation in which kubectl's client-side apply stores the last applied configuration.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Updates the last-applied annotation when kubectl applies on the server side.
/// The annotation then contains the new configuration.
fn follow_last_applied(applied: Option<&str>, object: &mut Value) {
    let annotations = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    let last = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED));
    if let (Some(applied), Some(last)) =
        (applied, last.filter(|last| last.as_str().is_some_and(|last| !last.is_empty())))
    {
        *last = applied.into();
    }
}

/// Reads the configuration in the body.
fn read(call: &Call<'_>, change: &Change<'_>) -> Result<Value, Failure> {
    let mut config =
        body::yaml(&call.body).map_err(|why| Failure::bad_request(format!("error decoding YAML: {why}")))?;
    check_metadata_types(&config)?;
    let text = |field: &str| config[field].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version.is_empty() || kind.is_empty() {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Failure::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    if version != call.kind.api_version() || kind != call.kind.kind {
        return Err(Failure::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            call.kind.api_version()
        )));
    }
    if meta(&config, "name").is_empty() {
        set_meta(&mut config, "name", Some(change.name.into()));
    }
    check_name(&config, change.name)?;
    if !config["metadata"]["managedFields"].is_null() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    Ok(config)
}

/// Refuses a configuration with fields that the kind does not have.
/// The refusal does not depend on field validation, because a manager cannot own an unknown field.
fn check_declared(call: &Call<'_>, config: &mut Value) -> Result<(), Failure> {
    let kind = &call.kind;
    let unknown = fields::unknown_paths(kind, &call.path.subresource, config, &Value::Null);
    let unknown = unknown.map_err(|problem| fields::unfit(kind, &problem))?;
    let line = |path: &String| format!("{}: field not declared in schema", keyed(kind, config, path));
    let lines: Vec<_> = unknown.iter().map(line).collect();
    let list = match &lines[..] {
        [] => return Ok(()),
        [line] => line.clone(),
        lines => format!("errors:\n  {}", lines.join("\n  ")),
    };
    let (group, version, name) = (&kind.group, &kind.version, &kind.kind);
    Err(Failure::internal(format!(
        "failed to create typed patch object ({}/{}; {group}/{version}, Kind={name}): {list}",
        meta(config, "namespace"),
        meta(config, "name"),
    )))
}

/// Converts a path like `spec.containers[0].junk` into one with the keys of list items:
/// `.spec.containers[name="c"].junk`.
fn keyed(kind: &Kind, config: &Value, path: &str) -> String {
    let (mut shape, mut value, mut shown) = (Shape::of(kind), config, String::new());
    for part in path.split('.') {
        let mut steps = part.split('[');
        let name = steps.next().unwrap_or_default();
        (shape, value) = (shape.field(name), &value[name]);
        shown.push('.');
        shown.push_str(name);
        for step in steps {
            let index: usize = step.trim_end_matches(']').parse().unwrap_or_default();
            value = &value[index];
            let keys = match shape.list() {
                ListForm::Keyed(keys) => keys.iter().map(|key| format!("{key}={}", value[key])).collect(),
                _ => vec![index.to_string()],
            };
            shown.push_str(&format!("[{}]", keys.join(",")));
            shape = shape.item();
        }
    }
    shown
}
