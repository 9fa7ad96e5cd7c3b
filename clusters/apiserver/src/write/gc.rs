//! Garbage collection: deletes or releases dependents by the propagation policy of the owner's delete.
//!
//! The garbage collector acts immediately, inside the write that removes an owner or an owner reference.

use std::sync::Arc;

use serde_json::Value;

use crate::kind::kinds::Kind;
use crate::kind::object::{FOREGROUND, ORPHAN, finalizers, is_terminating, meta, set_meta};
use crate::store::{self, Version};
use crate::write::delete::{DeleteOptions, Propagation};
use crate::write::dependents::references;
use crate::write::writer::Writer;

/// Returns true if an owner stays until its dependents are deleted.
fn waits_for_dependents(owner: &Version) -> bool {
    if !owner.may_have(FOREGROUND) {
        return false;
    }
    let owner = owner.object();
    is_terminating(&owner) && finalizers(&owner).contains(&FOREGROUND)
}

/// The state of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Present,
    /// The owner does not exist, or another object has its name now.
    Absent,
    /// The owner waits until its dependents are deleted.
    WaitsForDependents,
    /// The kind is not served, or the reference crosses namespaces. The dependent is left alone.
    Unknown,
}

impl Writer<'_> {
    /// Garbage collection after a write of an object that still exists.
    pub(crate) fn collect_stored(&mut self, kind: &Arc<Kind>, version: &Version) {
        if !self.server.garbage_collector || !self.is_current(kind, version) {
            return;
        }
        let object = &*version.object();
        if is_terminating(object) && finalizers(object).contains(&ORPHAN) {
            return self.orphan_dependents(kind, version);
        }
        if is_terminating(object) && finalizers(object).contains(&FOREGROUND) {
            return self.delete_dependents_first(kind, version);
        }
        self.collect(kind, version);
    }

    /// Garbage collection after the removal of an object.
    pub(crate) fn collect_removed(&mut self, version: &Version) {
        if !self.server.garbage_collector {
            return;
        }
        let object = &*version.object();
        for (kind, dependent) in self.dependents(meta(object, "uid")) {
            self.collect(&kind, &dependent);
        }
        // An owner may have waited for the removal of this dependent.
        for owner in references(object) {
            if let Some((kind, stored)) = self.find_owner(object, owner)
                && waits_for_dependents(&stored)
            {
                self.delete_dependents_first(&kind, &stored);
            }
        }
    }

    fn is_current(&self, kind: &Kind, version: &Version) -> bool {
        let stored = self.state.store.get(&kind.storage, &store::object_key(&version.object()));
        stored.is_some_and(|stored| stored.revision == version.revision)
    }

    /// The current dependents of the object with that uid.
    fn dependents(&self, uid: &str) -> Vec<(Arc<Kind>, Arc<Version>)> {
        let found = |(storage, key): &(Arc<str>, String)| {
            let version = self.state.store.get(storage, key)?.clone();
            Some((self.state.kind_of(storage)?.clone(), version))
        };
        self.state.dependents.of(uid).filter_map(found).collect()
    }

    /// The stored object to which a reference of `dependent` points, if its kind is served.
    fn find_owner(&self, dependent: &Value, reference: &Value) -> Option<(Arc<Kind>, Arc<Version>)> {
        let kind = self.owner_kind(reference)?;
        let namespace = if kind.traits.namespaced { meta(dependent, "namespace") } else { "" };
        let key = store::key(namespace, reference["name"].as_str()?);
        let stored = self.state.store.get(&kind.storage, &key)?.clone();
        stored.has_uid(reference["uid"].as_str()?).then_some((kind, stored))
    }

    fn owner_kind(&self, reference: &Value) -> Option<Arc<Kind>> {
        let (version, kind) = (reference["apiVersion"].as_str()?, reference["kind"].as_str()?);
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let named =
            |known: &&Arc<Kind>| known.kind == kind && known.group == group && known.version == version;
        self.state.kinds().find(named).cloned()
    }

    fn owner(&self, dependent: &Value, reference: &Value) -> Owner {
        let Some(kind) = self.owner_kind(reference) else { return Owner::Unknown };
        if kind.traits.namespaced && meta(dependent, "namespace").is_empty() {
            return Owner::Unknown;
        }
        match self.find_owner(dependent, reference) {
            None => Owner::Absent,
            Some((_, owner)) if waits_for_dependents(&owner) => Owner::WaitsForDependents,
            Some(_) => Owner::Present,
        }
    }

    /// Deletes an object without remaining owners, or removes its references to absent owners.
    fn collect(&mut self, kind: &Arc<Kind>, version: &Version) {
        let object = &*version.object();
        let owners: Vec<_> = references(object).map(|reference| self.owner(object, reference)).collect();
        if owners.is_empty() || owners.contains(&Owner::Unknown) || is_terminating(object) {
            return;
        }
        if owners.contains(&Owner::Present) {
            let kept: Vec<_> = references(object)
                .zip(&owners)
                .filter(|(_, owner)| **owner == Owner::Present)
                .map(|(reference, _)| reference.clone())
                .collect();
            if kept.len() < owners.len() {
                let mut object = Value::clone(object);
                set_meta(&mut object, "ownerReferences", Some(Value::Array(kept)));
                self.put(kind, object);
            }
            return;
        }
        let has_dependents = self.state.dependents.of(meta(object, "uid")).next().is_some();
        let foreground = owners.contains(&Owner::WaitsForDependents) && has_dependents;
        let held = finalizers(object).iter().any(|finalizer| [ORPHAN, FOREGROUND].contains(finalizer));
        let propagation = match (foreground, held) {
            (true, _) => Some(Propagation::Foreground),
            (false, true) => None,
            (false, false) => Some(Propagation::Background),
        };
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        // If admission refuses the delete, the object stays. The real collector would retry.
        drop(self.delete(kind, meta(object, "namespace"), meta(object, "name"), &options));
    }

    /// Removes the references to an owner that is deleted without its dependents.
    /// Afterwards the finalizer of the owner is removed.
    fn orphan_dependents(&mut self, kind: &Arc<Kind>, owner: &Version) {
        let owned = owner.object();
        let uid = meta(&owned, "uid");
        for (kind, dependent) in self.dependents(uid) {
            let mut object = Value::clone(&dependent.object());
            let kept: Vec<_> =
                references(&object).filter(|reference| reference["uid"] != uid).cloned().collect();
            set_meta(&mut object, "ownerReferences", (!kept.is_empty()).then_some(Value::Array(kept)));
            self.put(&kind, object);
        }
        self.release(kind, owner, ORPHAN);
    }

    /// Deletes the dependents of an owner that waits for them.
    /// The owner is released once no dependent blocks its deletion.
    fn delete_dependents_first(&mut self, kind: &Arc<Kind>, owner: &Version) {
        let waiting = owner.object();
        let uid = meta(&waiting, "uid");
        for (kind, dependent) in self.dependents(uid) {
            self.collect(&kind, &dependent);
        }
        let blocks = |object: &Value| {
            references(object)
                .any(|reference| reference["uid"] == uid && reference["blockOwnerDeletion"] == true)
        };
        if !self.dependents(uid).iter().any(|(_, dependent)| blocks(&dependent.object())) {
            self.release(kind, owner, FOREGROUND);
        }
    }

    /// Removes a finalizer from the stored object.
    pub(crate) fn release(&mut self, kind: &Arc<Kind>, version: &Version, finalizer: &str) {
        let held = version.object();
        let (namespace, name) = (meta(&held, "namespace"), meta(&held, "name"));
        let Some(stored) = self.stored(kind, namespace, name) else { return };
        let mut object = Value::clone(&stored.object());
        let kept: Vec<_> = finalizers(&object)
            .into_iter()
            .filter(|present| *present != finalizer)
            .map(Value::from)
            .collect();
        if kept.len() < finalizers(&object).len() {
            set_meta(&mut object, "finalizers", (!kept.is_empty()).then_some(Value::Array(kept)));
            self.put_or_remove(kind, &stored, object);
        }
    }
}
