//! A set of field paths, with the format of `fieldsV1`.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value};

use crate::kind::merge_schema::{ListForm, Shape};

/// A set of paths as a tree.
/// The steps of a path are written as `fieldsV1` does: `f:name`, `k:{…}`, `v:…`, `i:0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(BTreeMap<String, Branch>);

/// The content of the set at a step and below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    member: bool,
    below: FieldSet,
}

/// The step to the field `name`.
pub(crate) fn field_step(name: &str) -> String {
    format!("f:{name}")
}

/// The name of the field of a step; `None` if the step leads to an item of a list.
pub(crate) fn name_of(step: &str) -> Option<&str> {
    step.strip_prefix("f:")
}

/// The step to an item of a list, by its value or its keys.
pub(crate) fn item_step(item: &Value, form: &ListForm, shape: Shape<'_>) -> String {
    match form {
        ListForm::Keyed(keys) => {
            let value = |key: &String| item.get(key).cloned().or_else(|| shape.key_default(key));
            let keys: Map<String, Value> =
                keys.iter().filter_map(|key| Some((key.clone(), value(key)?))).collect_sorted();
            format!("k:{}", Value::Object(keys))
        }
        _ => format!("v:{item}"),
    }
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a path.
    pub(crate) fn insert(&mut self, path: &[String]) {
        let Some((step, rest)) = path.split_first() else { return };
        let branch = self.0.entry(step.clone()).or_default();
        if rest.is_empty() {
            branch.member = true;
        } else {
            branch.below.insert(rest);
        }
    }

    /// Returns true if the set contains the path or a path below it.
    pub(crate) fn reaches(&self, path: &[String]) -> bool {
        match path.split_first() {
            None => true,
            Some((step, rest)) => self.0.get(step).is_some_and(|branch| branch.below.reaches(rest)),
        }
    }

    /// The paths that are in at least one of the sets.
    pub(crate) fn union(mut self, other: Self) -> Self {
        for (step, theirs) in other.0 {
            let branch = self.0.entry(step).or_default();
            branch.member |= theirs.member;
            branch.below = std::mem::take(&mut branch.below).union(theirs.below);
        }
        self
    }

    /// The paths that are in this set, but not in `other`.
    pub(crate) fn difference(mut self, other: &Self) -> Self {
        self.0.retain(|step, branch| {
            if let Some(theirs) = other.0.get(step) {
                branch.member &= !theirs.member;
                branch.below = std::mem::take(&mut branch.below).difference(&theirs.below);
            }
            branch.member || !branch.below.is_empty()
        });
        self
    }

    /// The paths that are in both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let common = self.0.iter().filter_map(|(step, ours)| {
            let theirs = other.0.get(step)?;
            let branch = Branch {
                member: ours.member && theirs.member,
                below: ours.below.intersection(&theirs.below),
            };
            (branch.member || !branch.below.is_empty()).then(|| (step.clone(), branch))
        });
        Self(common.collect_sorted())
    }

    /// Removes a path and all paths below it.
    pub(crate) fn cut(&mut self, path: &[&str]) {
        let Some((step, rest)) = path.split_first() else { return };
        if rest.is_empty() {
            self.0.remove(*step);
        } else if let Some(branch) = self.0.get_mut(*step) {
            branch.below.cut(rest);
            if !branch.member && branch.below.is_empty() {
                self.0.remove(*step);
            }
        }
    }

    /// Removes a top-level step, but not the paths below it.
    pub(crate) fn unmark(&mut self, step: &str) {
        if let Some(branch) = self.0.get_mut(step) {
            branch.member = false;
            if branch.below.is_empty() {
                self.0.remove(step);
            }
        }
    }

    /// Keeps only the paths at or below these top-level steps.
    pub(crate) fn keep(&mut self, steps: &[&str]) {
        self.0.retain(|step, _| steps.contains(&step.as_str()));
    }

    /// The first steps of all paths, with whether the step itself is in the set, and the paths below it.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&str, bool, &Self)> {
        self.0.iter().map(|(step, branch)| (step.as_str(), branch.member, &branch.below))
    }

    /// Every path of the set, in order.
    pub(crate) fn paths(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, at: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
        for (step, branch) in &self.0 {
            at.push(step.clone());
            if branch.member {
                paths.push(at.clone());
            }
            branch.below.collect(at, paths);
            at.pop();
        }
    }

    /// The set in the format of `fieldsV1`.
    pub(crate) fn to_json(&self) -> Value {
        let branch = |branch: &Branch| {
            let mut below = branch.below.to_json();
            if branch.member && !branch.below.is_empty() {
                below["."] = Value::Object(Map::new());
            }
            below
        };
        Value::Object(self.0.iter().map(|(step, below)| (step.clone(), branch(below))).collect_sorted())
    }

    /// Reads a set in the format of `fieldsV1`.
    pub(crate) fn from_json(json: &Value) -> Self {
        let steps = json.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
        Self(
            steps
                .map(|(step, below)| {
                    let fields = below.as_object();
                    let member = fields.is_none_or(|fields| fields.is_empty() || fields.contains_key("."));
                    (step.clone(), Branch { member, below: Self::from_json(below) })
                })
                .collect_sorted(),
        )
    }

    /// The fields that an applied configuration sets.
    pub(crate) fn of_config(config: &Value, shape: Shape<'_>) -> Self {
        let mut set = Self::default();
        add_config(config, shape, &mut Vec::new(), &mut set);
        set
    }
}

fn add_config(value: &Value, shape: Shape<'_>, at: &mut Vec<String>, set: &mut FieldSet) {
    match value {
        Value::Object(fields) if !shape.is_atomic_map() => {
            for (name, value) in fields {
                at.push(field_step(name));
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if empty || !shape.declares(name) {
                    set.insert(at);
                }
                add_config(value, shape.field(name), at, set);
                at.pop();
            }
        }
        Value::Array(items) if shape.list() != ListForm::Atomic => {
            let form = shape.list();
            for item in items {
                at.push(item_step(item, &form, shape));
                set.insert(at);
                if item.is_object() {
                    add_config(item, shape.item(), at, set);
                }
                at.pop();
            }
        }
        _ => set.insert(at),
    }
}

/// A path as conflicts show it: `.spec.containers[name="main"].image`.
pub(crate) fn shown(path: &[String]) -> String {
    path.iter()
        .map(|step| match step.split_once(':') {
            Some(("f", name)) => format!(".{name}"),
            Some(("k", keys)) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("[{}]", keys.join(","))
            }
            Some(("v", value)) => format!("[={value}]"),
            _ => format!("[{step}]"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use serde_json::json;

    #[test]
    fn a_configuration_owns_its_leaves_and_the_items_of_keyed_lists() {
        let config = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"x": "y"},
            "tolerations": [{"key": "k"}],
            "containers": [{"name": "c", "ports": [{"containerPort": 80}], "args": ["x"]}]}});
        let set = FieldSet::of_config(&config, Shape::of(builtin("", "v1", "pods")));
        let expected = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:nodeSelector": {},
            "f:tolerations": {}, "f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:args": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}});
        assert_eq!(set.to_json(), expected);
        assert_eq!(FieldSet::from_json(&expected), set);
    }

    #[test]
    fn union_difference_and_intersection_are_those_of_sets() {
        let set = |json: Value| FieldSet::from_json(&json);
        let (a, b) = (
            set(json!({"f:a": {".": {}, "f:x": {}}, "f:b": {}})),
            set(json!({"f:a": {"f:x": {}, "f:y": {}}})),
        );
        assert_eq!(
            a.clone().union(b.clone()),
            set(json!({"f:a": {".": {}, "f:x": {}, "f:y": {}}, "f:b": {}}))
        );
        assert_eq!(a.intersection(&b), set(json!({"f:a": {"f:x": {}}})));
        assert_eq!(a.difference(&b), set(json!({"f:a": {}, "f:b": {}})));
    }
}
