//! Events about bindings: an event announces the end of an eviction.

use super::observed_object::{ObservedObject, text, value};
use crate::facts::{Change, World};

/// The reason of events about evictions. The controllers that begin evictions use the same reason.
const EVICTED: &str = "EvictWorkloadFromClusterSucceed";

/// A part of the names of the controllers that end evictions.
const ENDS: &str = "graceful-eviction";

/// Returns the change that this version of an event announces. An event that repeats is a new version.
pub(super) fn observe(world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
    if observed.gone || text(observed.object.whole("reason")) != EVICTED {
        return Vec::new();
    }
    let source = value(observed.object.whole("source"));
    let reporter = text(observed.object.whole("reportingComponent"));
    if ![&*reporter, source["component"].text()].iter().any(|component| component.contains(ENDS)) {
        return Vec::new();
    }
    let about = value(observed.object.whole("involvedObject"));
    let name = match about["namespace"].text() {
        "" => about["name"].text().to_owned(),
        namespace => format!("{namespace}/{}", about["name"].text()),
    };
    let is_binding = matches!(about["kind"].text(), "ResourceBinding" | "ClusterResourceBinding");
    let message = text(observed.object.whole("message"));
    let member = message.rsplit_once("from cluster ").and_then(|(_, rest)| rest.strip_suffix(" succeed."));
    let Some((workload, member)) = world.records.get(&name).cloned().zip(member).filter(|_| is_binding)
    else {
        return Vec::new();
    };
    let now = world.now;
    world.workloads.entry(workload.clone()).or_default().announced.insert(member.to_owned(), now);
    vec![Change::EvictionAnnounced { workload, member: member.to_owned() }]
}
