//! `ResourceBinding` and `ClusterResourceBinding`: where a workload is to run, and from where it is evicted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fold::{Seen, conditions, seconds, time};
use super::quantity::quantities;
use super::{placement, task};
use crate::facts::{Assignment, Instance, InstanceHealth, News, Workload, WorkloadKey, World};

/// The annotation with the placement that the scheduler last acted on, from which tolerations are taken.
const APPLIED: &str = "policy.karmada.io/applied-placement";

/// What the world has no room for.
#[derive(Debug, Default)]
pub(super) struct Bindings(BTreeMap<String, Known>);

#[derive(Debug, Default)]
struct Known {
    workload: WorkloadKey,
    /// The text of the annotation, so that it is parsed only where it changed.
    applied: String,
    /// When somebody last asked for a placement from scratch.
    rescheduled: String,
}

impl Bindings {
    /// What this version of a binding changes.
    pub(super) fn observe(&mut self, world: &mut World, seen: &Seen<'_>) -> Vec<News> {
        let workload = WorkloadKey::new(
            seen.text("/spec/resource/kind"),
            seen.text("/spec/resource/namespace"),
            seen.text("/spec/resource/name"),
        );
        let name = seen.witness.name().to_owned();
        if seen.gone || seen.leaving {
            world.records.remove(&name);
            return self.0.remove(&name).map(|known| forget(world, known.workload)).into_iter().collect();
        }
        let first = !self.0.contains_key(&name);
        let known =
            self.0.entry(name).or_insert_with(|| Known { workload: workload.clone(), ..Known::default() });
        let now = world.now;
        let entry = world.workloads.entry(workload.clone()).or_default();
        let mut news = task::observe(entry, seen, now, first, &workload);
        if let Some(wanted) = known.wanted(entry, seen) {
            entry.wanted_since = now;
            news.push(wanted);
        }
        let required_by = required_by(seen);
        if required_by != entry.required_by {
            entry.required_by = required_by;
            news.push(News::Required(workload.clone()));
        }
        read_aside(entry, seen);
        entry.recorded = true;
        entry.record = Some(seen.witness.clone());
        entry.scheduled =
            seen.number("/status/schedulerObservedGeneration") == seen.number("/metadata/generation");
        let assignment = assignment(seen);
        let told = instances(entry, seen, &workload);
        if assignment != entry.assignment {
            let was = std::mem::replace(&mut entry.assignment, assignment.clone());
            world.reassign(&workload, &was, &assignment);
            news.push(News::Assigned { workload: workload.clone(), was, now: assignment, first });
        }
        if first {
            world.records.insert(seen.witness.name().to_owned(), workload.clone());
        }
        news.extend(told);
        news.push(News::Recorded(workload));
        news
    }
}

impl Known {
    /// Replicas, placement and tolerations. Until the scheduler has acted on a placement, its tolerations count.
    fn wanted(&mut self, entry: &mut Workload, seen: &Seen<'_>) -> Option<News> {
        let replicas = seen.number("/spec/replicas").unwrap_or_default();
        let read = seen.object.pointer("/spec/placement").map(placement::read);
        let (placement, spec_tolerations) = read.unwrap_or_default();
        let applied = seen.object["metadata"]["annotations"][APPLIED].as_str().unwrap_or_default();
        let tolerations = if applied.is_empty() {
            spec_tolerations
        } else if applied == self.applied {
            entry.tolerations.clone()
        } else {
            serde_json::from_str(applied).map_or(spec_tolerations, |value: Value| placement::read(&value).1)
        };
        applied.clone_into(&mut self.applied);
        let rescheduled = seen.text("/spec/rescheduleTriggeredAt");
        let now = (replicas, placement, tolerations);
        let was = (entry.replicas, &entry.placement, &entry.tolerations);
        let placeable = is_placeable(seen);
        let changed =
            (now.0, &now.1, &now.2) != was || rescheduled != self.rescheduled || placeable != entry.placeable;
        entry.placeable = placeable;
        rescheduled.clone_into(&mut self.rescheduled);
        (entry.replicas, entry.placement, entry.tolerations) = now;
        changed.then(|| News::Wanted(self.workload.clone()))
    }
}

/// The binding is going: its workload is not placed any more, though copies may still be seen.
fn forget(world: &mut World, workload: WorkloadKey) -> News {
    let entry = world.workloads.entry(workload.clone()).or_default();
    let was = std::mem::take(entry);
    *entry = Workload { deliveries: was.deliveries, running: was.running, ..Workload::default() };
    if entry.deliveries.is_empty() && entry.running.is_empty() {
        world.workloads.remove(&workload);
    }
    world.reassign(&workload, &was.assignment, &Assignment::new());
    News::WorkloadGone(workload)
}

/// Whether it has a placement of its own, and whoever is judged is to act on it.
fn is_placeable(seen: &Seen<'_>) -> bool {
    let suspended = seen.object["spec"]["suspension"]["scheduling"] == true;
    let placed = seen.object.pointer("/spec/placement").is_some();
    placed && !suspended && matches!(seen.text("/spec/schedulerName"), "" | "default-scheduler")
}

/// What guarantees look at, but what no news is made of.
fn read_aside(entry: &mut Workload, seen: &Seen<'_>) {
    entry.served_as =
        format!("{}/{}", seen.text("/spec/resource/apiVersion"), seen.text("/spec/resource/kind"));
    entry.has_replicas = entry.replicas > 0 || seen.object.pointer("/spec/replicaRequirements").is_some();
    entry.request = quantities(seen.object.pointer("/spec/replicaRequirements/resourceRequest"));
    seen.text("/status/schedulerObservingAffinityName").clone_into(&mut entry.group);
    let lasts = seen.number("/spec/failover/application/decisionConditions/tolerationSeconds");
    let follows = seen.object["spec"]["propagateDeps"] == true;
    entry.unhealthy_for = lasts.filter(|_| follows).map(seconds);
    let (asked, last) = (
        time(&seen.object["spec"]["rescheduleTriggeredAt"]),
        time(&seen.object["status"]["lastScheduledTime"]),
    );
    entry.asked_anew = asked.is_some() && last < asked;
    entry.conditions = conditions(seen);
    entry.defects = defects(seen);
}

fn required_by(seen: &Seen<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let read = |value: &Value| {
        let (namespace, name) = (text(&value["namespace"]).unwrap_or_default(), text(&value["name"])?);
        let record = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
        let members = value["clusters"].as_array().into_iter().flatten();
        Some((record, members.filter_map(|member| text(&member["name"])).collect()))
    };
    seen.list("/spec/requiredBy").iter().filter_map(read).collect()
}

fn defects(seen: &Seen<'_>) -> Vec<String> {
    let mut names = BTreeSet::new();
    let defect = |value: &Value| {
        let Some(name) = value["name"].as_str() else { return Some("an entry has no name".to_owned()) };
        let negative = value["replicas"].as_i64().filter(|replicas| *replicas < 0);
        let twice = !names.insert(name.to_owned());
        negative
            .map(|replicas| format!("{name} has {replicas} replicas"))
            .or(twice.then(|| format!("{name} is named twice")))
    };
    seen.list("/spec/clusters").iter().filter_map(defect).collect()
}

fn assignment(seen: &Seen<'_>) -> Assignment {
    let read = |value: &Value| {
        Some((value["name"].as_str()?.to_owned(), value["replicas"].as_u64().unwrap_or_default()))
    };
    seen.list("/spec/clusters").iter().filter_map(read).collect()
}

fn instances(entry: &mut Workload, seen: &Seen<'_>, workload: &WorkloadKey) -> Vec<News> {
    let read = |value: &Value| {
        let health = match value["health"].as_str() {
            Some("Healthy") => InstanceHealth::Healthy,
            Some("Unhealthy") => InstanceHealth::Unhealthy,
            _ => InstanceHealth::Unknown,
        };
        let ready = value["status"]["readyReplicas"].as_u64();
        let applied = value["applied"] == true;
        Some((value["clusterName"].as_str()?.to_owned(), Instance { health, ready, applied }))
    };
    let now: BTreeMap<_, _> = seen.list("/status/aggregatedStatus").iter().filter_map(read).collect();
    let was = std::mem::replace(&mut entry.instances, now);
    let members = was.keys().chain(entry.instances.keys().filter(|member| !was.contains_key(*member)));
    members
        .filter(|member| was.get(*member) != entry.instances.get(*member))
        .map(|member| News::InstanceHealth { workload: workload.clone(), member: member.clone() })
        .collect()
}
