//! Checks the purge mode of evictions, and the state that they pass on: EVICTION.

use std::collections::BTreeSet;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, EvictionTask, Fact, InstanceHealth, WorkloadKey};

static EVICTION_14: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-14",
    sentence: "an eviction for a taint has the purge mode of the policy: the old copy is deleted at once, or after the new copy is healthy",
    features: &[Feature::GracefulEviction, Feature::PurgeModes],
    formula: "when the task begins, if the policy has a purge mode",
    releases: "1.15 and newer; Karmada lost it when a toleration ran out (#6676), and for cluster-scoped workloads (#6491)",
    source: "Karmada pkg/controllers/cluster/taint_manager.go, buildTaskOptions",
};

/// Requirement V9: the purge mode of the task is that of the policy.
pub(crate) struct PurgeModeOfPolicy;

impl Guarantee for PurgeModeOfPolicy {
    accessors!(EVICTION_14, [EvictionBegan]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::EvictionBegan { workload: key, task } = &fact.change else { return };
        let asked = context.workload(key).and_then(|workload| workload.purges);
        let Some(directly) = asked.filter(|_| task.by_taint && !task.inherited) else { return };
        if task.directly == directly && !task.keeps {
            return context.tally.record_held();
        }
        let how = |directly: bool| if directly { "at once" } else { "after the new copy is healthy" };
        let because = format!("the policy deletes old copies {}", how(directly));
        let seen = if task.keeps {
            format!("the task keeps the copy on {}", task.member)
        } else {
            format!("the task deletes the copy on {} {}", task.member, how(task.directly))
        };
        context.report_violation(Violation::by(
            fact,
            Subject::on(key, &task.member),
            Bound::Never,
            because,
            seen,
        ));
    }
}

static EVICTION_15: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-15",
    sentence: "preserved state is passed on to the next copy while its task exists, if the copy in between never became healthy",
    features: &[Feature::GracefulEviction, Feature::PreservedState, Feature::HandsOnState],
    formula: "when the task begins",
    releases: "the target for all; Karmada reads the state of the copy that never became healthy (#6232)",
    source: "Karmada pkg/controllers/applicationfailover/common.go; karmada-io/karmada#6232",
};

/// Checks that tasks preserve the same state as the first one (requirement V14).
/// This holds until the workload is reported healthy on a member that it moved to. The state is stored in the task, and
/// lost with it.
#[derive(Default)]
pub(crate) struct PreservedStateIsPassedOn {
    /// The last task that preserved any state, and the members that were chosen since.
    /// The task counts until it ends or a later copy is healthy. Another copy that existed already has a state of its
    /// own.
    last: Table<WorkloadKey, (Box<EvictionTask>, BTreeSet<String>)>,
}

impl Guarantee for PreservedStateIsPassedOn {
    accessors!(EVICTION_15, [EvictionBegan, EvictionEnded, InstanceHealth, Assigned, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload: key, task } if !task.preserved.is_empty() => {
                let last = self.last.insert(key.clone(), (task.clone(), BTreeSet::new()));
                let replaces = |chosen: &BTreeSet<String>| !task.inherited && chosen.contains(&task.member);
                let Some((last, _)) = last.filter(|(_, chosen)| replaces(chosen)) else { return };
                let lost =
                    last.preserved.iter().find(|(label, value)| task.preserved.get(*label) != Some(value));
                let Some((label, value)) = lost else { return context.tally.record_held() };
                let because =
                    format!("{label} was {value} on {}, and no copy has been healthy since", last.member);
                let seen = match task.preserved.get(label) {
                    Some(is) => format!("the task preserves {is}"),
                    None => "the task does not preserve it".to_owned(),
                };
                context.report_violation(Violation::by(
                    fact,
                    Subject::on(key, &task.member),
                    Bound::Never,
                    because,
                    seen,
                ));
            }
            Change::InstanceHealth { workload: key, member } => {
                let instance = context.workload(key).and_then(|workload| workload.instances.get(member));
                let works = instance.is_some_and(|instance| instance.health == InstanceHealth::Healthy);
                if works && self.last.get(key).is_some_and(|(last, _)| last.member != *member) {
                    self.last.swap_remove(key);
                }
            }
            Change::EvictionEnded { workload: key, task }
                if self.last.get(key).is_some_and(|(last, _)| last.member == task.member) =>
            {
                self.last.swap_remove(key);
            }
            Change::Assigned { workload: key, was, now, .. } => {
                if let Some((_, chosen)) = self.last.get_mut(key) {
                    chosen.extend(now.keys().filter(|member| !was.contains_key(*member)).cloned());
                }
            }
            Change::WorkloadGone(key) => drop(self.last.swap_remove(key)),
            _ => {}
        }
    }
}
