//! The endpoints of writes, which read requests and build responses. `write` changes the objects.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::auth;
use crate::endpoint::continuation::Continuation;
use crate::endpoint::field_manager::manager;
use crate::endpoint::patch;
use crate::endpoint::pods;
use crate::endpoint::scale;
use crate::endpoint::selector::Selector;
use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::Kind;
use crate::kind::object;
use crate::store;
use crate::validation::builtin;
use crate::validation::fields::Mode;
use crate::validation::metadata;
use crate::write::delete::{DeleteOptions, DeleteResult};
use crate::write::update::check_name;
use crate::write::writer::Change;
use crate::write::writer::{Manager, NewObject, WriteResult};

/// POST to a collection.
pub(crate) fn create(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let (mut object, mut warnings) = body::decode(call, "CreateOptions")?;
    warnings.extend(metadata::tidy(&call.kind, &mut object));
    let dry_run = call.query.dry_run("CreateOptions")?;
    let manager = Manager { name: &manager(call, "CreateOptions")?, tracked: false };
    let new =
        NewObject { kind: &call.kind, namespace: &call.path.namespace, name: "", object, dry_run, manager };
    let written = call.writing(|writer| writer.create(new))?;
    warnings.extend(builtin::warnings(&call.kind, &written.object(), None));
    Ok(respond::with_warnings(written.answer(StatusCode::CREATED, &call.kind), &warnings))
}

/// PUT to an object.
pub(crate) fn update(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let (mut object, mut warnings) = body::decode(call, "UpdateOptions")?;
    warnings.extend(metadata::tidy(&call.kind, &mut object));
    let manager = manager(call, "UpdateOptions")?;
    let change = change(call, call.query.dry_run("UpdateOptions")?, true, &manager);
    check_name(&object, change.name)?;
    let answer = call.writing(|writer| {
        let exists = writer.stored(&call.kind, change.namespace, change.name).is_some();
        if exists || !call.kind.traits.create_on_update || !change.subresource.is_empty() {
            let written = writer.update(&change, |_| Ok(object))?;
            return Ok(written.answer(StatusCode::OK, &call.kind));
        }
        let Change { kind, namespace, name, dry_run, manager, .. } = change;
        let written = writer.create(NewObject { kind, namespace, name, object, dry_run, manager })?;
        Ok::<_, Failure>(written.answer(StatusCode::CREATED, &call.kind))
    })?;
    Ok(respond::with_warnings(answer, &warnings))
}

/// PATCH of an object.
pub(crate) fn patch(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let dry_run = call.query.dry_run("PatchOptions")?;
    let applies = call.content_type() == "application/apply-patch+yaml";
    if applies && call.query.get("fieldManager").is_empty() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(Failure::invalid_options("PatchOptions", &[cause]));
    }
    if !applies && !call.query.get("force").is_empty() {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Failure::invalid_options("PatchOptions", &[cause]));
    }
    let manager = manager(call, "PatchOptions")?;
    let change = change(call, dry_run, false, &manager);
    if applies {
        return patch::apply(call, change);
    }
    let patch = patch::read(call)?;
    let mode = Mode::read(call.query.get("fieldValidation"), "PatchOptions")?;
    let mut warnings = Vec::new();
    let compute = |old: &Value| {
        let mut object = patch.apply(&call.kind, old)?;
        warnings = patch::check(call, mode, &patch, old, &mut object)?;
        warnings.extend(metadata::tidy(&call.kind, &mut object));
        Ok(object)
    };
    let written = call.writing(|writer| match patch::part(writer, &change, &patch) {
        Some(version) => Ok(WriteResult::Stored(version)),
        None => writer.update(&change, compute),
    })?;
    Ok(respond::with_warnings(written.answer(StatusCode::OK, &call.kind), &warnings))
}

fn change<'a>(call: &'a Call<'_>, dry_run: bool, wants_version: bool, manager: &'a str) -> Change<'a> {
    Change {
        kind: &call.kind,
        namespace: &call.path.namespace,
        name: &call.path.name,
        subresource: &call.path.subresource,
        dry_run,
        wants_version,
        manager: Manager { name: manager, tracked: false },
    }
}

/// DELETE of an object.
pub(crate) fn delete(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let options = DeleteOptions::read(&body::delete_options(call)?, &call.query)?;
    let kind = &call.kind;
    let deleted =
        call.writing(|writer| writer.delete(kind, &call.path.namespace, &call.path.name, &options))?;
    let waiting = if options.wants_accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
    let gone = |object: &Value| {
        if kind.traits.returns_deleted {
            return None;
        }
        let mut details =
            json!({"name": call.path.name, "kind": kind.plural, "uid": object["metadata"]["uid"]});
        if !kind.group.is_empty() {
            details["group"] = kind.group.as_ref().into();
        }
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details});
        Some(respond::json(StatusCode::OK, &status))
    };
    Ok(match deleted {
        DeleteResult::Pending(version) => respond::version(waiting, kind, &version),
        DeleteResult::DryRunPending(object) => respond::json(waiting, &kind.with_type_fields(&object, true)),
        DeleteResult::Removed(version) => {
            gone(&version.object()).unwrap_or_else(|| respond::version(StatusCode::OK, kind, &version))
        }
        DeleteResult::DryRunRemoved(object) => gone(&object)
            .unwrap_or_else(|| respond::json(StatusCode::OK, &kind.with_type_fields(&object, true))),
    })
}

/// Answers DELETE of a collection.
/// The objects that the selectors match are deleted one by one, at most one page of them.
pub(crate) fn delete_collection(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let options = DeleteOptions::read(&body::delete_options(call)?, &call.query)?;
    let kind = &call.kind;
    let selector = Selector::parse(call.query.get("labelSelector"), call.query.get("fieldSelector"), kind)?;
    let limit = call.query.number("limit")?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let start = match call.query.get("continue") {
        "" => String::new(),
        token => Continuation::parse(token)?.start,
    };
    let prefix = match call.path.namespace.as_str() {
        "" => String::new(),
        namespace => store::key(namespace, ""),
    };
    call.writing(|writer| {
        let revision = writer.state.store.revision();
        let table = writer.state.store.table(&kind.storage);
        let mut matching = table
            .into_iter()
            .flat_map(|table| table.range(&prefix))
            .filter(|(key, version)| key[prefix.len()..] >= *start && selector.matches(key, version))
            .map(|(_, version)| version.clone());
        let matched: Vec<_> = matching.by_ref().take(limit).collect();
        let rest = matching.count();
        for version in &matched {
            let object = &*version.object();
            let deleted = writer.delete(
                kind,
                object::meta(object, "namespace"),
                object::meta(object, "name"),
                &options,
            );
            match deleted {
                Err(failure) if failure.code != StatusCode::NOT_FOUND => return Err(failure),
                _ => {}
            }
        }
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if let Some(last) = matched.last().filter(|_| rest > 0) {
            let key = store::object_key(&last.object());
            metadata["continue"] = Continuation::behind(&key[prefix.len()..], revision).token().into();
            if selector.is_empty() {
                metadata["remainingItemCount"] = rest.into();
            }
        }
        let items: Vec<_> = matched
            .iter()
            .map(|version| kind.with_type_fields(&kind.as_served(&version.object()), false))
            .collect();
        let list = json!({"kind": kind.list_kind, "apiVersion": kind.api_version(), "metadata": metadata,
            "items": items});
        Ok(respond::json(StatusCode::OK, &list))
    })
}

/// Answers requests on `/status` and other subresources.
pub(crate) fn subresource(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let kind = &call.kind;
    if let ("scale", Some(paths)) = (call.path.subresource.as_str(), &kind.scale) {
        return scale::scale(call, paths);
    }
    if call.path.subresource == "token" && kind.is_core("serviceaccounts") {
        return auth::request_token(call);
    }
    if !kind.is_custom()
        && let Some(answer) = of_pods(call)
    {
        return answer;
    }
    let known = match call.path.subresource.as_str() {
        "status" => kind.traits.status,
        "finalize" => kind.is_core("namespaces"),
        "approval" => kind.group == "certificates.k8s.io" && !kind.is_custom(),
        part => kind.is_core("pods") && pods::PARTS.contains(&part),
    };
    if !known {
        return Err(if kind.is_custom() {
            Failure::not_found(kind, &call.path.name)
        } else {
            Failure::no_resource()
        });
    }
    match call.parts.method {
        Method::GET => {
            let state = call.server.inner.state();
            let version = state.store.get(&kind.storage, &store::key(&call.path.namespace, &call.path.name));
            let version = version.ok_or_else(|| Failure::not_found(kind, &call.path.name))?;
            Ok(respond::version(StatusCode::OK, kind, version))
        }
        Method::PUT if call.path.subresource == "finalize" => finalize(call),
        Method::PUT => update(call),
        Method::PATCH => patch(call),
        _ => Err(Failure::method_not_allowed()),
    }
}

/// Answers requests on subresources of pods and on subresources that reach a kubelet.
/// The latter requests reach the kubelet through the server.
fn of_pods(call: &Call<'_>) -> Option<Result<Response<ApiBody>, Failure>> {
    let kind = &call.kind;
    let first = call.path.subresource.split('/').next().unwrap_or_default();
    let only = |answer: fn(&Call<'_>) -> Result<Response<ApiBody>, Failure>| {
        if call.parts.method == Method::POST { answer(call) } else { Err(Failure::method_not_allowed()) }
    };
    match first {
        "binding" if kind.is_core("pods") => Some(only(pods::bind)),
        "eviction" if kind.is_core("pods") => Some(only(pods::evict)),
        "log" | "exec" | "attach" | "portforward" if kind.is_core("pods") => {
            Some(pods::through_kubelet(call))
        }
        "proxy" if ["pods", "services", "nodes"].iter().any(|plural| kind.is_core(plural)) => {
            Some(pods::through_kubelet(call))
        }
        _ => None,
    }
}

/// PUT to a namespace's `/finalize`, which replaces `spec.finalizers` and nothing else.
fn finalize(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let (object, _) = body::decode(call, "UpdateOptions")?;
    let manager = manager(call, "UpdateOptions")?;
    let change = change(call, call.query.dry_run("UpdateOptions")?, false, &manager);
    let written = call.writing(|writer| {
        writer.update(&change, |old| {
            let mut kept = old.clone();
            let given = object["spec"]["finalizers"].as_array().filter(|list| !list.is_empty());
            kept["spec"] = given.map_or_else(|| json!({}), |list| json!({"finalizers": list}));
            Ok(kept)
        })
    })?;
    Ok(written.answer(StatusCode::OK, &call.kind))
}

impl WriteResult {
    /// The response to the client.
    pub(crate) fn answer(&self, code: StatusCode, kind: &Kind) -> Response<ApiBody> {
        match self {
            Self::Stored(version) => respond::version(code, kind, version),
            Self::NotStored(object) => respond::json(code, &kind.with_type_fields(object, true)),
        }
    }
}
