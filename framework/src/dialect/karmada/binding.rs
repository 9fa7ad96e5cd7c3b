//! `ResourceBinding` and `ClusterResourceBinding`: where a workload is to run, and from where it is evicted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::fold::{Seen, seconds, time};
use super::placement;
use crate::facts::{Assignment, EvictionTask, Instance, InstanceHealth, News, Workload, WorkloadKey, World};

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
            return self.0.remove(&name).map(|known| forget(world, known.workload)).into_iter().collect();
        }
        let first = !self.0.contains_key(&name);
        let known =
            self.0.entry(name).or_insert_with(|| Known { workload: workload.clone(), ..Known::default() });
        let now = world.now;
        let entry = world.workloads.entry(workload.clone()).or_default();
        let mut news = evictions(entry, seen, now, first, &workload);
        news.extend(known.wanted(entry, seen));
        entry.recorded = true;
        entry.record = Some(seen.witness.clone());
        entry.scheduled =
            seen.number("/status/schedulerObservedGeneration") == seen.number("/metadata/generation");
        let assignment = assignment(seen);
        if assignment != entry.assignment {
            let was = std::mem::replace(&mut entry.assignment, assignment.clone());
            news.push(News::Assigned { workload: workload.clone(), was, now: assignment });
        }
        news.extend(instances(entry, seen, &workload));
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
        let changed = (now.0, &now.1, &now.2) != was || rescheduled != self.rescheduled;
        rescheduled.clone_into(&mut self.rescheduled);
        (entry.replicas, entry.placement, entry.tolerations) = now;
        changed.then(|| News::Wanted(self.workload.clone()))
    }
}

/// The binding is going: its workload is not placed any more, though copies may still be seen.
fn forget(world: &mut World, workload: WorkloadKey) -> News {
    let entry = world.workloads.entry(workload.clone()).or_default();
    let copies = (std::mem::take(&mut entry.deliveries), std::mem::take(&mut entry.running));
    *entry = Workload { deliveries: copies.0, running: copies.1, ..Workload::default() };
    News::WorkloadGone(workload)
}

fn assignment(seen: &Seen<'_>) -> Assignment {
    let read = |value: &Value| {
        Some((value["name"].as_str()?.to_owned(), value["replicas"].as_u64().unwrap_or_default()))
    };
    seen.list("/spec/clusters").iter().filter_map(read).collect()
}

/// Tasks are told apart by their member, and by their stamps where a member has more than one.
fn evictions(
    entry: &mut Workload,
    seen: &Seen<'_>,
    now: Duration,
    first: bool,
    key: &WorkloadKey,
) -> Vec<News> {
    let mut was = std::mem::take(&mut entry.evictions);
    let mut news = Vec::new();
    for value in seen.list("/spec/gracefulEvictionTasks") {
        let mut task = task(value, now, first);
        let known = was.iter().position(|old| {
            old.member == task.member && (old.created.is_none() || old.created == task.created)
        });
        let workload = key.clone();
        match known.map(|place| was.remove(place)) {
            Some(old) => {
                task.seen = old.seen;
                task.inherited = old.inherited;
                task.stamped = old.stamped.or(task.stamped);
                if old.created.is_none() && task.created.is_some() {
                    news.push(News::EvictionStamped { workload, task: task.clone() });
                }
            }
            None => news.push(News::EvictionBegan { workload, task: task.clone() }),
        }
        entry.evictions.push(task);
    }
    news.extend(was.into_iter().map(|task| News::EvictionEnded { workload: key.clone(), task }));
    news
}

fn task(value: &Value, now: Duration, inherited: bool) -> EvictionTask {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let created = time(&value["creationTimestamp"]);
    EvictionTask {
        member: text("fromCluster"),
        reason: text("reason"),
        by_taint: text("producer") == "TaintManager" || text("reason") == "TaintUntolerated",
        seen: now,
        inherited,
        created,
        stamped: created.map(|_| now),
        grace: value["gracePeriodSeconds"].as_u64().map(seconds),
        directly: matches!(value["purgeMode"].as_str(), Some("Directly" | "Immediately")),
        suppress_deletion: value["suppressDeletion"].as_bool(),
    }
}

fn instances(entry: &mut Workload, seen: &Seen<'_>, workload: &WorkloadKey) -> Vec<News> {
    let read = |value: &Value| {
        let health = match value["health"].as_str() {
            Some("Healthy") => InstanceHealth::Healthy,
            Some("Unhealthy") => InstanceHealth::Unhealthy,
            _ => InstanceHealth::Unknown,
        };
        let ready = value["status"]["readyReplicas"].as_u64();
        Some((value["clusterName"].as_str()?.to_owned(), Instance { health, ready }))
    };
    let now: BTreeMap<_, _> = seen.list("/status/aggregatedStatus").iter().filter_map(read).collect();
    let was = std::mem::replace(&mut entry.instances, now);
    let members = was.keys().chain(entry.instances.keys().filter(|member| !was.contains_key(*member)));
    members
        .filter(|member| was.get(*member) != entry.instances.get(*member))
        .map(|member| News::InstanceHealth { workload: workload.clone(), member: member.clone() })
        .collect()
}
