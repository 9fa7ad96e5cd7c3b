//! Checks that unhealthy workloads leave their member in time (application failover): EVICTION.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::unmarked_causes::report_if_actions_are_marked;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{Change, Fact, InstanceHealth, WorkloadKey};

static EVICTION_12: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-12",
    sentence: "a workload leaves a member after it has been reported unhealthy there for the tolerationSeconds of its policy, and not before",
    features: &[Feature::GracefulEviction, Feature::ApplicationFailover],
    formula: bounds::UNHEALTHY_EVICTED,
    releases: "1.6 and newer; Karmada 1.6 counted an older time (#3500)",
    source: "Karmada pkg/controllers/applicationfailover/{rb_application_failover_controller,common}.go",
};

/// Checks that unhealthy workloads are evicted in time (requirements T18, V15 and V16).
/// The health that is reported to the control plane counts, even for a member that can no longer be reached. Any other
/// report than unhealthy restarts the time, and so does a time in which the workload is not assigned to the member. The
/// present policy counts.
#[derive(Default)]
pub(crate) struct EvictionOfUnhealthyWorkload {
    since: BTreeMap<Subject, Duration>,
    /// The reports that existed at the first observation of the record.
    /// The time of such a report is not known.
    inherited: BTreeSet<Subject>,
    /// The earlier time of each copy that is no longer reported as unhealthy, and when that report ended.
    interrupted: BTreeMap<Subject, (Duration, Duration)>,
    policies: BTreeMap<WorkloadKey, Tolerance>,
    deadlines: Deadlines,
}

/// How long a policy tolerates an unhealthy workload.
#[derive(Clone, Copy)]
struct Tolerance {
    lasts: Option<Duration>,
    /// The time that was tolerated before the last change.
    before: Option<Duration>,
    /// When the time last changed; absent if it never changed.
    changed: Option<Duration>,
    /// Since when unhealthy workloads are evicted; absent if they always were.
    since: Option<Duration>,
}

impl Guarantee for EvictionOfUnhealthyWorkload {
    accessors!(
        EVICTION_12,
        [InstanceHealth, Assigned, Wanted, Recorded, EvictionBegan, EvictionEnded, WorkloadGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if let Some(key) = fact.change.workload() {
            self.follow_policy(key, fact, context);
        }
        match &fact.change {
            Change::InstanceHealth { workload, member } => self.look(workload, member, fact, context),
            Change::Assigned { workload: key, was, now, first } => {
                for member in was.keys().chain(now.keys()) {
                    self.look(key, member, fact, context);
                }
                if *first {
                    let first = self.since.keys().filter(|subject| subject.is_of(key)).cloned();
                    self.inherited.extend(first);
                }
            }
            Change::Wanted(key) => {
                let members = context.workload(key).map(|workload| workload.assignment.keys());
                for member in members.into_iter().flatten() {
                    self.deadlines.cancel(&Subject::on(key, member));
                    self.look(key, member, fact, context);
                }
            }
            Change::EvictionBegan { workload, task } if task.by_health && !task.inherited => {
                self.evicted(workload, &task.member, fact, context);
            }
            // The state that the task preserved is lost with the task, and has to be reported anew.
            Change::EvictionEnded { workload: key, .. } => {
                let members = context.workload(key).map(|workload| workload.assignment.keys());
                for member in members.into_iter().flatten() {
                    self.look(key, member, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.since.retain(|subject, _| !subject.is_of(key));
                self.interrupted.retain(|subject, _| !subject.is_of(key));
                self.policies.remove(key);
                self.inherited.retain(|subject| !subject.is_of(key));
                self.deadlines.cancel_of(key, |_| true);
            }
            _ => {}
        }
    }
}

impl EvictionOfUnhealthyWorkload {
    /// Opens the deadlines of the workload again if its policy has changed.
    fn follow_policy(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let lasts = workload.unhealthy_for;
        let Some(was) = self.policies.get(key).copied() else {
            let tolerance = Tolerance { lasts, before: None, changed: None, since: None };
            self.policies.insert(key.clone(), tolerance);
            return;
        };
        if was.lasts == lasts {
            return;
        }
        let since = if was.lasts.is_none() { Some(fact.at) } else { was.since };
        let tolerance = Tolerance { lasts, before: was.lasts, changed: Some(fact.at), since };
        self.policies.insert(key.clone(), tolerance);
        for member in workload.assignment.keys() {
            self.deadlines.cancel(&Subject::on(key, member));
            self.look(key, member, fact, context);
        }
    }

    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let instance = workload.instances.get(member).map(|instance| instance.health);
        let subject = Subject::on(key, member);
        if instance != Some(InstanceHealth::Unhealthy) || !workload.assignment.contains_key(member) {
            if let Some(since) = self.since.remove(&subject) {
                self.interrupted.entry(subject.clone()).or_insert((since, fact.at)).1 = fact.at;
            }
            self.inherited.remove(&subject);
            return self.deadlines.cancel(&subject);
        }
        let is_new = !self.since.contains_key(&subject);
        let missed = |(_, ended): &(Duration, Duration)| context.may_have_missed(*ended, fact.at);
        if is_new && !self.interrupted.get(&subject).is_some_and(missed) {
            self.interrupted.remove(&subject);
        }
        let since = *self.since.entry(subject.clone()).or_insert(fact.at);
        let stays = workload.eviction(member).is_none();
        // State that must be preserved has to be reported first.
        let says = workload.instances.get(member).map(|instance| &instance.says);
        let handed_on = workload.evictions.iter().any(|task| !task.preserved.is_empty());
        let known = handed_on || says.is_some_and(|says| workload.hands_on.is_subset(says));
        let Some(lasts) = workload.unhealthy_for.filter(|_| stays && known) else {
            return self.deadlines.cancel(&subject);
        };
        if !self.deadlines.has(&subject) {
            let allowed = bounds::unhealthy_evicted(context.timings());
            let expectation = Expectation {
                because: unhealthy_too_long(since, lasts),
                observed: format!("{key} is still assigned to {member}"),
            };
            // Controllers that start again begin to count anew, and a changed policy counts from its change.
            let back = context.world.absences.last().map(|(_, back)| *back + context.timings().takeover);
            let asked = self.policies.get(key).and_then(|policy| policy.since);
            let counted = since.max(back.unwrap_or_default()).max(asked.unwrap_or_default());
            let until = counted.saturating_add(lasts).max(fact.at).saturating_add(allowed);
            self.deadlines.restart(subject, fact, until, lasts.saturating_add(allowed), expectation);
        }
    }

    fn evicted(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let Some(workload) = context.workload(key) else { return };
        let Some(lasts) = workload.unhealthy_for else {
            let changed = self.policies.get(key).and_then(|policy| policy.changed);
            let is_unseen = changed.is_some_and(|changed| context.may_have_missed(changed, fact.at));
            // A history may leave out the policy, and then also its rules in the record.
            let asks =
                context.world.policies.get(&workload.policy).is_none_or(|policy| policy.failover.is_some());
            let none_asks = !asks && !workload.leaves_when_unhealthy;
            if none_asks && !is_unseen && !context.may_be_by_a_person(fact.at) {
                let because = "its policy evicts no unhealthy workloads".to_owned();
                let seen = format!("{key} is evicted from {member} for its health");
                let violation = Violation::by(fact, subject, Bound::Never, because, seen);
                report_if_actions_are_marked(violation, context);
            }
            return;
        };
        // The controllers may not have observed the last change of the policy.
        let policy = self.policies.get(key);
        let is_unseen = |changed: Duration| context.may_have_missed(changed, fact.at);
        let before = policy.filter(|policy| policy.changed.is_some_and(is_unseen));
        let lasts = before.and_then(|policy| policy.before).map_or(lasts, |before| before.min(lasts));
        let seen = format!("{key} is evicted from {member}");
        // The controllers may have missed a report between two that the workload is unhealthy, and the last one.
        let earlier = self.interrupted.get(&subject);
        let usable = earlier.filter(|(_, ended)| self.since.contains_key(&subject) || is_unseen(*ended));
        let Some(since) = usable.map(|(since, _)| since).or(self.since.get(&subject)).copied() else {
            // A person may write a task with any reason.
            if context.may_be_by_a_person(fact.at) {
                return;
            }
            let because = "the workload is not reported to be unhealthy there".to_owned();
            return context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
        };
        let earliest = since.saturating_add(lasts).saturating_sub(bounds::STAMP + context.timings().skew);
        let because = unhealthy_too_long(since, lasts);
        if self.inherited.contains(&subject) && fact.at < earliest {
            return context.report_undecided(subject, Bound::NotBefore(earliest), because, fact.at);
        }
        context.check_arrival(subject, fact, earliest, margin, || (because, seen));
    }
}

/// The reason for both bounds of an eviction.
fn unhealthy_too_long(since: Duration, lasts: Duration) -> String {
    let (since, lasts) = (clock(since), span(lasts));
    format!("the workload has been unhealthy there since {since}, and its policy tolerates {lasts}")
}
