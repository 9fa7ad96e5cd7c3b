//! Checks the token of a service account: its user, and whether the token is still valid.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::escalate::quoted;
use super::token::LEGACY_ISSUER;
use super::user::User;
use crate::kind::builtin::builtin;
use crate::kind::object::meta;
use crate::state::{Inner, State};
use crate::store;

/// The tolerance for differences between clocks.
/// A token stays valid for this time after its end or after its account was deleted.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

const INVALIDATED: &str = "service account token has been invalidated";

/// The user of a token, and the requested audiences for which it is valid.
pub(super) struct Holder {
    pub user: User,
    pub audiences: Vec<String>,
}

/// The user of a token of this server; `None` for any other token.
/// The token must be valid for at least one of `audiences`.
///
/// # Errors
/// The reason why a token of this server is not valid.
pub(super) fn holder(
    inner: &Inner,
    state: &State,
    token: &str,
    audiences: &[String],
) -> Result<Option<Holder>, String> {
    let Some(claims) = inner.access.issuer.verify(token)? else { return Ok(None) };
    if claims["iss"] == LEGACY_ISSUER {
        return legacy(inner, state, token, &claims, audiences).map(Some);
    }
    let own: Vec<&str> = match &claims["aud"] {
        Value::String(one) => vec![one],
        list => list.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let shared = both(&own, audiences)?;
    let now = inner.clock.now();
    let at = |claim: &str| claims[claim].as_i64().and_then(|at| Timestamp::from_second(at).ok());
    if at("exp").is_some_and(|at| now - LEEWAY >= at) {
        return Err("service account token has expired".into());
    }
    if at("nbf").is_some_and(|at| now + LEEWAY < at) {
        return Err("service account token is not valid yet".into());
    }
    let private = &claims["kubernetes.io"];
    let namespace = text(&private["namespace"]);
    let account = &private["serviceaccount"];
    let binding_check = BindingCheck { state, now, namespace };
    binding_check.account(text(&account["name"]), text(&account["uid"]))?;
    for (kind, claim_name) in [("secrets", "secret"), ("pods", "pod")] {
        if let Some(bound) = private.get(claim_name) {
            binding_check.bound(kind, claim_name, bound)?;
        }
    }
    // The node of a pod is copied into the user, but not checked. A node is checked only if the token is bound to it
    // directly.
    if let Some(node) = private.get("node").filter(|_| private.get("pod").is_none()) {
        BindingCheck { namespace: "", ..binding_check }.bound("nodes", "node", node)?;
    }
    let mut user = User::service_account(namespace, text(&account["name"]), text(&account["uid"]));
    let mut add_extra = |key: &str, value: String| {
        if !value.is_empty() {
            user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
        }
    };
    for (key, of, field) in [
        ("pod-name", "pod", "name"),
        ("pod-uid", "pod", "uid"),
        ("node-name", "node", "name"),
        ("node-uid", "node", "uid"),
    ] {
        add_extra(key, text(&private[of][field]).to_owned());
    }
    let id = text(&claims["jti"]);
    add_extra("credential-id", if id.is_empty() { String::new() } else { format!("JTI={id}") });
    Ok(Some(Holder { user, audiences: shared }))
}

/// The user of a token from a secret.
fn legacy(
    inner: &Inner,
    state: &State,
    token: &str,
    claims: &Value,
    audiences: &[String],
) -> Result<Holder, String> {
    let audiences = both(&[inner.access.issuer.url.as_str()], audiences)?;
    let claim = |name: &str| text(&claims[format!("{LEGACY_ISSUER}/{name}")]);
    let namespace = claim("namespace");
    let (name, uid) = (claim("service-account.name"), claim("service-account.uid"));
    let secret = stored(state, "secrets", namespace, claim("secret.name")).ok_or(INVALIDATED)?;
    use base64::Engine as _;
    let kept = base64::engine::general_purpose::STANDARD.decode(text(&secret["data"]["token"]));
    if kept.ok().as_deref() != Some(token.as_bytes()) {
        return Err("service account token does not match server's copy".into());
    }
    BindingCheck { state, now: inner.clock.now(), namespace }.account(name, uid)?;
    Ok(Holder { user: User::service_account(namespace, name, uid), audiences })
}

/// Checks whether the objects to which a token is bound still exist.
struct BindingCheck<'a> {
    state: &'a State,
    now: Timestamp,
    namespace: &'a str,
}

impl BindingCheck<'_> {
    fn account(&self, name: &str, uid: &str) -> Result<(), String> {
        let Self { state, namespace, .. } = self;
        let account = stored(state, "serviceaccounts", namespace, name)
            .ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        if self.is_deleted(&account) {
            return Err(format!("service account {namespace}/{name} has been deleted"));
        }
        match meta(&account, "uid") {
            stored if stored == uid => Ok(()),
            stored => Err(format!("service account UID ({stored}) does not match claim ({uid})")),
        }
    }

    fn bound(&self, kind: &str, claim_name: &str, claim: &Value) -> Result<(), String> {
        let (name, uid) = (text(&claim["name"]), text(&claim["uid"]));
        let object = stored(self.state, kind, self.namespace, name).ok_or(INVALIDATED)?;
        if self.is_deleted(&object) {
            return Err(INVALIDATED.into());
        }
        match meta(&object, "uid") {
            stored if stored == uid => Ok(()),
            stored => Err(format!(
                "{claim_name} UID ({stored}) does not match service account {claim_name} ref claim ({uid})"
            )),
        }
    }

    fn is_deleted(&self, object: &Value) -> bool {
        let at = meta(object, "deletionTimestamp").parse::<Timestamp>();
        at.is_ok_and(|at| at < self.now - LEEWAY)
    }
}

/// The audiences that are in both lists.
fn both(own: &[&str], wanted: &[String]) -> Result<Vec<String>, String> {
    let shared: Vec<String> = wanted.iter().filter(|one| own.contains(&one.as_str())).cloned().collect();
    if shared.is_empty() {
        return Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            quoted(own),
            quoted(wanted)
        ));
    }
    Ok(shared)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A stored object of the core group.
pub(super) fn stored(state: &State, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
    let storage = &builtin("", "v1", plural).storage;
    state.store.get(storage, &store::key(namespace, name)).map(|version| version.object())
}
