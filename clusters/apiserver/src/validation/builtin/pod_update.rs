//! Validates changes of a pod: the mutable fields of the main endpoint, and those of each subresource.

use std::collections::{BTreeMap, BTreeSet};

use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use super::At;
use super::container::resources;
use super::pod::tolerations;
use crate::http::failure::Cause;

const MAY_CHANGE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
    additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
    previously negative)";

/// Validates the replacement of a pod on the main endpoint.
pub(super) fn updated(at: &At<'_>, old: &Value, causes: &mut Vec<Cause>) {
    let (spec, before) = (at.field("spec"), &old["spec"]);
    if spec.value == before {
        return;
    }
    for list in ["containers", "initContainers"] {
        let now = spec.field(list);
        let count = before[list].as_array().map_or(0, Vec::len);
        if now.len() != count {
            causes.push(now.forbidden("pod updates may not add or remove containers"));
            return;
        }
        for container in now.items() {
            let image = container.field("image");
            image.not_empty(causes);
        }
    }
    deadline(&spec.field("activeDeadlineSeconds"), &before["activeDeadlineSeconds"], causes);
    let tolerated = spec.field("tolerations");
    only_added(&tolerated, &before["tolerations"], causes);
    tolerations(&tolerated, causes);
    only_removed_gates(&spec.field("schedulingGates"), &before["schedulingGates"], causes);
    let changed = changed_fields(&with_old_mutable_fields(spec.value, before), before);
    if !changed.is_empty() {
        causes.push(spec.forbidden(&format!("{MAY_CHANGE}\nchanged: {}", changed.join(", "))));
    }
}

fn deadline(at: &At<'_>, before: &Value, causes: &mut Vec<Cause>) {
    match (at.value.as_i64(), before.as_i64()) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            causes.push(at.invalid("must be between 0 and 2147483647, inclusive"));
        }
        (Some(now), Some(before)) if before < now => {
            causes.push(at.invalid("must be less than or equal to previous value"));
        }
        (None, Some(_)) => causes.push(at.invalid("must not update from a positive integer to nil value")),
        _ => {}
    }
}

fn only_added(at: &At<'_>, before: &Value, causes: &mut Vec<Cause>) {
    fn identity(toleration: &Value) -> [&str; 4] {
        ["key", "operator", "value", "effect"].map(|field| toleration[field].as_str().unwrap_or_default())
    }
    let now: BTreeSet<_> = at.value.as_array().into_iter().flatten().map(identity).collect_sorted();
    if !before.as_array().into_iter().flatten().all(|old| now.contains(&identity(old))) {
        causes.push(at.forbidden("existing toleration can not be modified except its tolerationSeconds"));
    }
}

fn only_removed_gates(at: &At<'_>, before: &Value, causes: &mut Vec<Cause>) {
    let known = before.as_array().into_iter().flatten();
    let known: BTreeSet<String> = known.map(|gate| gate["name"].to_string()).collect_sorted();
    for gate in at.items() {
        if !known.contains(&gate.value["name"].to_string()) {
            let name = gate.value["name"].as_str().unwrap_or_default();
            causes.push(
                at.forbidden(&format!("only deletion is allowed, but found new scheduling gate '{name}'")),
            );
        }
    }
}

/// The new spec with the old values of the mutable fields.
fn with_old_mutable_fields(spec: &Value, before: &Value) -> Value {
    let mut with_old_mutable_fields = spec.clone();
    for list in ["containers", "initContainers"] {
        let items = with_old_mutable_fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (item, old) in items.zip(before[list].as_array().into_iter().flatten()) {
            item["image"] = old["image"].clone();
        }
    }
    let mut put_back = |field: &str| {
        let Some(fields) = with_old_mutable_fields.as_object_mut() else { return };
        match before.get(field) {
            Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
            None => drop(fields.remove(field)),
        }
    };
    ["activeDeadlineSeconds", "tolerations", "schedulingGates"].into_iter().for_each(&mut put_back);
    let was_negative = before["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0);
    if was_negative && spec["terminationGracePeriodSeconds"] == 1 {
        put_back("terminationGracePeriodSeconds");
    }
    with_old_mutable_fields
}

/// The paths of the fields of the spec that differ.
fn changed_fields(now: &Value, before: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let (now, before) = (now.as_object().unwrap_or(&empty), before.as_object().unwrap_or(&empty));
    let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
    names.filter(|name| now.get(*name) != before.get(*name)).map(|name| format!("spec.{name}")).collect()
}

/// The pod after an update of `/ephemeralcontainers`, which can only add containers.
pub(crate) fn added_ephemeral(old: &Value, given: &Value) -> (Value, Vec<Cause>) {
    let mut pod = old.clone();
    let list = given["spec"].get("ephemeralContainers").cloned().unwrap_or_else(|| json!([]));
    let mut causes = Vec::new();
    let root = At::root(given);
    let spec = root.field("spec");
    let at = spec.field("ephemeralContainers");
    let mut by_name: BTreeMap<String, &Value> = BTreeMap::new();
    for container in list.as_array().into_iter().flatten() {
        by_name.entry(container["name"].to_string()).or_insert(container);
    }
    for before in old["spec"]["ephemeralContainers"].as_array().into_iter().flatten() {
        let name = before["name"].as_str().unwrap_or_default();
        match by_name.get(&before["name"].to_string()).copied() {
            None => causes
                .push(at.forbidden(&format!("existing ephemeral containers {name:?} may not be removed\n"))),
            Some(now) if now != before => {
                causes.push(
                    at.forbidden(&format!("existing ephemeral containers {name:?} may not be changed\n")),
                );
            }
            Some(_) => {}
        }
    }
    let mut taken: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| old["spec"][*list].as_array().into_iter().flatten())
        .filter_map(|container| container["name"].as_str())
        .collect_sorted();
    for (index, container) in list.as_array().into_iter().flatten().enumerate() {
        let item = at.item(index);
        let (name, image) = (container["name"].as_str().unwrap_or_default(), item.field("image"));
        if name.is_empty() {
            causes.push(item.field("name").required(""));
        } else if taken.contains(&name) {
            causes.push(item.field("name").duplicate(&name.into()));
        }
        taken.insert(name);
        image.not_empty(&mut causes);
    }
    if let Some(spec) =
        pod["spec"].as_object_mut().filter(|_| list.as_array().is_some_and(|list| !list.is_empty()))
    {
        spec.insert("ephemeralContainers".into(), list.clone());
    }
    (pod, causes)
}

/// The pod after an update of `/resize`, which sets the resources of containers.
pub(crate) fn resized(old: &Value, given: &Value) -> (Value, Vec<Cause>) {
    let mut pod = old.clone();
    let mut causes = Vec::new();
    let root = At::root(given);
    let spec = root.field("spec");
    for list in ["containers", "initContainers"] {
        let at = spec.field(list);
        let items = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in items.into_iter().flatten() {
            let found = at.items().find(|item| item.value["name"] == container["name"]);
            let Some(item) = found.map(|item| item.value) else { continue };
            for field in ["resources", "resizePolicy"] {
                if let Some(value) = item.get(field) {
                    container[field] = value.clone();
                }
            }
        }
        at.items().for_each(|item| resources(&item.field("resources"), &mut causes));
    }
    (pod, causes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use crate::validation::builtin::problems;

    fn pod(change: &[(&str, Value)]) -> Value {
        let mut pod = json!({"spec": {"containers": [{"name": "c", "image": "i:1"}], "nodeName": "n",
            "tolerations": [{"key": "a", "operator": "Exists"}]}});
        for (path, value) in change {
            let (parent, field) = path.rsplit_once('/').unwrap();
            pod.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        pod
    }

    #[test]
    fn few_fields_of_a_pod_can_change() {
        let toleration = |key: &str| json!({"key": key, "operator": "Exists"});
        type Change<'a> = &'a [(&'a str, Value)];
        let table: [(Change<'_>, &[&str]); 8] = [
            (&[], &[]),
            (&[("/spec/containers/0/image", json!("i:2"))], &[]),
            (&[("/spec/containers/0/image", json!(""))], &["spec.containers[0].image"]),
            (&[("/spec/tolerations", json!([toleration("b"), toleration("a")]))], &[]),
            (&[("/spec/tolerations", json!([toleration("b")]))], &["spec.tolerations"]),
            (&[("/spec/nodeName", json!("m"))], &["spec"]),
            (&[("/spec/activeDeadlineSeconds", json!(5))], &[]),
            (&[("/spec/containers", json!([]))], &["spec.containers"]),
        ];
        for (change, fields) in table {
            let reported = problems(builtin("", "v1", "pods"), &pod(change), Some(&pod(&[])));
            let reported: Vec<_> = reported.into_iter().map(|cause| cause.field).collect();
            assert_eq!(reported, fields, "{change:?}");
        }
    }

    #[test]
    fn ephemeral_containers_are_only_added() {
        let with = |list: Value| pod(&[("/spec/ephemeralContainers", list)]);
        let debug = json!({"name": "d", "image": "busybox"});
        let (added, causes) = added_ephemeral(&pod(&[]), &with(json!([debug])));
        assert!(causes.is_empty() && added == with(json!([debug])), "{causes:?}");
        assert_eq!(added_ephemeral(&with(json!([debug])), &pod(&[])).1.len(), 1);
        assert_eq!(added_ephemeral(&pod(&[]), &with(json!([{"name": "c", "image": "x"}]))).1.len(), 1);
    }
}
