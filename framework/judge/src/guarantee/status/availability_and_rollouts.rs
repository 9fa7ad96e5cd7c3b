//! Checks that reports about the copies in lost members, and about rollouts, are true: STATUS.

use std::time::Duration;

use crate::guarantee::delivery::has_lost_holder;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Health, InstanceHealth, Workload, WorkloadKey, World};

static STATUS_04: GuaranteeSpec = GuaranteeSpec {
    id: "STATUS-04",
    sentence: "a copy in a member that is Unknown is not reported as available",
    features: &[Feature::ReportsLostCopies],
    formula: bounds::CHANGE_REPORTED,
    releases: "all",
    source: "Open Cluster Management pkg/work/hub/controllers/manifestworkreplicasetcontroller, status",
};

/// Checks that no copy in an Unknown member is reported as available.
/// If a member is silent, nobody knows whether its copy works.
#[derive(Default)]
pub(crate) struct LostCopiesAreNotAvailable(Deadlines);

impl Guarantee for LostCopiesAreNotAvailable {
    accessors!(STATUS_04, [Health, Recorded, Assigned, InstanceHealth, WorkloadGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, .. } => {
                let keys: Vec<_> = context.world.assigned_to(member).map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.look(&key, fact, context);
                }
            }
            Change::Recorded(key)
            | Change::Assigned { workload: key, .. }
            | Change::InstanceHealth { workload: key, .. } => self.look(key, fact, context),
            Change::WorkloadGone(key) => self.0.cancel(&Subject::workload(key)),
            _ => {}
        }
    }
}

impl LostCopiesAreNotAvailable {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let wrong = untrue(key, workload, context.world);
        let limit = bounds::change_reported(context.timings());
        self.0.expect_correction(Subject::workload(key), fact, limit, wrong, context);
    }
}

/// Returns what is wrong if more copies are reported as available than there can be.
fn untrue(key: &WorkloadKey, workload: &Workload, world: &World) -> Option<Expectation> {
    let unknown = |name: &&String| {
        world.members.get(*name).is_some_and(|member| member.health == Some(Health::Unknown))
    };
    let lost: Vec<&String> = workload.assignment.keys().filter(unknown).collect();
    let first = lost.first()?;
    let healthy = |name: &&&String| {
        workload.instances.get(**name).is_some_and(|it| it.health == InstanceHealth::Healthy)
    };
    let (reported, possible) = match workload.available {
        Some(available) => (available, (workload.assignment.len() - lost.len()) as u64),
        None => (lost.iter().filter(healthy).count() as u64, 0),
    };
    (reported > possible).then(|| Expectation {
        because: format!("{first} is Unknown"),
        observed: format!(
            "{reported} copies of {key} are still reported as available, of {possible} at most"
        ),
    })
}

static STATUS_05: GuaranteeSpec = GuaranteeSpec {
    id: "STATUS-05",
    sentence: "a rollout is reported as complete when all assigned members have applied it, and not without members",
    features: &[Feature::ReportsRollouts],
    formula: "at most recheck + latency after all assigned members have applied the manifest and are healthy, or after no member is assigned any more",
    releases: "all",
    source: "Open Cluster Management pkg/work/hub/controllers/manifestworkreplicasetcontroller, deploy reconciler",
};

/// The condition that reports a rollout, by its neutral name.
const ROLLED_OUT: &str = "RolledOut";

/// Checks that the condition `RolledOut` agrees with the assigned members.
/// A user waits for the condition before the next step.
#[derive(Default)]
pub(crate) struct RolloutIsReported(Deadlines);

impl Guarantee for RolloutIsReported {
    accessors!(
        STATUS_05,
        [Recorded, Assigned, DeliveryReported, Delivered, InstanceHealth, WorkloadGone, Health],
        0
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::WorkloadGone(key) => self.0.cancel(&Subject::workload(key)),
            Change::Health { member, .. } => {
                for (key, _) in context.world.assigned_to(member) {
                    self.look(key, fact, context);
                }
            }
            change => {
                if let Some(key) = change.workload() {
                    self.look(key, fact, context);
                }
            }
        }
    }
}

impl RolloutIsReported {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key).filter(|workload| workload.recorded) else { return };
        let is_healthy = |name: &String| {
            let applied = workload.deliveries.get(name).is_some_and(|it| it.applied == Some(true));
            let healthy = workload.instances.get(name).is_some_and(|it| it.health == InstanceHealth::Healthy);
            applied && healthy
        };
        let (condition, members) = (workload.condition(ROLLED_OUT), workload.assignment.len());
        // A report that leaves out lost copies cannot call the rollout complete.
        let lost = context.profile.has(Feature::ReportsLostCopies) && has_lost_holder(workload, context);
        let done = members > 0 && !lost && workload.assignment.keys().all(is_healthy);
        let wrong = match condition {
            "False" if done => Some(Expectation {
                because: format!("{members} of {members} members have applied the manifest, and are healthy"),
                observed: format!("the rollout of {key} is not reported as complete"),
            }),
            "True" if members == 0 => Some(Expectation {
                because: "no member is assigned".to_owned(),
                observed: format!("the rollout of {key} is reported as complete"),
            }),
            _ => None,
        };
        let limit: Duration = context.timings().recheck + context.timings().latency;
        self.0.expect_correction(Subject::workload(key), fact, limit, wrong, context);
    }
}
