//! Creates an object: admission, defaults, validation, storage.

use serde_json::Value;

use crate::http::failure::Failure;
use crate::kind::custom;
use crate::kind::kinds::Kind;
use crate::kind::object::{self, generated_name, is_terminating, meta, set_meta, uid};
use crate::validation::metadata;
use crate::write::webhook::Subject;
use crate::write::writer::{NewObject, WriteResult, Writer};

/// The number of attempts to draw a generated name that is not taken.
const NAME_ATTEMPTS: usize = 8;

/// The metadata fields that only the server sets.
const SERVER_FIELDS: [&str; 5] =
    ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp"];

impl Writer<'_> {
    /// Creates an object.
    ///
    /// # Errors
    /// Any failure of a POST.
    pub(crate) fn create(&mut self, new: NewObject<'_>) -> Result<WriteResult, Failure> {
        let NewObject { kind, namespace, name, mut object, dry_run, .. } = new;
        let owned = object["metadata"].get("managedFields").cloned();
        if !meta(&object, "resourceVersion").is_empty() {
            return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
        }
        settle_namespace(kind, namespace, &mut object)?;
        if !name.is_empty() && meta(&object, "name").is_empty() {
            set_meta(&mut object, "name", Some(name.into()));
        }
        let generated = self.name_if_generated(kind, namespace, &mut object);
        self.check_namespace(kind, namespace, meta(&object, "name"))?;
        for field in SERVER_FIELDS {
            set_meta(&mut object, field, None);
        }
        prepare(kind, &mut object);
        if new.manager.tracked {
            set_meta(&mut object, "managedFields", owned);
        } else {
            set_meta(&mut object, "managedFields", None);
            self.track_create(kind, &new.manager, &mut object);
        }
        if !kind.is_custom() {
            self.default_admission(kind, &mut object)?;
        }
        let name = meta(&object, "name").to_owned();
        if generated && self.consultation.is_some() {
            // Mutating webhooks see the object before its name is generated.
            set_meta(&mut object, "name", None);
        }
        if let Some(changed) = self.admit(Subject::write(kind, "", &object, None, dry_run))? {
            object = changed;
            kind.complete(&mut object);
        }
        if generated && meta(&object, "name").is_empty() {
            set_meta(&mut object, "name", Some(name.into()));
        }
        self.record_requester(kind, &mut object);
        set_meta(&mut object, "uid", Some(uid(&mut self.state.chance).into()));
        set_meta(&mut object, "creationTimestamp", Some(object::time(self.now())));
        if !kind.is_custom() {
            self.prepare_create(kind, &mut object)?;
        }
        let mut causes = metadata::metadata(kind, &object);
        causes.extend(self.check_object(kind, &object, None));
        let name = meta(&object, "name").to_owned();
        if !causes.is_empty() {
            return Err(Failure::invalid(kind, &name, &causes));
        }
        self.check_escalation(kind, &object, None)?;
        custom::check_accepts_creates(self.state, kind, &name)?;
        self.consult_validating(Subject::write(kind, "", &object, None, dry_run))?;
        if let Some(existing) = self.stored(kind, namespace, &name) {
            let failure = Failure::already_exists(kind, &name, is_terminating(&existing.object()));
            return Err(if generated { failure.with_retry_after(1) } else { failure });
        }
        object::check_storable(&object)?;
        if dry_run {
            return Ok(WriteResult::NotStored(object));
        }
        Ok(WriteResult::Stored(self.put(kind, object)))
    }

    /// Generates a name if the object asks for one. Returns true if it did.
    fn name_if_generated(&mut self, kind: &Kind, namespace: &str, object: &mut Value) -> bool {
        let prefix = meta(object, "generateName");
        if !meta(object, "name").is_empty() || prefix.is_empty() {
            return false;
        }
        let prefix = prefix.to_owned();
        for _ in 0..NAME_ATTEMPTS {
            let name = generated_name(&prefix, &mut self.state.chance);
            let taken = self.stored(kind, namespace, &name).is_some();
            set_meta(object, "name", Some(name.into()));
            if !taken {
                break;
            }
        }
        true
    }

    /// A namespaced object needs a namespace that exists and is not being deleted.
    fn check_namespace(&self, kind: &Kind, namespace: &str, name: &str) -> Result<(), Failure> {
        if !kind.traits.namespaced {
            return Ok(());
        }
        let namespaces = crate::kind::builtin::builtin("", "v1", "namespaces");
        let found = self.stored(namespaces, "", namespace);
        let found = found.ok_or_else(|| Failure::not_found(namespaces, namespace))?;
        if !is_terminating(&found.object()) {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = format!("namespace {namespace} is being terminated");
        Err(Failure::forbidden(kind, name, &why).with_cause(
            "NamespaceTerminating",
            &cause,
            "metadata.namespace",
        ))
    }
}

/// Sets the namespace of the path.
/// A different namespace in the body is refused; cluster-scoped kinds lose the namespace.
fn settle_namespace(kind: &Kind, namespace: &str, object: &mut Value) -> Result<(), Failure> {
    if !kind.traits.namespaced {
        set_meta(object, "namespace", None);
        return Ok(());
    }
    match meta(object, "namespace") {
        "" => set_meta(object, "namespace", Some(namespace.into())),
        given if given == namespace => {}
        _ => return Err(Failure::namespace_mismatch()),
    }
    Ok(())
}

/// Sets the fields that the strategy of the kind sets before a create.
fn prepare(kind: &Kind, object: &mut Value) {
    if kind.traits.generation {
        set_meta(object, "generation", Some(1.into()));
    }
    if kind.traits.status && !kind.traits.keeps_status {
        object.as_object_mut().map(|fields| fields.remove("status"));
    }
    kind.complete(object);
}
