//! Keeps the versions of objects as differences, so that a page with thousands of them stays small.

use capsize_history::digest::Table;
use capsize_history::{EventType, Field, Object};

use super::data::{Micros, Versions};

/// The field that only API servers maintain, and that histories leave out.
const MANAGED_FIELDS: &str = "managedFields";

/// Collects the versions of all objects.
#[derive(Clone, Debug, Default)]
pub(super) struct VersionLog {
    pub(super) objects: Vec<[String; 3]>,
    pub(super) versions: Versions,
    indexes: Table<String, usize>,
    latest: Vec<Object>,
    last: Micros,
}

impl VersionLog {
    /// Adds a version, and returns its index.
    pub(super) fn add(&mut self, at: Micros, on: &str, event: EventType, object: &Object) -> usize {
        let index = self.index(on, object);
        let (set, unset) = difference(&self.latest[index], object);
        self.latest[index] = object.clone();
        let versions = &mut self.versions;
        versions.at.push(at.saturating_sub(self.last));
        self.last = self.last.max(at);
        versions.object.push(index);
        versions.event.push(match event {
            EventType::Added => 'A',
            EventType::Modified => 'M',
            EventType::Deleted => 'D',
        });
        versions.set.push(set);
        versions.unset.push(unset);
        versions.object.len() - 1
    }

    fn index(&mut self, on: &str, object: &Object) -> usize {
        let (namespace, name) = (object.text("metadata", "namespace"), object.text("metadata", "name"));
        let name = if namespace.is_empty() { name.into_owned() } else { format!("{namespace}/{name}") };
        let kind = object.kind();
        let key = format!("{on}\n{kind}\n{name}");
        if let Some(index) = self.indexes.get(&key) {
            return *index;
        }
        self.objects.push([on.to_owned(), kind.into_owned(), name]);
        self.latest.push(Object::default());
        self.indexes.insert(key, self.latest.len() - 1);
        self.latest.len() - 1
    }
}

/// Returns the difference between two versions of an object.
/// The first text has the fields of `now` that `was` lacks or has otherwise, as JSON. The second text has the names of
/// the fields that `now` lacks.
fn difference(was: &Object, now: &Object) -> (String, String) {
    let mut set = Vec::new();
    let mut unset = Vec::new();
    for (name, part) in now.parts() {
        let is_same = |old: Field<'_>| old.digest() == part.digest();
        if was.whole(name).is_some_and(is_same) {
            continue;
        }
        let mut fields = now.fields(name).filter(|(field, _)| *field != MANAGED_FIELDS).peekable();
        if fields.peek().is_none() {
            set.push(format!("{}:{}", quoted(name), part.json()));
            continue;
        }
        let changed = fields
            .filter(|(field, value)| was.field(name, field).is_none_or(|old| old.digest() != value.digest()));
        let changed: Vec<_> = changed.map(|(field, value)| format!("\"{field}\":{}", value.json())).collect();
        if !changed.is_empty() {
            set.push(format!("{}:{{{}}}", quoted(name), changed.join(",")));
        }
    }
    for (name, _) in was.parts() {
        if now.whole(name).is_none() {
            unset.push(name.to_owned());
            continue;
        }
        let gone = was.fields(name).filter(|(field, _)| now.field(name, field).is_none());
        unset.extend(gone.map(|(field, _)| format!("{name}\t{field}")));
    }
    (format!("{{{}}}", set.join(",")), unset.join("\n"))
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_is_kept_as_the_difference_to_the_version_before() {
        let mut log = VersionLog::default();
        let first = json!({"kind": "Cluster", "metadata": {"name": "m1", "managedFields": [1]}, "spec": {"a": 1, "b": [2]}});
        let second = json!({"kind": "Cluster", "metadata": {"name": "m1"}, "spec": {"a": 3}, "status": {}});
        assert_eq!(log.add(5, "control-plane", EventType::Added, &first.into()), 0);
        assert_eq!(log.add(7, "control-plane", EventType::Modified, &second.into()), 1);
        assert_eq!(log.objects, [["control-plane", "Cluster", "m1"].map(str::to_owned)]);
        assert_eq!(log.versions.event, "AM");
        assert_eq!(log.versions.at, [5, 2]);
        let sets = [
            r#"{"kind":"Cluster","metadata":{"name":"m1"},"spec":{"a":1,"b":[2]}}"#,
            r#"{"spec":{"a":3},"status":{}}"#,
        ];
        assert_eq!(log.versions.set, sets);
        assert_eq!(log.versions.unset, ["", "metadata\tmanagedFields\nspec\tb"]);
    }
}
