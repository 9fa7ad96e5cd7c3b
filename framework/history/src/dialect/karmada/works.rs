//! Works: the manifests that are delivered to members.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_sorted::CollectSorted;

use super::fold::OWN;
use super::observed_object::{LastDigest, ObservedObject, value};
use crate::dialect::digest::digest;
use crate::dialect::{changes, content};
use crate::facts::{Change, Content, Delivery, WorkloadKey, World};
use crate::format::digest::Table;
use crate::format::{Field, Tree};

/// The prefix of execution namespaces, before the name of the member.
pub(super) const EXECUTION_NAMESPACE: &str = "karmada-es-";

/// The latest version of each Work.
#[derive(Debug, Default)]
pub(super) struct Works(Table<String, WorkFields>);

#[derive(Debug, Default)]
struct WorkFields {
    workload: LastDigest,
    manifests: Vec<Manifest>,
    annotations: LastDigest,
    placed: bool,
    overridden: bool,
    labels: LastDigest,
    collected: Option<(String, String)>,
    conditions: LastDigest,
    applied: Option<bool>,
}

/// A manifest in a Work.
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
    /// Returns the changes that this version of a Work makes.
    pub(super) fn observe(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
        let Some(member) = observed.namespace.strip_prefix(EXECUTION_NAMESPACE) else { return Vec::new() };
        let fields = self.0.entry(observed.witness.name().to_owned()).or_default();
        fields.read(observed);
        let mut changes = Vec::new();
        for manifest in &mut fields.manifests {
            content::hide_missing_data(&mut manifest.asks, &mut world.data_shown[1]);
        }
        for manifest in &fields.manifests {
            world.manifests_shown |= fields.placed;
            world.applies_shown |= fields.placed && fields.applied == Some(true);
            changes.extend(fields.deliver(manifest, member, world, observed));
        }
        if observed.gone {
            self.0.swap_remove(observed.witness.name());
        }
        changes
    }
}

impl WorkFields {
    fn read(&mut self, observed: &ObservedObject<'_>) {
        if self.workload.differs(observed.spec("workload")) {
            let workload = value(observed.spec("workload"));
            let mut manifests: Vec<_> = workload["manifests"].items().iter().map(Manifest::read).collect();
            for now in &mut manifests {
                let was = self.manifests.iter().find(|was| was.workload == now.workload);
                if let Some(was) = was {
                    Arc::make_mut(&mut now.asks).drops_labels_of(&was.asks);
                }
            }
            self.manifests = manifests;
        }
        if self.annotations.differs(observed.metadata("annotations")) {
            let placed = ["resourcebinding.karmada.io/name", "clusterresourcebinding.karmada.io/name"];
            let annotations = value(observed.metadata("annotations"));
            self.placed = placed.iter().any(|name| annotations.get(name).is_some());
            self.overridden = is_overridden(&annotations);
        }
        if self.labels.differs(observed.metadata("labels")) {
            let labels = value(observed.metadata("labels"));
            let label = |key: &str| labels[key].as_str().map(str::to_owned);
            self.collected =
                label("endpointslice.karmada.io/namespace").zip(label("endpointslice.karmada.io/name"));
        }
        if self.conditions.differs(observed.status("conditions")) {
            let applied = observed.conditions().iter().find(|condition| condition["type"] == "Applied");
            self.applied = applied.map(|condition| condition["status"] == "True");
        }
    }

    /// Takes over the present state of one of the manifests, and returns the changes.
    fn deliver(
        &self,
        manifest: &Manifest,
        member: &str,
        world: &mut World,
        observed: &ObservedObject<'_>,
    ) -> Vec<Change> {
        let known = world.workloads.get(&manifest.workload).and_then(|known| known.deliveries.get(member));
        let now = self.delivery(manifest, known, observed, world.now);
        changes::delivered(world, &manifest.workload, member, now, observed.gone)
    }

    fn delivery(
        &self,
        manifest: &Manifest,
        was: Option<&Delivery>,
        observed: &ObservedObject<'_>,
        now: Duration,
    ) -> Delivery {
        let is_true = |name| observed.spec(name).is_some_and(Field::is_true);
        Delivery {
            by: observed.name.to_string(),
            replicas: manifest.replicas,
            leaving: observed.leaving.then(|| was.and_then(|was| was.leaving).unwrap_or(now)),
            held_up: observed.is_held_up(),
            leaving_before: was.map_or(observed.leaving, |was| was.leaving_before),
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
            asks: Arc::new(content::manifest(manifest, OWN)),
            overridden: is_overridden(&metadata["annotations"]),
            labels: labels
                .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
                .collect_sorted::<BTreeMap<_, _>>()
                .into(),
        }
    }
}

/// Whether an override policy has marked the manifest.
fn is_overridden(annotations: &Tree<'_>) -> bool {
    let marks = ["policy.karmada.io/applied-overrides", "policy.karmada.io/applied-cluster-overrides"];
    marks.iter().any(|mark| annotations.get(mark).is_some())
}
