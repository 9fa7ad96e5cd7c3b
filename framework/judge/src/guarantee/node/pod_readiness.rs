//! The pods of a node that has fallen silent do not count as ready.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::court::{Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::{Rule, Subject};
use crate::profile::Feature;
use crate::text::clock;
use capsize_history::facts::{Fact, Health, InstanceHealth, News};

static NODE_08: Rule = Rule {
    id: "NODE-08",
    sentence: "the pods of a node that becomes Unknown are not ready",
    features: &[Feature::PullMembers],
    formula: bounds::MARKED,
    releases: "the target for all; Kubernetes leaves them ready where the node was not Ready before (#109998)",
    source: "Kubernetes pkg/controller/util/node/controller_utils.go, MarkPodsNotReady",
};

/// I35: every pod that counts as ready on it when its node becomes unknown, whatever the node was before.
#[derive(Default)]
pub(crate) struct PodsOfUnknownNodeAreNotReady(Waits);

impl Guarantee for PodsOfUnknownNodeAreNotReady {
    fn rule(&self) -> &'static Rule {
        &NODE_08
    }

    fn topics(&self) -> Topics {
        topics![Health, MemberGone, InstanceHealth, WorkloadGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.0)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::Health { member, was: Some(_), now: Some(Health::Unknown), .. } => {
                let limit = bounds::marked(court.timings());
                let on_it = court.world.assigned_to(member).filter(|(_, workload)| {
                    workload.instances.get(member).is_some_and(|told| told.health == InstanceHealth::Healthy)
                });
                for (key, _) in on_it {
                    let reason = Reason {
                        because: format!("{member} is Unknown since {}", clock(fact.at)),
                        missing: format!("{key} still counts as ready"),
                    };
                    self.0.start(Subject::on(key, member), fact, limit, reason);
                }
            }
            News::Health { member, now: Some(Health::Ready), .. } | News::MemberGone(member) => {
                self.0.cancel_all(|subject| subject.is_on(member));
            }
            News::InstanceHealth { workload, member } => {
                let told = court.workload(workload).and_then(|known| known.instances.get(member));
                if told.is_some_and(|told| told.health != InstanceHealth::Healthy)
                    && let Some(left) = self.0.met(&Subject::on(workload, member), fact)
                {
                    court.book.held_by(left);
                }
            }
            News::WorkloadGone(key) => self.0.cancel_of(key, |_| true),
            _ => {}
        }
    }
}
