//! Checks that controllers keep taints of other owners, and their own justified taints: NODE.

use std::time::Duration;

use super::zone::{Pace, is_of_health, paces};
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, NEVER, Violation, accessors};
use crate::guarantee::engine::unmarked_causes::{report_if_actions_are_marked, report_if_faults_are_marked};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact, Member, Taint, TaintEffect};

static NODE_12: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-12",
    sentence: "a taint that the controllers do not own stays on its node until a person removes it",
    features: &[Feature::HealthProbes],
    formula: bounds::SAME_MOMENT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/controller_utils.go, AddOrUpdateTaintOnNode, RemoveTaintOffNode",
};

/// Requirement I14: such a taint does not disappear without a person.
#[derive(Default)]
pub(crate) struct ForeignTaintsStay;

/// The keys of the controllers' own taints, and whether they may have the effect `NoExecute`.
const OWN: [(&str, bool); 7] = [
    ("not-ready", true),
    ("unreachable", true),
    ("memory-pressure", false),
    ("disk-pressure", false),
    ("network-unavailable", false),
    ("pid-pressure", false),
    ("unschedulable", false),
];

fn is_own(taint: &Taint) -> bool {
    let name = taint.key.strip_prefix("node.kubernetes.io/");
    let known = OWN.iter().find(|(own, _)| Some(*own) == name);
    known.is_some_and(|(_, evicts)| match taint.effect {
        TaintEffect::NoSchedule => true,
        TaintEffect::NoExecute => *evicts,
        TaintEffect::PreferNoSchedule => false,
    })
}

/// Returns true if the cloud controller manager owns the taint.
/// It removes the taint when the node is initialized.
fn is_of_cloud_provider(taint: &Taint) -> bool {
    taint.key.starts_with("node.cloudprovider.kubernetes.io/")
}

/// Returns true if a mark says that a person has removed a taint from the node just before `at`.
fn by_hand(member: &Member, at: Duration, context: &JudgeContext<'_>) -> bool {
    let slack = context.timings().latency.saturating_add(context.disorder());
    let actions = [member.untainted_by_hand, Some(context.world.acted).filter(|acted| !acted.is_zero())];
    actions.into_iter().flatten().any(|action| at <= action.saturating_add(slack))
}

impl Guarantee for ForeignTaintsStay {
    accessors!(NODE_12, [TaintRemoved, TaintAdded]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (Change::TaintRemoved { member: name, taint } | Change::TaintAdded { member: name, taint, .. }) =
            &fact.change
        else {
            return;
        };
        let Some(member) = context.member(name) else { return };
        if is_of_cloud_provider(taint) {
            return;
        }
        if is_own(taint) {
            if member.taints.iter().any(|taint| !is_own(taint)) {
                context.tally.record_held();
            }
            return;
        }
        // A person may replace the taint with one of the same key and effect.
        let replaced = |other: &Taint| other.key == taint.key && other.effect == taint.effect;
        let removed =
            matches!(fact.change, Change::TaintRemoved { .. }) && !member.taints.iter().any(replaced);
        if removed && !by_hand(member, fact.at, context) {
            let because = "no person has removed it".to_owned();
            let seen = format!("{name} has lost the taint {taint}");
            let violation = Violation::by(fact, Subject::member(name), Bound::Never, because, seen);
            report_if_actions_are_marked(violation, context);
        }
    }
}

static NODE_14: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-14",
    sentence: "a node that stays unhealthy keeps its NoExecute taint, unless no node is Ready anywhere",
    features: &[Feature::ZonedEvictions],
    formula: bounds::SAME_MOMENT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, processTaintBaseEviction; violated by each \
        start of the controllers: kubernetes/kubernetes#108268",
};

/// Requirement I15: a justified taint is not removed, because that would restart all tolerations.
#[derive(Default)]
pub(crate) struct TaintStaysWhileJustified {
    /// Until this time, the controllers may still believe that no node is Ready.
    all_halted_until: Option<Duration>,
}

impl Guarantee for TaintStaysWhileJustified {
    accessors!(NODE_14, [Health, MemberGone, MemberChanged, TaintRemoved]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { .. } | Change::MemberGone(_) | Change::MemberChanged(_) => {
                let Some(zones) = &context.profile.zones else { return };
                let all_halted = paces(context.world, zones).values().any(|pace| *pace == Pace::AllHalted);
                if all_halted {
                    self.all_halted_until = Some(NEVER);
                } else if self.all_halted_until == Some(NEVER) {
                    self.all_halted_until = Some(fact.at + bounds::zone_observed(context.timings()));
                }
            }
            Change::TaintRemoved { member: name, taint } if is_of_health(taint) => {
                let Some(member) = context.member(name) else { return };
                let latency = context.timings().latency.max(context.disorder());
                let excused = self.all_halted_until.is_some_and(|until| fact.at <= until)
                    || context.world.may_have_unobserved_members()
                    || by_hand(member, fact.at, context);
                if member.health != taint.health {
                    context.tally.record_held();
                } else if !excused && fact.at > member.health_since + latency {
                    let because = format!("the node has been unhealthy since {}", clock(member.health_since));
                    let seen = format!("{name} has lost the taint {taint}");
                    let violation = Violation::by(fact, Subject::member(name), Bound::Never, because, seen);
                    // A person may have removed the taint, and controllers that start remove all of them.
                    if context.world.acts_are_marked {
                        report_if_faults_are_marked(violation, context);
                    } else {
                        report_if_actions_are_marked(violation, context);
                    }
                }
            }
            _ => {}
        }
    }
}
