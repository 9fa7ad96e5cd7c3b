//! Remembers the objects of one cluster, to find the changes in a list that follows a gap.

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use serde_json::Value;

use super::redact::redact;
use capsize_history::{EventType, Object};

/// The objects of one kind.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    objects: BTreeMap<String, KnownObject>,
    /// How many lists have begun.
    lists: u64,
}

#[derive(Debug)]
struct KnownObject {
    version: String,
    object: Object,
    /// The number of the latest list that contained the object, or that had begun when a watch reported it.
    list: u64,
}

/// An event for the history.
pub(crate) type WatchEvent = (EventType, Object);

impl KnownObjects {
    /// Begins a list. Objects that are not in it are deleted.
    pub(super) fn begin(&mut self) {
        self.lists += 1;
    }

    /// An object exists in this version. Returns `None` if the version is known already.
    pub(super) fn there(&mut self, kind: (&str, &str), object: DynamicObject) -> Option<WatchEvent> {
        let (name, version) = (name(&object), object.metadata.resource_version.clone().unwrap_or_default());
        let list = self.lists;
        if let Some(seen) = self.objects.get_mut(&name).filter(|seen| seen.version == version) {
            seen.list = list;
            return None;
        }
        let object = written(kind, object);
        let seen = KnownObject { version, object: object.clone(), list };
        let event = match self.objects.insert(name, seen) {
            None => EventType::Added,
            Some(_) => EventType::Modified,
        };
        Some((event, object))
    }

    /// An object was deleted.
    pub(super) fn gone(&mut self, kind: (&str, &str), object: DynamicObject) -> WatchEvent {
        self.objects.remove(&name(&object));
        (EventType::Deleted, written(kind, object))
    }

    /// Completes a list. Returns the objects that were deleted before it.
    pub(super) fn end(&mut self) -> Vec<WatchEvent> {
        let list = self.lists;
        let gone = self.objects.extract_if(.., |_, seen| seen.list != list);
        gone.map(|(_, seen)| (EventType::Deleted, seen.object)).collect()
    }
}

fn name(object: &DynamicObject) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", part(&object.metadata.namespace), part(&object.metadata.name))
}

/// Returns the object in the form of a watch event.
/// The object gets the fields that lists omit, and loses the values of Secrets.
fn written((api_version, kind): (&str, &str), mut object: DynamicObject) -> Object {
    object.metadata.managed_fields = None;
    let mut value = serde_json::to_value(&object).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), kind.into());
    }
    redact(&mut value);
    value.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const POD: (&str, &str) = ("v1", "Pod");

    fn pod(name: &str, version: &str) -> DynamicObject {
        let metadata = json!({"name": name, "namespace": "default", "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn summary(event: &WatchEvent) -> (EventType, String, String) {
        let (event, object) = event;
        (*event, object.text("metadata", "name").into(), object.text("metadata", "resourceVersion").into())
    }

    #[test]
    fn a_list_after_a_gap_yields_what_was_added_changed_and_deleted() {
        let mut known = KnownObjects::default();
        known.begin();
        let first = known.there(POD, pod("a", "1")).unwrap();
        assert_eq!(summary(&first), (EventType::Added, "a".into(), "1".into()));
        assert_eq!(first.1.value()["kind"], "Pod");
        known.there(POD, pod("b", "2")).unwrap();
        known.there(POD, pod("c", "3")).unwrap();
        assert!(known.end().is_empty());
        known.begin();
        assert!(known.there(POD, pod("a", "1")).is_none());
        let changed = known.there(POD, pod("b", "5")).unwrap();
        assert_eq!(summary(&changed), (EventType::Modified, "b".into(), "5".into()));
        let gone: Vec<_> = known.end().iter().map(summary).collect();
        assert_eq!(gone, [(EventType::Deleted, "c".into(), "3".into())]);
        assert!(known.end().is_empty());
    }

    #[test]
    fn what_went_and_came_again_is_new() {
        let mut known = KnownObjects::default();
        known.there(POD, pod("a", "1"));
        assert_eq!(summary(&known.gone(POD, pod("a", "2"))).0, EventType::Deleted);
        assert_eq!(known.there(POD, pod("a", "3")).unwrap().0, EventType::Added);
    }
}
