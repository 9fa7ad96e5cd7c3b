//! `ResourceBinding` and `ClusterResourceBinding`: where a workload is to run, and from where it is evicted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::fold::{Seen, time};
use super::placement;
use crate::facts::{
    Assignment, EvictionTask, Instance, InstanceHealth, News, Toleration, Workload, WorkloadKey, World,
};

/// The annotation with the placement that the scheduler last acted on, from which tolerations are taken.
const APPLIED: &str = "policy.karmada.io/applied-placement";

/// What the world has no room for.
#[derive(Debug, Default)]
pub(super) struct Bindings(BTreeMap<String, Known>);

#[derive(Debug)]
struct Known {
    workload: WorkloadKey,
    /// The text of the annotation, so that it is parsed only where it changed.
    applied: Option<String>,
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
        let applied = seen.object["metadata"]["annotations"][APPLIED].as_str();
        let known = self.0.entry(name).or_insert(Known { workload: workload.clone(), applied: None });
        let now = world.now;
        let entry = world.workloads.entry(workload.clone()).or_default();
        let applied_changed = first || applied != known.applied.as_deref();
        let mut news = evictions(entry, seen, now, first, &workload);
        news.extend(wanted(entry, seen, applied_changed, &workload));
        known.applied = applied.map(str::to_owned);
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

/// The binding is going: its workload is not placed any more, though copies may still be seen.
fn forget(world: &mut World, workload: WorkloadKey) -> News {
    let entry = world.workloads.entry(workload.clone()).or_default();
    let copies = (std::mem::take(&mut entry.deliveries), std::mem::take(&mut entry.running));
    *entry = Workload { deliveries: copies.0, running: copies.1, ..Workload::default() };
    News::WorkloadGone(workload)
}

/// Replicas, placement and tolerations.
fn wanted(
    entry: &mut Workload,
    seen: &Seen<'_>,
    applied_changed: bool,
    workload: &WorkloadKey,
) -> Option<News> {
    let replicas = seen.number("/spec/replicas").unwrap_or_default();
    let (placement, spec_tolerations) =
        seen.object.pointer("/spec/placement").map(placement::read).unwrap_or_default();
    let tolerations = if applied_changed {
        applied_tolerations(seen).unwrap_or(spec_tolerations)
    } else {
        std::mem::take(&mut entry.tolerations)
    };
    let changed = applied_changed || entry.replicas != replicas || entry.placement != placement;
    entry.replicas = replicas;
    entry.placement = placement;
    entry.tolerations = tolerations;
    changed.then(|| News::Wanted(workload.clone()))
}

fn applied_tolerations(seen: &Seen<'_>) -> Option<Vec<Toleration>> {
    let text = seen.object["metadata"]["annotations"][APPLIED].as_str()?;
    let value: Value = serde_json::from_str(text).ok()?;
    Some(placement::read(&value).1)
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
        grace: value["gracePeriodSeconds"].as_u64().map(Duration::from_secs),
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
