//! Checks that newly chosen members are eligible: PLACEMENT.

use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::eligible_members::{first_untolerated_taint, is_surely_observed, serves};
use crate::guarantee::engine::suspected_violations::SuspectedViolations;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Member, Workload};

/// Returns why the member must not be newly chosen.
type Refusal = fn(workload: &Workload, name: &str, member: &Member) -> Option<String>;

/// Checks that a newly chosen member is eligible.
///
/// Changes within the latency count as not observed by the scheduler. EVICTION-04 checks members that are both chosen
/// and evicted from.
pub(crate) struct NewMembersAreEligible {
    spec: &'static GuaranteeSpec,
    refusal: Refusal,
    suspected_violations: SuspectedViolations,
}

static PLACEMENT_03: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-03",
    sentence: "a member is chosen only if the workload tolerates its NoSchedule and NoExecute taints",
    features: &[Feature::HealthProbes],
    formula: "at every choice; a taint counts from latency after it is observed",
    releases: "all",
    source: "Karmada pkg/scheduler/framework/plugins/tainttoleration",
};

static PLACEMENT_04: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-04",
    sentence: "a member is chosen only if the policy admits it",
    features: &[],
    formula: "at every choice; a label counts from latency after it is observed",
    releases: "all",
    source: "Karmada pkg/scheduler/framework/plugins/clusteraffinity, spreadconstraint",
};

static PLACEMENT_05: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-05",
    sentence: "a member is chosen only if its API serves the workload's kind",
    features: &[Feature::HealthProbes],
    formula: "at every choice; an API resource counts from latency after it is observed",
    releases: "all",
    source: "Karmada pkg/scheduler/framework/plugins/apienablement",
};

static PLACEMENT_06: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-06",
    sentence: "a member that is being removed is not chosen",
    features: &[],
    formula: "at every choice, from latency after the removal begins",
    releases: "all; until 1.13 by means of a NoExecute taint, which may be tolerated",
    source: "Karmada pkg/scheduler/core/generic_scheduler.go",
};

impl NewMembersAreEligible {
    fn new(spec: &'static GuaranteeSpec, refusal: Refusal) -> Self {
        Self { spec, refusal, suspected_violations: SuspectedViolations::default() }
    }

    /// Checks that the workload tolerates the taints of a new member (requirement L2).
    pub(crate) fn tolerated() -> Self {
        Self::new(&PLACEMENT_03, |workload, name, member| {
            Some(format!(
                "{name} has {}, which the workload does not tolerate",
                first_untolerated_taint(workload, member)?
            ))
        })
    }

    /// Checks that the policy admits a new member (requirement L3).
    pub(crate) fn admitted() -> Self {
        Self::new(&PLACEMENT_04, |workload, name, member| {
            (!workload.placement.admits(name, member)).then(|| {
                format!("{name} does not match the affinity, or lacks the field of a spread constraint")
            })
        })
    }

    /// Checks that a new member serves the kind of the workload (requirement L4).
    pub(crate) fn served() -> Self {
        Self::new(&PLACEMENT_05, |workload, name, member| {
            (serves(workload, member) == Some(false))
                .then(|| format!("{name} does not serve {}", workload.served_as))
        })
    }

    /// Checks that a new member is not being removed (requirement L6).
    pub(crate) fn not_leaving() -> Self {
        Self::new(&PLACEMENT_06, |_, name, member| member.leaving.then(|| format!("{name} is being removed")))
    }
}

impl Guarantee for NewMembersAreEligible {
    accessors!(self.spec, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        // A change of the replicas makes no member eligible.
        let is_recent = !workload.constrained_since.is_zero()
            && workload.constrained_since > context.latest_surely_observed(fact.at);
        for name in now.keys().filter(|name| !was.contains_key(*name)) {
            let Some(member) = context.member(name) else { continue };
            if workload.eviction(name).is_some() {
                continue;
            }
            match (self.refusal)(workload, name, member) {
                None => context.tally.record_held(),
                // The scheduler may not have observed the change.
                Some(_) if !is_surely_observed(member, fact.at, context) || is_recent => {}
                Some(because) => {
                    let seen = format!("{name} is chosen");
                    self.suspected_violations.add(Subject::on(key, name), fact, because, seen);
                }
            }
        }
    }

    fn due(&mut self) -> Duration {
        self.suspected_violations.due()
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let refusal = self.refusal;
        self.suspected_violations.advance_to(now, context, |subject, _, context| {
            let workload = subject.workload.as_ref().and_then(|key| context.workload(key));
            let member = subject.member.as_ref().and_then(|name| context.world.members.get_key_value(name));
            let refused = |workload: &Workload, (name, member): (&String, &Member)| {
                refusal(workload, name, member).is_some()
            };
            !workload.zip(member).is_some_and(|(workload, member)| refused(workload, member))
        });
    }
}
