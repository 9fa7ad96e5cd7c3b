//! Records the owners of fields after a write, and does server-side apply.

use serde_json::{Value, json};

use super::compare::{Comparison, compare};
use super::entries::{self, Entry};
use super::merge;
use super::set::{FieldSet, shown};
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;
use crate::kind::merge_schema::Shape;
use crate::kind::object::set_meta;

/// The maximum number of separate entries for managers of updates.
const MAX_UPDATERS: usize = 10;
/// The name of the entry into which the oldest ones are merged.
const ANCIENT: &str = "ancient-changes";

/// The source of a write: kind, manager and subresource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracking<'a> {
    pub kind: &'a Kind,
    pub manager: &'a str,
    pub subresource: &'a str,
    /// The time of the write, as in objects.
    pub now: &'a Value,
    /// True if all writes are tracked. If so, a field without an owner is older than the tracking.
    pub all_writes: bool,
}

impl Tracking<'_> {
    fn entry(&self, applied: bool, set: FieldSet) -> Entry {
        Entry {
            manager: self.manager.to_owned(),
            applied,
            api_version: self.kind.api_version(),
            subresource: self.subresource.to_owned(),
            // A real server records no time for writes on `/scale`.
            time: if self.subresource == "scale" { Value::Null } else { self.now.clone() },
            set,
        }
    }

    /// Removes fields that nobody owns, and fields that this endpoint cannot set.
    fn strip(&self, set: &mut FieldSet) {
        let server = [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "selfLink",
            "managedFields",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ];
        for field in ["f:apiVersion", "f:kind"] {
            set.cut(&[field]);
        }
        for field in server {
            set.cut(&["f:metadata", &format!("f:{field}")]);
        }
        match self.subresource {
            "status" if self.kind.is_custom() => set.keep(&["f:status"]),
            "status" => set.keep(&["f:status", "f:metadata"]),
            "" if self.kind.traits.status && !self.kind.traits.keeps_status => set.cut(&["f:status"]),
            _ => {}
        }
    }

    fn compare(&self, old: &Value, new: &Value) -> Comparison {
        let mut comparison = compare(old, new, Shape::of(self.kind));
        for set in [&mut comparison.added, &mut comparison.modified, &mut comparison.removed] {
            self.strip(set);
            // The field `metadata` itself has no owner, because every object has it.
            set.unmark("f:metadata");
        }
        comparison
    }
}

/// Updates the managed fields in `new` after a write that is not an apply.
/// `new` contains the previous managed fields. `old` is the object before the write, or the empty form of its kind for
/// a create.
pub(crate) fn track(tracking: &Tracking<'_>, old: &Value, new: &mut Value) {
    let comparison = tracking.compare(old, new);
    let mut all = entries::read(new);
    if !comparison.is_empty() {
        let taken = comparison.added.clone().union(comparison.modified.clone());
        let own = tracking.entry(false, taken.clone());
        for entry in &mut all {
            let set = std::mem::take(&mut entry.set).difference(&comparison.removed);
            entry.set = if entry.is_of(&own) { set } else { set.difference(&taken) };
        }
        if !taken.is_empty() {
            match all.iter_mut().find(|entry| entry.is_of(&own)) {
                Some(entry) => {
                    entry.set = std::mem::take(&mut entry.set).union(taken);
                    entry.time = own.time;
                }
                None => all.push(own),
            }
        }
        fold_oldest(&mut all);
    }
    set_meta(new, "managedFields", entries::write(all));
}

/// Merges the oldest update entries of a version into one if there are too many entries.
fn fold_oldest(all: &mut Vec<Entry>) {
    let (mut updaters, appliers): (Vec<_>, Vec<_>) =
        std::mem::take(all).into_iter().partition(|entry| !entry.applied);
    updaters.sort_by_key(|entry| (entry.time.as_str().unwrap_or_default().to_owned(), entry.manager.clone()));
    let mut next = 0;
    while updaters.len() > MAX_UPDATERS && next < updaters.len() {
        let first = updaters[..next].iter().position(|entry| entry.api_version == updaters[next].api_version);
        match first {
            None => next += 1,
            Some(first) => {
                let merged = updaters.remove(next);
                let ancient = &mut updaters[first];
                ancient.manager = ANCIENT.into();
                ancient.subresource = String::new();
                ancient.set = std::mem::take(&mut ancient.set).union(merged.set);
                ancient.time = merged.time;
            }
        }
    }
    all.extend(appliers);
    all.extend(updaters);
}

/// Applies a configuration to `live`, which is `None` for a create.
/// With `force`, fields of other managers are taken over.
///
/// # Errors
/// A conflict if a field belongs to another manager and is not taken over.
pub(crate) fn apply(
    tracking: &Tracking<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Value, Failure> {
    let shape = Shape::of(tracking.kind);
    let empty = json!({});
    let old = live.unwrap_or(&empty);
    let mut set = FieldSet::of_config(config, shape);
    tracking.strip(&mut set);
    let own = tracking.entry(true, set);
    let mut all = entries::read(old);
    if let Some(live) = live.filter(|_| all.is_empty() && tracking.all_writes) {
        // Fields that were set before tracking began belong to the manager `before-first-apply`.
        let mut before = FieldSet::of_config(live, shape);
        tracking.strip(&mut before);
        let set = before;
        all.push(Entry {
            manager: "before-first-apply".into(),
            applied: false,
            subresource: String::new(),
            ..tracking.entry(false, set)
        });
    }
    let last = all.iter().position(|entry| entry.is_of(&own)).map(|index| all.remove(index));
    let mut object = old.clone();
    merge::merge(&mut object, config, shape);
    if let Some(last) = &last {
        let gone = last.set.clone().difference(&own.set);
        let kept: Vec<&FieldSet> = all.iter().map(|entry| &entry.set).chain([&own.set]).collect();
        merge::remove(&mut object, &gone, &kept, shape);
    }
    let comparison = tracking.compare(old, &object);
    // An apply that changes only owners keeps the recorded time.
    let idle = live.is_some() && comparison.is_empty();
    let changed = comparison.added.union(comparison.modified);
    let conflicts: Vec<_> = all
        .iter()
        .map(|entry| (entry, entry.set.intersection(&changed)))
        .filter(|(_, fields)| !fields.is_empty())
        .collect();
    if !force && !conflicts.is_empty() {
        return Err(conflict(&conflicts));
    }
    for entry in &mut all {
        entry.set = std::mem::take(&mut entry.set).difference(&changed).difference(&comparison.removed);
    }
    let time = if idle { last.map_or(Value::Null, |last| last.time) } else { own.time };
    all.push(Entry { time, ..own });
    set_meta(&mut object, "managedFields", entries::write(all));
    Ok(object)
}

/// The failure that lists the conflicting managers and fields.
fn conflict(conflicts: &[(&Entry, FieldSet)]) -> Failure {
    let list: Vec<(String, Vec<String>)> = conflicts
        .iter()
        .map(|(entry, fields)| {
            let mut who = format!("conflict with {:?}", entry.manager);
            if !entry.subresource.is_empty() {
                who.push_str(&format!(" with subresource {:?}", entry.subresource));
            }
            if !entry.applied {
                who.push_str(&format!(" using {}", entry.api_version));
            }
            (who, fields.paths().iter().map(|path| shown(path)).collect())
        })
        .collect();
    Failure::apply_conflict(&list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;

    #[test]
    fn the_oldest_of_too_many_updaters_are_merged() {
        let kind = builtin("", "v1", "configmaps");
        let mut object = json!({"metadata": {}});
        for number in 0..14 {
            let (old, name, now) = (object.clone(), format!("m{number:02}"), json!(format!("{number:02}")));
            object["data"][&name] = "x".into();
            let tracking = Tracking { kind, manager: &name, subresource: "", now: &now, all_writes: true };
            track(&tracking, &old, &mut object);
        }
        let entries = entries::read(&object);
        let names: Vec<_> = entries.iter().map(|entry| entry.manager.as_str()).collect();
        assert_eq!(names[..2], [ANCIENT, "m05"]);
        assert_eq!(names.len(), MAX_UPDATERS);
        assert_eq!(entries[0].time, "04");
        let owned = ["m00", "m01", "m02", "m03", "m04"]
            .map(|name| entries[0].set.reaches(&["f:data".into(), format!("f:{name}")]));
        assert_eq!(owned, [true; 5]);
    }
}
