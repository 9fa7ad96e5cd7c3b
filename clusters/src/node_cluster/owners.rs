//! `Deployment`, `StatefulSet` and `DaemonSet`: creates and replaces the pods of these owners.
//!
//! A Deployment owns its pods directly; there are no `ReplicaSets` and no rolling updates. The pods of a `DaemonSet`
//! are bound to their nodes when they are created.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ApiResource, DeleteParams, DynamicObject};
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::event_loop::{EventLoop, Step};
use super::observed_pod::ObservedPod;
use super::pods::Key;

/// An owner of pods.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    key: Key,
    reference: OwnerReference,
    /// The number of pods; `None` for one pod per node.
    replicas: Option<usize>,
    /// The labels of the pods.
    labels: Option<Value>,
    /// The spec of the pods.
    pod_spec: Map<String, Value>,
    /// The tolerations of the pods.
    tolerations: Vec<Toleration>,
    /// True if the pods have ordinals.
    /// A pod is then created only after its predecessor with the same ordinal is removed.
    numbered: bool,
}

impl Owner {
    /// Reads a `Deployment`, a `StatefulSet` or a `DaemonSet`.
    /// `None` if the object has no spec of pods.
    pub(super) fn of(kind: &ApiResource, owner: &DynamicObject) -> Option<Self> {
        let field = |path: &str| owner.data.pointer(path);
        let is_everywhere = kind.kind == "DaemonSet";
        let replicas = field("/spec/replicas").and_then(Value::as_i64).unwrap_or(1).try_into().unwrap_or(0);
        let mut pod_spec = field("/spec/template/spec")?.as_object()?.clone();
        let mut tolerations: Vec<Toleration> = match pod_spec.get("tolerations") {
            Some(tolerations) => serde_json::from_value(tolerations.clone()).ok()?,
            None => Vec::new(),
        };
        if is_everywhere {
            tolerations.extend(of_daemons());
            pod_spec.insert("tolerations".into(), json!(tolerations));
        }
        Some(Self {
            key: owner_key(&kind.kind, owner),
            reference: owner.controller_owner_ref(kind)?,
            replicas: (!is_everywhere).then_some(replicas),
            labels: field("/spec/template/metadata/labels").cloned(),
            pod_spec,
            tolerations,
            numbered: kind.kind == "StatefulSet",
        })
    }

    /// Returns true if the owner has one pod per node.
    pub(super) fn is_everywhere(&self) -> bool {
        self.replicas.is_none()
    }

    /// Returns true if the owner deletes its pods that have ended.
    pub(super) fn deletes_ended_pods(&self) -> bool {
        self.numbered || self.is_everywhere()
    }

    fn pod(&self, number: usize) -> Value {
        let name = &self.reference.name;
        let mut metadata = json!({ "ownerReferences": [self.reference] });
        if let Some(labels) = &self.labels {
            metadata["labels"] = labels.clone();
        }
        if self.numbered {
            metadata["name"] = format!("{name}-{number}").into();
        } else {
            metadata["generateName"] = format!("{name}-").into();
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.pod_spec })
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
        let names: BTreeSet<&str> = of_owner.keys().map(|pod| pod.1.as_str()).collect_sorted();
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
        let served: BTreeSet<&str> = pods.filter_map(|pod| pod.node()).collect_sorted();
        let lacking = self.places.iter().filter(|(node, _)| !served.contains(node));
        let lacking: Vec<String> = lacking
            .filter(|(_, place)| place.tolerated(&owner.tolerations))
            .map(|(node, _)| node.to_owned())
            .collect();
        for node in lacking {
            let mut pod = owner.pod(0);
            pod["spec"]["nodeName"] = node.into();
            self.make(&key.0, &pod).await;
        }
    }
}
