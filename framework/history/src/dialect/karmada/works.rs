//! Works: the manifests that are delivered to members.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::content;
use super::digest::digest;
use super::seen::{Last, Seen, value};
use crate::dialect::marks::LONGEST_BACK_OFF;
use crate::facts::{Change, Content, Delivery, Workload, WorkloadKey, World};
use crate::format::digest::Table;
use crate::format::{Field, Tree};

/// What execution namespaces are called: this and the member.
pub(super) const EXECUTION_NAMESPACE: &str = "karmada-es-";

/// What each Work said last.
#[derive(Debug, Default)]
pub(super) struct Works(Table<String, Said>);

#[derive(Debug, Default)]
struct Said {
    workload: Last,
    manifests: Vec<Manifest>,
    annotations: Last,
    placed: bool,
    overridden: bool,
    labels: Last,
    collected: Option<(String, String)>,
    conditions: Last,
    applied: Option<bool>,
}

/// What a Work asks a member for.
#[derive(Debug)]
struct Manifest {
    workload: WorkloadKey,
    replicas: u64,
    content: u64,
    labels: Arc<BTreeMap<String, String>>,
    asks: Arc<Content>,
    overridden: bool,
}

impl Works {
    /// What this version of a Work changes.
    pub(super) fn observe(&mut self, world: &mut World, seen: &Seen<'_>) -> Vec<Change> {
        let Some(member) = seen.namespace.strip_prefix(EXECUTION_NAMESPACE) else { return Vec::new() };
        let said = self.0.entry(seen.witness.name().to_owned()).or_default();
        said.read(seen);
        let mut changes = Vec::new();
        for manifest in &said.manifests {
            world.manifests_shown |= said.placed;
            changes.extend(said.deliver(manifest, member, world, seen));
        }
        if seen.gone {
            self.0.swap_remove(seen.witness.name());
        }
        changes
    }
}

impl Said {
    fn read(&mut self, seen: &Seen<'_>) {
        if self.workload.differs(seen.spec("workload")) {
            let workload = value(seen.spec("workload"));
            let mut manifests: Vec<_> = workload["manifests"].items().iter().map(Manifest::read).collect();
            for now in &mut manifests {
                let was = self.manifests.iter().find(|was| was.workload == now.workload);
                if let Some(was) = was {
                    Arc::make_mut(&mut now.asks).drops_labels_of(&was.asks);
                }
            }
            self.manifests = manifests;
        }
        if self.annotations.differs(seen.metadata("annotations")) {
            let placed = ["resourcebinding.karmada.io/name", "clusterresourcebinding.karmada.io/name"];
            let annotations = value(seen.metadata("annotations"));
            self.placed = placed.iter().any(|name| annotations.get(name).is_some());
            self.overridden = is_overridden(&annotations);
        }
        if self.labels.differs(seen.metadata("labels")) {
            let labels = value(seen.metadata("labels"));
            let label = |key: &str| labels[key].as_str().map(str::to_owned);
            self.collected =
                label("endpointslice.karmada.io/namespace").zip(label("endpointslice.karmada.io/name"));
        }
        if self.conditions.differs(seen.status("conditions")) {
            let applied = seen.conditions().iter().find(|condition| condition["type"] == "Applied");
            self.applied = applied.map(|condition| condition["status"] == "True");
        }
    }

    /// One of its manifests is as it is now.
    fn deliver(&self, manifest: &Manifest, member: &str, world: &mut World, seen: &Seen<'_>) -> Vec<Change> {
        let workload = &manifest.workload;
        let entry = world.workloads.entry(workload.clone()).or_default();
        let was = entry.deliveries.get(member);
        let (workload, member) = (workload.clone(), member.to_owned());
        if was.is_some_and(|was| was.by != *seen.name) {
            // Of two manifests for one copy the first counts, as long as it is there.
            let twice = (!seen.gone).then_some(Change::DeliveredTwice { workload, member });
            return twice.into_iter().collect();
        }
        let now = self.delivery(manifest, was, seen, world.now);
        if !seen.gone && was == Some(&now) {
            return Vec::new();
        }
        let mut changes = changes_of_manifest(&workload, &member, was, &now, seen);
        if seen.gone {
            let was = entry.deliveries.remove(&member);
            let since = was.and_then(|was| was.leaving).or(now.leaving).unwrap_or(world.now);
            retry(entry, &member, since, world.now);
            forget(world, &workload);
            changes.push(Change::DeliveryGone { workload, member });
        } else {
            entry.deliveries.insert(member, now);
        }
        changes
    }

    fn delivery(
        &self,
        manifest: &Manifest,
        was: Option<&Delivery>,
        seen: &Seen<'_>,
        now: Duration,
    ) -> Delivery {
        let is_true = |name| seen.spec(name).is_some_and(Field::is_true);
        Delivery {
            by: seen.name.to_string(),
            replicas: manifest.replicas,
            leaving: seen.leaving.then(|| was.and_then(|was| was.leaving).unwrap_or(now)),
            held_up: seen.is_held_up(),
            leaving_before: was.map_or(seen.leaving, |was| was.leaving_before),
            content: manifest.content,
            asks: Arc::clone(&manifest.asks),
            overridden: self.overridden || manifest.overridden,
            collected: self.collected.clone(),
            labels: Arc::clone(&manifest.labels),
            placed: self.placed,
            applied: self.applied,
            suspended: is_true("suspendDispatching"),
            preserved: is_true("preserveResourcesOnDeletion"),
        }
    }
}

impl Manifest {
    fn read(manifest: &Tree<'_>) -> Self {
        let metadata = &manifest["metadata"];
        let labels = metadata["labels"].fields().iter();
        Self {
            workload: WorkloadKey::new(
                manifest["kind"].text(),
                metadata["namespace"].text(),
                metadata["name"].text(),
            ),
            replicas: manifest["spec"]["replicas"].as_u64().unwrap_or_default(),
            content: digest(manifest),
            asks: Arc::new(content::manifest(manifest)),
            overridden: is_overridden(&metadata["annotations"]),
            labels: labels
                .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
                .collect::<BTreeMap<_, _>>()
                .into(),
        }
    }
}

/// Whether an override policy has left its mark.
fn is_overridden(annotations: &Tree<'_>) -> bool {
    let marks = ["policy.karmada.io/applied-overrides", "policy.karmada.io/applied-cluster-overrides"];
    marks.iter().any(|mark| annotations.get(mark).is_some())
}

/// Something in `member` is gone at `now` that was being deleted `since` then: who waited for its end tried again at ever longer
/// intervals, and may be as late as it took.
pub(super) fn retry(workload: &mut Workload, member: &str, since: Duration, now: Duration) {
    let took = now.saturating_sub(since).min(LONGEST_BACK_OFF);
    if took.is_zero() {
        workload.retried.remove(member);
    } else {
        workload.retried.insert(member.to_owned(), now + took);
    }
}

/// What has neither a record nor copies is not kept.
pub(super) fn forget(world: &mut World, workload: &WorkloadKey) {
    let over = |it: &Workload| !it.recorded && it.deliveries.is_empty() && it.running.is_empty();
    if world.workloads.get(workload).is_some_and(over) {
        world.workloads.remove(workload);
    }
}

/// What differs between two versions of a manifest; there may have been none before.
fn changes_of_manifest(
    workload: &WorkloadKey,
    member: &str,
    was: Option<&Delivery>,
    now: &Delivery,
    seen: &Seen<'_>,
) -> Vec<Change> {
    let (workload, member) = (workload.clone(), member.to_owned());
    let mut changes = Vec::new();
    if was.is_none_or(|was| was.replicas != now.replicas) && !seen.gone {
        changes.push(Change::Delivered {
            workload: workload.clone(),
            member: member.clone(),
            new: was.is_none(),
        });
    }
    if was.is_some_and(|was| was.content != now.content) {
        changes.push(Change::Rewritten { workload: workload.clone(), member: member.clone() });
    }
    let told =
        |delivery: &Delivery| (delivery.applied, delivery.suspended, delivery.preserved, delivery.held_up);
    if was.is_some_and(|was| told(was) != told(now)) {
        changes.push(Change::DeliveryTold { workload: workload.clone(), member: member.clone() });
    }
    if (seen.leaving || seen.gone) && was.is_none_or(|was| was.leaving.is_none()) {
        changes.push(Change::Recalled { workload, member });
    }
    changes
}
