//! Checks the taints of policies, and the origin of NoExecute health taints: TAINT.
//!
//! Without automatic evictions, such a taint comes from a person or from a policy.

use std::collections::BTreeMap;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::unmarked_causes::report_if_actions_are_marked;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Health, Member, Taint, TaintEffect, World};

static TAINT_06: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-06",
    sentence: "without automatic evictions, a NoExecute health taint comes from a person or from a policy",
    features: &[Feature::HealthProbes],
    formula: "at every version, without the feature AutomaticNoExecute",
    releases: "1.14 and newer (#6389)",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, taintClusterByCondition",
};

/// Requirements H4 and T4d: without automatic taints, a taint comes from a person or from a policy.
pub(crate) struct NoExecuteTaintIsRequested;

/// Returns true if a person or a policy may have set `taint`.
/// A policy that the history does not contain may list any taint.
fn is_requested(taint: &Taint, member: &Member, context: &JudgeContext<'_>) -> bool {
    let policies = &context.world.taint_policies;
    let lists = |(key, effect): &(String, TaintEffect)| *key == taint.key && *effect == taint.effect;
    member.tainted_by_hand.is_some()
        || policies.values().any(|policy| policy.taints.iter().any(lists))
        || policies.is_empty() && context.profile.has(Feature::ClusterTaintPolicies)
}

impl Guarantee for NoExecuteTaintIsRequested {
    accessors!(TAINT_06, [Health, TaintAdded]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if context.profile.has(Feature::AutomaticNoExecute) {
            return;
        }
        match &fact.change {
            Change::Health { member, was: Some(was), now: Some(Health::Ready), .. }
                if *was != Health::Ready =>
            {
                let untainted = |member: &Member| member.evicting_taints().next().is_none();
                if context.member(member).is_some_and(untainted) {
                    context.tally.record_held();
                }
            }
            Change::TaintAdded { member: name, taint, first: false }
                if taint.health.is_some() && taint.effect == TaintEffect::NoExecute =>
            {
                let Some(member) = context.member(name) else { return };
                if is_requested(taint, member, context) {
                    return context.tally.record_held();
                }
                let because = "no person and no policy has requested it".to_owned();
                let seen = format!("{name} gets {taint}");
                let subject = Subject::member(name);
                let violation = Violation::by(fact, subject, Bound::Never, because, seen);
                report_if_actions_are_marked(violation, context);
            }
            _ => {}
        }
    }
}

static TAINT_08: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-08",
    sentence: "a taint of a policy is on exactly the members whose conditions match the policy",
    features: &[Feature::ClusterTaintPolicies],
    formula: bounds::CHANGE_REPORTED,
    releases: "1.14 and newer; Karmada's taints flapped until 1.14.1 if policies disagree (#6399)",
    source: "Karmada pkg/controllers/taint/clustertaintpolicy_controller.go",
};

/// Checks that the taints follow conditions and policies (requirements T4c, T17', H5, H6 and H7).
/// When conditions or policies change, the taints follow, by all policies in the order of their creation. Later changes
/// by a person stay until then.
#[derive(Default)]
pub(crate) struct TaintsFollowPolicies(Deadlines);

/// Returns what is wrong with the taints of `member`, by all policies.
fn wrong(name: &str, member: &Member, world: &World) -> Option<Expectation> {
    let mut wanted: BTreeMap<(&String, TaintEffect), (&String, bool)> = BTreeMap::new();
    let mut policies: Vec<_> = world.taint_policies.values().collect();
    policies.sort_by(|one, other| one.created.cmp(&other.created));
    let mut disputed = Vec::new();
    for policy in policies {
        let Some(wants) = policy.wants(name, member) else { continue };
        for (key, effect) in &policy.taints {
            let was = wanted.insert((key, *effect), (&policy.created, wants));
            // The order of two policies created in the same second is not defined.
            if was.is_some_and(|(created, was)| *created == policy.created && was != wants) {
                disputed.push((key, *effect));
            }
        }
    }
    wanted.into_iter().filter(|(taint, _)| !disputed.contains(taint)).find_map(
        |((key, effect), (_, wants))| {
            let is = member.taints.iter().any(|taint| taint.key == *key && taint.effect == effect);
            (is != wants).then(|| Expectation {
                because: format!(
                    "the policies {} {key}:{effect} for {name}",
                    if wants { "require" } else { "forbid" }
                ),
                observed: format!("{name} {} the taint", if is { "has" } else { "does not have" }),
            })
        },
    )
}

impl Guarantee for TaintsFollowPolicies {
    accessors!(TAINT_08, [Conditions, TaintAdded, TaintRemoved, TaintPolicy, MemberLeaving, MemberGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Conditions(member) => self.look(member, fact, context),
            Change::TaintAdded { member, .. } | Change::TaintRemoved { member, .. }
                if self.0.has(&Subject::member(member)) || is_no_persons_change(member, fact, context) =>
            {
                self.look(member, fact, context);
            }
            Change::TaintPolicy(name) if context.world.taint_policies.contains_key(name) => {
                for member in context.world.members.keys() {
                    self.look(member, fact, context);
                }
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.0.cancel(&Subject::member(member));
            }
            _ => {}
        }
    }
}

/// Returns true if no person has changed the taints of the member just before.
fn is_no_persons_change(member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let known = context.member(member);
    let acts = known.map(|member| member.tainted_by_hand.max(member.untainted_by_hand));
    context.world.acts_are_marked
        && acts.is_some_and(|act| act.is_none_or(|act| act + context.timings().latency < fact.at))
}

impl TaintsFollowPolicies {
    fn look(&mut self, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(member) = context.member(name).filter(|member| !member.leaving) else { return };
        let wrong = wrong(name, member, context.world);
        self.0.expect_correction(
            Subject::member(name),
            fact,
            bounds::change_reported(context.timings()),
            wrong,
            context,
        );
    }
}
