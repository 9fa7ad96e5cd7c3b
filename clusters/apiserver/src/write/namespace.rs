//! The termination of a namespace: deletes its objects, and removes the namespace when it is empty.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::http::failure::qualified;
use crate::kind::builtin::builtin;
use crate::kind::kinds::Kind;
use crate::kind::object::{self, finalizers, is_terminating};
use crate::store;
use crate::write::delete::DeleteOptions;
use crate::write::writer::Writer;

/// The finalizer that holds a namespace until it is empty.
const FINALIZER: &str = "kubernetes";

fn namespaces() -> &'static Arc<Kind> {
    builtin("", "v1", "namespaces")
}

impl Writer<'_> {
    /// Deletes the objects in a terminating namespace, and removes the namespace once it is empty.
    pub(crate) fn empty_namespace(&mut self, name: &str) {
        if !self.server.namespace_controller || !self.is_terminating_namespace(name) {
            return;
        }
        for (kind, namespace, name) in self.contents(name) {
            // An object with a finalizer or a grace period stays for now.
            drop(self.delete(&kind, &namespace, &name, &DeleteOptions::default()));
        }
        self.finalize_namespace(name);
    }

    /// Removes a terminating namespace if it is empty; otherwise its status reports the remaining objects.
    pub(crate) fn finalize_namespace(&mut self, name: &str) {
        if !self.server.namespace_controller || !self.is_terminating_namespace(name) {
            return;
        }
        let Some(stored) = self.stored(namespaces(), "", name) else { return };
        let before = stored.object();
        let mut namespace = Value::clone(&before);
        if self.contents(name).is_empty() {
            let held = before["spec"]["finalizers"].as_array().into_iter().flatten();
            let others: Vec<_> = held.filter(|finalizer| *finalizer != FINALIZER).cloned().collect();
            namespace["spec"] = if others.is_empty() { json!({}) } else { json!({"finalizers": others}) };
            // Other finalizers are removed by the controllers that own them.
            if others.is_empty() || namespace["spec"] != before["spec"] {
                self.put_or_remove(namespaces(), &stored, namespace);
            }
            return;
        }
        let conditions = self.remaining(name, &before["status"]["conditions"]);
        namespace["status"]["conditions"] = conditions;
        if namespace != *before {
            self.put(namespaces(), namespace);
        }
    }

    fn is_terminating_namespace(&self, name: &str) -> bool {
        self.stored(namespaces(), "", name).is_some_and(|stored| is_terminating(&stored.object()))
    }

    /// All objects in a namespace: kind, namespace, name.
    fn contents(&self, name: &str) -> Vec<(Arc<Kind>, String, String)> {
        let prefix = store::key(name, "");
        let mut found = Vec::new();
        for (storage, table) in self.state.store.tables() {
            let Some(kind) = self.state.kind_of(storage) else { continue };
            let names = table.range(&prefix).map(|(key, _)| key[prefix.len()..].to_owned());
            found.extend(names.map(|object| (kind.clone(), name.to_owned(), object)));
        }
        found
    }

    /// The conditions of a terminating namespace that still has objects.
    fn remaining(&self, name: &str, before: &Value) -> Value {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        let mut holding: BTreeMap<String, usize> = BTreeMap::new();
        for (kind, namespace, name) in self.contents(name) {
            *kinds.entry(qualified(&kind.plural, &kind.group)).or_default() += 1;
            if let Some(stored) = self.stored(&kind, &namespace, &name) {
                for finalizer in finalizers(&stored.object()) {
                    *holding.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
        }
        let message_of = |counts: &BTreeMap<String, usize>, verb: &str| {
            let lines: Vec<_> = counts
                .iter()
                .map(|(what, count)| format!("{what} {verb} {count} resource instances"))
                .collect();
            lines.join(", ")
        };
        let left = format!("Some resources are remaining: {}", message_of(&kinds, "has"));
        let held =
            format!("Some content in the namespace has finalizers remaining: {}", message_of(&holding, "in"));
        let no_finalizers = ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished");
        let rows = [
            (
                "NamespaceDeletionDiscoveryFailure",
                ("False", "ResourcesDiscovered", "All resources successfully discovered"),
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
            ),
            (
                "NamespaceDeletionContentFailure",
                (
                    "False",
                    "ContentDeleted",
                    "All content successfully deleted, may be waiting on finalization",
                ),
            ),
            ("NamespaceContentRemaining", ("True", "SomeResourcesRemain", left.as_str())),
            (
                "NamespaceFinalizersRemaining",
                if holding.is_empty() {
                    no_finalizers
                } else {
                    ("True", "SomeFinalizersRemain", held.as_str())
                },
            ),
        ];
        let now = object::time(self.server.clock.now());
        let since = |kind: &str, status: &str| {
            let mut known = before.as_array().into_iter().flatten();
            let same = known.find(|condition| condition["type"] == kind && condition["status"] == status);
            same.map_or_else(|| now.clone(), |condition| condition["lastTransitionTime"].clone())
        };
        rows.into_iter()
            .map(|(kind, (status, reason, message))| {
                json!({"type": kind, "status": status, "reason": reason, "message": message,
                    "lastTransitionTime": since(kind, status)})
            })
            .collect()
    }
}
