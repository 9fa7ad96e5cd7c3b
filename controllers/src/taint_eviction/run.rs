//! Follows the taints of nodes and the pods, and deletes each pod when it is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kube::ResourceExt;
use tokio::task::JoinSet;

use super::delete::{delete, publish};
use super::deletion_schedule::{DeletionSchedule, Key, PendingDeletion};
use crate::api::NO_EXECUTE;
use crate::machinery::Change;
use crate::node_lifecycle::{BY_NODE, NodeContext, TrimmedObject, node_of};
use crate::rules::node::Timer;

/// The state of the controller.
struct Evictions {
    context: Arc<NodeContext>,
    /// The NoExecute taints of the nodes that have some.
    tainted: BTreeMap<String, Vec<Taint>>,
    schedule: DeletionSchedule,
    /// The deletions under way, each with whether nothing is left to do.
    deletions: JoinSet<Option<(PendingDeletion, bool)>>,
}

/// Evicts pods, for ever.
pub(crate) async fn run(context: Arc<NodeContext>) {
    let (mut nodes, mut pods) = (Box::pin(context.nodes.changes()), Box::pin(context.pods.changes()));
    let clock = context.clock;
    let mut evictions = Evictions {
        context,
        tainted: BTreeMap::new(),
        schedule: DeletionSchedule::default(),
        deletions: JoinSet::new(),
    };
    loop {
        let next = evictions.schedule.next_due();
        let due = async {
            match next.map(|at| at.duration_since(clock.steady())) {
                Some(left) => clock.sleep(left.try_into().unwrap_or_default()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(change) = nodes.next() => evictions.node_changed(&change),
            Some(change) = pods.next() => evictions.pod_changed(&change),
            Some(Ok(Some((deletion, done)))) = evictions.deletions.join_next() => evictions.deletion_ended(&deletion, done),
            () = due => evictions.start_due(),
        }
    }
}

impl Evictions {
    /// Handles a change of a node; only its NoExecute taints matter.
    /// The taints of a deleted node are forgotten, but deletions that are scheduled for them stay.
    fn node_changed(&mut self, change: &Change<Node>) {
        let name = change.object().name_any();
        let Some(node) = &change.after else {
            self.tainted.remove(&name);
            return;
        };
        let taints = evicting(node);
        if taints == self.tainted.get(&name).map(Vec::as_slice).unwrap_or_default() {
            return;
        }
        if taints.is_empty() {
            self.tainted.remove(&name);
        } else {
            self.tainted.insert(name.clone(), taints.clone());
        }
        for pod in self.context.pods.by(BY_NODE, &name) {
            self.reschedule(&pod, &taints);
        }
    }

    /// Handles a change of a pod; only its existence, its node and its tolerations matter.
    fn pod_changed(&mut self, change: &Change<TrimmedObject<Pod>>) {
        let Some(pod) = &change.after else {
            self.schedule.cancel(&key(change.object()));
            return;
        };
        let relevant_parts = |pod: &TrimmedObject<Pod>| {
            (pod.uid(), node_of(pod).map(str::to_owned), tolerations(pod).to_vec())
        };
        if change.differs(relevant_parts)
            && let Some(taints) = node_of(pod).and_then(|node| self.tainted.get(node)).cloned()
        {
            self.reschedule(pod, &taints);
        }
    }

    fn reschedule(&mut self, pod: &Pod, taints: &[Taint]) {
        if pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        let (rules, clock) = (&self.context.rules, self.context.clock);
        // The due time follows from stamps, so it depends on the present setting of the clock. The wait uses the steady
        // clock, whatever happens to that setting later.
        let (now, shown) = (clock.steady(), clock.now());
        let due = rules.pod_due(taints, tolerations(pod), bound_at(pod).unwrap_or(shown), shown);
        let uid = if rules.deletes_by_uid() { pod.uid().unwrap_or_default() } else { String::new() };
        let mut deletion = PendingDeletion { key: key(pod), uid, since: now, failures: 0 };
        match rules.timer(self.schedule.has(&deletion.key), due) {
            Timer::Keep => {}
            Timer::Set(at) => {
                let at = clock.steady_at(at);
                deletion.since = at;
                self.schedule.set(deletion, at);
            }
            Timer::Now => {
                self.cancel(&deletion.key);
                self.schedule.set(deletion, now);
            }
            Timer::Cancel => self.cancel(&deletion.key),
        }
    }

    fn cancel(&mut self, key: &Key) {
        if self.schedule.cancel(key) {
            publish(&self.context, key, "Cancelling deletion of Pod");
        }
    }

    fn start_due(&mut self) {
        let now = self.context.clock.steady();
        while let Some(deletion) = self.schedule.take_due(now) {
            let context = Arc::clone(&self.context);
            self.deletions.spawn(async move {
                let done = delete(&context, &deletion).await;
                if done {
                    let late = context.clock.steady().duration_since(deletion.since);
                    context.metrics.record_deletion(late.try_into().unwrap_or_default());
                }
                Some((deletion, done))
            });
        }
    }

    fn deletion_ended(&mut self, deletion: &PendingDeletion, done: bool) {
        let pause = self.context.rules.deletion_pause(deletion.failures + 1).filter(|_| !done);
        self.schedule.finish(deletion, pause.map(|pause| (self.context.clock.steady(), pause)));
    }
}

fn key(pod: &Pod) -> Key {
    (pod.namespace().unwrap_or_default(), pod.name_any())
}

/// When the pod was bound to its node; when it was created, where no binding is reported.
fn bound_at(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let bound = conditions
        .into_iter()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "True");
    let bound = bound.and_then(|condition| condition.last_transition_time.as_ref()).map(|time| time.0);
    bound.max(pod.creation_timestamp().map(|created| created.0))
}

fn evicting(node: &Node) -> Vec<Taint> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    taints.iter().filter(|taint| taint.effect == NO_EXECUTE).cloned().collect()
}

fn tolerations(pod: &Pod) -> &[Toleration] {
    pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}
