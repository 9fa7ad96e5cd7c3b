//! Checks that a taint which no controller owns stays until a person removes it: TAINT.

use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::suspected_violations::SuspectedViolations;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Member};

static TAINT_09: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-09",
    sentence: "a taint that is neither a health taint nor in a policy stays until a person removes it",
    features: &[Feature::HealthProbes],
    formula: "at every version, if the history records the actions of persons",
    releases: "all; Karmada's taint policies lost the changes of other writers until 1.18 (#7346)",
    source: "Karmada pkg/controllers/taint/clustertaintpolicy_controller.go",
};

/// Requirement H6: controllers keep each taint that is neither a health taint nor in a policy.
#[derive(Default)]
pub(crate) struct ManualTaintsStay {
    suspected_violations: SuspectedViolations,
}

/// Returns true if a person removed a taint at about the time of `fact`.
fn by_hand(member: Option<&Member>, fact: &Fact, slack: Duration) -> bool {
    let act = member.and_then(|member| member.untainted_by_hand);
    act.is_some_and(|act| act.saturating_add(slack) >= fact.at)
}

impl Guarantee for ManualTaintsStay {
    accessors!(TAINT_09, [TaintRemoved]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::TaintRemoved { member: name, taint } = &fact.change else { return };
        let world = context.world;
        let lists = |policy: &capsize_history::facts::TaintPolicy| {
            policy.taints.iter().any(|(key, effect)| *key == taint.key && *effect == taint.effect)
        };
        let others = taint.health.is_some() || world.taint_policies.values().any(lists);
        let terminating = taint.key.ends_with("/terminating");
        // The policy of a taint may be missing in a history that begins late.
        if others || terminating || world.begun_late || !world.acts_are_marked {
            return;
        }
        let member = world.members.get(name);
        // A taint that still exists with another time was set again.
        let again = |member: &Member| {
            member.taints.iter().any(|each| each.key == taint.key && each.effect == taint.effect)
        };
        let slack = context.timings().latency.max(context.disorder());
        if member.is_none_or(again) || by_hand(member, fact, slack) {
            return context.tally.record_held();
        }
        let because = "no person has removed it".to_owned();
        self.suspected_violations.add(Subject::member(name), fact, because, format!("{name} loses {taint}"));
    }

    fn due(&mut self) -> Duration {
        self.suspected_violations.due()
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let slack = context.timings().latency.max(context.disorder());
        self.suspected_violations.advance_to(now, context, |subject, fact, context| {
            let member = subject.member.as_ref().and_then(|name| context.member(name));
            by_hand(member, fact, slack)
        });
    }
}
