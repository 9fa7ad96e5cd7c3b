//! Deleting: preconditions, grace, propagation, and the finalizers that hold an object back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::failure::{Cause, Failure};
use crate::kinds::Kind;
use crate::object::{self, FOREGROUND, ORPHAN, finalizers, is_terminating, meta, set_meta};
use crate::store::Version;
use crate::writer::Writer;

/// The options of a delete, from its body or its query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub grace_period_seconds: Option<i64>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub propagation: Option<Propagation>,
    pub dry_run: bool,
}

/// What becomes of the dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a delete came to.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Version>),
    /// The object waits for its finalizers or its grace period.
    Pending(Arc<Version>),
    /// The object would be gone; this is its present state.
    WouldGo(Arc<Version>),
}

impl Writer<'_> {
    /// Deletes an object, or marks it where something holds it back.
    ///
    /// # Errors
    /// Everything that a DELETE of one object can be answered with.
    pub(crate) fn delete(
        &mut self,
        kind: &Arc<Kind>,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Failure> {
        let stored = self.stored(kind, namespace, name).ok_or_else(|| Failure::not_found(kind, name))?;
        let before = stored.object();
        check_preconditions(kind, name, &before, options)?;
        if kind.is_immortal(name) {
            return Err(Failure::forbidden(kind, name, "this namespace may not be deleted"));
        }
        self.admit_delete(kind, &before, options.dry_run)?;
        let mut object = Value::clone(&before);
        propagate(kind, &mut object, options.propagation);
        self.hold_definition(kind, &mut object);
        let grace = grace_seconds(kind, &object, options);
        if finalizers(&object).is_empty() && grace == 0 && !kind.is_held(&object) {
            if options.dry_run {
                return Ok(Deleted::WouldGo(stored));
            }
            let gone = self.remove(kind, namespace, name).ok_or_else(|| Failure::not_found(kind, name))?;
            return Ok(Deleted::Gone(gone));
        }
        self.mark(kind, &mut object, grace);
        if object == *before || options.dry_run {
            return Ok(Deleted::Pending(stored));
        }
        Ok(Deleted::Pending(self.put(kind, object)))
    }

    /// Sets what tells that an object is on its way out. Grace only ever shrinks.
    fn mark(&mut self, kind: &Kind, object: &mut Value, grace: i64) {
        let first = !is_terminating(object);
        let shorter =
            object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|before| grace < before);
        if first || shorter {
            let at = self.server.clock.now() + Duration::from_secs(u64::try_from(grace).unwrap_or(0));
            set_meta(object, "deletionTimestamp", Some(object::time(at)));
            if !kind.marks_without_grace() {
                set_meta(object, "deletionGracePeriodSeconds", Some(grace.into()));
            }
        }
        let generation = object["metadata"]["generation"].as_i64().filter(|generation| *generation > 0);
        if let Some(generation) = generation.filter(|_| first && !kind.marks_without_grace()) {
            set_meta(object, "generation", Some((generation + 1).into()));
        }
        if kind.is_core("namespaces") {
            object["status"]["phase"] = "Terminating".into();
        }
    }
}

fn check_preconditions(
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

/// Turns the propagation policy into the finalizers that carry it out.
fn propagate(kind: &Kind, object: &mut Value, policy: Option<Propagation>) {
    let present = finalizers(object);
    let default = match (&*kind.group, &*kind.plural) {
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

/// How long the object may still run, in seconds. Only pods get time.
fn grace_seconds(kind: &Kind, object: &Value, options: &DeleteOptions) -> i64 {
    if !kind.is_core("pods") {
        return 0;
    }
    let unscheduled = object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let finished = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if unscheduled || finished {
        return 0;
    }
    let of_spec = || object["spec"]["terminationGracePeriodSeconds"].as_i64();
    let grace = options.grace_period_seconds.or_else(of_spec).unwrap_or(30);
    if grace < 0 { 1 } else { grace }
}

impl DeleteOptions {
    /// Reads the options from a body, which may be empty, and from a query.
    ///
    /// # Errors
    /// Invalid or a bad request where they make no sense.
    pub(crate) fn read(body: &Value, query: &crate::request::Query) -> Result<Self, Failure> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let policy = text(&body["propagationPolicy"])
            .or_else(|| Some(query.get("propagationPolicy").to_owned()).filter(|policy| !policy.is_empty()));
        let orphan = body["orphanDependents"].as_bool().or_else(|| {
            Some(query.get("orphanDependents"))
                .filter(|flag| !flag.is_empty())
                .map(|_| query.flag("orphanDependents"))
        });
        if policy.is_some() && orphan.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            let cause = Cause::invalid("propagationPolicy", &policy.into(), detail);
            return Err(Failure::invalid_options("DeleteOptions", &cause));
        }
        let propagation = match policy.as_deref() {
            None => orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let allowed = ["Foreground", "Background", "Orphan", "nil"];
                let cause = Cause::unsupported("propagationPolicy", &other.into(), &allowed);
                return Err(Failure::invalid_options("DeleteOptions", &cause));
            }
        };
        Ok(Self {
            grace_period_seconds: body["gracePeriodSeconds"].as_i64().or(query.number("gracePeriodSeconds")?),
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            propagation,
            dry_run: query.dry_run("DeleteOptions")?
                || body["dryRun"].as_array().is_some_and(|list| !list.is_empty()),
        })
    }
}
