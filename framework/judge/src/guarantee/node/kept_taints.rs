//! What controllers leave alone: the taints of others, and those of their own that are still called for.

use std::time::Duration;

use super::heartbeat::never;
use super::zone::{Pace, is_of_health, paces};
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, NEVER, Topics, topics};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::text::clock;
use capsize_history::facts::{Change, Fact, Member, Taint, TaintEffect, World};

static NODE_12: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-12",
    sentence: "a taint of a node that is none of the controllers' own stays until a person takes it away",
    features: &[Feature::HealthProbes],
    formula: bounds::WITH_IT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/controller_utils.go, AddOrUpdateTaintOnNode, RemoveTaintOffNode",
};

/// I14: what goes that nobody has taken away.
#[derive(Default)]
pub(crate) struct ForeignTaintsStay;

/// The keys that controllers set, and with which effects.
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

/// Whether a person has taken a taint from the node just before `at`, or may have.
fn by_hand(member: &Member, world: &World, at: Duration, latency: Duration) -> bool {
    let deeds = [member.untainted_by_hand, Some(world.acted)];
    !world.faults_are_marked || deeds.iter().flatten().any(|deed| at <= *deed + latency)
}

impl Guarantee for ForeignTaintsStay {
    fn spec(&self) -> &'static GuaranteeSpec {
        &NODE_12
    }

    fn topics(&self) -> Topics {
        topics![TaintRemoved, TaintAdded]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (Change::TaintRemoved { member: name, taint } | Change::TaintAdded { member: name, taint, .. }) =
            &fact.change
        else {
            return;
        };
        let Some(member) = context.member(name) else { return };
        if is_own(taint) {
            if member.taints.iter().any(|taint| !is_own(taint)) {
                context.tally.record_held();
            }
            return;
        }
        // One in its place, of the same key and effect, is a person's.
        let replaced = |other: &Taint| other.key == taint.key && other.effect == taint.effect;
        let removed =
            matches!(fact.change, Change::TaintRemoved { .. }) && !member.taints.iter().any(replaced);
        if removed && !by_hand(member, context.world, fact.at, context.timings().latency) {
            let seen = format!("{name} has lost the taint {taint}");
            never(Subject::member(name), fact, "nobody has taken it away", seen, context);
        }
    }
}

static NODE_14: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-14",
    sentence: "a node that stays ill keeps its NoExecute taint, unless no node is Ready anywhere",
    features: &[Feature::ZonedEvictions],
    formula: bounds::WITH_IT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, processTaintBaseEviction; broken by each \
        start of the controllers: kubernetes/kubernetes#108268",
};

/// I15: what the node still calls for is not taken away, as that would begin all tolerations anew.
#[derive(Default)]
pub(crate) struct TaintStaysWhileJustified {
    /// Until when no node is ready anywhere, as far as the controllers may know.
    cut: Option<Duration>,
}

impl Guarantee for TaintStaysWhileJustified {
    fn spec(&self) -> &'static GuaranteeSpec {
        &NODE_14
    }

    fn topics(&self) -> Topics {
        topics![Health, MemberGone, TaintRemoved]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { .. } | Change::MemberGone(_) => {
                let Some(zones) = &context.profile.zones else { return };
                let is_cut = paces(context.world, zones).values().any(|pace| *pace == Pace::Cut);
                if is_cut {
                    self.cut = Some(NEVER);
                } else if self.cut == Some(NEVER) {
                    self.cut = Some(fact.at + bounds::zone_seen(context.timings()));
                }
            }
            Change::TaintRemoved { member: name, taint } if is_of_health(taint) => {
                let Some(member) = context.member(name) else { return };
                let latency = context.timings().latency;
                let excused = self.cut.is_some_and(|until| fact.at <= until)
                    || context.world.has_strangers()
                    || by_hand(member, context.world, fact.at, latency);
                if member.health != taint.health {
                    context.tally.record_held();
                } else if !excused && fact.at > member.health_since + latency {
                    let because = format!("it is so since {}", clock(member.health_since));
                    let seen = format!("{name} has lost the taint {taint}");
                    never(Subject::member(name), fact, &because, seen, context);
                }
            }
            _ => {}
        }
    }
}
