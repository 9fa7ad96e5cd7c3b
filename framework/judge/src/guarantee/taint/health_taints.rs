//! Checks that the taints of a member follow its health: TAINT.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, NEVER, Topics, Violation, accessors, topics,
};
use crate::guarantee::engine::taints_by_hand::TaintsByHand;
use crate::guarantee::engine::unmarked_causes::report_if_actions_are_marked;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::dialect::DialectKind;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, Health, Member, Taint, TaintEffect, TaintPolicy};

static TAINT_01: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-01",
    sentence: "a member that is not Ready gets the NoSchedule taint for its condition, so that no new workload is placed on it",
    features: &[Feature::HealthProbes],
    formula: bounds::NO_SCHEDULE,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, taintClusterByCondition",
};

/// Requirement T3: a condition `Ready` other than true leads to the matching `NoSchedule` taint.
#[derive(Default)]
pub(crate) struct NoScheduleTaintFollowsHealth(Deadlines);

/// The health whose taint a member must have; a member that has never reported counts as not ready.
fn tainted_health(member: &Member) -> Option<Health> {
    match member.health {
        Some(Health::Ready) => None,
        other => Some(other.unwrap_or(Health::NotReady)),
    }
}

impl Guarantee for NoScheduleTaintFollowsHealth {
    accessors!(TAINT_01, [Health, TaintAdded, TaintRemoved, MemberLeaving, MemberGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (name, turned) = match &fact.change {
            // Controllers taint no new member while its execution namespace is missing.
            Change::Health { member, now, first: true, .. }
                if now.is_none() || context.world.is_closed(member) =>
            {
                return;
            }
            Change::Health { member, .. } => (member, true),
            Change::TaintAdded { member, .. } | Change::TaintRemoved { member, .. } => (member, false),
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                return self.0.cancel(&Subject::member(member));
            }
            _ => return,
        };
        let Some(member) = context.member(name) else { return };
        let subject = Subject::member(name);
        // A node that has never reported gets no taint, because its state is not known.
        let is_node = context.profile.dialect == DialectKind::Nodes;
        let is_reporting = !context.world.taints_unread && (!is_node || member.health.is_some());
        let Some(health) = tainted_health(member).filter(|_| is_reporting) else {
            return self.0.cancel(&subject);
        };
        // Open Cluster Management takes a member that has never reported for an unreachable one, and Karmada does not.
        let is_any_right = member.health.is_none() && matches!(context.profile.dialect, DialectKind::Data(_));
        let is_right = |taint: &Taint| is_any_right || taint.health == Some(health);
        let is_tainted = |taint: &Taint| is_health_taint(taint, TaintEffect::NoSchedule) && is_right(taint);
        if !member.taints.iter().any(is_tainted) {
            let expectation = Expectation {
                because: format!("{name} has been {health} since {}", clock(member.health_since)),
                observed: format!("{name} has no NoSchedule taint for {health}"),
            };
            let removed = matches!(fact.change, Change::TaintRemoved { .. });
            // A member that is being removed gets no taint any more.
            if (turned || removed) && !member.leaving {
                self.0.start(subject, fact, context.timings().latency, expectation);
            }
        } else if let Some(margin) = self.0.close_as_met(&subject, fact) {
            context.tally.record_held_by(margin);
        } else if turned {
            context.tally.record_held_by(context.timings().latency);
        }
    }
}

static TAINT_02: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-02",
    sentence: "a member that stays NotReady gets a NoExecute taint when the eviction timeout has passed, and not before",
    features: &[Feature::HealthProbes, Feature::AutomaticNoExecute],
    formula: bounds::NO_EXECUTE,
    releases: "1.13 and older",
    source: "Karmada 1.5 pkg/controllers/cluster/cluster_controller.go, processTaintBaseEviction",
};

/// Checks that a member that stays NotReady gets the `NoExecute` taint (requirement T4a).
/// The taint follows when the condition `Ready` is false for the eviction timeout.
#[derive(Default)]
pub(crate) struct NoExecuteTaintAfterTimeout {
    since: Table<String, Duration>,
    deadlines: Deadlines,
}

impl Guarantee for NoExecuteTaintAfterTimeout {
    accessors!(TAINT_02, [Health, MemberLeaving, MemberGone, TaintAdded], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now: Some(Health::NotReady), was: Some(_), .. } => {
                self.since.insert(member.clone(), fact.at);
                let limit = bounds::no_execute(context.timings());
                let expectation = Expectation {
                    because: format!("{member} has been NotReady since {}", clock(fact.at)),
                    observed: format!("{member} has no NoExecute taint for its condition"),
                };
                self.deadlines.restart(Subject::member(member), fact, fact.at + limit, limit, expectation);
            }
            Change::Health { member, .. } | Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.since.swap_remove(member);
                self.deadlines.cancel(&Subject::member(member));
            }
            Change::TaintAdded { member, taint, .. } if is_health_taint(taint, TaintEffect::NoExecute) => {
                self.tainted(member, fact, context);
            }
            _ => {}
        }
    }
}

impl NoExecuteTaintAfterTimeout {
    fn tainted(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let Some(since) = self.since.swap_remove(member) else { return };
        if by_hand(member, fact.at, context) {
            return;
        }
        let timeout = context.timings().failover_eviction_timeout;
        let earliest = (since + timeout).saturating_sub(context.timings().skew);
        context.check_arrival(subject, fact, earliest, margin, || {
            let because = format!(
                "{member} has been NotReady since {}, and the timeout is {}",
                clock(since),
                span(timeout)
            );
            (because, format!("{member} has the NoExecute taint"))
        });
    }
}

/// Returns true if a person has just set a taint on the member, which may be the observed one.
fn by_hand(member: &str, at: Duration, context: &JudgeContext<'_>) -> bool {
    let hand = context.member(member).and_then(|member| member.tainted_by_hand);
    hand.is_some_and(|hand| at <= hand + context.timings().latency)
}

fn is_health_taint(taint: &Taint, effect: TaintEffect) -> bool {
    taint.health.is_some() && taint.effect == effect
}

static TAINT_03: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-03",
    sentence: "a member that is Ready again loses its NoSchedule health taints",
    features: &[Feature::HealthProbes],
    formula: bounds::UNTAINTED,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, taintClusterByCondition",
};

static TAINT_04: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-04",
    sentence: "a member that is Ready again loses its NoExecute health taints",
    features: &[Feature::HealthProbes, Feature::AutomaticNoExecute],
    formula: bounds::UNTAINTED_NO_EXECUTE,
    releases: "1.13 and older",
    source: "Karmada 1.5 pkg/controllers/cluster/cluster_controller.go, processTaintBaseEviction",
};

/// Requirements T16 and T17: the health taints of one effect are removed when `Ready` is true.
pub(crate) struct HealthTaintsAreRemovedWhenReady {
    effect: TaintEffect,
    deadlines: Deadlines,
}

impl HealthTaintsAreRemovedWhenReady {
    /// Checks the taints of `effect`.
    pub(crate) fn new(effect: TaintEffect) -> Self {
        Self { effect, deadlines: Deadlines::default() }
    }
}

impl Guarantee for HealthTaintsAreRemovedWhenReady {
    fn spec(&self) -> &'static GuaranteeSpec {
        if self.effect == TaintEffect::NoExecute { &TAINT_04 } else { &TAINT_03 }
    }

    fn topics(&self) -> Topics {
        topics![Health, TaintAdded, TaintRemoved, MemberLeaving, MemberGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (name, turned) = match &fact.change {
            Change::Health { member, first, .. } => {
                (member, !first || self.effect == TaintEffect::NoSchedule)
            }
            Change::TaintRemoved { member, .. } => (member, false),
            // A taint that a person sets is not checked.
            Change::TaintAdded { member, taint, first: false } if is_health_taint(taint, self.effect) => {
                (member, context.member(member).is_some_and(|known| known.tainted_by_hand.is_none()))
            }
            Change::MemberGone(member) => return self.deadlines.cancel(&Subject::member(member)),
            Change::MemberLeaving(member) => (member, false),
            _ => return,
        };
        let Some(member) = context.member(name) else { return };
        let subject = Subject::member(name);
        // The NoSchedule taints of a member that is being removed are no longer updated. In Karmada another controller
        // updates its NoExecute taints.
        let one_controller = matches!(context.profile.dialect, DialectKind::Data(_));
        let left_alone = member.leaving && (one_controller || self.effect != TaintEffect::NoExecute);
        if member.health != Some(Health::Ready) || left_alone {
            return self.deadlines.cancel(&subject);
        }
        if !member.taints.iter().any(|taint| is_health_taint(taint, self.effect)) {
            if let Some(margin) = self.deadlines.close_as_met(&subject, fact) {
                context.tally.record_held_by(margin);
            }
        } else if turned {
            let limit = match self.effect {
                TaintEffect::NoExecute => bounds::untainted_no_execute(context.timings()),
                _ => context.timings().latency,
            };
            let expectation = Expectation {
                because: format!("{name} has been Ready since {}", clock(member.health_since)),
                observed: format!("{name} still has a {} health taint", self.effect),
            };
            self.deadlines.start(subject, fact, limit, expectation);
        }
    }
}

static TAINT_10: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-10",
    sentence: "a NoExecute health taint does not change while the health of the member matches it",
    features: &[Feature::HealthProbes, Feature::AutomaticNoExecute],
    formula: "from latency after the change of the member's health",
    releases: "1.13 and older",
    source: "Karmada 1.5 pkg/controllers/cluster/cluster_controller.go, processTaintBaseEviction",
};

/// Requirement H4: a taint that is removed and added again would restart every toleration.
pub(crate) struct NoExecuteTaintKeepsItsTime;

impl Guarantee for NoExecuteTaintKeepsItsTime {
    accessors!(TAINT_10, [TaintRemoved]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::TaintRemoved { member: name, taint } = &fact.change else { return };
        let Some(member) = context.member(name).filter(|_| is_health_taint(taint, TaintEffect::NoExecute))
        else {
            return;
        };
        if member.health != taint.health {
            return context.tally.record_held();
        }
        let late = context.timings().latency + context.disorder();
        let by_hand =
            member.tainted_by_hand.max(member.untainted_by_hand).is_some_and(|act| fact.at <= act + late);
        let just_so = fact.at <= member.health_since + context.timings().latency;
        let knows = context.world.faults_are_marked && !context.world.is_hindered(fact.at);
        if by_hand || just_so || member.leaving || !knows {
            return;
        }
        let health = member.health.map(|health| health.to_string()).unwrap_or_default();
        let because = format!("{name} has been {health} since {}", clock(member.health_since));
        let seen = format!("{name} loses {taint}");
        let violation = Violation::by(fact, Subject::member(name), Bound::Never, because, seen);
        report_if_actions_are_marked(violation, context);
    }
}

static TAINT_05: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-05",
    sentence: "a member never has two health taints of one effect",
    features: &[Feature::HealthProbes],
    formula: "at every version; for nodes, at most latency, because the taints are replaced by two requests",
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, taintClusterByCondition; Kubernetes \
        pkg/controller/util/node/controller_utils.go, SwapNodeControllerTaint",
};

/// Checks that `not-ready` and `unreachable` exclude each other (requirement S11).
/// An exception is a taint that a person or a policy of the user has set.
#[derive(Default)]
pub(crate) struct HealthTaintsExcludeEachOther {
    /// The nodes that have both taints of one effect for the moment.
    deadlines: Deadlines,
    by_hand: TaintsByHand,
    /// Until when a policy required a NoExecute taint, by member and key.
    required: BTreeMap<(String, String), Duration>,
}

impl HealthTaintsExcludeEachOther {
    /// Records which NoExecute taints the policies require on the member with this name.
    fn follow_policies(&mut self, name: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(member) = context.member(name) else { return };
        for until in self.required.iter_mut().filter(|((of, _), _)| of == name).map(|(_, until)| until) {
            *until = fact.at.min(*until);
        }
        let wants = |policy: &&TaintPolicy| policy.wants(name, member) == Some(true);
        for policy in context.world.taint_policies.values().filter(wants) {
            let evicting = policy.taints.iter().filter(|(_, effect)| *effect == TaintEffect::NoExecute);
            self.required.extend(evicting.map(|(key, _)| ((name.to_owned(), key.clone()), NEVER)));
        }
    }

    /// Returns true if a policy may have set the taint. The history need not contain policies.
    fn is_of_a_policy(
        &self,
        name: &str,
        (taint, is_first): (&Taint, bool),
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) -> bool {
        if !context.profile.has(Feature::ClusterTaintPolicies) || taint.effect != TaintEffect::NoExecute {
            return false;
        }
        let required = self.required.get(&(name.to_owned(), taint.key.clone()));
        let observed = context.latest_surely_observed(fact.at);
        // The history does not contain the taints that policies required before it began.
        context.world.taint_policies.is_empty()
            || is_first
            || context.controllers_are_hindered(fact.at)
            || required.is_some_and(|until| *until >= observed)
    }
}

impl Guarantee for HealthTaintsExcludeEachOther {
    accessors!(TAINT_05, [TaintAdded, TaintRemoved, Conditions, TaintPolicy, MemberGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.by_hand.observe(fact, context);
        let (name, taint, first) = match &fact.change {
            Change::TaintAdded { member, taint, first } => (member, taint, first),
            Change::TaintRemoved { member, taint } => {
                if context.profile.dialect == DialectKind::Nodes && taint.health.is_some() {
                    self.look_at_node(member, fact, context);
                }
                return;
            }
            Change::Conditions(member) => return self.follow_policies(member, fact, context),
            Change::TaintPolicy(_) => {
                for member in context.world.members.keys() {
                    self.follow_policies(member, fact, context);
                }
                return;
            }
            Change::MemberGone(member) => {
                self.required.retain(|(name, _), _| name != member);
                return self.deadlines.cancel(&Subject::member(member));
            }
            _ => return,
        };
        let member = context.member(name);
        let Some(member) = member.filter(|_| taint.health.is_some()) else { return };
        if self.by_hand.is_any_on(name) {
            return;
        }
        if self.is_of_a_policy(name, (taint, *first), fact, context) {
            return;
        }
        if context.profile.dialect == DialectKind::Nodes {
            // Admission taints every new Node, whatever taints it already has.
            if !*first {
                self.look_at_node(name, fact, context);
            }
            return;
        }
        let Some((because, seen)) = both_taints(name, member, &[taint.effect]) else {
            return context.tally.record_held();
        };
        context.report_violation(Violation::by(fact, Subject::member(name), Bound::Never, because, seen));
    }
}

impl HealthTaintsExcludeEachOther {
    /// Checks that a node does not keep both health taints of one effect.
    /// The controllers of nodes add the new taint and remove the old one by two requests.
    fn look_at_node(&mut self, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(member) = context.member(name) else { return };
        let subject = Subject::member(name);
        if self.by_hand.is_any_on(name) {
            return self.deadlines.cancel(&subject);
        }
        let wrong = both_taints(name, member, &[TaintEffect::NoSchedule, TaintEffect::NoExecute]);
        if wrong.is_none() && !self.deadlines.has(&subject) {
            return context.tally.record_held();
        }
        let wrong = wrong.map(|(because, observed)| Expectation { because, observed });
        let allowed = bounds::change_reported(context.timings());
        self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
    }
}

/// Describes the violation if the member has two health taints of one of these effects.
/// The first text says why the member must not have both, and the second that it has them.
fn both_taints(name: &str, member: &Member, effects: &[TaintEffect]) -> Option<(String, String)> {
    let number = |effect| member.taints.iter().filter(|taint| is_health_taint(taint, effect)).count();
    let effect = effects.iter().find(|effect| number(**effect) > 1)?;
    let because = "a member is either NotReady or Unknown".to_owned();
    Some((because, format!("{name} has both {effect} health taints")))
}
