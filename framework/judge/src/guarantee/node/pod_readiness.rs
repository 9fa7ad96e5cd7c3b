//! Checks that the pods of an Unknown node are marked as not ready: NODE.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact, Health, InstanceHealth};

static NODE_08: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-08",
    sentence: "the pods of a node that becomes Unknown are marked as not ready",
    features: &[Feature::PullMembers],
    formula: bounds::PODS_MARKED,
    releases: "the target for all; Kubernetes leaves them ready if the node was not Ready before (#109998)",
    source: "Kubernetes pkg/controller/util/node/controller_utils.go, MarkPodsNotReady",
};

/// Checks that the ready pods of a node that becomes Unknown are marked as not ready (requirement I35).
/// The condition of the node before does not matter.
#[derive(Default)]
pub(crate) struct PodsOfUnknownNodeAreNotReady(Deadlines);

impl Guarantee for PodsOfUnknownNodeAreNotReady {
    accessors!(NODE_08, [Health, MemberGone, InstanceHealth, WorkloadGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, was: Some(_), now: Some(Health::Unknown), .. } => {
                let limit = bounds::pods_marked(context.timings());
                // A pod that is being deleted is marked, too.
                let on_it = context.world.workloads.iter().filter(|(_, workload)| {
                    let instance = workload.instances.get(member);
                    let is_on_it =
                        workload.assignment.contains_key(member) || workload.eviction(member).is_some();
                    is_on_it && instance.is_some_and(|instance| instance.health == InstanceHealth::Healthy)
                });
                for (key, _) in on_it {
                    let expectation = Expectation {
                        because: format!("{member} has been Unknown since {}", clock(fact.at)),
                        observed: format!("{key} still counts as ready"),
                    };
                    self.0.start(Subject::on(key, member), fact, limit, expectation);
                }
            }
            Change::Health { member, now: Some(Health::Ready), .. } | Change::MemberGone(member) => {
                self.0.cancel_all(|subject| subject.is_on(member));
            }
            Change::InstanceHealth { workload, member } => {
                let instance = context.workload(workload).and_then(|known| known.instances.get(member));
                if instance.is_some_and(|instance| instance.health != InstanceHealth::Healthy)
                    && let Some(margin) = self.0.close_as_met(&Subject::on(workload, member), fact)
                {
                    context.tally.record_held_by(margin);
                }
            }
            Change::WorkloadGone(key) => self.0.cancel_of(key, |_| true),
            _ => {}
        }
    }
}
