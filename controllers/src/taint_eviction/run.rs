//! Follows the taints of nodes and the pods, and deletes each pod when it is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kube::ResourceExt;
use tokio::task::JoinSet;

use super::agenda::{Agenda, Doomed, Key};
use super::delete::{delete, publish};
use crate::api::NO_EXECUTE;
use crate::machinery::Change;
use crate::node_lifecycle::{BY_NODE, NodeContext, Seen, node_of};
use crate::rules::node::Timer;

/// The state of the controller.
struct Evictions {
    context: Arc<NodeContext>,
    /// The NoExecute taints of the nodes that have some.
    tainted: BTreeMap<String, Vec<Taint>>,
    agenda: Agenda,
    /// The deletions under way, each with whether nothing is left to do.
    under_way: JoinSet<Option<(Doomed, bool)>>,
}

/// Evicts pods, for ever.
pub(crate) async fn run(context: Arc<NodeContext>) {
    let (mut nodes, mut pods) = (Box::pin(context.nodes.changes()), Box::pin(context.pods.changes()));
    let clock = context.clock;
    let mut evictions =
        Evictions { context, tainted: BTreeMap::new(), agenda: Agenda::default(), under_way: JoinSet::new() };
    loop {
        let next = evictions.agenda.next();
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
            Some(Ok(Some((doomed, done)))) = evictions.under_way.join_next() => evictions.ended(&doomed, done),
            () = due => evictions.start_due(),
        }
    }
}

impl Evictions {
    /// Handles a change of a node; only its NoExecute taints matter. The taints of a deleted node are forgotten, but
    /// deletions that are scheduled for them stay.
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
            self.judge(&pod, &taints);
        }
    }

    /// Handles a change of a pod; only its existence, its node and its tolerations matter.
    fn pod_changed(&mut self, change: &Change<Seen<Pod>>) {
        let Some(pod) = &change.after else {
            self.agenda.cancel(&key(change.object()));
            return;
        };
        let what_matters =
            |pod: &Seen<Pod>| (pod.uid(), node_of(pod).map(str::to_owned), tolerations(pod).to_vec());
        if change.differs(what_matters)
            && let Some(taints) = node_of(pod).and_then(|node| self.tainted.get(node)).cloned()
        {
            self.judge(pod, &taints);
        }
    }

    fn judge(&mut self, pod: &Pod, taints: &[Taint]) {
        if pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        let (rules, clock) = (&self.context.rules, self.context.clock);
        // The due time follows from stamps, so it depends on the present setting of the clock. The wait uses the steady
        // clock, whatever happens to that setting later.
        let (now, shown) = (clock.steady(), clock.now());
        let due = rules.pod_due(taints, tolerations(pod), came(pod).unwrap_or(shown), shown);
        let uid = if rules.deletes_by_uid() { pod.uid().unwrap_or_default() } else { String::new() };
        let mut doomed = Doomed { key: key(pod), uid, since: now, failures: 0 };
        match rules.timer(self.agenda.has(&doomed.key), due) {
            Timer::Keep => {}
            Timer::Set(at) => {
                let at = clock.steady_at(at);
                doomed.since = at;
                self.agenda.set(doomed, at);
            }
            Timer::Now => {
                self.cancel(&doomed.key);
                self.agenda.set(doomed, now);
            }
            Timer::Cancel => self.cancel(&doomed.key),
        }
    }

    fn cancel(&mut self, key: &Key) {
        if self.agenda.cancel(key) {
            publish(&self.context, key, "Cancelling deletion of Pod");
        }
    }

    fn start_due(&mut self) {
        let now = self.context.clock.steady();
        while let Some(doomed) = self.agenda.take(now) {
            let context = Arc::clone(&self.context);
            self.under_way.spawn(async move {
                let done = delete(&context, &doomed).await;
                if done {
                    let late = context.clock.steady().duration_since(doomed.since);
                    context.metrics.deleted(late.try_into().unwrap_or_default());
                }
                Some((doomed, done))
            });
        }
    }

    fn ended(&mut self, doomed: &Doomed, done: bool) {
        let pause = self.context.rules.deletion_pause(doomed.failures + 1).filter(|_| !done);
        self.agenda.end(doomed, pause.map(|pause| (self.context.clock.steady(), pause)));
    }
}

fn key(pod: &Pod) -> Key {
    (pod.namespace().unwrap_or_default(), pod.name_any())
}

/// When the pod was bound to its node; when it was created, where no binding is reported.
fn came(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let bound = conditions.into_iter().find(|told| told.type_ == "PodScheduled" && told.status == "True");
    let bound = bound.and_then(|told| told.last_transition_time.as_ref()).map(|time| time.0);
    bound.max(pod.creation_timestamp().map(|created| created.0))
}

fn evicting(node: &Node) -> Vec<Taint> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    taints.iter().filter(|taint| taint.effect == NO_EXECUTE).cloned().collect()
}

fn tolerations(pod: &Pod) -> &[Toleration] {
    pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}
