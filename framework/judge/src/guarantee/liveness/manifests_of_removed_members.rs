//! Checks that manifests for an unreachable member are deleted when it is removed: LIVENESS.

use std::collections::BTreeSet;

use super::scheduling_and_removal::RemovalBlockers;
use crate::guarantee::engine::bounds::{self, ProbeFailure};
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::faults_on_members::in_force;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Health, WorkloadKey};

static LIVENESS_05: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-05",
    sentence: "the manifests for a member that is being removed are deleted, even if the member cannot be reached",
    features: &[Feature::HealthProbes],
    formula: bounds::ABANDONED_MANIFEST_DELETED,
    releases: "1.8 and newer for pull members (#1847)",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, removeExecutionSpace",
};

/// Checks that the manifests for a member that is away and being removed go (requirement E3).
/// A manifest in deletion does not wait for such a member, once no workload is assigned to the member or evicted from
/// it.
#[derive(Default)]
pub(crate) struct ManifestOfRemovedMemberIsDeleted {
    leaving: BTreeSet<String>,
    evicting: RemovalBlockers,
    deadlines: Deadlines,
}

impl Guarantee for ManifestOfRemovedMemberIsDeleted {
    accessors!(
        LIVENESS_05,
        [
            Recalled,
            DeliveryReported,
            DeliveryGone,
            MemberLeaving,
            Health,
            MemberGone,
            Assigned,
            EvictionBegan,
            EvictionEnded,
            WorkloadGone
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Recalled { workload, member } | Change::DeliveryReported { workload, member } => {
                self.look(workload, member, fact, context);
            }
            Change::DeliveryGone { workload, member } => {
                if let Some(margin) = self.deadlines.close_as_met(&Subject::on(workload, member), fact) {
                    context.tally.record_held_by(margin);
                }
            }
            Change::MemberLeaving(member) => {
                self.leaving.insert(member.clone());
                self.look_all(Some(member), fact, context);
            }
            Change::MemberGone(member) => {
                self.leaving.remove(member);
                self.evicting.forget(member);
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            Change::Health { member, .. } => self.look_all(Some(member), fact, context),
            Change::Assigned { was, now, .. } => self.look_all(was.keys().chain(now.keys()), fact, context),
            Change::EvictionBegan { workload, task } => {
                self.evicting.hold(&task.member, workload);
                self.look_all(Some(&task.member), fact, context);
            }
            Change::EvictionEnded { workload, task } => {
                self.evicting.release(&task.member, workload);
                self.look_all(Some(&task.member), fact, context);
            }
            Change::WorkloadGone(key) => {
                self.evicting.release_all(key);
                let leaving = self.leaving.clone();
                self.look_all(&leaving, fact, context);
            }
            _ => {}
        }
    }
}

impl ManifestOfRemovedMemberIsDeleted {
    /// Checks all manifests for those of `members` that are being removed.
    fn look_all<'a>(
        &mut self,
        members: impl IntoIterator<Item = &'a String>,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let leaving: Vec<_> = members.into_iter().filter(|member| self.leaving.contains(*member)).collect();
        for member in leaving {
            let world = context.world;
            for (key, _) in world.workloads.iter().filter(|(_, it)| it.deliveries.contains_key(member)) {
                self.look(key, member, fact, context);
            }
        }
    }

    fn look(&mut self, key: &WorkloadKey, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, name);
        let away = context.member(name).is_some_and(|member| {
            member.leaving && member.health.is_some_and(|health| health != Health::Ready)
        });
        let delivery = context.workload(key).and_then(|workload| workload.deliveries.get(name));
        let held = self.evicting.any(name) || context.world.assigned_to(name).next().is_some();
        if !away || held || !delivery.is_some_and(|it| it.leaving.is_some() && !it.held_up) {
            return self.deadlines.cancel(&subject);
        }
        let silent =
            in_force(name, context).any(|fault| bounds::failing(fault) == Some(ProbeFailure::Silent));
        let Some(limit) = bounds::abandoned_manifest_deleted(context.timings(), silent) else { return };
        let expectation = Expectation {
            because: format!("{name} is being removed, and cannot be reached"),
            observed: format!("the manifest of {key} for it still exists"),
        };
        self.deadlines.start(subject, fact, limit, expectation);
    }
}
