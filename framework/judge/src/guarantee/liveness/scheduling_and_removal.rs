//! Checks that workloads are scheduled, and that the removal of members completes: LIVENESS.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::eligible_members::cannot_be_placed;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::dialect::DialectKind;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, Workload, WorkloadKey};

static LIVENESS_03: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-03",
    sentence: "a member that is being removed is gone once all of its workloads and manifests are gone",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBER_REMOVED,
    releases: "all; Karmada 1.14 did not complete the removal with its taint manager disabled (#6438)",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, removeCluster",
};

/// Checks that the removal of a member completes (requirements E3 and T20).
/// The member goes when no workload is assigned to it, evicted from it or written for it.
#[derive(Default)]
pub(crate) struct MemberRemovalCompletes {
    leaving: BTreeSet<String>,
    evicting: RemovalBlockers,
    written: RemovalBlockers,
    deadlines: Deadlines,
}

/// The workloads that block the removal of each member.
#[derive(Debug, Default)]
pub(crate) struct RemovalBlockers(Table<String, BTreeSet<WorkloadKey>>);

impl RemovalBlockers {
    /// Records that `key` blocks the removal of `member`.
    pub(crate) fn hold(&mut self, member: &str, key: &WorkloadKey) {
        self.0.entry(member.to_owned()).or_default().insert(key.clone());
    }

    /// Records that `key` no longer blocks the removal of `member`.
    pub(crate) fn release(&mut self, member: &str, key: &WorkloadKey) {
        if let Some(held) = self.0.get_mut(member) {
            held.remove(key);
        }
    }

    /// Records that `key` no longer blocks any removal.
    pub(crate) fn release_all(&mut self, key: &WorkloadKey) {
        for held in self.0.values_mut() {
            held.remove(key);
        }
    }

    /// Drops a member that is gone.
    pub(crate) fn forget(&mut self, member: &str) {
        self.0.swap_remove(member);
    }

    /// Returns true if a workload blocks the removal of `member`.
    pub(crate) fn any(&self, member: &str) -> bool {
        self.0.get(member).is_some_and(|held| !held.is_empty())
    }
}

impl Guarantee for MemberRemovalCompletes {
    accessors!(
        LIVENESS_03,
        [
            EvictionBegan,
            EvictionEnded,
            Delivered,
            DeliveryGone,
            WorkloadGone,
            MemberLeaving,
            MemberChanged,
            MemberGone,
            Assigned
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload, task } => self.evicting.hold(&task.member, workload),
            Change::EvictionEnded { workload, task } => self.evicting.release(&task.member, workload),
            Change::Delivered { workload, member, .. } => self.written.hold(member, workload),
            Change::DeliveryGone { workload, member } => self.written.release(member, workload),
            Change::WorkloadGone(key) => self.evicting.release_all(key),
            Change::MemberLeaving(member) => drop(self.leaving.insert(member.clone())),
            Change::MemberGone(member) => {
                self.evicting.forget(member);
                self.written.forget(member);
                if self.leaving.remove(member)
                    && let Some(margin) = self.deadlines.close_as_met(&Subject::member(member), fact)
                {
                    context.tally.record_held_by(margin);
                }
            }
            Change::Assigned { .. } | Change::MemberChanged(_) => {}
            _ => return,
        }
        for member in &self.leaving {
            // A finalizer of another owner keeps the member until it is removed.
            let kept = context.member(member).is_some_and(|member| member.held_up);
            let held = kept
                || self.evicting.any(member)
                || self.written.any(member)
                || context.world.assigned_to(member).next().is_some();
            let subject = Subject::member(member);
            if held {
                self.deadlines.cancel(&subject);
            } else {
                let expectation = Expectation {
                    because: format!("{member} is being removed, and its workloads and manifests are gone"),
                    observed: format!("{member} still exists"),
                };
                self.deadlines.start(subject, fact, bounds::member_removed(context.timings()), expectation);
            }
        }
    }
}

static LIVENESS_04: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-04",
    sentence: "no workload is assigned to a member that is gone",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, removeCluster",
};

/// Requirement E3: the removal of a member waits until no workload is assigned to it.
#[derive(Default)]
pub(crate) struct RemovedMemberLosesItsWorkloads {
    /// The workloads that are assigned to members that are gone, with the time when the member went.
    left: BTreeMap<Subject, Duration>,
    /// When each member went that is not there again.
    gone: BTreeMap<String, Duration>,
    deadlines: Deadlines,
}

impl Guarantee for RemovedMemberLosesItsWorkloads {
    accessors!(LIVENESS_04, [MemberGone, Health, Wanted, Recorded, Assigned, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::MemberGone(member) => {
                let assigned: Vec<_> = context.world.assigned_to(member).map(|(key, _)| key).collect();
                if assigned.is_empty() {
                    context.tally.record_held();
                }
                self.gone.insert(member.clone(), fact.at);
                for key in assigned {
                    self.left.insert(Subject::on(key, member), fact.at);
                    self.look(key, member, fact, context);
                }
            }
            Change::Health { member, first: true, .. } => drop(self.gone.remove(member)),
            Change::Wanted(key) | Change::Recorded(key) => {
                let of_key = self.left.range(Subject::workload(key)..).map(|(subject, _)| subject);
                let of_key = of_key.take_while(|subject| subject.is_of(key));
                let members: Vec<_> = of_key.filter_map(|subject| subject.member.clone()).collect();
                for member in members {
                    self.look(key, &member, fact, context);
                }
            }
            Change::Assigned { workload: key, was, now, .. } => {
                for member in was.keys().filter(|member| !now.contains_key(*member)) {
                    let subject = Subject::on(key, member);
                    self.left.remove(&subject);
                    if let Some(margin) = self.deadlines.close_as_met(&subject, fact) {
                        context.tally.record_held_by(margin);
                    }
                }
                // A scheduler that has not observed the end of the member chooses it rightly.
                for member in now.keys().filter(|member| !was.contains_key(*member)) {
                    let gone = self.gone.get(member).copied();
                    if let Some(gone) = gone.filter(|gone| !context.may_have_missed(*gone, fact.at)) {
                        self.left.insert(Subject::on(key, member), gone);
                        self.look(key, member, fact, context);
                    }
                }
            }
            Change::WorkloadGone(key) => {
                self.left.retain(|subject, _| !subject.is_of(key));
                self.deadlines.cancel_of(key, |_| true);
            }
            _ => {}
        }
    }
}

impl RemovedMemberLosesItsWorkloads {
    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let Some(gone) = self.left.get(&subject).copied() else { return };
        if context.member(member).is_some() {
            self.left.remove(&subject);
            return self.deadlines.cancel(&subject);
        }
        // A suspended workload is not scheduled, and one without enough members keeps its assignment.
        let stays = |workload: &Workload| workload.suspended || cannot_be_placed(workload);
        if context.workload(key).is_some_and(stays) {
            return self.deadlines.cancel(&subject);
        }
        let expectation = Expectation {
            because: format!("{member} has been gone since {}", clock(gone)),
            observed: format!("{key} is still assigned to it"),
        };
        self.deadlines.start(subject, fact, bounds::members_chosen(context.timings()), expectation);
    }
}

static LIVENESS_01: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-01",
    sentence: "the scheduler reports a result for every workload",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all; 1.5.0 never reports it for divided workloads (#3455)",
    source: "Karmada pkg/scheduler/scheduler.go, patchBindingStatusCondition",
};

/// Checks that the latest version is scheduled in time after each change (requirement E2).
/// Otherwise the workload is reported as impossible to place.
#[derive(Default)]
pub(crate) struct WorkloadIsScheduled(Deadlines);

impl Guarantee for WorkloadIsScheduled {
    accessors!(LIVENESS_01, [Recorded, WorkloadGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let key = match &fact.change {
            Change::Recorded(key) => key,
            Change::WorkloadGone(key) => return self.0.cancel(&Subject::workload(key)),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        let subject = Subject::workload(key);
        if !workload.placeable {
            return self.0.cancel(&subject);
        }
        let condition = workload.condition("Scheduled");
        // A dialect that is data may not read the condition.
        if condition.is_empty() && matches!(context.profile.dialect, DialectKind::Data(_)) {
            return self.0.cancel(&subject);
        }
        let done = condition == "False" || condition == "True" && workload.scheduled;
        let wrong = (!done).then(|| Expectation {
            because: "its record has changed".to_owned(),
            observed: "the scheduler has not reported a result for the change".to_owned(),
        });
        self.0.expect_correction(subject, fact, bounds::members_chosen(context.timings()), wrong, context);
    }
}
