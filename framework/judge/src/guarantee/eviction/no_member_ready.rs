//! Checks that no workload is evicted from an unhealthy member while no member is Ready: EVICTION.

use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact, Member, Workload};

static EVICTION_17: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-17",
    sentence: "while no member is Ready, no workload leaves a member because of its health",
    features: &[Feature::HaltsWhenNoneReady],
    formula: "at every change of an assignment, from latency after the last member is no longer Ready",
    releases: "all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, handleDisruption, for clusters",
};

/// Checks that no workload leaves a member for its health while no member is Ready.
/// A control plane that cannot reach any member is probably cut off itself, and there is nowhere to move anything.
#[derive(Default)]
pub(crate) struct NothingLeavesWhileNoneIsReady {
    /// The time since which no member has been Ready; `None` while one is Ready.
    none_since: Option<Duration>,
    /// Whether a workload has left a member since then.
    left: bool,
}

impl Guarantee for NothingLeavesWhileNoneIsReady {
    accessors!(EVICTION_17, [Health, MemberGone, Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else {
            let was = self.none_since;
            self.none_since = context.world.no_member_is_ready().then(|| was.unwrap_or(fact.at));
            if let (Some(was), None) = (was, self.none_since)
                && !std::mem::take(&mut self.left)
                && fact.at > was + context.timings().latency
            {
                context.tally.record_held();
            }
            return;
        };
        let Some(since) = self.none_since else { return };
        let Some(workload) = context.workload(key) else { return };
        if context.may_have_missed(since, fact.at) || context.world.may_have_unobserved_members() {
            return;
        }
        for name in was.keys().filter(|name| !now.contains_key(*name)) {
            if has_other_reason(name, context.member(name), workload, fact) {
                continue;
            }
            self.left = true;
            let because = format!("no member has been Ready since {}", clock(since));
            let seen = format!("{key} is no longer assigned to {name}");
            let subject = Subject::on(key, name);
            context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
        }
    }
}

/// Returns true if the workload may leave the member for another reason than the health of the member.
fn has_other_reason(name: &str, member: Option<&Member>, workload: &Workload, fact: &Fact) -> bool {
    let Some(member) = member else { return true };
    let by_hand = member.evicting_taints().any(|taint| taint.health.is_none());
    let asked = workload.wanted_since == fact.at || !workload.placeable;
    member.leaving || by_hand || asked || !workload.placement.surely_admits(name, member)
}
