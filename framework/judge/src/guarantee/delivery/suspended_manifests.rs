//! Checks that manifests are held back while dispatching is suspended: DELIVERY.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::faults_on_members::{OutdatedViews, is_hit};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Delivery, Fact, WorkloadKey, World};

static DELIVERY_14: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-14",
    sentence: "manifests are not carried out in a member while dispatching to it is suspended",
    features: &[Feature::SuspendedDispatching],
    formula: bounds::CHANGE_REPORTED,
    releases: "1.11 and newer; Karmada still repaired copies until 1.15 (#6525)",
    source: "Karmada pkg/controllers/binding/common.go; pkg/controllers/{execution,status}",
};

/// Checks that the manifest is suspended while the record is (requirement P6).
/// A copy that was deleted in the member meanwhile does not come back.
#[derive(Default)]
pub(crate) struct SuspendedManifestsAreHeldBack {
    deadlines: Deadlines,
    /// The copies that were deleted while their manifests were suspended.
    taken: BTreeSet<Subject>,
    /// The members whose agents may not have observed the suspension.
    outdated_views: OutdatedViews,
}

impl Guarantee for SuspendedManifestsAreHeldBack {
    accessors!(
        DELIVERY_14,
        [
            HeldBack,
            EvictionBegan,
            EvictionEnded,
            Delivered,
            DeliveryReported,
            Recalled,
            RunningGone,
            Running,
            WorkloadGone,
            FaultBegan,
            FaultEnded,
            MemberGone
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.outdated_views.observe(fact, context);
        match &fact.change {
            Change::HeldBack(key)
            | Change::EvictionBegan { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. } => {
                let members = context.workload(key).map(|workload| workload.deliveries.keys());
                for member in members.into_iter().flatten() {
                    self.look(key, member, fact, context);
                }
            }
            Change::Delivered { workload, member, .. } | Change::DeliveryReported { workload, member } => {
                self.look(workload, member, fact, context);
            }
            Change::Recalled { workload, member } => {
                let subject = Subject::on(workload, member);
                self.deadlines.cancel(&subject);
                self.taken.remove(&subject);
            }
            Change::RunningGone { workload, member } if is_held_back(workload, member, context.world) => {
                self.taken.insert(Subject::on(workload, member));
            }
            Change::Running { workload, member } => self.runs(workload, member, fact, context),
            Change::WorkloadGone(key) => {
                self.deadlines.cancel_of(key, |_| true);
                self.taken.retain(|subject| !subject.is_of(key));
            }
            _ => {}
        }
    }
}

/// Returns true if the manifest is suspended.
fn is_held_back(key: &WorkloadKey, member: &str, world: &World) -> bool {
    let delivery = world.workloads.get(key).and_then(|workload| workload.deliveries.get(member));
    delivery.is_some_and(|delivery| delivery.suspended)
}

impl SuspendedManifestsAreHeldBack {
    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        if !is_held_back(key, member, context.world) {
            self.taken.remove(&subject);
        }
        let Some(workload) = context.workload(key).filter(|workload| workload.recorded) else {
            return;
        };
        let target = workload.targets().any(|target| target == member);
        // While a task purges an old manifest directly, changes of manifests wait for it.
        let purged = workload.evictions.iter().any(|task| task.directly);
        let asked = |it: &&Delivery| it.placed && it.leaving.is_none() && target && !purged;
        let Some(delivery) = workload.deliveries.get(member).filter(asked) else {
            return self.deadlines.cancel(&subject);
        };
        let asked = workload.held_back.from(member);
        let wrong = (asked != delivery.suspended).then(|| Expectation {
            because: format!(
                "dispatching of {key} to {member} is {}suspended",
                if asked { "" } else { "not " }
            ),
            observed: format!("its manifest is {}suspended", if asked { "not " } else { "" }),
        });
        self.deadlines.expect_correction(
            subject,
            fact,
            bounds::change_reported(context.timings()),
            wrong,
            context,
        );
    }

    fn runs(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let running = context.workload(key).and_then(|workload| workload.running.get(member));
        let subject = Subject::on(key, member);
        let taken = running.is_some_and(|running| running.managed) && self.taken.remove(&subject);
        // An agent that is cut off, or was until now, may not know the suspension.
        let pulls = context.member(member).is_none_or(|known| known.pulls);
        let is_away =
            is_hit(member, context) || !self.outdated_views.remaining_delay(member, fact.at).is_zero();
        // A copy that a restored backup brings back was not written by a controller. A controller whose watches are cut
        // may not know the suspension.
        let excused = context.world.has_lost(member, fact.at, Duration::ZERO)
            || context.controllers_are_hindered(fact.at)
            || pulls && is_away;
        if taken && !excused {
            let because = format!("the manifest for {member} is suspended");
            let seen = format!("{member} has a copy again");
            context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
        }
    }
}
