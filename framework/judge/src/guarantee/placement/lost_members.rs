//! Checks that lost members are not chosen, and that members chosen again keep copies: PLACEMENT.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, NEVER, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{Change, Fact, Health};

static PLACEMENT_17: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-17",
    sentence: "a member that is not Ready is not newly chosen, even if the workload tolerates its taints",
    features: &[Feature::AvoidsUnreadyMembers],
    formula: "at every choice; the health counts from latency after it is observed",
    releases: "all",
    source: "Open Cluster Management pkg/placement/plugins/tainttoleration/taint_toleration.go",
};

/// Checks that no member is newly chosen while it is known to be NotReady or Unknown.
/// A toleration keeps what runs on a member. It is no reason to move a workload to a member that is lost.
pub(crate) struct NewMembersAreReady;

impl Guarantee for NewMembersAreReady {
    accessors!(PLACEMENT_17, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        for name in now.keys().filter(|name| !was.contains_key(*name)) {
            let Some(member) = context.member(name) else { continue };
            let observed = !context.may_have_missed(member.health_since, fact.at);
            match member.health {
                Some(health @ (Health::Unknown | Health::NotReady)) if observed => {
                    let because = format!("{name} has been {health} since {}", clock(member.health_since));
                    let seen = format!("{key} is assigned to {name}");
                    let subject = Subject::on(key, name);
                    context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
                }
                Some(Health::Ready) => context.tally.record_held(),
                _ => {}
            }
        }
    }
}

static PLACEMENT_18: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-18",
    sentence: "a member that is chosen again after an outage keeps the copy that it still has",
    features: &[Feature::KeepsChosenCopies],
    formula: "no copy is deleted within latency + recheck before or after the choice, if it ran through the outage",
    releases: "all",
    source: "Open Cluster Management pkg/work/hub/controllers/manifestworkreplicasetcontroller",
};

/// A copy that ran through an outage is deleted only if its member is not chosen again at once.
#[derive(Default)]
pub(crate) struct ChosenAgainKeepsCopy {
    /// The copies that ran when their member was lost, and were not deleted since.
    outlasting: BTreeSet<Subject>,
    /// When copies were deleted from a member that had just come back.
    deleted: BTreeMap<Subject, Duration>,
    /// When members that still have a copy were chosen again.
    chosen: BTreeMap<Subject, Fact>,
}

/// The time within which a deletion and a choice belong together.
/// Two recorders may observe them farther apart.
fn window(context: &JudgeContext<'_>) -> Duration {
    (context.timings().latency + context.timings().recheck).saturating_sub(context.disorder())
}

/// Returns true if `member` was surely lost before `now`, and is still lost or has just come back.
fn is_after_outage(member: &str, now: Duration, context: &JudgeContext<'_>) -> bool {
    let Some(state) = context.member(member) else { return false };
    let lost_since = match state.health {
        Some(Health::Ready) if state.away.is_zero() => return false,
        Some(Health::Ready) if now > state.health_since.saturating_add(window(context)) => return false,
        Some(Health::Ready) => state.health_since.saturating_sub(state.away),
        Some(Health::Unknown | Health::NotReady) => state.health_since,
        None => return false,
    };
    now > lost_since.saturating_add(context.disorder())
}

impl Guarantee for ChosenAgainKeepsCopy {
    accessors!(PLACEMENT_18, [Health, Assigned, RunningGone, Wanted, WorkloadGone, MemberGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, was: Some(Health::Ready), now: Some(_), .. } => {
                self.outlasting.retain(|subject| !subject.is_on(member));
                let workloads = context.world.workloads.iter();
                let running = workloads.filter(|(_, it)| it.recorded && it.running.contains_key(member));
                self.outlasting.extend(running.map(|(key, _)| Subject::on(key, member)));
            }
            Change::RunningGone { workload, member } => {
                let subject = Subject::on(workload, member);
                let outlasted = self.outlasting.remove(&subject);
                if let Some(chosen) = self.chosen.remove(&subject) {
                    let because = format!("{member} was chosen again at {}", clock(chosen.at));
                    self.report(subject, fact, because, context);
                } else if outlasted && is_after_outage(member, fact.at, context) {
                    self.deleted.insert(subject, fact.at);
                }
            }
            Change::Assigned { workload, was, now, first: false } => {
                for name in now.keys().filter(|name| !was.contains_key(*name)) {
                    self.chosen(Subject::on(workload, name), fact, context);
                }
                for name in was.keys().filter(|name| !now.contains_key(*name)) {
                    self.chosen.remove(&Subject::on(workload, name));
                }
            }
            Change::Wanted(key) | Change::WorkloadGone(key) => {
                self.outlasting.retain(|subject| !subject.is_of(key));
                self.deleted.retain(|subject, _| !subject.is_of(key));
                self.chosen.retain(|subject, _| !subject.is_of(key));
            }
            Change::MemberGone(name) => {
                self.outlasting.retain(|subject| !subject.is_on(name));
                self.deleted.retain(|subject, _| !subject.is_on(name));
                self.chosen.retain(|subject, _| !subject.is_on(name));
            }
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        self.chosen.values().map(|fact| fact.at).min().unwrap_or(NEVER)
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let window = window(context);
        for _ in self.chosen.extract_if(.., |_, fact| now > fact.at + window) {
            context.tally.record_held();
        }
    }
}

impl ChosenAgainKeepsCopy {
    fn chosen(&mut self, subject: Subject, fact: &Fact, context: &mut JudgeContext<'_>) {
        let name = subject.member.clone().unwrap_or_default();
        if self.outlasting.contains(&subject) {
            if is_after_outage(&name, fact.at, context) {
                self.chosen.insert(subject, fact.clone());
            }
            return;
        }
        let Some(deleted) = self.deleted.remove(&subject) else { return };
        if fact.at <= deleted + window(context) {
            let ago = span(fact.at.saturating_sub(deleted));
            let because = format!("its copy ran through the outage, and was deleted {ago} before the choice");
            self.report(subject, fact, because, context);
        }
    }

    fn report(&mut self, subject: Subject, fact: &Fact, because: String, context: &mut JudgeContext<'_>) {
        let member = subject.member.clone().unwrap_or_default();
        let seen = format!("{member} is chosen again, and its running copy is lost");
        context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
    }
}
