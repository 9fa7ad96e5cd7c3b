//! Checks that a new copy runs before a removal, and that replaced copies are deleted: AVAILABILITY.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::faults_on_members::{OutdatedViews, is_hit};
use crate::guarantee::engine::suspected_violations::SuspectedViolations;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Health, Running, WorkloadKey};
use capsize_sorted::CollectSorted;

static AVAILABILITY_01: GuaranteeSpec = GuaranteeSpec {
    id: "AVAILABILITY-01",
    sentence: "a workload that moves away from a member that can be reached is ready elsewhere before its old copy is removed",
    features: &[Feature::ReplacesBeforeRemoval],
    formula: "at every deletion of a manifest; a ready copy may be observed later by skew",
    releases: "all",
    source: "Open Cluster Management pkg/work/hub/controllers/manifestworkreplicasetcontroller, deploy reconciler",
};

/// Checks that the replacements of a copy are ready before the copy is removed.
/// If the member of the copy works, the move must not interrupt the workload.
#[derive(Default)]
pub(crate) struct ReplacementRunsBeforeRemoval {
    /// The members that were chosen since a workload left a member.
    replacements: BTreeMap<Subject, BTreeSet<String>>,
    suspected_violations: SuspectedViolations,
}

impl Guarantee for ReplacementRunsBeforeRemoval {
    accessors!(AVAILABILITY_01, [Assigned, Recalled, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Assigned { workload: key, was, now, .. } => {
                let came: BTreeSet<String> =
                    now.keys().filter(|it| !was.contains_key(*it)).cloned().collect_sorted();
                for left in was.keys().filter(|it| !now.contains_key(*it)) {
                    self.replacements.insert(Subject::on(key, left), BTreeSet::new());
                }
                for (subject, names) in &mut self.replacements {
                    if subject.is_of(key) {
                        names.extend(came.iter().cloned());
                    }
                }
                let returned = |subject: &Subject| {
                    subject.is_of(key) && subject.member.as_ref().is_some_and(|name| now.contains_key(name))
                };
                self.replacements.retain(|subject, _| !returned(subject));
            }
            Change::Recalled { workload, member } => self.recalled(workload, member, fact, context),
            Change::WorkloadGone(key) => self.replacements.retain(|subject, _| !subject.is_of(key)),
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        self.suspected_violations.due()
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let replacements = &self.replacements;
        self.suspected_violations.advance_to(now, context, |subject, _, context| {
            let names = replacements.get(subject);
            names.is_none_or(|names| waits_for(subject, names, context).is_none())
        });
    }
}

/// Returns the first replacement that is not ready.
fn waits_for<'a>(
    subject: &Subject,
    names: &'a BTreeSet<String>,
    context: &JudgeContext<'_>,
) -> Option<&'a String> {
    let workload = subject.workload.as_ref().and_then(|key| context.workload(key))?;
    let counts = |name: &&String| {
        let ready = context.member(name).is_some_and(|member| member.health == Some(Health::Ready));
        workload.assignment.contains_key(*name) && ready && !is_hit(name, context)
    };
    let observed = |name: &&String| context.world.observers.observes(name);
    let unready = |name: &&String| !workload.running.get(*name).is_some_and(Running::is_healthy);
    names.iter().filter(counts).filter(observed).find(unready)
}

impl ReplacementRunsBeforeRemoval {
    fn recalled(&mut self, key: &WorkloadKey, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, name);
        let Some(names) = self.replacements.get(&subject).filter(|names| !names.is_empty()) else { return };
        let ready = context.member(name).is_some_and(|it| it.health == Some(Health::Ready) && !it.leaving);
        // The removal of a copy without ready replicas is no outage.
        let serves = context.workload(key).is_some_and(|workload| {
            let ran = workload.running.get(name);
            ran.is_some_and(|copy| copy.is_healthy() && (copy.ready > 0 || !workload.has_replicas))
        });
        if !ready || is_hit(name, context) || !serves {
            return;
        }
        match waits_for(&subject, names, context) {
            Some(other) => {
                let because = format!("{name} can be reached, and the copy in {other} is not ready");
                let seen = format!("the copy in {name} is removed");
                self.suspected_violations.add(subject, fact, because, seen);
            }
            None => context.tally.record_held(),
        }
    }
}

static AVAILABILITY_02: GuaranteeSpec = GuaranteeSpec {
    id: "AVAILABILITY-02",
    sentence: "a copy that was replaced during an outage runs no longer than the outage",
    features: &[Feature::RemovesLeftCopies],
    formula: bounds::LEFT_COPY_REMOVED,
    releases: "all",
    source: "Open Cluster Management pkg/work/spoke/controllers/finalizercontroller",
};

/// Checks that a remaining copy is removed once its member is Ready and no fault hits the member.
/// A copy remains in a member if the workload has left the member.
/// Nothing fences a lost member, so that a copy may run twice. The copy may do so only for as long as the member is
/// lost.
#[derive(Default)]
pub(crate) struct RemainingCopyIsDeleted {
    outdated_views: OutdatedViews,
    deadlines: Deadlines,
    /// The members that a workload has left, and in which its copy has run since.
    /// A copy of another origin is left out: a cluster brings it when it joins, or a backup contains it.
    left: BTreeSet<Subject>,
}

impl Guarantee for RemainingCopyIsDeleted {
    accessors!(
        AVAILABILITY_02,
        [FaultBegan, FaultEnded, Health, Assigned, Running, RunningGone, WorkloadGone, MemberGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.outdated_views.observe(fact, context);
        match &fact.change {
            Change::FaultBegan { fault, member: Some(member) } => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
                if fault.loses_data() {
                    self.left.retain(|subject| !subject.is_on(member));
                }
            }
            Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
                self.left.retain(|subject| !subject.is_on(member));
            }
            Change::FaultEnded { member: Some(member), .. } | Change::Health { member, .. } => {
                let runs = |(key, workload): (&WorkloadKey, &capsize_history::facts::Workload)| {
                    workload.running.contains_key(member).then(|| key.clone())
                };
                for key in context.world.workloads.iter().filter_map(runs).collect::<Vec<_>>() {
                    self.look(&key, member, fact, context);
                }
            }
            Change::Assigned { workload, was, now, .. } => {
                for member in now.keys() {
                    self.left.remove(&Subject::on(workload, member));
                }
                let is_left =
                    |member: &&String| !now.contains_key(*member) && context.member(member).is_some();
                for member in was.keys().filter(is_left) {
                    self.left.insert(Subject::on(workload, member));
                }
                for member in was.keys().chain(now.keys()) {
                    self.look(workload, member, fact, context);
                }
            }
            Change::Running { workload, member } => self.look(workload, member, fact, context),
            Change::RunningGone { workload, member } => {
                let subject = Subject::on(workload, member);
                if let Some(margin) = self.deadlines.close_as_met(&subject, fact) {
                    context.tally.record_held_by(margin);
                }
                self.left.remove(&subject);
            }
            Change::WorkloadGone(key) => {
                self.deadlines.cancel_of(key, |_| true);
                self.left.retain(|subject| !subject.is_of(key));
            }
            _ => {}
        }
    }
}

impl RemainingCopyIsDeleted {
    fn look(&mut self, key: &WorkloadKey, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, name);
        let (Some(workload), Some(member)) = (context.workload(key), context.member(name)) else { return };
        // A finalizer of the member may keep a copy that is being deleted.
        let extra = workload.running.get(name).is_some_and(|copy| copy.managed && copy.leaving.is_none())
            && workload.recorded
            && !workload.assignment.is_empty()
            && !workload.holders().any(|holder| holder == name)
            && !workload.deliveries.get(name).is_some_and(|delivery| delivery.preserved);
        if !extra
            || !self.left.contains(&subject)
            || member.health != Some(Health::Ready)
            || member.leaving
            || is_hit(name, context)
        {
            return self.deadlines.cancel(&subject);
        }
        let expectation = Expectation {
            because: format!("{key} has left {name}, which can be reached"),
            observed: format!("the copy in {name} still runs"),
        };
        let limit =
            bounds::left_copy_removed(context.timings()) + self.outdated_views.remaining_delay(name, fact.at);
        self.deadlines.start(subject, fact, limit, expectation);
    }
}
