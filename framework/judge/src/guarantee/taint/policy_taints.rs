//! Taints that are somebody's wish, or that the silence of a member brings: TAINT. And the first word of a member: HEALTH.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::away::is_hit;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::court::{Charge, Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::health::{is_cut, is_lossy};
use crate::guarantee::{Bound, Rule, Subject};
use crate::profile::Feature;
use crate::text::clock;
use capsize_history::digest::Table;
use capsize_history::facts::{Fact, Health, Member, News, Taint, TaintEffect, World};

static WISHED: Rule = Rule {
    id: "TAINT-06",
    sentence: "where nothing is evicted without being asked for, a NoExecute health taint is somebody's wish",
    features: &[Feature::HealthProbes],
    formula: "at every version, without the feature AutomaticNoExecute",
    releases: "1.14 and newer (#6389)",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, taintClusterByCondition",
};

/// H4 and T4d: without automatic taints, one comes from a person or from a policy.
pub(crate) struct Wished;

/// Whether a person or a policy may have set `taint`; policies that the history does not record may be anything.
fn is_wished(taint: &Taint, member: &Member, court: &Court<'_>) -> bool {
    let policies = &court.world.taint_policies;
    let lists = |(key, effect): &(String, TaintEffect)| *key == taint.key && *effect == taint.effect;
    member.tainted_by_hand.is_some()
        || policies.values().any(|policy| policy.taints.iter().any(lists))
        || policies.is_empty() && court.profile.has(Feature::ClusterTaintPolicies)
}

impl Guarantee for Wished {
    fn rule(&self) -> &'static Rule {
        &WISHED
    }

    fn topics(&self) -> Topics {
        topics![Health, TaintAdded]
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        if court.profile.has(Feature::AutomaticNoExecute) {
            return;
        }
        match &fact.news {
            News::Health { member, was: Some(was), now: Some(Health::Ready), .. }
                if *was != Health::Ready =>
            {
                let untainted = |member: &Member| member.evicting_taints().next().is_none();
                if court.member(member).is_some_and(untainted) {
                    court.book.held();
                }
            }
            News::TaintAdded { member: name, taint, first: false }
                if taint.tells.is_some() && taint.effect == TaintEffect::NoExecute =>
            {
                let Some(member) = court.member(name) else { return };
                if is_wished(taint, member, court) {
                    return court.book.held();
                }
                let because = "nobody has asked for it".to_owned();
                let seen = format!("{name} gets {taint}");
                court.violated(Charge::by(fact, Subject::member(name), Bound::Never, because, seen));
            }
            _ => {}
        }
    }
}

static UNREACHABLE: Rule = Rule {
    id: "TAINT-07",
    sentence: "a member that stays Unknown gets a NoExecute taint when the eviction timeout has passed, not before",
    features: &[Feature::HealthProbes, Feature::AutomaticNoExecute, Feature::PullMembers],
    formula: bounds::UNREACHABLE,
    releases: "1.13 and older",
    source: "Karmada 1.5 pkg/controllers/cluster/cluster_controller.go, processTaintBaseEviction",
};

/// T4b: the time counts from the last that was heard of the member, which is not long before it was cut off.
#[derive(Default)]
pub(crate) struct Unreachable {
    cut: Table<String, Cut>,
    waits: Waits,
}

/// How long a member was hit by faults.
struct Cut {
    /// It was heard of before that.
    since: Duration,
    /// Since when nothing is wrong any more.
    ended: Option<Duration>,
}

impl Guarantee for Unreachable {
    fn rule(&self) -> &'static Rule {
        &UNREACHABLE
    }

    fn topics(&self) -> Topics {
        topics![FaultBegan, FaultEnded, Health, MemberLeaving, MemberGone, TaintAdded]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.waits)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::FaultBegan { member: Some(member), .. } => {
                let again = self.began(member, fact, court);
                let unknown = |it: &Member| it.health == Some(Health::Unknown) && !it.leaving;
                if again && is_cut(member, court) && court.member(member).is_some_and(unknown) {
                    let because = format!("{member} is Unknown, and cut off since {}", clock(fact.at));
                    self.expect(member, because, fact, court);
                }
            }
            News::FaultEnded { member: Some(member), .. } => {
                if !is_hit(member, court)
                    && let Some(cut) = self.cut.get_mut(member)
                {
                    cut.ended = Some(fact.at);
                }
                // It may be heard of again, though not for long enough to be Ready.
                if !is_cut(member, court) {
                    self.waits.cancel(&Subject::member(member));
                }
            }
            News::Health { member, now: Some(Health::Unknown), was: Some(_), .. } => {
                // Of what it says some may arrive, each time anew.
                if is_lossy(member, court) && !is_cut(member, court) {
                    return;
                }
                let because = format!("{member} is Unknown since {}", clock(fact.at));
                self.expect(member, because, fact, court);
            }
            News::Health { member, .. } | News::MemberLeaving(member) => {
                self.waits.cancel(&Subject::member(member));
            }
            News::MemberGone(member) => {
                self.cut.swap_remove(member);
                self.waits.cancel(&Subject::member(member));
            }
            News::TaintAdded { member, taint, .. }
                if taint.tells == Some(Health::Unknown) && taint.effect == TaintEffect::NoExecute =>
            {
                let subject = Subject::member(member);
                let Some(left) = self.waits.met(&subject, fact) else { return };
                let by_hand = court.member(member).is_some_and(|it| it.tainted_by_hand.is_some());
                let cut = self.cut.get(member).filter(|cut| cut.ended.is_none() && !by_hand);
                let Some(Cut { since: cut, .. }) = cut else { return court.book.held_by(left) };
                let timings = court.timings();
                let lasts = timings.failover_eviction_timeout.saturating_sub(timings.monitor_grace_period);
                let earliest = cut.saturating_add(lasts).saturating_sub(timings.skew);
                court.came(subject, fact, earliest, Some(left), || {
                    let because = format!("{member} is cut off since {}", clock(*cut));
                    (because, format!("{member} has the NoExecute taint"))
                });
            }
            _ => {}
        }
    }
}

impl Unreachable {
    /// A fault begins. Answers whether nothing was wrong just before; who was in reach for less than an agent takes from one
    /// word to the next need not have been heard of.
    fn began(&mut self, member: &str, fact: &Fact, court: &Court<'_>) -> bool {
        // Who is hindered need not have heard of it either; of one that is Unknown already nobody knows since when.
        let is_unknown = court.member(member).is_some_and(|it| it.health == Some(Health::Unknown));
        let since = match is_unknown {
            true if court.controllers_are_hindered(fact.at) => Duration::ZERO,
            _ if court.world.is_hindered(fact.at) => court.world.blind_since.min(fact.at),
            _ => fact.at,
        };
        let fresh = Cut { since, ended: None };
        let Some(cut) = self.cut.get_mut(member) else {
            self.cut.insert(member.to_owned(), fresh);
            return true;
        };
        let Some(ended) = cut.ended.take() else { return false };
        let timings = court.timings();
        if fact.at.saturating_sub(ended) > timings.status_update_frequency + timings.latency {
            *cut = fresh;
        }
        true
    }

    fn expect(&mut self, member: &str, because: String, fact: &Fact, court: &Court<'_>) {
        let tells = |taint: &&Taint| taint.tells == Some(Health::Unknown);
        // The taint of an earlier silence stays until it is Ready.
        if court.member(member).is_some_and(|it| it.evicting_taints().any(|taint| tells(&taint))) {
            return;
        }
        let missing = format!("{member} has no NoExecute taint for it");
        let limit = bounds::no_execute(court.timings());
        self.waits.start(Subject::member(member), fact, limit, Reason { because, missing });
    }
}

static BY_POLICY: Rule = Rule {
    id: "TAINT-08",
    sentence: "the taints that policies name are on the members whose conditions ask for them, and off those whose do not",
    features: &[Feature::ClusterTaintPolicies],
    formula: bounds::TOLD,
    releases: "1.14 and newer; Karmada's taints flap where policies disagree until 1.14.1 (#6399)",
    source: "Karmada pkg/controllers/taint/clustertaintpolicy_controller.go",
};

/// T4c, T17', H5, H6 and H7: worked out when conditions or policies change, policy after policy in the order in which
/// they were made. What a person changes afterwards stays until then.
#[derive(Default)]
pub(crate) struct ByPolicy(Waits);

/// What is wrong with the taints of `member`, by all policies.
fn wrong(name: &str, member: &Member, world: &World) -> Option<Reason> {
    let mut wanted: BTreeMap<(&String, TaintEffect), (&String, bool)> = BTreeMap::new();
    let mut policies: Vec<_> = world.taint_policies.values().collect();
    policies.sort_by(|one, other| one.created.cmp(&other.created));
    let mut disputed = Vec::new();
    for policy in policies {
        let Some(wants) = policy.wants(name, member) else { continue };
        for (key, effect) in &policy.taints {
            let was = wanted.insert((key, *effect), (&policy.created, wants));
            // Which of two policies of one second comes first is not said.
            if was.is_some_and(|(created, was)| *created == policy.created && was != wants) {
                disputed.push((key, *effect));
            }
        }
    }
    wanted.into_iter().filter(|(taint, _)| !disputed.contains(taint)).find_map(
        |((key, effect), (_, wants))| {
            let is = member.taints.iter().any(|taint| taint.key == *key && taint.effect == effect);
            (is != wants).then(|| Reason {
                because: format!(
                    "by the policies, {name} {} {key}:{effect}",
                    if wants { "gets" } else { "loses" }
                ),
                missing: format!("{name} {} it", if is { "has" } else { "does not have" }),
            })
        },
    )
}

impl Guarantee for ByPolicy {
    fn rule(&self) -> &'static Rule {
        &BY_POLICY
    }

    fn topics(&self) -> Topics {
        topics![Conditions, TaintAdded, TaintRemoved, TaintPolicy, MemberLeaving, MemberGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.0)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::Conditions(member) => self.look(member, fact, court),
            News::TaintAdded { member, .. } | News::TaintRemoved { member, .. }
                if self.0.has(&Subject::member(member)) || is_nobodys(member, fact, court) =>
            {
                self.look(member, fact, court);
            }
            News::TaintPolicy(name) if court.world.taint_policies.contains_key(name) => {
                for member in court.world.members.keys() {
                    self.look(member, fact, court);
                }
            }
            News::MemberLeaving(member) | News::MemberGone(member) => self.0.cancel(&Subject::member(member)),
            _ => {}
        }
    }
}

/// Whether it is known that no person has changed the taints of the member.
fn is_nobodys(member: &str, fact: &Fact, court: &Court<'_>) -> bool {
    let known = court.member(member);
    let acts = known.map(|member| member.tainted_by_hand.max(member.untainted_by_hand));
    court.world.faults_are_marked
        && acts.is_some_and(|act| act.is_none_or(|act| act + court.timings().latency < fact.at))
}

impl ByPolicy {
    fn look(&mut self, name: &str, fact: &Fact, court: &mut Court<'_>) {
        let Some(member) = court.member(name).filter(|member| !member.leaving) else { return };
        let wrong = wrong(name, member, court.world);
        self.0.heal(Subject::member(name), fact, bounds::told(court.timings()), wrong, court);
    }
}

static NEVER_HEARD: Rule = Rule {
    id: "HEALTH-06",
    sentence: "a member that pulls and is never heard of becomes Unknown",
    features: &[Feature::HealthProbes, Feature::PullMembers],
    formula: bounds::NEVER_HEARD,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, tryUpdateClusterHealth",
};

/// T2'': one that has never reported has a grace period of its own.
#[derive(Default)]
pub(crate) struct NeverHeard(Waits);

impl Guarantee for NeverHeard {
    fn rule(&self) -> &'static Rule {
        &NEVER_HEARD
    }

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn topics(&self) -> Topics {
        topics![Health, MemberLeaving, MemberGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.0)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::Health { member, now: None, first: true, .. }
                if court.member(member).is_some_and(|member| member.pulls) =>
            {
                let reason = Reason {
                    because: format!("{member} is known since {}", clock(fact.at)),
                    missing: format!("{member} has no condition"),
                };
                let limit = bounds::never_heard(court.timings());
                self.0.start(Subject::member(member), fact, limit, reason);
            }
            News::Health { member, now, .. } => {
                let left = self.0.met(&Subject::member(member), fact);
                if let Some(left) = left.filter(|_| *now == Some(Health::Unknown)) {
                    court.book.held_by(left);
                }
            }
            News::MemberLeaving(member) | News::MemberGone(member) => self.0.cancel(&Subject::member(member)),
            _ => {}
        }
    }
}
