//! Checks that the dependencies of a workload are written for its members: DELIVERY.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, WorkloadKey};

static DELIVERY_13: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-13",
    sentence: "the ConfigMaps and Secrets that the pods of a workload use are written for every member of the workload",
    features: &[Feature::PropagatesDependencies],
    formula: bounds::DEPENDENCY_WRITTEN,
    releases: "all; Karmada 1.13 and older may delete them as garbage (#6034)",
    source: "Karmada pkg/dependenciesdistributor/dependencies_distributor.go; default interpreter, GetDependencies",
};

/// Checks that dependencies follow the workloads that need them (requirements S20 and E5).
/// The dependencies are the `ConfigMap`s and Secrets of the control plane. The workloads are those whose policy
/// propagates dependencies.
#[derive(Default)]
pub(crate) struct DependenciesFollowWorkload {
    /// The workloads that use each object.
    used_by: BTreeMap<WorkloadKey, BTreeSet<WorkloadKey>>,
    /// The time since which members are being removed, or are gone.
    away: BTreeMap<String, Duration>,
    /// For members that joined again, the time until which retried writes may come late.
    late: BTreeMap<String, Duration>,
    /// Whether the latest outage began while other members were away or late.
    overlaps: bool,
    deadlines: Deadlines,
}

impl Guarantee for DependenciesFollowWorkload {
    accessors!(
        DELIVERY_13,
        [
            Health,
            Assigned,
            Wanted,
            Delivered,
            Rewritten,
            Recalled,
            DeliveryGone,
            Template,
            WorkloadGone,
            MemberLeaving,
            MemberGone
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Assigned { workload: key, .. } | Change::Wanted(key) => self.look(key, fact, context),
            Change::Delivered { workload: key, .. }
            | Change::Rewritten { workload: key, .. }
            | Change::Recalled { workload: key, .. }
            | Change::DeliveryGone { workload: key, .. }
            | Change::Template(key) => {
                if matches!(key.kind(), "ConfigMap" | "Secret") {
                    for key in self.used_by.get(key).cloned().into_iter().flatten() {
                        self.look(&key, fact, context);
                    }
                } else {
                    self.look(key, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.deadlines.cancel_of(key, |_| true);
                self.used_by.retain(|_, users| {
                    users.remove(key);
                    !users.is_empty()
                });
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
                if !self.away.contains_key(member) {
                    self.overlaps = !self.away.is_empty() || self.late.values().any(|late| *late > fact.at);
                    self.away.insert(member.clone(), fact.at);
                }
            }
            Change::Health { member, first: true, .. } => {
                if let Some(since) = self.away.remove(member) {
                    let away = fact.at.saturating_sub(since);
                    self.late
                        .insert(member.clone(), fact.at + bounds::retried_after_outage(away, self.overlaps));
                }
            }
            _ => {}
        }
    }
}

impl DependenciesFollowWorkload {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let world = context.world;
        let Some(workload) = world.workloads.get(key).filter(|workload| workload.leads) else { return };
        let goes = |member: &String| !workload.assignment.contains_key(member);
        self.deadlines.cancel_of(key, |subject| subject.member.as_ref().is_none_or(goes));
        for member in workload.assignment.keys() {
            let subject = Subject::on(key, member);
            let stays = world.members.get(member).is_some_and(|member| !member.leaving);
            let Some(delivery) = workload.deliveries.get(member).filter(|it| stays && it.leaving.is_none())
            else {
                self.deadlines.cancel(&subject);
                continue;
            };
            let mut missing = None;
            for (kind, name) in &delivery.asks.refers_to {
                let needed = WorkloadKey::new(kind.clone(), key.namespace(), name.clone());
                // An old manifest that is being deleted must go first.
                let there = world.workloads.get(&needed).and_then(|it| it.deliveries.get(member));
                let exists = world.templates.get(&needed).is_some_and(|template| !template.leaving);
                if there.is_none() && exists && !world.is_closed(member) {
                    missing = missing.or(Some(needed.clone()));
                }
                self.used_by.entry(needed).or_default().insert(key.clone());
            }
            let wrong = missing.as_ref().map(|needed| Expectation {
                because: format!("{key} is assigned to {member}, and uses {needed}"),
                observed: format!("{member} has no manifest of {needed}"),
            });
            let late = self.late.get(member).map_or(Duration::ZERO, |late| late.saturating_sub(fact.at));
            let waited = |needed| world.workloads.get(needed).map(|it| it.retried_after(member, fact.at));
            let late = late.max(missing.as_ref().and_then(waited).unwrap_or_default());
            self.deadlines.expect_correction(
                subject,
                fact,
                bounds::dependency_written(context.timings(), late),
                wrong,
                context,
            );
        }
    }
}
