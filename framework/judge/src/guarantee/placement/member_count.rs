//! Checks that the number of chosen members is within the spread constraint: PLACEMENT.

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Scheduling};

static PLACEMENT_02: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-02",
    sentence: "the number of chosen members is within the spread constraint",
    features: &[Feature::SpreadConstraints],
    formula: "minGroups to maxGroups, at every choice",
    releases: "all",
    source: "Karmada pkg/scheduler/core/spreadconstraint/select_clusters_by_cluster.go",
};

/// Requirement L7: whenever members are chosen, their number is within the constraint on members.
///
/// An eviction may leave fewer members. If too few members are available, no new one is chosen.
pub(crate) struct MemberCountWithinConstraint;

impl Guarantee for MemberCountWithinConstraint {
    accessors!(PLACEMENT_02, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, first: false, .. } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        let chosen = workload.assignment.keys().any(|member| !was.contains_key(member));
        let Some(spread) = workload.placement.spread_over_members().filter(|_| chosen) else { return };
        let count = workload.assignment.len() as u64;
        // A constraint on regions may need more members than this one allows.
        let most = spread.max.filter(|_| !workload.placement.spreads_over_groups()).unwrap_or(u64::MAX);
        // A divided workload leaves out members with an empty share.
        let least = if workload.placement.scheduling == Scheduling::Duplicated { spread.min } else { 0 };
        if (least..=most).contains(&count) {
            return context.tally.record_held();
        }
        let most = spread.max.map_or("any number of".to_owned(), |most| most.to_string());
        let subject = Subject { workload: Some(key.clone()), member: None };
        let because = format!("the policy requires {} to {most} members", spread.min);
        let seen = format!("{count} members are assigned");
        context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
    }
}
