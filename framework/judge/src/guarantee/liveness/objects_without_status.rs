//! Checks that objects without a status are reported as healthy when they are applied: LIVENESS.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::faults_on_members::{OutdatedViews, is_hit};
use crate::guarantee::{GuaranteeSpec, Subject};
use capsize_history::facts::{Change, Fact, InstanceHealth, Workload, WorkloadKey};

static LIVENESS_06: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-06",
    sentence: "an object without a status is reported as healthy when it is applied",
    features: &[],
    formula: bounds::CHANGE_REPORTED,
    releases: "1.9 and newer (#4453)",
    source: "Karmada pkg/controllers/status/work_status_controller.go, interpretHealth",
};

/// Checks that an applied object without a status counts as healthy (requirement T11).
/// Otherwise only the timeout would end the eviction of such an object.
/// The reporting controller has to observe the copy, which may be late after an outage of the member.
#[derive(Default)]
pub(crate) struct ObjectWithoutStatusIsHealthyWhenApplied {
    deadlines: Deadlines,
    outdated_views: OutdatedViews,
}

/// The kinds of Kubernetes whose objects have no status, in alphabetical order.
const KINDS_WITHOUT_STATUS: [&str; 9] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "PriorityClass",
    "Role",
    "RoleBinding",
    "Secret",
    "ServiceAccount",
    "StorageClass",
];

fn is_not_reported_healthy(workload: &Workload, member: &str) -> bool {
    let instance = workload.instances.get(member);
    instance.is_some_and(|instance| instance.applied && instance.health != InstanceHealth::Healthy)
}

impl Guarantee for ObjectWithoutStatusIsHealthyWhenApplied {
    accessors!(LIVENESS_06, [InstanceHealth, FaultBegan, FaultEnded, WorkloadGone, MemberGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.outdated_views.observe(fact, context);
        match &fact.change {
            Change::InstanceHealth { workload, member }
                if KINDS_WITHOUT_STATUS.contains(&workload.kind()) =>
            {
                self.look(workload, member, fact, context);
            }
            Change::FaultBegan { member: Some(member), .. } => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            Change::FaultEnded { member: Some(member), .. } => {
                for kind in KINDS_WITHOUT_STATUS {
                    let of_kind = context.world.workloads.range(WorkloadKey::new(kind, "", "")..);
                    for (key, _) in of_kind.take_while(|(key, _)| key.kind() == kind) {
                        self.look(key, member, fact, context);
                    }
                }
            }
            Change::WorkloadGone(key) => self.deadlines.cancel_of(key, |_| true),
            _ => {}
        }
    }
}

impl ObjectWithoutStatusIsHealthyWhenApplied {
    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let wrong = is_not_reported_healthy(workload, member).then(|| Expectation {
            because: format!("a {} is healthy when it is applied", key.kind()),
            observed: format!("{key} is not reported as healthy on {member}"),
        });
        let applied = workload.instances.get(member).is_some_and(|instance| instance.applied);
        let subject = Subject::on(key, member);
        if wrong.is_none() && applied && !self.deadlines.has(&subject) {
            return context.tally.record_held();
        }
        if !is_hit(member, context) {
            let allowed = bounds::change_reported(context.timings())
                .max(self.outdated_views.remaining_delay(member, fact.at));
            self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
        }
    }
}
