//! Reads and changes the fields of Karmada's objects and of nodes.

use serde_json::{Value, json};

/// The fields of a cluster or node that show its health and what follows from it.
pub(crate) const HEALTH: [&str; 2] = ["/status/conditions", "/spec/taints"];
/// The taints of a cluster or node.
pub(crate) const TAINTS: [&str; 1] = ["/spec/taints"];
/// The assignment of a binding, and the eviction tasks.
pub(crate) const ASSIGNED: [&str; 2] = ["/spec/clusters", "/spec/gracefulEvictionTasks"];
/// The assignment of a binding.
pub(crate) const CLUSTERS: [&str; 1] = ["/spec/clusters"];
/// The eviction tasks of a binding.
pub(crate) const TASKS: [&str; 1] = ["/spec/gracefulEvictionTasks"];

/// The items of the array at `path`.
pub(crate) fn items<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The array at `/part/name`, which is created if it is absent.
pub(crate) fn array<'a>(object: &'a mut Value, part: &str, name: &str) -> &'a mut Vec<Value> {
    if !object[part][name].is_array() {
        object[part][name] = json!([]);
    }
    object[part][name].as_array_mut().expect("it is an array now")
}

/// The status of the condition with this name; empty if there is none.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> &'a str {
    let all = items(object, "/status/conditions").iter();
    all.clone().find(|one| one["type"] == name).and_then(|one| one["status"].as_str()).unwrap_or_default()
}

/// Sets a condition that exists.
pub(crate) fn set_condition(object: &mut Value, name: &str, status: &str, reason: &str) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for one in conditions.into_iter().flatten().filter(|one| one["type"] == name) {
        one["status"] = json!(status);
        one["reason"] = json!(reason);
    }
}

/// Whether the object is being deleted.
pub(crate) fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(crate) fn is_ready(object: &Value) -> bool {
    condition(object, "Ready") == "True"
}

/// Whether the object reports a health that is not good.
pub(crate) fn is_away(object: &Value) -> bool {
    matches!(condition(object, "Ready"), "False" | "Unknown")
}

/// Whether the key of a taint stands for the health of a member.
pub(crate) fn is_health_taint(taint: &Value) -> bool {
    let key = taint["key"].as_str().unwrap_or_default();
    key.ends_with("/not-ready") || key.ends_with("/unreachable")
}

pub(crate) fn taints(object: &Value) -> &[Value] {
    items(object, "/spec/taints")
}

/// The health taints of this effect.
pub(crate) fn health_taints(object: &Value, effect: &str) -> Vec<Value> {
    let these = |taint: &&Value| is_health_taint(taint) && taint["effect"] == effect;
    taints(object).iter().filter(these).cloned().collect()
}

/// Whether the member has a health taint of this effect.
pub(crate) fn has_health_taint(object: &Value, effect: &str) -> bool {
    taints(object).iter().any(|taint| is_health_taint(taint) && taint["effect"] == effect)
}

/// Whether the member has a taint that evicts.
pub(crate) fn has_no_execute(object: &Value) -> bool {
    taints(object).iter().any(|taint| taint["effect"] == "NoExecute")
}

/// Removes the health taints of this effect.
pub(crate) fn remove_health_taints(object: &mut Value, effect: &str) {
    array(object, "spec", "taints").retain(|taint| !(is_health_taint(taint) && taint["effect"] == effect));
}

/// Adds a health taint for a condition with this status, stamped with `stamp`.
pub(crate) fn add_health_taint(object: &mut Value, effect: &str, status: &str, stamp: &Value) {
    let domain = if object["kind"] == "Node" { "node.kubernetes.io" } else { "cluster.karmada.io" };
    let name = if status == "Unknown" { "unreachable" } else { "not-ready" };
    let key = format!("{domain}/{name}");
    let taints = array(object, "spec", "taints");
    if !taints.iter().any(|taint| taint["key"] == key.as_str() && taint["effect"] == effect) {
        taints.push(json!({"key": key, "effect": effect, "timeAdded": stamp}));
    }
}

/// The names of the assigned members.
pub(crate) fn assigned(binding: &Value) -> Vec<&str> {
    items(binding, "/spec/clusters").iter().filter_map(|cluster| cluster["name"].as_str()).collect()
}

pub(crate) fn is_assigned(binding: &Value, member: &str) -> bool {
    assigned(binding).contains(&member)
}

pub(crate) fn clusters(binding: &mut Value) -> &mut Vec<Value> {
    array(binding, "spec", "clusters")
}

/// The replicas that the template asks for.
pub(crate) fn replicas(binding: &Value) -> u64 {
    binding["spec"]["replicas"].as_u64().unwrap_or_default()
}

/// Whether replicas are divided among the members.
pub(crate) fn is_divided(binding: &Value) -> bool {
    binding.pointer("/spec/placement/replicaScheduling/replicaSchedulingType") == Some(&json!("Divided"))
}

/// Whether replicas are divided by fixed weights.
pub(crate) fn has_static_weights(binding: &Value) -> bool {
    let scheduling = &binding["spec"]["placement"]["replicaScheduling"];
    is_divided(binding)
        && scheduling["replicaDivisionPreference"] != "Aggregated"
        && scheduling["weightPreference"]["dynamicWeight"].is_null()
}

/// The constraint on the number of members, as least and greatest number.
pub(crate) fn spread(binding: &Value) -> Option<(usize, usize)> {
    let all = items(binding, "/spec/placement/spreadConstraints").iter();
    let one = all.clone().find(|one| one["spreadByField"] == "cluster")?;
    let number = |name: &str| one[name].as_u64().and_then(|number| usize::try_from(number).ok());
    Some((
        number("minGroups").unwrap_or(1),
        number("maxGroups").filter(|most| *most > 0).unwrap_or(usize::MAX),
    ))
}

pub(crate) fn tasks(binding: &Value) -> &[Value] {
    items(binding, "/spec/gracefulEvictionTasks")
}

/// The task that evicts from `member`.
pub(crate) fn task<'a>(binding: &'a Value, member: &str) -> Option<&'a Value> {
    tasks(binding).iter().find(|task| task["fromCluster"] == member)
}

pub(crate) fn is_evicted(binding: &Value, member: &str) -> bool {
    task(binding, member).is_some()
}

/// Changes the task that evicts from `member`.
pub(crate) fn change_task(binding: &mut Value, member: &str, change: impl Fn(&mut Value)) {
    array(binding, "spec", "gracefulEvictionTasks")
        .iter_mut()
        .filter(|task| task["fromCluster"] == member)
        .for_each(change);
}

/// Removes the task that evicts from `member`.
pub(crate) fn remove_task(binding: &mut Value, member: &str) {
    array(binding, "spec", "gracefulEvictionTasks").retain(|task| task["fromCluster"] != member);
}

/// Moves a member from the assignment to the eviction tasks.
pub(crate) fn evict(binding: &mut Value, member: &str, stamp: &Value) {
    let replicas =
        clusters(binding).iter().find(|one| one["name"] == member).map(|one| one["replicas"].clone());
    clusters(binding).retain(|cluster| cluster["name"] != member);
    let mut task = json!({
        "fromCluster": member, "reason": "TaintUntolerated", "producer": "TaintManager", "purgeMode": "Gracefully",
    });
    if let Some(replicas) = replicas.filter(|replicas| !replicas.is_null()) {
        task["replicas"] = replicas;
    }
    task["creationTimestamp"] = stamp.clone();
    array(binding, "spec", "gracefulEvictionTasks").push(task);
}

/// The kind and `namespace/name` of the template of a binding.
pub(crate) fn template(binding: &Value) -> (String, String) {
    reference(&binding["spec"]["resource"])
}

fn reference(object: &Value) -> (String, String) {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    (text("kind").to_owned(), format!("{}/{}", text("namespace"), text("name")))
}

/// The kind and `namespace/name` of the copy that a Work asks for.
pub(crate) fn wanted(work: &Value) -> (String, String) {
    let manifest = &work["spec"]["workload"]["manifests"][0];
    let text = |name: &str| manifest["metadata"][name].as_str().unwrap_or_default();
    (
        manifest["kind"].as_str().unwrap_or_default().to_owned(),
        format!("{}/{}", text("namespace"), text("name")),
    )
}

/// The manifest of a Work.
pub(crate) fn manifest(work: &mut Value) -> &mut Value {
    &mut work["spec"]["workload"]["manifests"][0]
}

/// The status that a binding reports for `member`.
pub(crate) fn report<'a>(binding: &'a Value, member: &str) -> Option<&'a Value> {
    items(binding, "/status/aggregatedStatus").iter().find(|report| report["clusterName"] == member)
}

pub(crate) fn health<'a>(binding: &'a Value, member: &str) -> &'a str {
    report(binding, member).and_then(|report| report["health"].as_str()).unwrap_or_default()
}

/// Changes the status that a binding reports for `member`.
pub(crate) fn change_report(binding: &mut Value, member: &str, change: impl Fn(&mut Value)) {
    let reports = binding.pointer_mut("/status/aggregatedStatus").and_then(Value::as_array_mut);
    reports.into_iter().flatten().filter(|report| report["clusterName"] == member).for_each(change);
}

/// The ready replicas that a copy or a template reports.
pub(crate) fn ready_replicas(object: &Value) -> u64 {
    object["status"]["readyReplicas"].as_u64().unwrap_or_default()
}

/// Copies the fields at these paths. A field that is absent there is removed here.
pub(crate) fn copy(object: &mut Value, from: &Value, fields: &[&str]) {
    for path in fields {
        let (parent, name) = path.rsplit_once('/').unwrap_or_default();
        let value = from.pointer(path).cloned();
        if object.pointer(parent).is_none() && parent.matches('/').count() == 1 {
            object[&parent[1..]] = Value::Object(serde_json::Map::new());
        }
        if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
            match value {
                Some(value) => drop(fields.insert(name.to_owned(), value)),
                None => drop(fields.remove(name)),
            }
        }
    }
}
