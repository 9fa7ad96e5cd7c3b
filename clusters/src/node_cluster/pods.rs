//! The lifecycle of a pod: it is bound to a node, becomes ready, and is removed after its deletion.
//!
//! A kubelet ends and rejects pods while its node shuts down. The garbage collector removes pods of nodes that are gone or
//! out of service.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Binding, Node, ObjectReference};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Request};
use kube::client::Body;
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::event_loop::{EventLoop, Step};
use super::observed_pod::ObservedPod;
use super::owners::{Owner, owner_of};

/// The key of a pod: its namespace and name.
pub(super) type Key = (String, String);

/// The time for which pods outlive their node.
/// This time is the sum of the quarantine and the period of the pod garbage collector.
const QUARANTINE: Duration = Duration::from_secs(60);

/// The period of the pod garbage collector.
const COLLECTION: Duration = Duration::from_secs(20);

/// The taint that a person sets on a node that is surely down.
/// The terminating pods of such a node are removed without its kubelet.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The mirror of a static pod has this annotation.
/// The kubelet runs such a pod again whenever the kubelet starts.
const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// The status that a kubelet gives a pod that comes while the node shuts down.
/// The source is `Admit` in `pkg/kubelet/nodeshutdown`.
fn rejected() -> Value {
    json!({
        "phase": "Failed",
        "reason": "NodeShutdown",
        "message": "Pod was rejected: Pod was rejected as the node is shutting down.",
    })
}

/// The status that a kubelet gives a pod when the node shuts down (`pkg/kubelet/nodeshutdown`).
fn ended(now: &impl Serialize) -> Value {
    let not_ready = ["Ready", "ContainersReady"]
        .map(|kind| json!({ "type": kind, "status": "False", "lastTransitionTime": now }));
    let disrupted = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastTransitionTime": now,
    });
    let conditions: Vec<Value> = not_ready.into_iter().chain([disrupted]).collect();
    json!({
        "phase": "Failed",
        "reason": "Terminated",
        "message": "Pod was terminated in response to imminent node shutdown.",
        "conditions": conditions,
    })
}

impl EventLoop {
    /// Handles a watch event about a pod. Changes that the loop made itself are skipped.
    pub(super) fn pod_event(&mut self, pod: ObservedPod, exists: bool) {
        let version =
            |pod: &ObservedPod| pod.resource_version().and_then(|version| version.parse::<u64>().ok());
        if self.pods.get(&key(&pod)).is_none_or(|known| version(known) < version(&pod)) {
            self.pod(pod, exists);
        }
    }

    /// Records that a pod has changed or was removed.
    pub(super) fn pod(&mut self, pod: ObservedPod, exists: bool) {
        let (key, owner) = (key(&pod), owner_of(&pod));
        let stays = pod.metadata.deletion_timestamp.is_none() && !pod.has_ended();
        let before = self.pods.remove(&key);
        let before_on = before.as_deref().and_then(ObservedPod::node);
        let ends = pod.has_ended() && before.as_deref().is_some_and(|before| !before.has_ended());
        if !exists || ends || before_on != pod.node() {
            if let Some(before) = &before {
                self.remove_from_node(&key, before);
            }
            if exists {
                self.add_to_node(&key, &pod);
            }
        }
        if exists {
            self.plan_for(&key, &pod);
            self.pods.insert(key.clone(), Arc::new(pod));
        } else {
            for step in [Step::Schedule, Step::Start, Step::Stop, Step::End, Step::Reject, Step::Collect] {
                self.forget(&step(key.clone()));
            }
            self.unschedulable.remove(&key);
            self.retry_unschedulable();
        }
        if let Some(owner) = owner {
            let pods = self.of_owner.entry(owner.clone()).or_default();
            if exists {
                pods.insert(key, stays);
            } else {
                pods.remove(&key);
            }
            self.recount(&owner);
        }
    }

    fn plan_for(&mut self, key: &Key, pod: &ObservedPod) {
        if pod.metadata.deletion_timestamp.is_some() {
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).try_into().unwrap_or(0);
            let pause = self.stages.stop.draw(&mut self.chance).min(Duration::from_secs(grace));
            self.forget(&Step::Start(key.clone()));
            self.plan(Step::Stop(key.clone()), pause);
            if pod.node().is_some_and(|node| self.out_of_service.contains(node)) {
                self.plan(Step::Collect(key.clone()), COLLECTION);
            }
        } else if pod.has_ended() {
            self.forget(&Step::Start(key.clone()));
            // A Deployment leaves ended pods alone. The other owners delete them, and create new ones.
            if owner_of(pod).and_then(|owner| self.owners.get(&owner)).is_some_and(Owner::deletes_ended_pods)
            {
                let pause = self.stages.replace.draw(&mut self.chance);
                self.plan(Step::Collect(key.clone()), pause);
            }
        } else if pod.node().is_none() {
            let pause = self.stages.schedule.draw(&mut self.chance);
            if !self.unschedulable.contains(key) {
                self.plan(Step::Schedule(key.clone()), pause);
            }
        } else if self.is_rejected(key, pod) {
            self.plan(Step::Reject(key.clone()), Duration::ZERO);
        } else if !pod.is_ready() && !self.waiting_for_kubelet.contains(&Step::Start(key.clone())) {
            let pause = self.stages.start.draw(&mut self.chance);
            self.plan(Step::Start(key.clone()), pause);
        }
    }

    /// Returns true if the node of the pod shuts down, and the pod was not there when that began.
    fn is_rejected(&self, key: &Key, pod: &ObservedPod) -> bool {
        let machine = pod.node().and_then(|node| self.machines.get(node));
        machine.is_some_and(|machine| machine.kubelet.is_shutting_down())
            && !self.is_planned(&Step::End(key.clone()))
    }

    /// Adds the pod to its node, if it has one.
    fn add_to_node(&mut self, key: &Key, pod: &ObservedPod) {
        let Some(node) = pod.node() else { return };
        if self.on_node.entry(node.to_owned()).or_default().insert(key.clone()) {
            self.places.change(node, |place| place.hold(pod));
        }
    }

    /// Removes the pod from its node.
    fn remove_from_node(&mut self, key: &Key, pod: &ObservedPod) {
        let Some(node) = pod.node() else { return };
        if self.on_node.get_mut(node).is_some_and(|pods| pods.remove(key)) {
            self.places.change(node, |place| place.release(pod));
        }
    }

    /// Records whether the garbage collector of pods may remove the terminating pods of a node.
    /// The garbage collector may do so if the node is not ready, and has the taint of a person for this purpose. The
    /// source is `gcTerminating` in `pkg/controller/podgc/gc_controller.go`.
    pub(super) fn note_out_of_service(&mut self, node: &Node, is_away: bool) {
        let name = node.name_any();
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        if !is_away || !taints.into_iter().any(|taint| taint.key == OUT_OF_SERVICE) {
            self.out_of_service.remove(&name);
            return;
        }
        if self.out_of_service.insert(name.clone()) {
            let terminating =
                |key: &Key| self.pods.get(key).is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
            let keys = self.on_node.get(&name).into_iter().flatten().filter(|key| terminating(key));
            for key in keys.cloned().collect::<Vec<_>>() {
                self.plan(Step::Collect(key), COLLECTION);
            }
        }
    }

    /// Plans the end of the pods on nodes that shut down.
    pub(super) fn end_pods_of_stopping_nodes(&mut self) {
        let machines = Arc::clone(&self.machines);
        for (name, _) in machines.iter().filter(|(_, machine)| machine.kubelet.is_shutting_down()) {
            for key in self.on_node.get(name).cloned().unwrap_or_default() {
                let pause = self.stages.stop.draw(&mut self.chance);
                self.plan(Step::End(key), pause);
            }
        }
    }

    /// Plans the removal of the pods of a removed node.
    pub(super) fn plan_removals(&mut self, node: &str) {
        for key in self.on_node.get(node).cloned().unwrap_or_default() {
            self.forget(&Step::Stop(key.clone()));
            self.plan(Step::Stop(key), QUARANTINE);
        }
    }

    /// Cancels the removal of the pods of a node that is registered again.
    /// The garbage collector looks for the node once more when the quarantine is over
    /// (`pkg/controller/podgc/gc_controller.go`, `discoverDeletedNodes`).
    pub(super) fn cancel_removals(&mut self, node: &str) {
        for key in self.on_node.get(node).cloned().unwrap_or_default() {
            self.forget(&Step::Stop(key.clone()));
            if let Some(pod) = self.pods.get(&key).cloned() {
                self.plan_for(&key, &pod);
            }
        }
    }

    /// Plans to schedule again all pods that did not fit on any node.
    pub(super) fn retry_unschedulable(&mut self) {
        for key in std::mem::take(&mut self.unschedulable) {
            let pause = self.stages.schedule.draw(&mut self.chance);
            self.plan(Step::Schedule(key), pause);
        }
    }

    pub(super) async fn schedule(&mut self, key: &Key) {
        let Some(pod) = self.pods.get(key).filter(|pod| pod.node().is_none()) else { return };
        let Some(node) = self.places.choose(pod.tolerations(), &pod.asks()) else {
            self.unschedulable.insert(key.clone());
            return;
        };
        let bound_pod = pod.bound_to(node);
        let target = ObjectReference {
            kind: Some("Node".into()),
            name: Some(node.to_owned()),
            ..ObjectReference::default()
        };
        let mut binding = Binding { target, ..Binding::default() };
        (binding.metadata.namespace, binding.metadata.name) = (Some(key.0.clone()), Some(key.1.clone()));
        let api = self.api(key);
        let bound: Result<IgnoredAny, _> =
            api.create_subresource("binding", &key.1, &PostParams::default(), &binding).await;
        if bound.is_ok() {
            // The next scheduling decision has to include the pod.
            self.pod(bound_pod, true);
        }
    }

    /// Executes a step of a pod: its start, its end, its rejection, or its removal.
    pub(super) async fn take(&mut self, step: &Step, key: &Key) {
        let Some(pod) = self.pods.get(key) else { return };
        let api = self.api(key);
        let stays = pod.metadata.deletion_timestamp.is_none() && !pod.has_ended();
        let stops = pod.node().and_then(|node| self.machines.get(node));
        let stops = stops.is_some_and(|machine| machine.kubelet.is_shutting_down());
        let collected = pod.has_ended() || pod.node().is_some_and(|node| self.out_of_service.contains(node));
        // The request fails only if the pod was removed or replaced.
        if matches!(step, Step::Stop(_)) || matches!(step, Step::Collect(_)) && collected {
            let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
            let _ = api.delete(&key.1, &at_once).await;
        } else if stops && stays && !pod.annotations().contains_key(MIRROR) {
            let is_new = matches!(step, Step::Reject(_));
            let status = if is_new { rejected() } else { ended(&self.clock.now_in_seconds()) };
            self.patch_status(key, status).await;
        } else if matches!(step, Step::Start(_)) && stays && !pod.is_ready() {
            let now = self.clock.now_in_seconds();
            let conditions = ["Initialized", "Ready", "ContainersReady"]
                .map(|kind| json!({ "type": kind, "status": "True", "lastTransitionTime": now }));
            let status = json!({ "phase": "Running", "startTime": now, "conditions": conditions });
            self.patch_status(key, status).await;
        }
    }

    /// Writes the status of a pod. The watch brings the same state as the response.
    async fn patch_status(&self, key: &Key, status: Value) {
        let api = self.api(key);
        let patch = Patch::Strategic(json!({ "status": status }));
        let request = Request::new(api.resource_url());
        if let Ok(request) = request.patch_subresource("status", &key.1, &PatchParams::default(), &patch) {
            let _ = self.client.send(request.map(Body::from)).await;
        }
    }

    pub(super) fn api(&self, key: &Key) -> Api<ObservedPod> {
        Api::namespaced(self.client.clone(), &key.0)
    }

    /// Creates a pod. If the pod is refused, the next change causes another attempt.
    pub(super) async fn make(&mut self, namespace: &str, pod: &Value) {
        let url = ObservedPod::url_path(&(), Some(namespace));
        let Ok(body) = serde_json::to_vec(pod) else { return };
        let Ok(request) = Request::new(url).create(&PostParams::default(), body) else { return };
        if let Ok(made) = self.client.request::<ObservedPod>(request).await {
            self.pod(made, true);
        }
    }
}
