//! The scale subresource: the replicas of a kind in a form that all kinds share.

use capsize_sorted::CollectSorted;
use http::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::endpoint::field_manager::manager;
use crate::endpoint::patch;
use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::ScalePaths;
use crate::kind::object::{check_metadata_types, child, meta};
use crate::store;
use crate::write::update::check_name;
use crate::write::writer::Change;
use crate::write::writer::Manager;

fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| value.get(step))
}

/// A selector as text. The selector of a custom kind is text already.
fn selector(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    let labels = value.get("matchLabels").unwrap_or(value);
    let terms = labels.as_object().into_iter().flatten();
    let terms = terms.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    terms.collect::<Vec<_>>().join(",")
}

/// The `Scale` of an object.
fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Map<String, Value> = kept
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), object["metadata"].get(*field)?.clone())))
        .collect_sorted();
    let replicas = |path: &[String]| at(object, path).cloned();
    let spec =
        replicas(&paths.spec_replicas).map_or_else(|| json!({}), |replicas| json!({"replicas": replicas}));
    let mut status = json!({"replicas": replicas(&paths.status_replicas).unwrap_or(0.into())});
    let selector = paths.selector.as_ref().and_then(|path| at(object, path)).map(selector);
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = selector.into();
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

/// The object with the replicas of a `Scale`.
/// The resource version and uid of the scale are checked like those of the object.
fn with_scale(object: &Value, scale: &Value, paths: &ScalePaths) -> Result<Value, Failure> {
    check_metadata_types(scale)?;
    let name = meta(object, "name");
    check_name(scale, name)?;
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let cause = Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
        return Err(Failure::invalid_of("autoscaling", "Scale", name, &[cause]));
    }
    let mut scaled = object.clone();
    let (last, parents) = paths.spec_replicas.split_last().ok_or_else(Failure::no_resource)?;
    let parent = parents.iter().fold(&mut scaled, |value, step| child(value, step));
    parent[last.as_str()] = replicas.into();
    for field in ["resourceVersion", "uid"] {
        let given = meta(scale, field);
        if !given.is_empty() {
            scaled["metadata"][field] = given.into();
        }
    }
    Ok(scaled)
}

/// Answers requests on `/scale`.
pub(crate) fn scale(call: &Call<'_>, paths: &ScalePaths) -> Result<Response<ApiBody>, Failure> {
    let kind = &call.kind;
    let name = manager(call, "UpdateOptions")?;
    let change = Change {
        kind,
        namespace: &call.path.namespace,
        name: &call.path.name,
        subresource: "scale",
        dry_run: call.query.dry_run("UpdateOptions")?,
        wants_version: false,
        manager: Manager { name: &name, tracked: false },
    };
    let written = match call.parts.method {
        Method::GET => {
            let state = call.server.inner.state();
            let stored = state.store.get(&kind.storage, &store::key(&call.path.namespace, &call.path.name));
            let stored = stored.ok_or_else(|| Failure::not_found(kind, &call.path.name))?;
            return Ok(respond::json(StatusCode::OK, &scale_of(&stored.object(), paths)));
        }
        Method::PUT => {
            let body = body::typed_body(call.content_type(), &call.body, &[("autoscaling", "v1", "Scale")])?;
            call.writing(|writer| writer.update(&change, |old| with_scale(old, &body, paths)))?
        }
        Method::PATCH => {
            let patch = patch::read(call)?;
            let compute = |old: &Value| with_scale(old, &patch.apply(kind, &scale_of(old, paths))?, paths);
            call.writing(|writer| writer.update(&change, compute))?
        }
        _ => return Err(Failure::method_not_allowed()),
    };
    Ok(respond::json(StatusCode::OK, &scale_of(&written.object(), paths)))
}
