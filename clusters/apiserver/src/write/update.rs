//! Updates an object, by PUT or by patch, on its main endpoint or a subresource.

use std::sync::Arc;

use serde_json::Value;

use crate::endpoint::pods;
use crate::http::failure::{Cause, Failure};
use crate::http::request::parse_revision;
use crate::kind::kinds::Kind;
use crate::kind::object::{check_storable, finalizers, is_terminating, meta, set_meta};
use crate::store::Version;
use crate::validation::builtin;
use crate::validation::metadata;
use crate::write::webhook::Subject;
use crate::write::writer::{Change, WriteResult, Writer};

impl Writer<'_> {
    /// Updates the stored object to the result of `compute`.
    ///
    /// # Errors
    /// Any failure of a PUT.
    pub(crate) fn update(
        &mut self,
        change: &Change<'_>,
        compute: impl FnOnce(&Value) -> Result<Value, Failure>,
    ) -> Result<WriteResult, Failure> {
        let Change { kind, namespace, name, .. } = *change;
        let stored = self.stored(kind, namespace, name).ok_or_else(|| Failure::not_found(kind, name))?;
        let before = stored.object();
        let old = &*kind.as_served(&before);
        let mut object = compute(old)?;
        check_identity(change, old, &mut object)?;
        let parts = pods::keep_only_part(change.subresource, old, &mut object);
        let owners = object["metadata"].get_mut("managedFields").map_or(Value::Null, Value::take);
        restore(change, old, &mut object);
        kind.complete(&mut object);
        self.set_managed_fields(change, old, &owners, &mut object);
        let owned = object["metadata"].get("managedFields").cloned();
        let subject = Subject::write(kind, change.subresource, &object, Some(old), change.dry_run);
        if let Some(changed) = self.admit(subject)? {
            object = changed;
            restore(change, old, &mut object);
            set_meta(&mut object, "managedFields", owned);
            kind.complete(&mut object);
        }
        self.check_escalation(kind, &object, Some(old))?;
        if kind.is_core("services") && change.subresource.is_empty() {
            self.allocate(kind, &mut object, Some(old))?;
        }
        let mut causes = metadata::metadata_update(kind, old, &object);
        causes.extend(parts);
        let partial = change.subresource == "status" || pods::PARTS.contains(&change.subresource);
        if !partial || kind.is_custom() {
            causes.extend(self.check_object(kind, &object, Some(old)));
        } else if change.subresource == "status" {
            causes.extend(builtin::status_problems(kind, &object));
        }
        if !causes.is_empty() {
            return Err(Failure::invalid(kind, name, &causes));
        }
        if kind.traits.generation && spec_changed(kind, old, &object) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            set_meta(&mut object, "generation", Some(generation.saturating_add(1).into()));
        }
        let subject = Subject::write(kind, change.subresource, &object, Some(old), change.dry_run);
        self.consult_validating(subject)?;
        if object == *old {
            return Ok(WriteResult::Stored(stored));
        }
        check_storable(&object)?;
        if change.dry_run {
            return Ok(WriteResult::NotStored(object));
        }
        Ok(self.put_or_remove(kind, &stored, object))
    }

    /// Sets the managed fields of a changed object. `given` are the managed fields of the writer's object.
    fn set_managed_fields(&self, change: &Change<'_>, old: &Value, given: &Value, object: &mut Value) {
        if change.manager.tracked {
            return set_meta(object, "managedFields", Some(given.clone()).filter(|given| !given.is_null()));
        }
        // A list with one empty entry clears the managed fields. Other entries replace them, and an empty list
        // changes nothing.
        let reset = given.as_array().is_some_and(|list| *list == [serde_json::json!({})]);
        let sent = given.as_array().is_some_and(|list| !list.is_empty()) && change.subresource.is_empty();
        let kept = if sent { Some(given) } else { old["metadata"].get("managedFields") };
        set_meta(object, "managedFields", kept.filter(|_| !reset).cloned());
        if !reset {
            self.track_update(change, old, object);
        }
    }

    /// Stores a changed object, or removes it if no finalizer or grace period holds it any more.
    pub(crate) fn put_or_remove(&mut self, kind: &Arc<Kind>, stored: &Version, object: Value) -> WriteResult {
        let held = !finalizers(&object).is_empty() || !is_terminating(&object) || kind.is_held(&object);
        let graceful = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() > 0;
        if held || graceful {
            return WriteResult::Stored(self.put(kind, object));
        }
        let before = stored.object();
        self.remove(kind, meta(&before, "namespace"), meta(&before, "name"));
        WriteResult::NotStored(object)
    }
}

/// Refuses an object whose name differs from that of the path.
pub(crate) fn check_name(object: &Value, name: &str) -> Result<(), Failure> {
    match meta(object, "name") {
        given if given == name => Ok(()),
        "" => Err(Failure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        given => Err(Failure::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Refuses an object that differs from the path or from the stored object.
/// An object differs from the stored one if it has another uid or another version.
fn check_identity(change: &Change<'_>, old: &Value, object: &mut Value) -> Result<(), Failure> {
    let Change { kind, namespace, name, .. } = *change;
    check_name(object, name)?;
    match meta(object, "namespace") {
        "" if kind.traits.namespaced => set_meta(object, "namespace", Some(namespace.into())),
        _ if !kind.traits.namespaced => set_meta(object, "namespace", None),
        given if given == namespace => {}
        _ => return Err(Failure::namespace_mismatch()),
    }
    let (given, current) = (meta(object, "resourceVersion"), meta(old, "resourceVersion"));
    if matches!(given, "" | "0") {
        if change.wants_version && !kind.traits.unconditional_update {
            let shown = if given.is_empty() { Value::from(0) } else { given.into() };
            let cause = Cause::invalid("metadata.resourceVersion", &shown, "must be specified for an update");
            return Err(Failure::invalid(kind, name, &[cause]));
        }
    } else if parse_revision(given).map_err(Failure::internal)? != parse_revision(current).unwrap_or_default()
    {
        return Err(Failure::modified(kind, name));
    }
    let (given, current) = (meta(object, "uid"), meta(old, "uid"));
    if !given.is_empty() && given != current {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{namespace}/{name}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {current}",
            kind.storage
        );
        return Err(Failure::conflict(kind, name, &why));
    }
    Ok(())
}

/// Restores the fields that an update of this endpoint cannot change.
fn restore(change: &Change<'_>, old: &Value, object: &mut Value) {
    let kind = change.kind;
    if matches!(change.subresource, "status" | "approval") {
        restore_all_but_status(kind, old, object);
    } else if kind.traits.status {
        restore_field(old, object, "status");
    }
    for field in ["uid", "creationTimestamp", "resourceVersion", "selfLink"] {
        restore_meta(old, object, field);
    }
    if kind.traits.generation {
        restore_meta(old, object, "generation");
    }
    if is_terminating(old) {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            restore_meta(old, object, field);
        }
    }
    if kind.is_core("namespaces") && change.subresource != "finalize" {
        if !object["spec"].is_object() {
            object["spec"] = serde_json::json!({});
        }
        restore_field(&old["spec"], &mut object["spec"], "finalizers");
    }
    if kind.is_core("services") && object["spec"]["type"] == old["spec"]["type"] {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if object["spec"][field].is_null() && object["spec"].is_object() {
                restore_field(&old["spec"], &mut object["spec"], field);
            }
        }
    }
}

/// Restores all fields except the status. The metadata can be changed for built-in kinds only.
fn restore_all_but_status(kind: &Kind, old: &Value, object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let kept = |field: &str| field == "status" || (field == "metadata" && !kind.is_custom());
    fields.retain(|field, _| kept(field) || old.get(field).is_some());
    for (field, value) in old.as_object().into_iter().flatten() {
        if !kept(field) && fields.get(field) != Some(value) {
            fields.insert(field.clone(), value.clone());
        }
    }
    if kind.group == "apps" {
        set_meta(object, "labels", old["metadata"].get("labels").cloned());
    }
}

/// Restores one field of the metadata. The field is seldom different.
fn restore_meta(old: &Value, object: &mut Value, field: &str) {
    let kept = old["metadata"].get(field);
    if object["metadata"].get(field) != kept {
        set_meta(object, field, kept.cloned());
    }
}

fn restore_field(old: &Value, object: &mut Value, field: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    match old.get(field) {
        kept if fields.get(field) == kept => {}
        Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
        None => drop(fields.remove(field)),
    }
}

/// Returns true if a change increments the generation.
fn spec_changed(kind: &Kind, old: &Value, object: &Value) -> bool {
    let counts = |field: &str| {
        let of_type = matches!(field, "metadata" | "apiVersion" | "kind");
        !(of_type || field == "status" && kind.traits.status)
    };
    let part = |value: &Value| {
        let fields = value.as_object().into_iter().flatten();
        fields.filter(|(field, _)| counts(field)).count()
    };
    let same = |(field, value): (&String, &Value)| !counts(field) || object.get(field) == Some(value);
    // The annotations of a Deployment count as well, because its controller reads them.
    let noted = |value: &Value| value["metadata"].get("annotations").cloned();
    if kind.group == "apps" && kind.plural == "deployments" && noted(old) != noted(object) {
        return true;
    }
    part(old) != part(object) || !old.as_object().is_some_and(|fields| fields.iter().all(same))
}
