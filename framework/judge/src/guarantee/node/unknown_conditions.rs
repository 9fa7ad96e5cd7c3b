//! What is written of a node that says nothing: not too early for one that is new, with the right reason, and of nothing but
//! what its kubelet would tell.

use std::collections::BTreeMap;
use std::time::Duration;

use super::heartbeat::never;
use super::zone::AllNodesNotReady;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, Topics, topics};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::text::{clock, span};
use capsize_history::facts::{Change, Fact, Health, Member};

static NODE_09: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-09",
    sentence: "a node that never said whether it is ready becomes Unknown when its time to start is over, not before",
    features: &[Feature::PullMembers],
    formula: bounds::STARTS,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

/// I3: from the creation of a node on.
#[derive(Default)]
pub(crate) struct UnknownAfterStartupGrace {
    deadlines: Deadlines,
    cut: AllNodesNotReady,
}

impl Guarantee for UnknownAfterStartupGrace {
    fn spec(&self) -> &'static GuaranteeSpec {
        &NODE_09
    }

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn topics(&self) -> Topics {
        topics![Health, SignOfLife, MemberGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now: None, .. } => {
                let Some((begins, grace)) = began(member, context) else { return };
                self.start_deadline(member, begins, grace, fact, context);
            }
            // Who renews its Lease is there, whatever it has not said.
            Change::SignOfLife(member) if self.deadlines.has(&Subject::member(member)) => {
                let Some((_, grace)) = began(member, context) else { return };
                self.start_deadline(member, fact.at, grace, fact, context);
            }
            Change::Health { member, was: None, now: Some(Health::Unknown), first: false } => {
                let margin = self.deadlines.met(&Subject::member(member), fact);
                let Some((begins, grace)) = began(member, context) else { return };
                let earliest = (begins + grace).saturating_sub(context.timings().skew);
                context.check_arrival(Subject::member(member), fact, earliest, margin, || {
                    let because =
                        format!("it was made at {}, and has {} to start", clock(begins), span(grace));
                    (because, format!("{member} is Unknown"))
                });
            }
            Change::Health { member, .. } | Change::MemberGone(member) => {
                self.deadlines.cancel(&Subject::member(member));
            }
            _ => {}
        }
        let health_changed = matches!(fact.change, Change::Health { .. } | Change::MemberGone(_));
        if health_changed && self.cut.is_over(context.world) {
            self.begin_anew(fact, context);
        }
    }
}

impl UnknownAfterStartupGrace {
    /// Some node is ready again where none was: everybody has all of the time.
    fn begin_anew(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        for name in context.world.members.keys() {
            if let Some((_, grace)) = began(name, context)
                && self.deadlines.has(&Subject::member(name))
            {
                self.start_deadline(name, fact.at, grace, fact, context);
            }
        }
    }

    fn start_deadline(
        &mut self,
        member: &str,
        begins: Duration,
        grace: Duration,
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) {
        let allowed = bounds::starts(context.timings(), grace);
        let expectation = Expectation {
            because: format!("{member} is there since {}, and never said anything", clock(begins)),
            missing: format!("{member} is not Unknown"),
        };
        let until = begins.max(fact.at) + allowed;
        self.deadlines.restart(Subject::member(member), fact, until, allowed, expectation);
    }
}

/// When the node was made, at the earliest, and how long it may take to start.
fn began(member: &str, context: &JudgeContext<'_>) -> Option<(Duration, Duration)> {
    let grace = context.timings().startup_grace_period?;
    let created = context.member(member)?.created?;
    let since = created.duration_since(context.world.wall_start?);
    // The wall time of the start is known to the second.
    Some((Duration::try_from(since).unwrap_or_default().saturating_sub(bounds::STAMP), grace))
}

static NODE_10: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-10",
    sentence: "when a kubelet falls silent, all that it reports of its node becomes Unknown, and nothing else changes",
    features: &[Feature::PullMembers],
    formula: bounds::WITH_IT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

static NODE_11: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-11",
    sentence: "a condition that becomes Unknown says that its kubelet stopped, or never began, to tell of it",
    features: &[Feature::PullMembers],
    formula: bounds::WITH_IT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

/// What a kubelet tells of its node.
const REPORTED_CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// I4 and I5: what the version changes that says that a node is unknown.
pub(crate) struct UnknownConditions {
    spec: &'static GuaranteeSpec,
    /// What is wrong with the node as it is now, which had these conditions before.
    wrong: fn(&BTreeMap<String, String>, &Member) -> Option<String>,
    before: BTreeMap<String, BTreeMap<String, String>>,
}

impl UnknownConditions {
    /// That all of its conditions change, and no other.
    pub(crate) fn nothing_else() -> Self {
        Self { spec: &NODE_10, wrong: changed_else, before: BTreeMap::new() }
    }

    /// That the reasons are right.
    pub(crate) fn reasons() -> Self {
        Self { spec: &NODE_11, wrong: wrong_reason, before: BTreeMap::new() }
    }
}

impl Guarantee for UnknownConditions {
    fn spec(&self) -> &'static GuaranteeSpec {
        self.spec
    }

    fn topics(&self) -> Topics {
        topics![Health, Conditions, MemberGone]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member: name, now: Some(Health::Unknown), first: false, .. } => {
                let (Some(before), Some(member)) = (self.before.get(name), context.member(name)) else {
                    return;
                };
                match (self.wrong)(before, member) {
                    None => context.tally.record_held(),
                    Some(wrong) => {
                        let seen = format!("{name} {wrong}");
                        never(Subject::member(name), fact, "its kubelet has fallen silent", seen, context);
                    }
                }
            }
            Change::Conditions(name) => {
                if let Some(member) = context.member(name) {
                    self.before.insert(name.clone(), member.conditions.clone());
                }
            }
            Change::MemberGone(name) => drop(self.before.remove(name)),
            _ => {}
        }
    }
}

fn changed_else(before: &BTreeMap<String, String>, member: &Member) -> Option<String> {
    let stays = REPORTED_CONDITIONS.iter().find(|kind| {
        let status = member.conditions.get(**kind).map(String::as_str);
        before.contains_key(**kind) && status.is_some_and(|status| status != "Unknown")
    });
    if let Some(kind) = stays {
        return Some(format!("still has {kind} {}", member.conditions[*kind]));
    }
    let others = before
        .keys()
        .chain(member.conditions.keys())
        .filter(|kind| !REPORTED_CONDITIONS.contains(&kind.as_str()));
    let mut changed = others.filter(|kind| before.get(*kind) != member.conditions.get(*kind));
    changed.next().map(|kind| format!("has another {kind} than before"))
}

fn wrong_reason(before: &BTreeMap<String, String>, member: &Member) -> Option<String> {
    REPORTED_CONDITIONS.iter().find_map(|kind| {
        let became = member.conditions.get(*kind).is_some_and(|status| status == "Unknown");
        let was = before.get(*kind).map(String::as_str);
        if !became || was == Some("Unknown") {
            return None;
        }
        let right = if was.is_some() { "NodeStatusUnknown" } else { "NodeStatusNeverUpdated" };
        let reason = member.reasons.get(*kind).map(String::as_str).unwrap_or_default();
        (reason != right).then(|| format!("has {kind} Unknown for the reason {reason}, not {right}"))
    })
}
