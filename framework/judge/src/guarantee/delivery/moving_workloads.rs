//! Checks direct purges, frozen manifests and preserved state while a workload moves: DELIVERY.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Assignment, Change, EvictionTask, Fact, Workload, WorkloadKey};

static DELIVERY_07: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-07",
    sentence: "a workload with purge mode Directly gets no new copy before the old copy is gone",
    features: &[Feature::GracefulEviction, Feature::PurgeModes],
    formula: "at every version; writes that were under way when the eviction began are allowed for latency, unless the member is chosen later",
    releases: "1.15 and newer",
    source: "Karmada pkg/controllers/binding/common.go, checkDirectPurgeOrphanWorks",
};

/// Requirement V9: no new manifest is written while a task purges an existing manifest directly.
///
/// If a member was assigned after the eviction began, the record that assigned it already contained the eviction. A
/// controller that writes a manifest for this member therefore knew about the purge.
#[derive(Default)]
pub(crate) struct PurgeBeforeNewManifests {
    /// The members that were chosen while a task was purging another one directly, and when.
    later: BTreeMap<Subject, Duration>,
}

impl Guarantee for PurgeBeforeNewManifests {
    accessors!(DELIVERY_07, [Delivered, Assigned, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (key, member) = match &fact.change {
            Change::Delivered { workload, member, new: true } => (workload, member),
            Change::Assigned { workload: key, was, now, .. } => {
                return self.assigned(key, (was, now), fact.at, context);
            }
            Change::WorkloadGone(key) => return self.later.retain(|subject, _| !subject.is_of(key)),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        // Of two leaders, each may choose what the other has not observed yet.
        let chosen = self.later.remove(&Subject::on(key, member));
        let chosen = chosen.filter(|_| !context.controllers_are_hindered(fact.at));
        let observed = context.latest_surely_observed(fact.at);
        let is_known =
            |task: &&EvictionTask| observed > task.seen || chosen.is_some_and(|chosen| task.seen <= chosen);
        let mut purged = workload.evictions.iter().filter(|task| task.directly).peekable();
        if purged.peek().is_none() {
            return;
        }
        let there =
            |task: &&EvictionTask| workload.deliveries.contains_key(&task.member) && task.member != *member;
        match purged.filter(there).find(is_known) {
            None => context.tally.record_held(),
            Some(task) => {
                let because = format!("the old copy on {} is purged directly, and still exists", task.member);
                let seen = format!("a new manifest for {member} is written");
                context.report_violation(Violation::by(
                    fact,
                    Subject::on(key, member),
                    Bound::Never,
                    because,
                    seen,
                ));
            }
        }
    }
}

impl PurgeBeforeNewManifests {
    fn assigned(
        &mut self,
        key: &WorkloadKey,
        (was, now): (&Assignment, &Assignment),
        at: Duration,
        context: &JudgeContext<'_>,
    ) {
        let purges = |workload: &Workload| workload.evictions.iter().any(|task| task.directly);
        let purges = context.workload(key).is_some_and(purges);
        for name in now.keys().filter(|name| purges && !was.contains_key(*name)) {
            self.later.insert(Subject::on(key, name), at);
        }
        for name in was.keys().filter(|name| !now.contains_key(*name)) {
            self.later.remove(&Subject::on(key, name));
        }
    }
}

static DELIVERY_08: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-08",
    sentence: "the manifest for a member that a workload is leaving does not change",
    features: &[Feature::GracefulEviction],
    formula: "from latency after the eviction begins; at once if the manifest had the replicas of the task, and gets others",
    releases: "all",
    source: "Karmada pkg/controllers/binding/common.go, ensureWork",
};

/// Checks that old manifests do not change while a workload leaves a member (requirement V11).
/// Changes for the other members are not written to the old manifest.
#[derive(Default)]
pub(crate) struct OldManifestIsFrozen {
    /// The manifests that had the replicas of their task when the eviction began.
    /// Nothing that was under way then may change these replicas.
    as_recorded: BTreeSet<Subject>,
}

impl Guarantee for OldManifestIsFrozen {
    accessors!(DELIVERY_08, [Rewritten, EvictionBegan, EvictionEnded, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (key, member) = match &fact.change {
            Change::Rewritten { workload, member } => (workload, member),
            Change::EvictionBegan { workload: key, task } => {
                let delivery = context.workload(key).and_then(|it| it.deliveries.get(&task.member));
                if !task.inherited && delivery.is_some_and(|it| Some(it.replicas) == task.replicas) {
                    self.as_recorded.insert(Subject::on(key, &task.member));
                }
                return;
            }
            Change::EvictionEnded { workload, task } => {
                self.as_recorded.remove(&Subject::on(workload, &task.member));
                if context.workload(workload).is_some() {
                    context.tally.record_held();
                }
                return;
            }
            Change::WorkloadGone(key) => return self.as_recorded.retain(|subject| !subject.is_of(key)),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        let Some(task) = workload.eviction(member) else { return };
        let delivery = workload.deliveries.get(member);
        let scaled = delivery.is_some_and(|it| !it.overridden && Some(it.replicas) != task.replicas)
            && self.as_recorded.contains(&Subject::on(key, member))
            && !context.controllers_are_hindered(fact.at)
            // A change of the template may be under way.
            && !context.may_have_missed(workload.wanted_since, fact.at);
        let target = workload.targets().any(|target| target == member);
        let leaving = delivery.is_none_or(|delivery| delivery.leaving.is_some());
        let recent = context.may_have_missed(task.seen, fact.at);
        if target || leaving || recent && !scaled {
            return;
        }
        let because = format!("the workload has been leaving {member} since {}", clock(task.seen));
        let seen = format!("the manifest for {member} is rewritten");
        context.report_violation(Violation::by(fact, Subject::on(key, member), Bound::Never, because, seen));
    }
}

static DELIVERY_09: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-09",
    sentence: "the first manifest of a new copy carries the preserved state of the old copy",
    features: &[Feature::GracefulEviction, Feature::PurgeModes, Feature::PreservedState],
    formula: "when the manifest is written",
    releases: "1.12 and newer, by a feature gate; lost if failovers follow each other (#6232)",
    source: "Karmada pkg/controllers/binding/common.go, injectReservedLabelState",
};

/// Checks that the first manifest for a new member carries the preserved state (requirement V14).
/// This concerns the only assigned member, and the state that the last task preserves, if that task purges directly.
pub(crate) struct FirstManifestCarriesPreservedState;

impl Guarantee for FirstManifestCarriesPreservedState {
    accessors!(DELIVERY_09, [Delivered]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Delivered { workload: key, member, new: true } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        let only = workload.assignment.len() == 1 && workload.assignment.contains_key(member);
        let Some(task) = workload.evictions.last().filter(|task| only && task.directly) else { return };
        let Some(delivery) = workload.deliveries.get(member).filter(|_| !task.preserved.is_empty()) else {
            return;
        };
        let lost = task.preserved.iter().find(|(label, value)| delivery.labels.get(*label) != Some(value));
        let Some((label, value)) = lost else { return context.tally.record_held() };
        let because = format!("{label} must be {value}, as on {}", task.member);
        let seen = delivery
            .labels
            .get(label)
            .map_or("the manifest has no such label".to_owned(), |is| format!("the label is {is}"));
        context.report_violation(Violation::by(fact, Subject::on(key, member), Bound::Never, because, seen));
    }
}
