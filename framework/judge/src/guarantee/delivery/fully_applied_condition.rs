//! Checks that the condition `FullyApplied` agrees with the manifests: DELIVERY and LIVENESS.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{Change, Fact, Health, Workload, WorkloadKey};

static DELIVERY_06: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-06",
    sentence: "a workload is reported as applied only if its manifest is applied, and as fully applied only if this holds for every member that holds it",
    features: &[],
    formula: bounds::CHANGE_REPORTED,
    releases: "all; Karmada reported it always until 1.7 (#3709), and after a failed re-creation until 1.9 (#4341)",
    source: "Karmada pkg/util/helper/workstatus.go",
};

/// Checks that the condition `FullyApplied` agrees with the manifests, in one direction or the other.
pub(crate) struct FullyAppliedCondition {
    pub(crate) spec: &'static GuaranteeSpec,
    pub(crate) wrong: fn(workload: &Workload) -> Option<Expectation>,
    /// Whether nothing is required while a member that holds the workload is lost.
    /// This concerns targets whose reports have to leave out the copies in lost members.
    pub(crate) ignores_lost_copies: bool,
    pub(crate) deadlines: Deadlines,
}

impl FullyAppliedCondition {
    /// Requirement S18: fully applied is reported only if it is true.
    pub(crate) fn not_reported_early() -> Self {
        let wrong = |workload: &Workload| {
            let applied =
                |member: &String| workload.instances.get(member).is_some_and(|instance| instance.applied);
            let failed = |member: &&String| {
                applied(member)
                    && workload.deliveries.get(*member).is_some_and(|it| it.applied == Some(false))
            };
            if let Some(member) = workload.holders().find(failed) {
                return Some(Expectation {
                    because: format!("the manifest for {member} reports that it is not applied"),
                    observed: format!("the workload is reported as applied to {member}"),
                });
            }
            let member = workload.holders().find(|member| !applied(member))?;
            (workload.condition("FullyApplied") == "True").then(|| Expectation {
                because: format!("it is not reported as applied to {member}"),
                observed: "it is reported as fully applied".to_owned(),
            })
        };
        Self { spec: &DELIVERY_06, wrong, ignores_lost_copies: false, deadlines: Deadlines::default() }
    }
}

impl Guarantee for FullyAppliedCondition {
    accessors!(
        self.spec,
        [Recorded, DeliveryReported, Recalled, DeliveryGone, WorkloadGone, Health],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Recorded(key)
            | Change::DeliveryReported { workload: key, .. }
            | Change::Recalled { workload: key, .. }
            | Change::DeliveryGone { workload: key, .. } => self.look(key, fact, context),
            Change::Health { member, .. } if self.ignores_lost_copies && reports_lost_copies(context) => {
                for (key, _) in context.world.assigned_to(member) {
                    self.look(key, fact, context);
                }
            }
            Change::WorkloadGone(key) => self.deadlines.cancel(&Subject::workload(key)),
            _ => {}
        }
    }
}

impl FullyAppliedCondition {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key).filter(|each| each.recorded) else {
            return;
        };
        // Controllers that cannot write the manifest for a member do not get to the condition.
        if workload.holders().any(|member| context.world.is_closed(member)) {
            return self.deadlines.cancel(&Subject::workload(key));
        }
        if self.ignores_lost_copies && reports_lost_copies(context) && has_lost_holder(workload, context) {
            return self.deadlines.cancel(&Subject::workload(key));
        }
        // A dialect that is data may not read the condition, or reads it from manifests that are not recorded.
        let is_shown = |member: &String| {
            workload.deliveries.contains_key(member) || workload.instances.contains_key(member)
        };
        let unread = workload.condition("FullyApplied").is_empty() || !workload.holders().all(is_shown);
        if unread && matches!(context.profile.dialect, DialectKind::Data(_)) {
            return self.deadlines.cancel(&Subject::workload(key));
        }
        let wrong = (self.wrong)(workload);
        let limit = bounds::change_reported(context.timings());
        self.deadlines.expect_correction(Subject::workload(key), fact, limit, wrong, context);
    }
}

/// Whether the target promises that its reports say so if a copy is in a lost member.
fn reports_lost_copies(context: &JudgeContext<'_>) -> bool {
    context.profile.has(Feature::ReportsLostCopies)
}

/// Whether a member that holds the workload is Unknown.
/// A true report may count its copy or leave it out.
pub(crate) fn has_lost_holder(workload: &Workload, context: &JudgeContext<'_>) -> bool {
    let health = |name: &String| context.member(name).and_then(|member| member.health);
    workload.holders().any(|name| health(name) == Some(Health::Unknown))
}
