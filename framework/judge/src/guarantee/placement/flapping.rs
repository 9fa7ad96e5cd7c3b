//! Checks that a workload does not return to a member while it still has the taint: PLACEMENT.
//!
//! The taint is the NoExecute taint for which the workload was evicted.

use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::suspected_violations::SuspectedViolations;
use crate::guarantee::engine::tolerated_until::{TolerationEnd, toleration_end};
use crate::guarantee::{Ambiguity, Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, Member, ObjectVersion, Taint, TaintEffect, Workload};

static PLACEMENT_16: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-16",
    sentence: "a workload does not return to a member while the member has the taint for which the workload was evicted",
    features: &[Feature::NoExecuteTaints, Feature::GracefulEviction, Feature::EvictedNotRechosen],
    formula: "at every choice",
    releases: "the target for all; Karmada checks that there is a toleration, and not whether its time is over",
    source: "Karmada pkg/scheduler/framework/plugins/tainttoleration",
};

/// Checks that a workload does not return to a member with an evicting taint (requirement L2).
/// A toleration whose time is over does not bring the workload back, only to be evicted again.
#[derive(Default)]
pub(crate) struct NoReturnToTaintedMember {
    /// The time when a workload last left a member for a taint.
    left: Table<Subject, Duration>,
    /// Returns to members with a taint; the watch of members may still report that the taint is gone.
    suspected_violations: SuspectedViolations,
    /// The version of each member in which its last NoExecute taint was gone.
    untainted: Table<String, ObjectVersion>,
}

impl Guarantee for NoReturnToTaintedMember {
    accessors!(PLACEMENT_16, [EvictionBegan, Assigned, TaintRemoved, MemberGone, WorkloadGone]);

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                self.left.insert(Subject::on(workload, &task.member), fact.at);
                context.tally.record_held();
            }
            Change::Assigned { workload: key, was, now, .. } => {
                for name in now.keys().filter(|name| !was.contains_key(*name)) {
                    let subject = Subject::on(key, name);
                    let Some(left) = self.left.swap_remove(&subject) else { continue };
                    let workload = context.workload(key);
                    let taints = context.member(name).map(Member::evicting_taints);
                    // A scheduler with a stale cache chooses by an older state.
                    let hindered = context.world.is_hindered(fact.at);
                    let seen = |taint: &Taint| !hindered || !context.may_have_missed(taint.seen, fact.at);
                    let same = taints.map(|taints| taints.filter(|taint| taint.seen <= left && seen(taint)));
                    let now = workload.zip(same).and_then(|(workload, same)| toleration_end(workload, same));
                    // The workload left for another taint, unless this taint also required it to leave.
                    let Some(TolerationEnd::At(until, taint)) = now else { continue };
                    if until > left.saturating_add(bounds::STAMP) {
                        continue;
                    }
                    let because =
                        format!("it left {name} at {} for {taint}, which {name} still has", clock(left));
                    // If the clock was set back since then, the taint may still be tolerated by that clock.
                    let off = context.stamp_error;
                    let tolerated = |it: &Workload| it.tolerations.iter().any(|each| each.tolerates(&taint));
                    let ages = !off.is_zero() && workload.is_some_and(tolerated);
                    if ages && fact.at <= until.saturating_add(off) {
                        let uncertainty = fact.uncertainty.wider(off);
                        let ambiguity = Ambiguity::new(subject, Bound::Never, because, fact.at, uncertainty);
                        context.tally.record_undecided(ambiguity);
                        continue;
                    }
                    let seen = format!("{name} is chosen");
                    self.suspected_violations.add(subject, fact, because, seen);
                }
            }
            Change::TaintRemoved { member, taint } if is_bare(member, context) => {
                self.left.retain(|subject, _| !subject.is_on(member));
                let version = fact.witness.as_ref().filter(|_| taint.effect == TaintEffect::NoExecute);
                self.untainted.extend(version.map(|version| (member.clone(), version.clone())));
            }
            Change::MemberGone(member) => {
                self.left.retain(|subject, _| !subject.is_on(member));
                self.untainted.swap_remove(member);
            }
            Change::WorkloadGone(key) => self.left.retain(|subject, _| !subject.is_of(key)),
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        self.suspected_violations.due()
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let Self { suspected_violations, untainted, .. } = self;
        suspected_violations.advance_to(now, context, |subject, returned, context| {
            let name = subject.member.as_deref().unwrap_or_default();
            let without = untainted.get(name).zip(returned.witness.as_ref());
            is_bare(name, context) && !without.is_some_and(|(without, returned)| is_later(without, returned))
        });
    }
}

/// Returns true if no taint of the member evicts workloads.
fn is_bare(member: &str, context: &JudgeContext<'_>) -> bool {
    context.member(member).is_none_or(|member| member.evicting_taints().next().is_none())
}

/// Returns true if the API server wrote one version after the other for certain.
/// The versions of all objects of an API server count upwards together.
fn is_later(one: &ObjectVersion, other: &ObjectVersion) -> bool {
    let number = |version: &ObjectVersion| version.version().parse::<u64>().ok();
    one.on() == other.on() && number(one).zip(number(other)).is_some_and(|(one, other)| one > other)
}
