//! The lifecycle of a CRD: its kinds, the start of their service, and its deletion.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::schema::{Node, Schema};
use super::status;
use crate::endpoint::discovery::Documents;
use crate::http::failure::{Failure, qualified};
use crate::kind::builtin::definitions;
use crate::kind::kinds::{Kind, ScalePaths, Traits};
use crate::kind::object::{self, is_terminating, meta, set_meta};
use crate::state::State;
use crate::store::Version;
use crate::write::delete::DeleteOptions;
use crate::write::managed_fields::{Tracking, track};
use crate::write::writer::Writer;

/// The finalizer that keeps a definition until its objects are deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn is_definition(kind: &Kind) -> bool {
    kind.plural == "customresourcedefinitions" && kind.group == "apiextensions.k8s.io"
}

/// The stored definition of a custom kind.
pub(crate) fn definition_of<'s>(state: &'s State, kind: &Kind) -> Option<&'s Arc<Version>> {
    state.store.get(&definitions().storage, &crate::store::key("", &kind.storage))
}

/// Refuses new objects of a kind whose definition is being deleted.
pub(crate) fn check_accepts_creates(state: &State, kind: &Kind, name: &str) -> Result<(), Failure> {
    if !kind.is_custom() {
        return Ok(());
    }
    let definition = definition_of(state, kind);
    // A search in the text is faster than a parse of the large definition for each new object.
    let going = |definition: &Arc<Version>| {
        definition.may_have("deletionTimestamp") && is_terminating(&definition.object())
    };
    if definition.is_some_and(going) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Failure::forbidden(kind, name, why));
    }
    Ok(())
}

/// The kinds of a definition, one per served version. `since` is the revision of the definition.
fn kinds(definition: &Value, since: u64) -> Vec<Arc<Kind>> {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["served"] == true)
        .map(|version| Arc::new(kind(spec, version, since)))
        .collect()
}

fn kind(spec: &Value, version: &Value, since: u64) -> Kind {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts =
        |value: &Value| value.as_array().into_iter().flatten().map(|text_| text(text_).into()).collect();
    let path = |value: &Value| {
        let path = value.as_str()?;
        Some(path.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect())
    };
    let names = &spec["names"];
    let (group, plural) = (text(&spec["group"]), text(&names["plural"]));
    let mut versions = spec["versions"].as_array().into_iter().flatten();
    let stored = versions.find(|version| version["storage"] == true);
    let subresources = &version["subresources"];
    let scale = &subresources["scale"];
    let traits = Traits {
        namespaced: spec["scope"] == "Namespaced",
        status: subresources["status"].is_object(),
        generation: true,
        unconditional_update: false,
        create_on_update: false,
        returns_deleted: false,
        keeps_status: false,
    };
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    let deprecation = (version["deprecated"] == true).then(|| {
        version["deprecationWarning"].as_str().map_or_else(
            || format!("{group}/{} {} is deprecated", text(&version["name"]), text(&names["kind"])),
            str::to_owned,
        )
    });
    let (root, environment) = Node::read_root(&version["schema"]["openAPIV3Schema"]);
    let schema = Schema {
        root,
        environment,
        selectable_fields: fields
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        deprecation,
        since,
    };
    Kind {
        storage: qualified(&plural, &group).into(),
        version: text(&version["name"]).into(),
        stored_version: stored.map_or_else(String::new, |version| text(&version["name"])).into(),
        kind: text(&names["kind"]).into(),
        list_kind: text(&names["listKind"]).into(),
        plural: plural.into(),
        singular: text(&names["singular"]).into(),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        group: group.into(),
        traits,
        scale: scale.is_object().then(|| ScalePaths {
            spec_replicas: path(&scale["specReplicasPath"]).unwrap_or_default(),
            status_replicas: path(&scale["statusReplicasPath"]).unwrap_or_default(),
            selector: path(&scale["labelSelectorPath"]),
        }),
        schema: Some(Arc::new(schema)),
        blank: OnceLock::new(),
    }
}

impl Writer<'_> {
    /// Handles the write of a definition.
    /// Its kinds are served from now on, and its status is updated. Watches of the previous kinds end.
    pub(crate) fn stored_definition(&mut self, kind: &Arc<Kind>, version: &Version, before: Option<&Value>) {
        if !is_definition(kind) {
            return;
        }
        // Discovery also shows that a definition is being deleted.
        self.state.documents = Documents::default();
        let stored = version.object();
        let same = before.is_some_and(|before| before["spec"] == stored["spec"]);
        let mut definition = Value::clone(&stored);
        let now = object::time(self.server.clock.now());
        let served = {
            let others = self.state.store.objects(&kind.storage).map(|other| other.object());
            let others: Vec<Arc<Value>> = others
                .filter(|other| other["spec"]["group"] == definition["spec"]["group"])
                .filter(|other| meta(other, "name") != meta(&stored, "name"))
                .filter(|other| status::is_true(other, "NamesAccepted"))
                .collect();
            let others: Vec<&Value> = others.iter().map(|other| &**other).collect();
            status::update(&mut definition, &others, &now)
        };
        let storage = meta(&stored, "name");
        let is_served = self.state.custom.iter().any(|kind| &*kind.storage == storage);
        if !same || served != is_served {
            let kinds = if served { kinds(&stored, version.revision) } else { Vec::new() };
            self.serve(storage, kinds);
        }
        if before.is_some() && !same {
            self.state.store.close(storage);
        }
        if definition["status"] != stored["status"] {
            if stored["metadata"]["managedFields"].is_array() {
                let by = Tracking {
                    kind,
                    manager: "kube-apiserver",
                    subresource: "status",
                    now: &now,
                    all_writes: true,
                };
                track(&by, &stored, &mut definition);
            }
            self.put(kind, definition);
        }
    }

    /// Replaces the served kinds of the definition called `storage`.
    fn serve(&mut self, storage: &str, kinds: Vec<Arc<Kind>>) {
        self.state.custom.retain(|kind| &*kind.storage != storage);
        self.state.custom.extend(kinds);
        self.state.custom.sort_by(|a, b| a.path().cmp(&b.path()));
    }

    /// Adds the finalizer to a definition before its delete.
    /// The definition therefore stays until its objects are deleted.
    pub(crate) fn hold_definition(&mut self, kind: &Arc<Kind>, definition: &mut Value) {
        if !is_definition(kind) || is_terminating(definition) {
            return;
        }
        let finalizers = definition["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
            let held = finalizers.into_iter().chain([CLEANUP.into()]).collect();
            set_meta(definition, "finalizers", Some(held));
        }
        let condition = json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            "lastTransitionTime": object::time(self.server.clock.now())});
        status::set_condition(definition, condition);
    }

    /// Handles the deletion mark of a definition: deletes its objects, and then the definition.
    pub(crate) fn marked_definition(&mut self, kind: &Arc<Kind>, marked: &Version) {
        if is_definition(kind) && is_terminating(&marked.object()) {
            self.clean_up(meta(&marked.object(), "name"));
        }
    }

    /// Deletes the remaining objects of a definition, and the definition itself if none is left.
    fn clean_up(&mut self, storage: &str) {
        let custom = self.state.custom.iter().find(|kind| &*kind.storage == storage).cloned();
        if let Some(custom) = custom {
            let objects: Vec<_> = self.state.store.objects(storage).cloned().collect();
            for version in objects {
                let object = version.object();
                let (namespace, name) = (meta(&object, "namespace"), meta(&object, "name"));
                // An object with finalizers stays, and its definition stays as well.
                drop(self.delete(&custom, namespace, name, &DeleteOptions::default()));
            }
        }
        self.report_termination(storage);
        self.release_definition(storage);
    }

    /// Updates the status of a definition whose objects are still being deleted.
    fn report_termination(&mut self, storage: &str) {
        let Some(stored) = self.stored(definitions(), "", storage) else { return };
        let left = self.state.store.objects(storage).next().is_some();
        let mut definition = Value::clone(&stored.object());
        let condition = json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
            "message": "CustomResource deletion is in progress",
            "lastTransitionTime": object::time(self.server.clock.now())});
        if left && !status::has_reason(&definition, &condition) {
            status::set_condition(&mut definition, condition);
            self.put(definitions(), definition);
        }
    }

    /// Removes the finalizer of a terminating definition without objects.
    fn release_definition(&mut self, storage: &str) {
        let Some(stored) = self.stored(definitions(), "", storage) else { return };
        if is_terminating(&stored.object()) && self.state.store.objects(storage).next().is_none() {
            self.release(definitions(), &stored, CLEANUP);
        }
    }

    /// Handles the removal of an object.
    /// The kinds of a removed definition are no longer served. After its last object, a terminating definition is
    /// released.
    pub(crate) fn removed_definition(&mut self, kind: &Arc<Kind>, version: &Version) {
        if is_definition(kind) {
            self.state.documents = Documents::default();
            let storage = meta(&version.object(), "name").to_owned();
            self.serve(&storage, Vec::new());
            self.state.store.close(&storage);
        } else if kind.is_custom() {
            self.release_definition(&kind.storage);
        }
    }
}
