//! `TokenRequest`: creates a token for a service account.

use http::{Method, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::account::stored;
use super::user::account_name;
use crate::endpoint::access_review::{TOKEN_REQUEST, with_managed_fields};
use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};
use crate::http::respond::{self, ApiBody};
use crate::kind::builtin::builtin;
use crate::kind::kinds::Kind;
use crate::kind::object::{self, meta, set_meta};
use crate::state::{Inner, State};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// The default, minimum and maximum lifetime of a token, in seconds.
const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;
/// The lifetime that kubelets request.
/// The token of a pod then lasts a year, and clients should renew it after this time.
const KUBELET_SECONDS: i64 = 3607;
const YEAR_SECONDS: i64 = 365 * 24 * 3600;

/// The objects to which a token is bound besides its account, in the form of claims.
#[derive(Default)]
struct Bound {
    pod: Option<Value>,
    node: Option<Value>,
    secret: Option<Value>,
}

/// POST to a service account's `/token`.
pub(crate) fn request_token(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    if call.parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let kind = TOKEN_REQUEST.clone();
    let (path, query, body) = (call.path.clone(), call.query.clone(), call.body.clone());
    let side_results = std::sync::Mutex::default();
    let call = Call { server: call.server, kind, path, query, parts: call.parts, body, side_results };
    let (mut request, warnings) = body::decode(&call, "CreateOptions")?;
    call.query.dry_run("CreateOptions")?;
    object::tidy_metadata(&mut request);
    object::drop_nulls(&mut request);
    request.as_object_mut().map(|fields| fields.remove("status"));
    if !matches!(meta(&request, "namespace"), "") && meta(&request, "namespace") != call.path.namespace {
        return Err(Failure::namespace_mismatch());
    }
    let spec = object::child(&mut request, "spec");
    if spec["expirationSeconds"].is_null() {
        spec["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    with_managed_fields(&call, "token", &json!({"metadata": {}, "spec": {}}), &mut request)?;
    let mut state = call.server.inner.state();
    issue(&call.server.inner, &mut state, &call.path.namespace, &call.path.name, &mut request)?;
    Ok(respond::with_warnings(respond::json(StatusCode::CREATED, &request), &warnings))
}

/// Completes the request, and adds the token to it.
fn issue(
    inner: &Inner,
    state: &mut State,
    namespace: &str,
    name: &str,
    request: &mut Value,
) -> Result<(), Failure> {
    let given = meta(request, "name");
    if !given.is_empty() && given != name {
        let detail = "must match the service account name if specified";
        let cause = Cause::invalid("metadata.name", &given.into(), detail);
        return Err(Failure::invalid_of(GROUP, KIND, name, &[cause]));
    }
    let accounts = builtin("", "v1", "serviceaccounts");
    let account = stored(state, "serviceaccounts", namespace, name)
        .ok_or_else(|| Failure::not_found(accounts, name))?;
    let (uid, given) = (meta(&account, "uid").to_owned(), meta(request, "uid"));
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        return Err(Failure::conflict_of(GROUP, KIND, name, &why));
    }
    let now = inner.clock.now();
    for (field, value) in [("name", name), ("namespace", namespace), ("uid", uid.as_str())] {
        set_meta(request, field, Some(value.into()));
    }
    set_meta(request, "creationTimestamp", Some(object::time(now)));
    let spec = &mut request["spec"];
    if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
        spec["audiences"] = json!([inner.access.issuer.url]);
    }
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or_default();
    check_seconds(seconds)?;
    let bound = bound(state, namespace, name, &spec["boundObjectRef"])?;
    if spec["boundObjectRef"].is_null() {
        spec["boundObjectRef"] = Value::Null;
    }
    let own = json!([inner.access.issuer.url]);
    let extended = bound.pod.is_some() && seconds == KUBELET_SECONDS && spec["audiences"] == own;
    let mut private = json!({"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}});
    for (name, object) in [("pod", bound.pod), ("node", bound.node), ("secret", bound.secret)] {
        if let Some(object) = object {
            private[name] = object;
        }
    }
    if extended {
        private["warnafter"] = (now.as_second() + seconds).into();
    }
    let lasts = if extended { YEAR_SECONDS } else { seconds };
    let claims = json!({"aud": spec["audiences"], "exp": now.as_second() + lasts, "iat": now.as_second(),
        "iss": inner.access.issuer.url, "jti": object::uid(&mut state.chance), "kubernetes.io": private,
        "nbf": now.as_second(), "sub": account_name(namespace, name)});
    let expires = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    request["status"] =
        json!({"token": inner.access.issuer.sign(&claims), "expirationTimestamp": object::time(expires)});
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<(), Failure> {
    let detail = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let cause = Cause::invalid("spec.expirationSeconds", &seconds.into(), detail);
    Err(Failure::invalid_of(GROUP, KIND, "", &[cause]))
}

/// The object to which the token is to be bound. It must exist and have the requested uid.
fn bound(state: &State, namespace: &str, account: &str, reference: &Value) -> Result<Bound, Failure> {
    let mut bound = Bound::default();
    if reference.is_null() {
        return Ok(bound);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let (plural, home) = match (group, kind) {
        ("", "Pod") => ("pods", namespace),
        ("", "Secret") => ("secrets", namespace),
        ("", "Node") => ("nodes", ""),
        _ => {
            let shown = format!("{group}/{version}, Kind={kind}");
            return Err(Failure::bad_request(format!("cannot bind token to object of type {shown}")));
        }
    };
    let kind_of: &Kind = builtin("", "v1", plural);
    let object = stored(state, plural, home, name).ok_or_else(|| Failure::not_found(kind_of, name))?;
    if kind == "Pod" && object["spec"]["serviceAccountName"].as_str().unwrap_or_default() != account {
        return Err(Failure::bad_request(format!(
            "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
        )));
    }
    let (uid, wanted) = (meta(&object, "uid"), text("uid"));
    if !wanted.is_empty() && wanted != uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might \
             have been deleted and then recreated"
        );
        return Err(Failure::conflict_of("", kind, name, &why));
    }
    let reference = Some(json!({"name": name, "uid": uid}));
    match kind {
        "Pod" => {
            bound.node = node_of(state, &object);
            bound.pod = reference;
        }
        "Node" => bound.node = reference,
        _ => bound.secret = reference,
    }
    Ok(bound)
}

/// The node of a pod; only its name if the node does not exist.
fn node_of(state: &State, pod: &Value) -> Option<Value> {
    let name = pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty())?;
    let node = stored(state, "nodes", "", name);
    Some(node.map_or_else(|| json!({"name": name}), |node| json!({"name": name, "uid": meta(&node, "uid")})))
}
