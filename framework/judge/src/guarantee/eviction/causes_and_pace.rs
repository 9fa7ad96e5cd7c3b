//! Checks the causes and pace of evictions, and old copies whose deletion is suppressed: EVICTION.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::engine::formula::EVICTION_WORKERS;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::FaultKind;
use capsize_history::facts::{Change, Fact, ObjectVersion, TaintEffect};

static EVICTION_10: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-10",
    sentence: "no workload is evicted for a taint if taint-based eviction is disabled",
    features: &[],
    formula: "at every version, without the feature NoExecuteTaints",
    releases: "all; in 1.5 only --enable-taint-manager disables it",
    source: "Karmada pkg/controllers/cluster/taint_manager.go, Start and Reconcile",
};

/// Checks that taints evict nothing without the feature `NoExecuteTaints` (requirement V4).
pub(crate) struct NoEvictionWhenDisabled;

impl Guarantee for NoEvictionWhenDisabled {
    accessors!(EVICTION_10, [TaintAdded, EvictionBegan]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if context.profile.has(Feature::NoExecuteTaints) {
            return;
        }
        match &fact.change {
            Change::TaintAdded { taint, .. } if taint.effect == TaintEffect::NoExecute => {
                context.tally.record_held();
            }
            Change::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                let subject = Subject::on(workload, &task.member);
                let because = "evictions for taints are disabled".to_owned();
                let seen = format!("{workload} is evicted from {}", task.member);
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
            _ => {}
        }
    }
}

static EVICTION_11: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-11",
    sentence: "an old copy whose deletion is suppressed stays until a person allows its deletion",
    features: &[Feature::GracefulEviction, Feature::ApplicationFailover],
    formula: "while the task suppresses the deletion",
    releases: "1.6 and newer",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

/// Requirement V10: while a task suppresses the deletion, the manifest for its member is not deleted.
pub(crate) struct SuppressedDeletionKeepsCopy;

impl Guarantee for SuppressedDeletionKeepsCopy {
    accessors!(EVICTION_11, [EvictionBegan, EvictionEnded, Recalled]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { task, .. } if task.suppress_deletion == Some(true) => {
                context.tally.record_held();
            }
            // Only a history that records the actions of persons shows that none has removed the task.
            Change::EvictionEnded { workload: key, task }
                if task.suppress_deletion == Some(true)
                    && context.world.acts_are_marked
                    && !context.may_be_by_a_person(fact.at) =>
            {
                let because = format!("the task for {} suppresses the deletion of the old copy", task.member);
                let subject = Subject::on(key, &task.member);
                let seen = "the task is gone, although nobody has allowed the deletion".to_owned();
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
            Change::Recalled { workload: key, member } => {
                let Some(workload) = context.workload(key).filter(|each| each.recorded) else {
                    return;
                };
                let stays = context.member(member).is_some_and(|member| !member.leaving);
                let kept = |task: &capsize_history::facts::EvictionTask| task.suppress_deletion == Some(true);
                if workload.eviction(member).is_some_and(kept) && stays {
                    let because = format!("the task for {member} suppresses its deletion");
                    let seen = format!("the old copy on {member} is deleted");
                    context.report_violation(Violation::by(
                        fact,
                        Subject::on(key, member),
                        Bound::Never,
                        because,
                        seen,
                    ));
                }
            }
            _ => {}
        }
    }
}

static EVICTION_13: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-13",
    sentence: "evictions for taints are paced: each of three workers waits after each eviction",
    features: &[Feature::NoExecuteTaints, Feature::GracefulEviction],
    formula: "the last of four evictions is not before evictionPace - skew after the first; counted for each scope of workloads. Evictions of one workload by one version count as one",
    releases: "1.16 and newer",
    source: "Karmada pkg/controllers/cluster/eviction_worker.go",
};

/// Requirement V17: namespaced and cluster-scoped workloads have one queue each.
#[derive(Default)]
pub(crate) struct EvictionPace {
    queues: BTreeMap<bool, VecDeque<Duration>>,
    /// The version of the latest eviction.
    /// A worker evicts a workload from all members at once that it must leave.
    latest: Option<ObjectVersion>,
}

impl Guarantee for EvictionPace {
    accessors!(EVICTION_13, [EvictionBegan, FaultEnded]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(pace) = context.timings().eviction_pace else { return };
        let (key, member) = match &fact.change {
            Change::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                (workload, &task.member)
            }
            // New workers take over, which are not waiting yet.
            Change::FaultEnded { member: None, .. } => return self.queues.clear(),
            _ => return,
        };
        if fact.witness.is_some() && fact.witness == self.latest {
            return;
        }
        self.latest.clone_from(&fact.witness);
        let queue = self.queues.entry(key.namespace().is_empty()).or_default();
        queue.push_back(fact.at);
        // Controllers that run twice have twice as many workers.
        let faults = &context.world.faults;
        let rivals = faults.iter().filter(|fault| fault.fault == FaultKind::Rival).count();
        let workers = EVICTION_WORKERS as usize * (rivals + 1);
        if queue.len() <= workers {
            return;
        }
        let Some(first) = queue.pop_front() else { return };
        let earliest = first.saturating_add(pace).saturating_sub(context.timings().skew);
        let subject = Subject::on(key, member);
        // Workers that start again are not waiting yet.
        if fact.at < earliest && !context.world.faults_are_marked {
            let because =
                "the history marks no faults, and the controllers may have started again".to_owned();
            return context.report_undecided(subject, Bound::NotBefore(earliest), because, fact.at);
        }
        context.check_arrival(subject, fact, earliest, None, || {
            let because = format!(
                "{workers} other evictions began since {}, and each worker waits {}",
                clock(first),
                span(pace)
            );
            (because, format!("{key} is evicted from {member}"))
        });
    }
}
