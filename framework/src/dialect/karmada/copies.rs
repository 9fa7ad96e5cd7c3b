//! Copies of a workload: the Works that deliver them, and what the members' own APIs show.

use serde_json::Value;

use super::digest::digest;
use super::fold::Seen;
use crate::facts::{Delivery, News, Running, Workload, WorkloadKey, World};

/// What execution namespaces are called: this and the member.
const EXECUTION_NAMESPACE: &str = "karmada-es-";

/// What this version of a Work changes.
pub(super) fn deliveries(world: &mut World, seen: &Seen<'_>) -> Vec<News> {
    let Some(member) = seen.namespace.strip_prefix(EXECUTION_NAMESPACE) else { return Vec::new() };
    let mut news = Vec::new();
    for manifest in seen.list("/spec/workload/manifests") {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let workload = WorkloadKey::new(text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let mut now = delivery(manifest, seen);
        world.manifests_shown |= now.placed;
        let entry = world.workloads.entry(workload.clone()).or_default();
        let was = entry.deliveries.get(member).cloned();
        now.leaving_before = was.as_ref().map_or(seen.leaving, |was| was.leaving_before);
        let member = member.to_owned();
        if was.as_ref().is_some_and(|was| was.by != now.by) {
            // Of two manifests for one copy the first counts, as long as it is there.
            if !seen.gone {
                news.push(News::DeliveredTwice { workload, member });
            }
            continue;
        }
        news.extend(changes(&workload, &member, was.as_ref(), &now, seen));
        if seen.gone {
            entry.deliveries.remove(&member);
            news.push(News::DeliveryGone { workload: workload.clone(), member });
            forget(world, &workload);
        } else {
            entry.deliveries.insert(member, now);
        }
    }
    news
}

/// What has neither a record nor copies is not kept.
fn forget(world: &mut World, workload: &WorkloadKey) {
    let over = |it: &Workload| !it.recorded && it.deliveries.is_empty() && it.running.is_empty();
    if world.workloads.get(workload).is_some_and(over) {
        world.workloads.remove(workload);
    }
}

fn delivery(manifest: &Value, seen: &Seen<'_>) -> Delivery {
    let annotations = &seen.object["metadata"]["annotations"];
    let placed = ["resourcebinding.karmada.io/name", "clusterresourcebinding.karmada.io/name"];
    let applied = seen.list("/status/conditions").iter().find(|condition| condition["type"] == "Applied");
    let labels = manifest.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Delivery {
        by: seen.name.to_owned(),
        replicas: manifest.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or_default(),
        leaving: seen.leaving,
        leaving_before: false,
        content: digest(manifest),
        labels: labels.filter_map(text).collect(),
        placed: placed.iter().any(|name| annotations.get(name).is_some()),
        applied: applied.map(|condition| condition["status"] == "True"),
        suspended: seen.object["spec"]["suspendDispatching"] == true,
        preserved: seen.object["spec"]["preserveResourcesOnDeletion"] == true,
    }
}

/// What differs between two versions of a manifest; there may have been none before.
fn changes(
    workload: &WorkloadKey,
    member: &str,
    was: Option<&Delivery>,
    now: &Delivery,
    seen: &Seen<'_>,
) -> Vec<News> {
    let (workload, member) = (workload.clone(), member.to_owned());
    let mut news = Vec::new();
    if was.is_none_or(|was| was.replicas != now.replicas) && !seen.gone {
        news.push(News::Delivered { workload: workload.clone(), member: member.clone(), new: was.is_none() });
    }
    if was.is_some_and(|was| was.content != now.content) {
        news.push(News::Rewritten { workload: workload.clone(), member: member.clone() });
    }
    let told = |delivery: &Delivery| (delivery.applied, delivery.suspended, delivery.preserved);
    if was.is_some_and(|was| told(was) != told(now)) {
        news.push(News::DeliveryTold { workload: workload.clone(), member: member.clone() });
    }
    if (seen.leaving || seen.gone) && !was.is_some_and(|was| was.leaving) {
        news.push(News::Recalled { workload, member });
    }
    news
}

/// What this version of an object in a member changes, if it is a copy of a workload.
pub(super) fn running(world: &mut World, member: &str, seen: &Seen<'_>) -> Vec<News> {
    let workload = WorkloadKey::new(seen.witness.kind(), seen.namespace, seen.name);
    // Its Work may be observed later than the copy, by another watch.
    let marked = ["annotations", "labels"]
        .iter()
        .any(|place| seen.object["metadata"][place].get("work.karmada.io/name").is_some());
    if !marked && !world.workloads.contains_key(&workload) {
        return Vec::new();
    }
    if !world.kinds_shown.contains(seen.witness.kind()) {
        world.kinds_shown.insert(seen.witness.kind().to_owned());
    }
    let entry = world.workloads.entry(workload.clone()).or_default();
    let member = member.to_owned();
    if seen.gone {
        let known = entry.running.remove(&member).is_some();
        forget(world, &workload);
        return known.then_some(News::RunningGone { workload, member }).into_iter().collect();
    }
    let replicas = seen.number("/spec/replicas");
    let generation = seen.number("/metadata/generation").unwrap_or_default();
    let observed = seen.number("/status/observedGeneration").unwrap_or_default();
    let now = Running {
        replicas: replicas.unwrap_or_default(),
        ready: seen.number("/status/readyReplicas").unwrap_or_default(),
        current: replicas.is_none() || observed >= generation,
        image: seen.text("/spec/template/spec/containers/0/image").to_owned(),
        managed: marked,
    };
    if entry.running.get(&member) == Some(&now) {
        return Vec::new();
    }
    entry.running.insert(member.clone(), now);
    vec![News::Running { workload, member }]
}
