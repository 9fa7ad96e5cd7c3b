//! Checks that replicas which a template leaves to the members are not reset: DELIVERY.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact};

static DELIVERY_15: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-15",
    sentence: "a replica count that a template leaves to the members is not reset after a member has changed it",
    features: &[Feature::RetainedReplicas],
    formula: "until latency after the member changes them",
    releases: "all",
    source: "Karmada pkg/resourceinterpreter/default/native/retain.go, retainWorkloadReplicas",
};

/// Requirement P7: a change of the replicas in the member is not undone.
#[derive(Default)]
pub(crate) struct RetainedReplicasStay {
    /// The replicas of such copies, and the time of their last change.
    had: BTreeMap<Subject, (u64, Duration)>,
}

impl Guarantee for RetainedReplicasStay {
    accessors!(DELIVERY_15, [Running, RunningGone, DeliveryGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Running { workload: key, member } => {
                let Some(workload) = context.workload(key) else { return };
                let subject = Subject::on(key, member);
                let delivery = workload.deliveries.get(member);
                let left = delivery
                    .filter(|it| it.labels.contains_key("resourcetemplate.karmada.io/retain-replicas"));
                let Some((delivery, running)) = left.zip(workload.running.get(member)) else {
                    self.had.remove(&subject);
                    return;
                };
                let now = running.replicas;
                let before = self.had.get(&subject).copied();
                if before.is_some_and(|(had, _)| had == now) {
                    return;
                }
                self.had.insert(subject.clone(), (now, fact.at));
                let Some((had, since)) = before else { return };
                let undone =
                    now == delivery.replicas && fact.at <= since.saturating_add(context.timings().latency);
                if !undone || context.world.has_lost(member, fact.at, Duration::ZERO) {
                    return context.tally.record_held();
                }
                let because =
                    format!("the template leaves the replicas to {member}, which has set them to {had}");
                let seen = format!("the replicas are {now} again, as in the manifest");
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
            Change::RunningGone { workload, member } | Change::DeliveryGone { workload, member } => {
                self.had.remove(&Subject::on(workload, member));
            }
            _ => {}
        }
    }
}
