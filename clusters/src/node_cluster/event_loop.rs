//! The event loop of a cluster: watches nodes, pods and owners, and executes planned steps.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::{Clock, Stream};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::cluster::{Nodes, SharedState};
use super::observed_pod::ObservedPod;
use super::owners::Owner;
use super::pods::Key;
use super::scheduler::{Place, Places};
use super::stage::Stages;

/// A step that is planned for a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Bind a pod to a node.
    Schedule(Key),
    /// Report a pod as ready.
    Start(Key),
    /// Remove a terminating pod.
    Stop(Key),
    /// End a pod on a node that shuts down.
    End(Key),
    /// Reject a pod that came to a node which shuts down.
    Reject(Key),
    /// Remove a terminating pod of a node that is out of service.
    Collect(Key),
    /// Create the missing pods of an owner, and delete surplus pods.
    Count(Key),
}

/// The state of the loop.
pub(super) struct EventLoop {
    pub client: Client,
    pub clock: Clock,
    pub stages: Stages,
    pub machines: Nodes,
    pub chance: Stream,
    pub places: Places,
    pub pods: BTreeMap<Key, Arc<ObservedPod>>,
    /// The pods that are bound to each node.
    pub on_node: BTreeMap<String, BTreeSet<Key>>,
    /// The pods of each owner; the value is false for terminating pods.
    pub of_owner: BTreeMap<Key, BTreeMap<Key, bool>>,
    pub owners: BTreeMap<Key, Owner>,
    /// Pods that fit on no node.
    pub unschedulable: BTreeSet<Key>,
    /// Steps that wait until the kubelet of their node is available again.
    pub waiting_for_kubelet: BTreeSet<Step>,
    /// Whether the garbage collector of pods knows nodes that are out of service.
    pub collects: bool,
    /// The nodes whose terminating pods the garbage collector of pods removes.
    pub out_of_service: BTreeSet<String>,
    due: BTreeSet<(Instant, Step)>,
    when: BTreeMap<Step, Instant>,
}

/// Runs the loop. Never returns.
pub(super) async fn run(
    (client, clock): (Client, Clock),
    SharedState { stages, machines, collects }: SharedState,
    changed: Arc<Notify>,
    chance: Stream,
) {
    let mut nodes = pin!(watcher(Api::<Node>::all(client.clone()), Config::default()));
    let mut pods = pin!(watcher(Api::<ObservedPod>::all(client.clone()), Config::default()));
    // These objects are read as JSON, because the types of their pods have many fields that are not needed here.
    let deployment = ApiResource::erase::<Deployment>(&());
    let set = ApiResource::erase::<StatefulSet>(&());
    let daemon = ApiResource::erase::<DaemonSet>(&());
    let owners =
        |kind| watcher(Api::<DynamicObject>::all_with(client.clone(), kind), Config::default()).boxed();
    let mut deployments = owners(&deployment);
    let mut sets = owners(&set);
    let mut daemons = owners(&daemon);
    let mut event_loop = EventLoop {
        client,
        clock,
        stages,
        machines,
        chance,
        places: Places::default(),
        pods: BTreeMap::new(),
        on_node: BTreeMap::new(),
        of_owner: BTreeMap::new(),
        owners: BTreeMap::new(),
        unschedulable: BTreeSet::new(),
        waiting_for_kubelet: BTreeSet::new(),
        collects,
        out_of_service: BTreeSet::new(),
        due: BTreeSet::new(),
        when: BTreeMap::new(),
    };
    loop {
        let next = event_loop.due.first().map(|(at, _)| *at);
        let due = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        // A watcher restarts itself; there is nothing to do while the API server is down.
        tokio::select! {
            biased;
            Some(event) = nodes.next() => dispatch(event, |node, exists| event_loop.node(&node, exists)),
            Some(event) = pods.next() => dispatch(event, |pod, exists| event_loop.pod_event(pod, exists)),
            Some(event) = deployments.next() => dispatch(event, |owner, exists| event_loop.owner(Owner::of(&deployment, &owner), exists)),
            Some(event) = sets.next() => dispatch(event, |owner, exists| event_loop.owner(Owner::of(&set, &owner), exists)),
            Some(event) = daemons.next() => dispatch(event, |owner, exists| event_loop.owner(Owner::of(&daemon, &owner), exists)),
            () = changed.notified() => {
                event_loop.release();
                event_loop.end_pods_of_stopping_nodes();
            }
            () = due => event_loop.step().await,
        }
    }
}

fn dispatch<K, E>(event: Result<Event<K>, E>, mut take: impl FnMut(K, bool)) {
    match event {
        Ok(Event::Apply(object) | Event::InitApply(object)) => take(object, true),
        Ok(Event::Delete(object)) => take(object, false),
        Ok(Event::Init | Event::InitDone) | Err(_) => {}
    }
}

impl EventLoop {
    /// Plans a step for `after` from now, unless it is already planned.
    pub(super) fn plan(&mut self, step: Step, after: Duration) {
        if !self.is_planned(&step) {
            let at = Instant::now() + after;
            self.when.insert(step.clone(), at);
            self.due.insert((at, step));
        }
    }

    /// Returns true if the step is planned.
    pub(super) fn is_planned(&self, step: &Step) -> bool {
        self.when.contains_key(step)
    }

    /// Cancels a planned step.
    pub(super) fn forget(&mut self, step: &Step) {
        if let Some(at) = self.when.remove(step) {
            self.due.remove(&(at, step.clone()));
        }
        self.waiting_for_kubelet.remove(step);
    }

    async fn step(&mut self) {
        let Some((_, step)) = self.due.pop_first() else { return };
        self.when.remove(&step);
        match &step {
            Step::Schedule(key) => self.schedule(key).await,
            Step::Collect(key) => {
                let key = key.clone();
                self.take(&step, &key).await;
            }
            Step::Start(key) | Step::Stop(key) | Step::End(key) | Step::Reject(key) => {
                let key = key.clone();
                if self.reaches(&key) {
                    self.take(&step, &key).await;
                } else {
                    self.waiting_for_kubelet.insert(step);
                }
            }
            Step::Count(key) => self.count(key).await,
        }
    }

    /// Returns true if steps of the pod can be executed.
    /// Steps can be executed if the kubelet of the pod's node is available, or if the node does not exist.
    fn reaches(&self, key: &Key) -> bool {
        let node = self.pods.get(key).and_then(|pod| pod.node());
        node.filter(|node| self.places.has(node))
            .and_then(|node| self.machines.get(node))
            .is_none_or(|machine| machine.kubelet.is_connected())
    }

    /// Plans the steps that waited for a kubelet again.
    fn release(&mut self) {
        for step in std::mem::take(&mut self.waiting_for_kubelet) {
            self.plan(step, Duration::ZERO);
        }
    }

    fn node(&mut self, node: &Node, exists: bool) {
        let name = node.name_any();
        let ready = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let ready =
            ready.into_iter().find(|condition| condition.type_ == "Ready").map(|ready| ready.status.clone());
        let is_ready = ready.as_deref() == Some("True");
        if let Some(machine) = self.machines.get(&name) {
            machine.set_ready_status(ready.filter(|_| exists));
        }
        self.note_out_of_service(node, self.collects && exists && !is_ready);
        if !exists {
            self.places.remove(&name);
            return self.plan_removals(&name);
        }
        if !self.places.has(&name) {
            self.cancel_removals(&name);
        }
        let pods = || self.on_node.get(&name).into_iter().flatten().filter_map(|key| self.pods.get(key));
        let fill = |place: &mut Place| pods().for_each(|pod| place.hold(pod));
        if self.places.put(&name, Place::of(node), fill) {
            self.retry_unschedulable();
            let everywhere = self.owners.iter().filter(|(_, owner)| owner.is_everywhere());
            for owner in everywhere.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
                self.recount(&owner);
            }
        }
    }
}
