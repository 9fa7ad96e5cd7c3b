//! The steps about any object, in the control plane or in a member. Member faults do not affect them.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Error, watch_object};
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::run::api_error::error_text;
use crate::run::driver::{Driver, StepError};
use crate::scenario::{
    Apply, Delete, Manifest, MemberRef, Place, Rejected, Seen, SeenFor, Subresource, lacks,
};
use capsize_judge::time_format::span;

/// The field manager of the objects that a scenario applies.
pub(in crate::run) const FIELD_MANAGER: &str = "capsize";

/// The field manager of the objects that faults apply.
/// With the first one, server-side apply would remove the fields that an earlier step applied.
pub(in crate::run) const FAULT_FIELD_MANAGER: &str = "capsize-disturbance";

/// How often an object is applied again after a conflict with another write.
const CONFLICTS: usize = 5;

/// An object in one API server, and the content that a step asks for.
pub(in crate::run) struct ObjectRequest {
    pub(in crate::run) place: String,
    pub(in crate::run) api: Api<DynamicObject>,
    pub(in crate::run) name: String,
    pub(in crate::run) wanted: Value,
}

impl Driver<'_> {
    pub(in crate::run) async fn apply(&self, step: &Apply, manager: &str) -> Result<(), StepError> {
        let request = self.request(&step.to.value, &step.object.value)?;
        self.mark("apply", &[("object", &request.to_string())]);
        let params = PatchParams::apply(manager).force();
        let patch = Patch::Apply(&request.wanted);
        let mut applied = request.patched(step.subresource, &params, &patch).await;
        // Controllers write the same objects, and a server in real time may refuse one of two writes.
        for _ in 0..CONFLICTS {
            if !matches!(&applied, Err(kube::Error::Api(status)) if status.code == 409) {
                break;
            }
            applied = request.patched(step.subresource, &params, &patch).await;
        }
        applied.map(drop).map_err(|error| refused(&request, "can be applied", &error))
    }

    pub(in crate::run) async fn rejected(&self, step: &Rejected) -> Result<(), StepError> {
        let request = self.request(&step.by.value, &step.object.value)?;
        self.mark("apply", &[("object", &request.to_string())]);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let applied = request.api.patch(&request.name, &params, &Patch::Apply(&request.wanted)).await;
        let expected = format!("{request} is refused because of `{}`", step.because);
        match applied {
            Err(kube::Error::Api(status)) if status.message.contains(&step.because) => {
                self.mark("rejected", &[("because", &status.message)]);
                Ok(())
            }
            Err(error) => Err(StepError::Unmet { expected, seen: error_text(&error) }),
            Ok(_) => Err(StepError::Unmet { expected, seen: "it is applied".into() }),
        }
    }

    pub(in crate::run) async fn delete(&self, step: &Delete) -> Result<(), StepError> {
        let request = self.request(&step.from.value, &step.object.value)?;
        self.mark("delete", &[("object", &request.to_string())]);
        let deleted = request.api.delete(&request.name, &DeleteParams::default()).await;
        deleted.map(drop).map_err(|error| refused(&request, "can be deleted", &error))
    }

    pub(in crate::run) async fn seen(&self, step: &Seen, wanted: bool) -> Result<(), StepError> {
        let request = self.request(&step.place.value, &step.object.value)?;
        let within = self.within(&step.within, self.wait_limits().rest(self.tolerated, self.start_up))?;
        let what = request.expectation(wanted);
        let (holds, last) = self.watch(&request, within, |lacking| lacking.is_none() == wanted).await?;
        if holds {
            self.mark("seen", &[("that", &what)]);
            return Ok(());
        }
        Err(StepError::Unmet { expected: what, seen: format!("after {}: {last}", span(within)) })
    }

    pub(in crate::run) async fn seen_for(&self, step: &SeenFor, wanted: bool) -> Result<(), StepError> {
        let request = self.request(&step.place.value, &step.object.value)?;
        let lasts = self.length(&step.lasts)?;
        let what = format!("{} for {}", request.expectation(wanted), span(lasts));
        let began = self.log.now();
        let (ceased, last) = self.watch(&request, lasts, |lacking| lacking.is_none() != wanted).await?;
        if !ceased {
            self.mark("lasted", &[("that", &what)]);
            return Ok(());
        }
        let after = span(self.log.now().saturating_sub(began));
        Err(StepError::Unmet { expected: what, seen: format!("after {after}: {last}") })
    }

    pub(in crate::run) fn request(
        &self,
        place: &Place,
        object: &Manifest,
    ) -> Result<ObjectRequest, StepError> {
        let (place, client): (String, Client) = match place {
            Place::ControlPlane => (place.to_string(), self.client.clone()),
            Place::Member(member) => {
                let name = self.member_name(member)?;
                if self.powered_off.contains(&name) {
                    let expected = format!("the API server of {name} answers");
                    return Err(StepError::Unmet { expected, seen: "the member has no power".into() });
                }
                let client = self.member(&name)?.restore_observer();
                (name, client)
            }
        };
        let wanted = object.expand(|name| self.member_name(&MemberRef::Named(name.to_owned())))?;
        let text = |pointer| wanted.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, name) = (text("/apiVersion"), text("/metadata/name"));
        let kind = ApiResource::from_gvk(&kind_of(&api_version, &text("/kind")));
        let namespace = text("/metadata/namespace");
        let api = if namespace.is_empty() {
            Api::all_with(client, &kind)
        } else {
            Api::namespaced_with(client, &namespace, &kind)
        };
        Ok(ObjectRequest { place, api, name, wanted })
    }

    /// Waits for `holds` to return true for the missing part of the object.
    /// Returns whether this happened within `within`, and the last missing part.
    async fn watch(
        &self,
        request: &ObjectRequest,
        within: Duration,
        holds: impl Fn(Option<&str>) -> bool,
    ) -> Result<(bool, String), StepError> {
        let deadline = Instant::now() + within;
        let mut changes = self.log.changes();
        let mut states = pin!(watch_object(request.api.clone(), &request.name).default_backoff());
        let mut last = "the API server has not reported it yet".to_owned();
        loop {
            changes.mark_unchanged();
            self.check_run()?;
            let object = tokio::select! {
                biased;
                state = states.next() => match state {
                    Some(Ok(object)) => object,
                    // A kind that is not served yet has no objects.
                    Some(Err(Error::InitialListFailed(kube::Error::Api(status)))) if status.code == 404 => None,
                    Some(Err(error)) => {
                        last = error.to_string();
                        continue;
                    }
                    None => return Err(StepError::Broken("internal error: the watch of an object ended".into())),
                },
                changed = changes.changed() => {
                    changed.map_err(|_| StepError::Broken("internal error: the log is closed".into()))?;
                    continue;
                }
                () = sleep_until(deadline) => return Ok((false, last)),
            };
            let lacking = match object {
                None => Some("it does not exist".to_owned()),
                Some(object) => lacks(&request.typed(&object)?, &request.wanted),
            };
            let holds = holds(lacking.as_deref());
            last = lacking.unwrap_or_else(|| "it contains the given fields".to_owned());
            if holds {
                return Ok((true, last));
            }
        }
    }
}

impl ObjectRequest {
    /// Applies the object, or its status.
    async fn patched(
        &self,
        subresource: Option<Subresource>,
        params: &PatchParams,
        patch: &Patch<&Value>,
    ) -> kube::Result<DynamicObject> {
        match subresource {
            None => self.api.patch(&self.name, params, patch).await,
            Some(Subresource::Status) => self.api.patch_status(&self.name, params, patch).await,
        }
    }

    /// The object as JSON. Objects in a list carry no kind.
    pub(in crate::run) fn typed(&self, object: &DynamicObject) -> Result<Value, StepError> {
        let json = serde_json::to_value(object);
        let mut json = json.map_err(|error| {
            StepError::Broken(format!("internal error: an object cannot be converted to JSON: {error}"))
        })?;
        for field in ["apiVersion", "kind"] {
            json[field] = self.wanted[field].clone();
        }
        Ok(json)
    }

    fn expectation(&self, wanted: bool) -> String {
        let mut more = self.wanted.clone();
        if let Some(fields) = more.as_object_mut() {
            fields.retain(|key, _| key != "apiVersion" && key != "kind");
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.retain(|key, _| key != "name" && key != "namespace");
            }
            fields.retain(|_, value| value.as_object().is_none_or(|fields| !fields.is_empty()));
        }
        let is = if wanted { "is" } else { "is not" };
        match more.as_object().is_some_and(serde_json::Map::is_empty) {
            true => format!("{self} {is} there"),
            false => format!("{self} {is} as said: {more}"),
        }
    }
}

impl fmt::Display for ObjectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.wanted.get("kind").and_then(Value::as_str).unwrap_or_default();
        let namespace = self.wanted.pointer("/metadata/namespace").and_then(Value::as_str);
        let slash = if namespace.is_some() { "/" } else { "" };
        write!(f, "{kind} {}{slash}{} in {}", namespace.unwrap_or_default(), self.name, self.place)
    }
}

/// The kind of an object with this `apiVersion` and `kind`.
pub(in crate::run) fn kind_of(api_version: &str, kind: &str) -> GroupVersionKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    GroupVersionKind::gvk(group, version, kind)
}

pub(in crate::run) fn refused(request: &ObjectRequest, what: &str, error: &kube::Error) -> StepError {
    StepError::Unmet { expected: format!("{request} {what}"), seen: error_text(error) }
}
