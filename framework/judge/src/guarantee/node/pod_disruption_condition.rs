//! Checks that a pod gets a condition before it is evicted for a taint: NODE.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::engine::tolerated_until::{TolerationEnd, toleration_end};
use crate::guarantee::engine::unmarked_causes::report_if_actions_are_marked;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact};

static NODE_13: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-13",
    sentence: "a pod that is evicted for a taint has the condition DisruptionTarget when its deletion begins",
    features: &[Feature::NoExecuteTaints, Feature::TellsDisruption],
    formula: bounds::SAME_MOMENT,
    releases: "Kubernetes 1.26 and newer",
    source: "Kubernetes pkg/controller/tainteviction/taint_eviction.go, addConditionAndDeletePod",
};

/// Checks that a pod has its condition when its deletion for a taint begins (requirement I22).
/// This concerns every pod that is deleted at the end of its toleration and not by somebody else. A pod with another
/// reason in its condition was evicted for that reason. The `DaemonSet` controller deletes its pods itself.
#[derive(Default)]
pub(crate) struct PodConditionBeforeEviction;

impl Guarantee for PodConditionBeforeEviction {
    accessors!(NODE_13, [EvictionBegan]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::EvictionBegan { workload, task } = &fact.change else { return };
        let other_reason = !task.by_taint && !task.reason.is_empty();
        if task.inherited || other_reason {
            return;
        }
        let world = context.world;
        let (Some(pod), Some(node)) = (world.workloads.get(workload), world.members.get(&task.member)) else {
            return;
        };
        let due = match toleration_end(pod, node.evicting_taints()) {
            Some(TolerationEnd::At(until, _)) => until <= fact.at + bounds::STAMP,
            _ => false,
        };
        if due && task.by_taint {
            context.tally.record_held();
        } else if due && !pod.everywhere && !context.may_be_by_a_person(fact.at) {
            let because = "its node has a taint that it no longer tolerates".to_owned();
            let seen = format!("{workload} is deleted without the condition DisruptionTarget");
            let subject = Subject::on(workload, &task.member);
            let violation = Violation::by(fact, subject, Bound::Never, because, seen);
            report_if_actions_are_marked(violation, context);
        }
    }
}
