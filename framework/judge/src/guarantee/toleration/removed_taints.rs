//! Checks that no workload is evicted for a taint that was removed from the member: TOLERATION.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, NEVER, Violation, accessors};
use crate::guarantee::engine::tolerated_until::{TolerationEnd, has_true_time, is_by_taint, toleration_end};
use crate::guarantee::{Ambiguity, Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{Change, Fact, Taint, TaintEffect};

static TOLERATION_02: GuaranteeSpec = GuaranteeSpec {
    id: "TOLERATION-02",
    sentence: "a workload stays on a member if the taint is removed before the toleration is over",
    features: &[Feature::NoExecuteTaints],
    formula: bounds::NO_EVICTION_WITHOUT_TAINT,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/taint_manager.go, needEviction",
};

/// Requirement V3: no eviction for a taint that is gone before the deadline, or that never existed.
#[derive(Default)]
pub(crate) struct NoEvictionWithoutTaint {
    unused_tolerations: BTreeMap<Subject, UnusedToleration>,
    /// Evictions from members without a taint, with their facts. The taint may be reported later.
    suspected_violations: BTreeMap<Subject, (Fact, Option<UnusedToleration>)>,
    /// The time when each member was last deleted.
    /// A new member may have the same name.
    gone: BTreeMap<String, Duration>,
    /// The NoExecute taints of each member.
    taints: BTreeMap<String, Vec<Taint>>,
    /// The time until which each pod tolerated its node, which was deleted.
    /// The controllers do not take back the deletion of the pod, even if a node of the same name is registered without
    /// the taint.
    inherited: BTreeMap<Subject, Duration>,
}

/// A toleration that was not over when its taint was removed.
#[derive(Clone)]
struct UnusedToleration {
    until: Duration,
    removed: Duration,
    taint: Taint,
}

impl Guarantee for NoEvictionWithoutTaint {
    accessors!(TOLERATION_02, [TaintRemoved, TaintAdded, EvictionBegan, WorkloadGone, MemberGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::TaintRemoved { member, taint } if taint.effect == TaintEffect::NoExecute => {
                self.taints.entry(member.clone()).or_default().retain(|each| each.key != taint.key);
                self.removed(member, taint, fact, context);
            }
            Change::TaintAdded { member, taint, .. } if taint.effect == TaintEffect::NoExecute => {
                self.taints.entry(member.clone()).or_default().push(taint.clone());
                self.inherited.retain(|subject, _| !subject.is_on(member));
                self.unused_tolerations.retain(|subject, _| !subject.is_on(member));
                self.suspected_violations.retain(|subject, _| !subject.is_on(member));
            }
            Change::EvictionBegan { workload, task } if is_by_taint(task, fact, context) => {
                let subject = Subject::on(workload, &task.member);
                let skew = context.timings().skew.saturating_add(context.world.clock_set);
                let is_over = |until: Duration| fact.at + bounds::STAMP + skew >= until;
                if self.inherited.remove(&subject).is_some_and(is_over) {
                    return;
                }
                let member = context.member(&task.member);
                if member.is_some_and(|member| member.evicting_taints().next().is_none() && !member.leaving) {
                    let spare = self.unused_tolerations.remove(&subject);
                    // Controllers with a stale cache act by an older state.
                    let unseen = |removed: Duration| context.may_have_missed(removed, fact.at);
                    if spare.as_ref().is_none_or(|spare| !unseen(spare.removed)) {
                        self.suspected_violations.insert(subject, (fact.clone(), spare));
                    }
                }
            }
            Change::WorkloadGone(key) => {
                self.unused_tolerations.retain(|subject, _| !subject.is_of(key));
                self.inherited.retain(|subject, _| !subject.is_of(key));
            }
            Change::MemberGone(member) => {
                self.inherit(member, context);
                self.unused_tolerations.retain(|subject, _| !subject.is_on(member));
                self.suspected_violations.retain(|subject, _| !subject.is_on(member));
                self.gone.insert(member.clone(), fact.at);
            }
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        if self.suspected_violations.is_empty() && self.unused_tolerations.is_empty() {
            NEVER
        } else {
            Duration::ZERO
        }
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let disorder = context.disorder();
        for (subject, (fact, spare)) in
            self.suspected_violations.extract_if(.., |_, (fact, _)| now > fact.at.saturating_add(disorder))
        {
            let gone = subject.member.as_ref().and_then(|member| self.gone.get(member));
            report_violation(subject, &fact, spare, gone.copied(), context);
        }
        let latency = context.timings().latency;
        for (_, spare) in self.unused_tolerations.extract_if(.., |_, spare| now > spare.until + latency) {
            context.tally.record_held_by(spare.until.saturating_sub(spare.removed + bounds::STAMP));
        }
    }
}

impl NoEvictionWithoutTaint {
    /// Keeps the deadlines of the pods on a node that is deleted.
    fn inherit(&mut self, member: &str, context: &JudgeContext<'_>) {
        let taints = self.taints.remove(member).unwrap_or_default();
        if context.profile.dialect != DialectKind::Nodes || taints.is_empty() {
            return;
        }
        for (key, workload) in context.world.assigned_to(member) {
            if let Some(TolerationEnd::At(until, _)) = toleration_end(workload, taints.iter()) {
                self.inherited.insert(Subject::on(key, member), until);
            }
        }
    }

    fn removed(&mut self, member: &str, taint: &Taint, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(state) = context.member(member) else { return };
        if state.evicting_taints().next().is_some() {
            return;
        }
        for (key, workload) in context.world.assigned_to(member) {
            let tolerated = toleration_end(workload, std::iter::once(taint));
            let Some(TolerationEnd::At(until, taint)) = tolerated else { continue };
            if has_true_time(&taint, context.world)
                && fact.at + context.timings().latency + bounds::STAMP < until
            {
                let spare = UnusedToleration { until, removed: fact.at, taint };
                self.unused_tolerations.insert(Subject::on(key, member), spare);
            }
        }
    }
}

/// Reports an eviction for a taint that does not exist.
/// An eviction just before the end of its taint, or of the member, is not a violation.
fn report_violation(
    subject: Subject,
    fact: &Fact,
    spare: Option<UnusedToleration>,
    member_gone: Option<Duration>,
    context: &mut JudgeContext<'_>,
) {
    let name = subject.member.clone().unwrap_or_default();
    let gone = context.member(&name).and_then(|member| member.untainted).max(member_gone);
    let uncertainty = fact.uncertainty.and(context.uncertainty_of(&subject));
    let earliest = fact.at.saturating_sub(uncertainty.early);
    let in_flight = gone.is_some_and(|gone| {
        earliest <= gone + context.timings().latency || context.may_have_missed(gone, fact.at)
    });
    let because = match spare {
        Some(UnusedToleration { until, removed, taint }) => {
            let because = format!(
                "{taint} was gone at {}, and it was tolerated until {}",
                clock(removed),
                clock(until)
            );
            if earliest < removed {
                let bound = Bound::Never;
                return context.tally.record_undecided(Ambiguity::new(
                    subject,
                    bound,
                    because,
                    fact.at,
                    uncertainty,
                ));
            }
            because
        }
        None if in_flight => return,
        None => "the member has no NoExecute taint".to_owned(),
    };
    let seen = format!("{subject} is evicted");
    context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
}
