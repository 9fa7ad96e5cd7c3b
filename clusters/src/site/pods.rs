//! The way of a pod: it is bound to a node, becomes ready, and ends when it is deleted.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::life::{Life, Step};
use super::owners::owner_of;
use super::scheduler::choose;

/// Namespace and name.
pub(super) type Key = (String, String);

/// How long the pods of a node are kept that is gone (the quarantine of the pod garbage collector, and its period).
const QUARANTINE: Duration = Duration::from_secs(60);

pub(super) fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// The node that a pod is bound to.
pub(super) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// Whether it says that it is ready.
fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

impl Life {
    /// The watch tells that a pod has changed, or is gone: nothing new, where that was done here.
    pub(super) fn told(&mut self, pod: Pod, there: bool) {
        let version = |pod: &Pod| pod.resource_version().and_then(|version| version.parse::<u64>().ok());
        if self.pods.get(&key(&pod)).is_none_or(|known| version(known) < version(&pod)) {
            self.pod(pod, there);
        }
    }

    /// A pod has changed, or is gone.
    pub(super) fn pod(&mut self, pod: Pod, there: bool) {
        let (key, owner) = (key(&pod), owner_of(&pod));
        let before = self.pods.remove(&key);
        self.file(before.as_deref().and_then(node_of), &key, false);
        self.file(node_of(&pod), &key, there);
        if there {
            self.plan_for(&key, &pod);
            self.pods.insert(key.clone(), Arc::new(pod));
        } else {
            for step in [Step::Schedule(key.clone()), Step::Start(key.clone()), Step::Stop(key.clone())] {
                self.forget(&step);
            }
            self.homeless.remove(&key);
            self.house();
        }
        if let Some(owner) = owner {
            let pods = self.of_owner.entry(owner.clone()).or_default();
            if there {
                pods.insert(key)
            } else {
                pods.remove(&key)
            };
            self.recount(&owner);
        }
    }

    fn plan_for(&mut self, key: &Key, pod: &Pod) {
        if pod.metadata.deletion_timestamp.is_some() {
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).try_into().unwrap_or(0);
            let pause = self.stages.stop.draw(&mut self.chance).min(Duration::from_secs(grace));
            self.forget(&Step::Start(key.clone()));
            self.plan(Step::Stop(key.clone()), pause);
        } else if node_of(pod).is_none() {
            let pause = self.stages.schedule.draw(&mut self.chance);
            if !self.homeless.contains(key) {
                self.plan(Step::Schedule(key.clone()), pause);
            }
        } else if !is_ready(pod) && !self.held_up.contains(&Step::Start(key.clone())) {
            let pause = self.stages.start.draw(&mut self.chance);
            self.plan(Step::Start(key.clone()), pause);
        }
    }

    /// The pod is on the node, or not.
    fn file(&mut self, node: Option<&str>, key: &Key, there: bool) {
        let Some(node) = node else { return };
        let pods = self.on_node.entry(node.to_owned()).or_default();
        if there {
            pods.insert(key.clone())
        } else {
            pods.remove(key)
        };
        if let Some(place) = self.places.get_mut(node) {
            place.pods = pods.len();
        }
    }

    /// The node is gone: what is on it ends in time.
    pub(super) fn orphan(&mut self, node: &str) {
        for key in self.on_node.get(node).cloned().unwrap_or_default() {
            self.forget(&Step::Stop(key.clone()));
            self.plan(Step::Stop(key), QUARANTINE);
        }
    }

    /// There may be a node now for those that had none.
    pub(super) fn house(&mut self) {
        for key in std::mem::take(&mut self.homeless) {
            let pause = self.stages.schedule.draw(&mut self.chance);
            self.plan(Step::Schedule(key), pause);
        }
    }

    pub(super) async fn schedule(&mut self, key: &Key) {
        let Some(pod) = self.pods.get(key).filter(|pod| node_of(pod).is_none()) else { return };
        let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
        let Some(node) = choose(&self.places, tolerations).map(str::to_owned) else {
            self.homeless.insert(key.clone());
            return;
        };
        let mut there = (**pod).clone();
        there.spec.get_or_insert_default().node_name = Some(node.clone());
        let target =
            ObjectReference { kind: Some("Node".into()), name: Some(node), ..ObjectReference::default() };
        let mut binding = Binding { target, ..Binding::default() };
        (binding.metadata.namespace, binding.metadata.name) = (Some(key.0.clone()), Some(key.1.clone()));
        let api = self.api(key);
        let bound: Result<serde_json::Value, _> =
            api.create_subresource("binding", &key.1, &PostParams::default(), &binding).await;
        if bound.is_ok() {
            // The next one is to see it there.
            self.pod(there, true);
        }
    }

    /// A pod starts or stops.
    pub(super) async fn take(&mut self, step: &Step, key: &Key) {
        let Some(pod) = self.pods.get(key) else { return };
        let api = self.api(key);
        // What fails here is gone, or another.
        if let Step::Stop(_) = step {
            let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
            let _ = api.delete(&key.1, &at_once).await;
        } else if pod.metadata.deletion_timestamp.is_none() && !is_ready(pod) {
            let now = self.clock.now_in_seconds();
            let conditions = ["Initialized", "Ready", "ContainersReady"]
                .map(|kind| json!({ "type": kind, "status": "True", "lastTransitionTime": now }));
            let status =
                json!({ "status": { "phase": "Running", "startTime": now, "conditions": conditions } });
            let _ = api.patch_status(&key.1, &PatchParams::default(), &Patch::Strategic(status)).await;
        }
    }

    pub(super) fn api(&self, key: &Key) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &key.0)
    }
}
