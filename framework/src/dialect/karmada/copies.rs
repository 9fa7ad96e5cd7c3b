//! Copies of a workload: the Works that deliver them, and what the members' own APIs show.

use serde_json::Value;

use super::fold::Seen;
use crate::facts::{Delivery, News, Running, WorkloadKey, World};

/// What execution namespaces are called: this and the member.
const EXECUTION_NAMESPACE: &str = "karmada-es-";

/// What this version of a Work changes.
pub(super) fn deliveries(world: &mut World, seen: &Seen<'_>) -> Vec<News> {
    let Some(member) = seen.namespace.strip_prefix(EXECUTION_NAMESPACE) else { return Vec::new() };
    let mut news = Vec::new();
    for manifest in seen.list("/spec/workload/manifests") {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let workload = WorkloadKey::new(text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let replicas = manifest.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or_default();
        let now = Delivery { replicas, leaving: seen.leaving };
        let entry = world.workloads.entry(workload.clone()).or_default();
        let was = entry.deliveries.get(member).cloned();
        let member = member.to_owned();
        if was.as_ref().is_none_or(|was| was.replicas != now.replicas) && !seen.gone {
            news.push(News::Delivered { workload: workload.clone(), member: member.clone() });
        }
        if (seen.leaving || seen.gone) && !was.as_ref().is_some_and(|was| was.leaving) {
            news.push(News::Recalled { workload: workload.clone(), member: member.clone() });
        }
        if seen.gone {
            entry.deliveries.remove(&member);
            news.push(News::DeliveryGone { workload, member });
        } else {
            entry.deliveries.insert(member, now);
        }
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
    let entry = world.workloads.entry(workload.clone()).or_default();
    let member = member.to_owned();
    if seen.gone {
        return match entry.running.remove(&member) {
            Some(_) => vec![News::RunningGone { workload, member }],
            None => Vec::new(),
        };
    }
    let replicas = seen.number("/spec/replicas");
    let generation = seen.number("/metadata/generation").unwrap_or_default();
    let observed = seen.number("/status/observedGeneration").unwrap_or_default();
    let now = Running {
        replicas: replicas.unwrap_or_default(),
        ready: seen.number("/status/readyReplicas").unwrap_or_default(),
        current: replicas.is_none() || observed >= generation,
        image: seen.text("/spec/template/spec/containers/0/image").to_owned(),
    };
    if entry.running.get(&member) == Some(&now) {
        return Vec::new();
    }
    entry.running.insert(member.clone(), now);
    vec![News::Running { workload, member }]
}
