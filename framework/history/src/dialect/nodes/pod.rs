//! Pod: a workload of one replica, on the node that it is bound to.

use std::time::Duration;

use capsize_sorted::CollectSorted;

use super::fold::ObservedObject;
use super::node::effect;
use crate::dialect::changes::{is_another, remember_uid};
use crate::facts::{
    Assignment, Change, EvictionTask, Instance, InstanceHealth, Toleration, Workload, WorkloadKey, World,
};
use crate::format::digest::Table;
use crate::format::{LONGEST, Tree};

/// The reason that the taint eviction controller gives for a pod that it is about to delete.
const BY_TAINT: &str = "DeletionByTaintManager";

/// The longest time from the condition of a pod until the taint eviction controller deletes the pod.
/// The controller writes the condition just before. A condition that is older belongs to a deletion that failed.
const PROMPT: Duration = Duration::from_secs(10);

/// The latest version of each Pod.
#[derive(Debug, Default)]
pub(super) struct Pods(Table<WorkloadKey, KnownPod>);

/// The part of a Pod that [`World`] does not hold.
#[derive(Debug, Default)]
struct KnownPod {
    uid: String,
    /// The time until which the condition for a taint explains a deletion; absent without the condition.
    explains_until: Option<Duration>,
}

impl KnownPod {
    /// Reads whether the pod has the condition for a taint.
    /// If a pod is `inherited`, the time of its condition is not known.
    fn read_condition(&mut self, observed: &ObservedObject<'_>, now: Duration, inherited: bool) {
        let until = if inherited { Duration::ZERO } else { now.saturating_add(PROMPT) };
        let condemned = reason(observed) == BY_TAINT;
        self.explains_until = condemned.then(|| self.explains_until.unwrap_or(until));
    }

    /// Returns the task for a deletion of the pod at `now`.
    fn task(
        &self,
        observed: &ObservedObject<'_>,
        node: &str,
        now: Duration,
        inherited: bool,
    ) -> EvictionTask {
        EvictionTask {
            member: node.to_owned(),
            by_taint: self.explains_until.is_some_and(|until| now <= until),
            reason: reason(observed),
            seen: now,
            inherited,
            directly: true,
            ..EvictionTask::default()
        }
    }
}

/// The reason in the condition for disruptions; empty without the condition.
fn reason(observed: &ObservedObject<'_>) -> String {
    let target = observed.condition("DisruptionTarget").filter(|condition| condition["status"] == "True");
    target.map(|condition| condition["reason"].text()).unwrap_or_default().to_owned()
}

impl Pods {
    /// Returns the changes that this version of a Pod makes.
    /// A pod that is being deleted is assigned to no node.
    pub(super) fn observe(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
        let key = WorkloadKey::new("Pod", observed.text("metadata", "namespace"), &observed.name);
        let now = world.now;
        let uid = observed.text("metadata", "uid");
        if observed.gone {
            let mut known = self.0.swap_remove(&key).unwrap_or_default();
            known.read_condition(observed, now, false);
            return forget(world, key, |node| Some(known.task(observed, node, now, false)));
        }
        let mut changes = Vec::new();
        if self.0.get(&key).is_some_and(|known| is_another(&uid, &known.uid)) {
            // The history lacks the end of a pod with the same name.
            self.0.swap_remove(&key);
            changes = forget(world, key.clone(), |_| None);
        }
        let first = !world.workloads.contains_key(&key);
        let leaving = observed.field("metadata", "deletionTimestamp").is_some();
        let known = self.0.entry(key.clone()).or_default();
        remember_uid(&mut known.uid, &uid);
        known.read_condition(observed, now, first && !leaving);
        let entry = world.workloads.entry(key.clone()).or_default();
        entry.record = Some(observed.witness.clone());
        (entry.recorded, entry.replicas) = (true, 1);
        entry.finished = matches!(observed.text("status", "phase").as_ref(), "Failed" | "Succeeded");
        let owners = observed.tree("metadata", "ownerReferences");
        entry.everywhere = owners.items().iter().any(|owner| owner["kind"] == "DaemonSet");
        let node = observed.text("spec", "nodeName");
        if leaving && entry.evictions.is_empty() && !node.is_empty() {
            let task = known.task(observed, &node, now, first);
            entry.evictions.push(task.clone());
            changes.push(Change::EvictionBegan { workload: key.clone(), task: Box::new(task) });
        }
        let tolerations = observed.tree("spec", "tolerations");
        let tolerations: Vec<Toleration> = tolerations.items().iter().map(toleration).collect();
        let reported = health(observed);
        let assigned = (!leaving && !node.is_empty()).then(|| (node.to_string(), 1));
        let assignment: Assignment = assigned.collect_sorted();
        let wants_else = tolerations != entry.tolerations;
        entry.tolerations = tolerations;
        changes.extend(instance(entry, &key, &node, reported));
        if wants_else && !first {
            entry.wanted_since = now;
            entry.constrained_since = now;
            changes.push(Change::Wanted(key.clone()));
        }
        if assignment != entry.assignment {
            let was = std::mem::replace(&mut entry.assignment, assignment.clone());
            if !leaving {
                entry.arrived = now;
            }
            world.reassign(&key, &was, &assignment);
            changes.push(Change::Assigned { workload: key, was, now: assignment, first });
        }
        changes
    }
}

/// Removes a pod that is gone.
/// A pod without a grace period is gone at once, so that only its condition shows that it was evicted. `task` makes the
/// task for such a deletion, if the deletion was observed.
fn forget(
    world: &mut World,
    key: WorkloadKey,
    task: impl FnOnce(&str) -> Option<EvictionTask>,
) -> Vec<Change> {
    let Some(was) = world.workloads.remove(&key) else { return Vec::new() };
    world.reassign(&key, &was.assignment, &Assignment::new());
    let node = was.assignment.keys().next().filter(|_| was.evictions.is_empty());
    let at_once = node.and_then(|node| task(node)).filter(|task| task.by_taint);
    let tasks = || was.evictions.iter().chain(&at_once).cloned().map(Box::new);
    let began = at_once.iter().cloned().map(Box::new);
    let began = began.map(|task| Change::EvictionBegan { workload: key.clone(), task });
    let ended = tasks().map(|task| Change::EvictionEnded { workload: key.clone(), task });
    began.chain(ended).chain([Change::WorkloadGone(key.clone())]).collect()
}

/// Takes over the health of the pod on its node, and returns the change.
fn instance(entry: &mut Workload, key: &WorkloadKey, node: &str, health: InstanceHealth) -> Option<Change> {
    if node.is_empty() {
        return None;
    }
    let reported = Instance {
        health,
        ready: Some(u64::from(health == InstanceHealth::Healthy)),
        has_status: true,
        applied: true,
        ..Instance::default()
    };
    let was = entry.instances.insert(node.to_owned(), reported.clone());
    (was != Some(reported)).then(|| Change::InstanceHealth { workload: key.clone(), member: node.to_owned() })
}

fn health(observed: &ObservedObject<'_>) -> InstanceHealth {
    match observed.condition("Ready").and_then(|ready| ready["status"].as_str()) {
        Some("True") => InstanceHealth::Healthy,
        Some(_) => InstanceHealth::Unhealthy,
        None => InstanceHealth::Unknown,
    }
}

fn toleration(value: &Tree<'_>) -> Toleration {
    let text = |key: &str| value[key].text().to_owned();
    // A negative number counts as zero.
    let seconds = value["tolerationSeconds"].as_i64().map(|seconds| seconds.try_into().unwrap_or(0));
    Toleration {
        key: text("key"),
        exists: text("operator") == "Exists",
        value: text("value"),
        effect: effect(&text("effect")),
        lasts: seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST)),
    }
}
