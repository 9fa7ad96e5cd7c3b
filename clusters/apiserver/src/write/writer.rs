//! The steps that all writes share: the locked state, admission, storage, and follow-up writes.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::auth::User;
use crate::endpoint::selector;
use crate::http::failure::{Cause, Failure};
use crate::kind::custom;
use crate::kind::defaults::empty_form;
use crate::kind::kinds::Kind;
use crate::kind::object::{self, is_terminating, meta};
use crate::state::{Inner, State};
use crate::store::{self, Version};
use crate::validation::metadata;
use crate::write::dependents;
use crate::write::managed_fields::{Tracking, track};
use crate::write::webhook::{Consultation, Subject, Webhooks};

/// A write in progress. The state is locked during the lifetime of the writer.
pub(crate) struct Writer<'a> {
    pub server: &'a Inner,
    pub state: &'a mut State,
    /// The user of the request; `None` if the request was not authenticated.
    pub user: Option<&'a User>,
    /// The questions to webhooks and their answers, if webhooks are configured.
    pub consultation: Option<&'a mut Consultation>,
    /// The warnings for the client.
    pub warnings: Vec<String>,
    effects: VecDeque<Effect>,
}

/// A write that may cause follow-up writes.
struct Effect {
    kind: Arc<Kind>,
    version: Arc<Version>,
    removed: bool,
}

/// A new object, and how it is created.
pub(crate) struct NewObject<'a> {
    pub kind: &'a Arc<Kind>,
    /// The namespace of the path.
    pub namespace: &'a str,
    /// The name in the path, if there is one (a PUT or an apply that creates an object).
    pub name: &'a str,
    pub object: Value,
    pub dry_run: bool,
    pub manager: Manager<'a>,
}

/// An update of one object.
pub(crate) struct Change<'a> {
    pub kind: &'a Arc<Kind>,
    pub namespace: &'a str,
    pub name: &'a str,
    /// The name of the subresource; empty for the main endpoint.
    pub subresource: &'a str,
    pub dry_run: bool,
    /// True if kinds without unconditional updates refuse an object without a resource version.
    /// Patches are never refused.
    pub wants_version: bool,
    pub manager: Manager<'a>,
}

/// The field manager of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager<'a> {
    /// The name of the manager in managed fields.
    pub name: &'a str,
    /// The object already contains its managed fields, for example after an apply.
    pub tracked: bool,
}

/// The result of a write.
#[derive(Debug)]
pub(crate) enum WriteResult {
    /// The stored version. If the write changed nothing, an earlier write stored it.
    Stored(Arc<Version>),
    /// The object for the response. The request was a dry run, or the write removed the object.
    NotStored(Value),
}

impl WriteResult {
    /// The object for the response, in its stored form.
    pub(crate) fn object(&self) -> Arc<Value> {
        match self {
            Self::Stored(version) => version.object(),
            Self::NotStored(object) => Arc::new(object.clone()),
        }
    }
}

impl<'a> Writer<'a> {
    pub(crate) fn new(server: &'a Inner, state: &'a mut State) -> Self {
        Self { server, state, user: None, consultation: None, warnings: Vec::new(), effects: VecDeque::new() }
    }

    /// Does the follow-up writes of all writes so far, including the follow-up writes that those cause.
    pub(crate) fn finish(&mut self) {
        // Follow-up writes do not call webhooks.
        self.consultation = None;
        while let Some(Effect { kind, version, removed }) = self.effects.pop_front() {
            let namespaces = kind.is_core("namespaces");
            if removed {
                self.removed_definition(&kind, &version);
                self.collect_removed(&version);
                self.finalize_namespace(meta(&version.object(), "namespace"));
            } else {
                self.collect_stored(&kind, &version);
                self.marked_definition(&kind, &version);
                if namespaces {
                    self.empty_namespace(meta(&version.object(), "name"));
                }
            }
            self.provision(&kind, &version.object(), removed);
        }
    }

    /// The stored version of an object.
    pub(crate) fn stored(&self, kind: &Kind, namespace: &str, name: &str) -> Option<Arc<Version>> {
        self.stored_at(kind, &store::key(namespace, name))
    }

    /// Records the field manager in a new object.
    pub(crate) fn track_create(&self, kind: &Kind, manager: &Manager<'_>, object: &mut Value) {
        if self.server.tracks_updates {
            let now = object::time(self.now());
            let tracking =
                Tracking { kind, manager: manager.name, subresource: "", now: &now, all_writes: true };
            track(&tracking, &empty_form(kind), object);
        }
    }

    /// Records the field manager of the changed fields.
    /// An object without managed fields stays so until an apply.
    pub(crate) fn track_update(&self, change: &Change<'_>, old: &Value, object: &mut Value) {
        if change.manager.tracked || !object["metadata"]["managedFields"].is_array() {
            return;
        }
        let now = object::time(self.now());
        let Change { kind, subresource, .. } = *change;
        let all_writes = self.server.tracks_updates;
        let tracking = Tracking { kind, manager: change.manager.name, subresource, now: &now, all_writes };
        track(&tracking, old, object);
    }

    /// Calls the admission function and the mutating webhooks.
    /// Returns the resulting object if they changed it.
    pub(crate) fn admit(&mut self, subject: Subject<'_>) -> Result<Option<Value>, Failure> {
        let admission = self.server.admission.as_ref().filter(|_| subject.subresource != "status");
        let Some(admission) = admission else {
            return self.consult_mutating(subject);
        };
        let changed = admission(&subject.in_process()).map_err(|message| Failure::denied(&message))?;
        changed.as_ref().map_or(Ok(()), object::check_metadata_types)?;
        let patched =
            self.consult_mutating(Subject { object: changed.as_ref().or(subject.object), ..subject })?;
        Ok(patched.or(changed))
    }

    /// Validates an object, and records the warnings.
    pub(crate) fn check_object(&mut self, kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let Some(schema) = &kind.schema else { return metadata::object(kind, object, old) };
        let found = custom::check_object(kind, schema, object, old);
        self.warnings.extend(found.warnings);
        found.causes
    }

    /// The time of the write.
    pub(crate) fn now(&self) -> Timestamp {
        self.consultation.as_ref().map_or_else(|| self.server.clock.now(), |consultation| consultation.now)
    }

    /// Reloads the webhooks after a change of their configurations.
    fn reload_webhooks(&mut self, kind: &Kind) {
        if kind.group == "admissionregistration.k8s.io" {
            let stored = |plural: &str| -> Vec<Arc<Value>> {
                let kind = crate::kind::builtin::builtin("admissionregistration.k8s.io", "v1", plural);
                self.state.store.objects(&kind.storage).map(|version| version.object()).collect()
            };
            let mutating = stored("mutatingwebhookconfigurations");
            let hooks = Webhooks::read(&mutating, &stored("validatingwebhookconfigurations"));
            self.state.webhooks = Arc::new(hooks);
        }
    }

    /// Stores an object. [`Writer::finish`] does the follow-up writes.
    pub(crate) fn put(&mut self, kind: &Arc<Kind>, object: Value) -> Arc<Version> {
        let object = kind.to_stored(object);
        let key = store::object_key(&object);
        let before = self.stored_at(kind, &key).map(|version| version.object());
        let before = before.as_deref();
        let owned = |object: &Value| dependents::references(object).next().is_some();
        if owned(&object) || before.is_some_and(owned) {
            self.state.dependents.update(&kind.storage, &key, before, Some(&object));
        }
        let fields = selector::field_values(kind, &object);
        if kind.is_core("services") {
            self.state.allocated.update(before, Some(&object));
        }
        let matters = owned(&object) || is_terminating(&object) || self.provisions(kind);
        self.forget_grants(kind);
        let version = self.state.store.put(&kind.storage, &key, object, fields);
        self.stored_definition(kind, &version, before);
        self.reload_webhooks(kind);
        if matters {
            self.effects.push_back(Effect { kind: kind.clone(), version: version.clone(), removed: false });
        }
        version
    }

    /// Removes an object and returns its last state. [`Writer::finish`] does the follow-up writes.
    pub(crate) fn remove(&mut self, kind: &Arc<Kind>, namespace: &str, name: &str) -> Option<Arc<Version>> {
        let key = store::key(namespace, name);
        let version = self.state.store.remove(&kind.storage, &key)?;
        self.state.dependents.update(&kind.storage, &key, Some(&version.object()), None);
        self.forget_grants(kind);
        if kind.is_core("services") {
            self.state.allocated.update(Some(&version.object()), None);
        }
        self.reload_webhooks(kind);
        self.effects.push_back(Effect { kind: kind.clone(), version: version.clone(), removed: true });
        Some(version)
    }

    fn stored_at(&self, kind: &Kind, key: &str) -> Option<Arc<Version>> {
        self.state.store.load(&kind.storage, key).cloned()
    }
}
