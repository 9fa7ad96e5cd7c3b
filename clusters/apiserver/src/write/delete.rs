//! Deletes an object: preconditions, grace period, propagation policy, finalizers.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::http::failure::{Cause, Failure};
use crate::kind::kinds::Kind;
use crate::kind::object::{self, FOREGROUND, ORPHAN, finalizers, is_terminating, meta, set_meta};
use crate::store::Version;
use crate::write::webhook::Subject;
use crate::write::writer::Writer;

/// The options of a delete, from its body or its query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub grace_period_seconds: Option<i64>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub propagation: Option<Propagation>,
    /// The response has code 202, because the client sent the deprecated `orphanDependents: false`.
    pub wants_accepted: bool,
    pub dry_run: bool,
}

/// The propagation policy: what happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The result of a delete.
#[derive(Debug)]
pub(crate) enum DeleteResult {
    /// The object is deleted; this was its last state.
    Removed(Arc<Version>),
    /// The object waits for its finalizers or its grace period.
    Pending(Arc<Version>),
    /// Dry run: the object would be deleted in this state.
    DryRunRemoved(Value),
    /// Dry run: the object would wait in this state.
    DryRunPending(Value),
}

/// The effect of the grace period on a delete.
enum GraceEffect {
    /// The kind has no grace periods, or the period is over.
    None,
    /// The grace period in seconds, from the first delete on.
    Starts(i64),
    /// The object is already being deleted, and nothing changes.
    Unchanged,
}

impl Writer<'_> {
    /// Deletes an object, or marks it as being deleted if finalizers or a grace period hold it.
    ///
    /// # Errors
    /// Any failure of a DELETE of one object.
    pub(crate) fn delete(
        &mut self,
        kind: &Arc<Kind>,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<DeleteResult, Failure> {
        let stored = self.stored(kind, namespace, name).ok_or_else(|| Failure::not_found(kind, name))?;
        let before = stored.object();
        check_preconditions(kind, name, &before, options)?;
        if kind.is_immortal(name) {
            return Err(Failure::forbidden(kind, name, "this namespace may not be deleted"));
        }
        let subject = Subject::delete(kind, &before, options.dry_run);
        self.admit(subject)?;
        self.consult_validating(subject)?;
        let mut object = Value::clone(&before);
        let grace = match grace(kind, &object, options) {
            GraceEffect::Unchanged => return Ok(DeleteResult::Pending(stored)),
            GraceEffect::Starts(seconds) => {
                self.begin_grace(&mut object, seconds);
                Some(seconds)
            }
            GraceEffect::None => None,
        };
        propagate(kind, &mut object, options.propagation);
        self.hold_definition(kind, &mut object);
        let held = !finalizers(&object).is_empty() || kind.is_held(&object);
        if held && grace.is_none() {
            self.mark(kind, &mut object);
        }
        let waits = held || grace.is_some_and(|seconds| seconds > 0);
        if options.dry_run {
            return Ok(if waits {
                DeleteResult::DryRunPending(object)
            } else {
                DeleteResult::DryRunRemoved(object)
            });
        }
        // An object of a kind with grace periods is marked before it is removed, even if its period is zero.
        let marked = (held || grace.is_some()) && object != *before;
        let present = if marked { self.put(kind, object) } else { stored };
        if waits {
            return Ok(DeleteResult::Pending(present));
        }
        let gone = self.remove(kind, namespace, name).ok_or_else(|| Failure::not_found(kind, name))?;
        Ok(DeleteResult::Removed(gone))
    }

    /// Starts the grace period of an object, or shortens it. The period counts from the first delete.
    fn begin_grace(&self, object: &mut Value, seconds: i64) {
        let first = !is_terminating(object);
        let begun = meta(object, "deletionTimestamp").parse::<Timestamp>().ok().and_then(|end| {
            let before = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
            end.checked_sub(SignedDuration::from_secs(before)).ok()
        });
        let begun = begun.unwrap_or_else(|| self.server.clock.now());
        let end = begun.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        set_meta(object, "deletionTimestamp", Some(object::time(end)));
        set_meta(object, "deletionGracePeriodSeconds", Some(seconds.into()));
        let generation = object["metadata"]["generation"].as_i64().filter(|generation| *generation > 0);
        if let Some(generation) = generation.filter(|_| first) {
            set_meta(object, "generation", Some(generation.saturating_add(1).into()));
        }
    }

    /// Marks an object without a grace period as being deleted.
    fn mark(&mut self, kind: &Kind, object: &mut Value) {
        let graceless = object["metadata"]["deletionGracePeriodSeconds"].is_null();
        let generation = object["metadata"]["generation"].as_i64().filter(|generation| *generation > 0);
        if let Some(generation) = generation.filter(|_| graceless && !kind.marks_without_grace()) {
            set_meta(object, "generation", Some(generation.saturating_add(1).into()));
        }
        if !is_terminating(object) {
            set_meta(object, "deletionTimestamp", Some(object::time(self.server.clock.now())));
        }
        if !kind.marks_without_grace() {
            set_meta(object, "deletionGracePeriodSeconds", Some(0.into()));
        }
        if kind.is_core("namespaces") {
            object["status"]["phase"] = "Terminating".into();
        }
    }
}

/// Refuses a delete if the preconditions name another object or another version.
pub(crate) fn check_preconditions(
    kind: &Kind,
    name: &str,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Failure> {
    let mismatch = |given: &str, field: &str, shown: &str, tail: &str| {
        let stored = meta(object, field);
        let why = format!(
            "the {shown} in the precondition ({given}) does not match the {shown} in record ({stored}). {tail}"
        );
        (given != stored).then(|| Failure::precondition(kind, name, &why))
    };
    let uid = options.uid.as_deref().and_then(|given| {
        mismatch(given, "uid", "UID", "The object might have been deleted and then recreated")
    });
    let version = || {
        let given = options.resource_version.as_deref()?;
        mismatch(given, "resourceVersion", "ResourceVersion", "The object might have been modified")
    };
    uid.or_else(version).map_or(Ok(()), Err)
}

/// Converts the propagation policy into finalizers.
fn propagate(kind: &Kind, object: &mut Value, policy: Option<Propagation>) {
    let present = finalizers(object);
    let default = match (&*kind.group, &*kind.plural) {
        // The garbage collector ignores events and their owners.
        (_, "events") if !kind.is_custom() => return,
        ("batch", "jobs") | ("", "replicationcontrollers") => Propagation::Orphan,
        _ => Propagation::Background,
    };
    let policy = policy.unwrap_or_else(|| {
        if present.contains(&ORPHAN) {
            Propagation::Orphan
        } else if present.contains(&FOREGROUND) {
            Propagation::Foreground
        } else {
            default
        }
    });
    let wanted = match policy {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    let mut list: Vec<Value> = present
        .iter()
        .filter(|finalizer| ![FOREGROUND, ORPHAN].contains(finalizer) || Some(**finalizer) == wanted)
        .map(|finalizer| Value::from(*finalizer))
        .collect();
    if let Some(wanted) = wanted.filter(|wanted| !present.contains(wanted)) {
        list.push(wanted.into());
    }
    set_meta(object, "finalizers", (!list.is_empty()).then_some(Value::Array(list)));
}

/// The grace period of an object. Only pods have one, and a later delete can only shorten it.
fn grace(kind: &Kind, object: &Value, options: &DeleteOptions) -> GraceEffect {
    if !kind.is_core("pods") {
        return GraceEffect::None;
    }
    let given = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if is_terminating(object) {
        let left = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        return match given {
            _ if left == 0 => GraceEffect::None,
            Some(seconds) if seconds < left => GraceEffect::Starts(seconds),
            _ => GraceEffect::Unchanged,
        };
    }
    let unscheduled = object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let finished = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if unscheduled || finished {
        return GraceEffect::Starts(0);
    }
    let of_spec = || object["spec"]["terminationGracePeriodSeconds"].as_i64();
    let seconds = given.or_else(of_spec).unwrap_or(0);
    GraceEffect::Starts(if seconds < 0 { 1 } else { seconds })
}

impl DeleteOptions {
    /// Reads the options from the body, or from the query if there is no body.
    ///
    /// # Errors
    /// Invalid or bad request if the options are invalid.
    pub(crate) fn read(body: &Value, query: &crate::http::request::Query) -> Result<Self, Failure> {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let sent = body.as_object().is_some_and(|fields| !fields.is_empty());
        let asked = |name: &str| Some(query.get(name).to_owned()).filter(|text| !sent && !text.is_empty());
        let policy = text(&body["propagationPolicy"]).or_else(|| asked("propagationPolicy"));
        let orphan = body["orphanDependents"]
            .as_bool()
            .or_else(|| asked("orphanDependents").map(|_| query.flag("orphanDependents")));
        let (propagation, mut causes) = propagation(policy.as_deref(), orphan);
        let mut dry_run = query.dry_run("DeleteOptions")?;
        if let Some(values) = body["dryRun"].as_array().filter(|list| !list.is_empty()) {
            dry_run = true;
            if values.iter().any(|value| value != "All") {
                causes.push(Cause::unsupported("dryRun", &body["dryRun"], &["All"]));
            }
        }
        if !causes.is_empty() {
            return Err(Failure::invalid_options("DeleteOptions", &causes));
        }
        let grace = if sent { None } else { query.number("gracePeriodSeconds")? };
        Ok(Self {
            grace_period_seconds: body["gracePeriodSeconds"].as_i64().or(grace),
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            propagation,
            wants_accepted: orphan == Some(false),
            dry_run,
        })
    }
}

/// The policy that the current or the deprecated option requests, and the problems of the options.
fn propagation(policy: Option<&str>, orphan: Option<bool>) -> (Option<Propagation>, Vec<Cause>) {
    let mut causes = Vec::new();
    if policy.is_some() && orphan.is_some() {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        causes.push(Cause::invalid("propagationPolicy", &policy.into(), detail));
    }
    let found = match policy {
        None => orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let allowed = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(Cause::unsupported("propagationPolicy", &other.into(), &allowed));
            None
        }
    };
    (found, causes)
}
