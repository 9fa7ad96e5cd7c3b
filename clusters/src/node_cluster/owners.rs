//! `Deployment`, `StatefulSet` and `DaemonSet`: creates and replaces the pods of these owners.
//!
//! A Deployment owns its pods directly; there are no `ReplicaSets` and no rolling updates. The pods of a `DaemonSet`
//! are bound to their nodes when they are created.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DeleteParams;
use kube::{Resource, ResourceExt};

use super::event_loop::{EventLoop, Step};
use super::observed::ObservedPod;
use super::pods::Key;

/// An owner of pods.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    key: Key,
    reference: OwnerReference,
    /// The number of pods; `None` for one pod per node.
    replicas: Option<usize>,
    template: PodTemplateSpec,
    /// True if the pods have ordinals.
    /// A pod is then created only after its predecessor with the same ordinal is removed.
    numbered: bool,
}

impl Owner {
    pub(super) fn deployment(owner: Deployment) -> Option<Self> {
        let (reference, key) = (owner.controller_owner_ref(&())?, owner_key("Deployment", &owner));
        let spec = owner.spec?;
        let replicas = Some(spec.replicas.unwrap_or(1).try_into().unwrap_or(0));
        Some(Self { key, reference, replicas, template: spec.template, numbered: false })
    }

    pub(super) fn stateful(owner: StatefulSet) -> Option<Self> {
        let (reference, key) = (owner.controller_owner_ref(&())?, owner_key("StatefulSet", &owner));
        let spec = owner.spec?;
        let replicas = Some(spec.replicas.unwrap_or(1).try_into().unwrap_or(0));
        Some(Self { key, reference, replicas, template: spec.template, numbered: true })
    }

    pub(super) fn daemons(owner: DaemonSet) -> Option<Self> {
        let (reference, key) = (owner.controller_owner_ref(&())?, owner_key("DaemonSet", &owner));
        let mut template = owner.spec?.template;
        let spec = template.spec.get_or_insert_default();
        spec.tolerations.get_or_insert_default().extend(of_daemons());
        Some(Self { key, reference, replicas: None, template, numbered: false })
    }

    /// Returns true if the owner has one pod per node.
    pub(super) fn is_everywhere(&self) -> bool {
        self.replicas.is_none()
    }

    /// Returns true if the owner deletes its pods that have ended.
    pub(super) fn deletes_ended_pods(&self) -> bool {
        self.numbered || self.is_everywhere()
    }

    fn pod(&self, number: usize) -> Pod {
        let mut pod = Pod::default();
        let name = self.reference.name.clone();
        if self.numbered {
            pod.metadata.name = Some(format!("{name}-{number}"));
        } else {
            pod.metadata.generate_name = Some(format!("{name}-"));
        }
        pod.metadata.labels = self.template.metadata.as_ref().and_then(|metadata| metadata.labels.clone());
        pod.metadata.owner_references = Some(vec![self.reference.clone()]);
        pod.spec.clone_from(&self.template.spec);
        pod
    }
}

/// The tolerations that the `DaemonSet` controller adds to its pods.
fn of_daemons() -> impl Iterator<Item = Toleration> {
    let keys = [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ];
    keys.into_iter().map(|(key, effect)| Toleration {
        key: Some(format!("node.kubernetes.io/{key}")),
        operator: Some("Exists".into()),
        effect: Some(effect.into()),
        ..Toleration::default()
    })
}

/// Returns the key of an owner.
/// The key is the namespace of the owner, and its kind and name as one text. The text has the kind, because two kinds
/// can have the same name.
fn owner_key(kind: &str, owner: &impl ResourceExt) -> Key {
    (owner.namespace().unwrap_or_default(), format!("{kind}/{}", owner.name_any()))
}

/// The owner of a pod.
pub(super) fn owner_of(pod: &ObservedPod) -> Option<Key> {
    let owner = pod.owner_references().iter().find(|owner| owner.controller == Some(true))?;
    Some((pod.namespace().unwrap_or_default(), format!("{}/{}", owner.kind, owner.name)))
}

impl EventLoop {
    /// Records that an owner has changed or was removed.
    pub(super) fn owner(&mut self, owner: Option<Owner>, exists: bool) {
        let Some(owner) = owner else { return };
        let key = owner.key.clone();
        self.owners.remove(&key);
        if exists {
            self.owners.insert(key.clone(), owner);
            self.recount(&key);
        }
    }

    /// Plans a comparison of the pods of an owner with the wanted pods.
    pub(super) fn recount(&mut self, owner: &Key) {
        if self.owners.contains_key(owner) {
            let pause = self.stages.replace.draw(&mut self.chance);
            self.plan(Step::Count(owner.clone()), pause);
        }
    }

    pub(super) async fn count(&mut self, key: &Key) {
        let Some(owner) = self.owners.get(key) else { return };
        let of_owner = self.of_owner.get(key);
        let staying = || of_owner.into_iter().flatten().filter(|(_, stays)| **stays).map(|(pod, _)| pod);
        let count = staying().count();
        if owner.replicas == Some(count) {
            // This is the most frequent case, because every change of a pod causes a comparison.
            return;
        }
        let owner = owner.clone();
        let Some(replicas) = owner.replicas else { return self.spread(key, &owner).await };
        let surplus: Vec<Key> = staying().skip(replicas).cloned().collect();
        let of_owner = of_owner.cloned().unwrap_or_default();
        let api = self.api(key);
        for (_, name) in surplus {
            // The request fails only if the pod no longer exists.
            let _ = api.delete(&name, &DeleteParams::default()).await;
        }
        let missing = replicas.saturating_sub(count);
        let names: BTreeSet<&str> = of_owner.keys().map(|pod| pod.1.as_str()).collect();
        let numbers = (0..replicas).filter(|number| {
            !owner.numbered || !names.contains(format!("{}-{number}", owner.reference.name).as_str())
        });
        for number in numbers.take(missing) {
            self.make(&key.0, &owner.pod(number)).await;
        }
    }

    /// Creates pods of the owner on nodes that lack one, if the pods tolerate the taints of the node.
    async fn spread(&mut self, key: &Key, owner: &Owner) {
        let pods = self.of_owner.get(key).into_iter().flatten();
        let pods = pods.filter_map(|(pod, _)| self.pods.get(pod));
        let served: BTreeSet<&str> = pods.filter_map(|pod| pod.node()).collect();
        let spec = owner.template.spec.as_ref();
        let tolerations = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
        let lacking = self.places.iter().filter(|(node, _)| !served.contains(node));
        let lacking: Vec<String> = lacking
            .filter(|(_, place)| place.tolerated(tolerations))
            .map(|(node, _)| node.to_owned())
            .collect();
        for node in lacking {
            let mut pod = owner.pod(0);
            pod.spec.get_or_insert_default().node_name = Some(node);
            self.make(&key.0, &pod).await;
        }
    }
}
