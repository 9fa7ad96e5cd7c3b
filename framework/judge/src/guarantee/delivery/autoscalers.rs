//! Checks that autoscalers are on the members of their workloads: DELIVERY.

use std::collections::{BTreeMap, BTreeSet};

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, WorkloadKey};
use capsize_sorted::CollectSorted;

static DELIVERY_16: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-16",
    sentence: "an autoscaler that no policy has claimed is written for the members that its workload is assigned to, and is deleted \
               from members that the workload has left",
    features: &[Feature::CopiesAutoscalers],
    formula: bounds::CHANGE_REPORTED,
    releases: "1.6 and older; these releases leave it in members that the workload has left, and do not detect that a workload moves",
    source: "Karmada pkg/controllers/hpa/hpa_controller.go",
};

/// Checks that autoscalers without a policy are on the members of their workloads (requirement P9).
/// Other guarantees check the manifests that belong to a binding.
#[derive(Default)]
pub(crate) struct AutoscalerFollowsWorkload {
    /// The autoscalers that the control plane has shown; a history may not show them.
    known: BTreeSet<WorkloadKey>,
    /// The workloads whose records the history has shown.
    recorded: BTreeSet<WorkloadKey>,
    /// The autoscalers of each workload.
    of: BTreeMap<WorkloadKey, BTreeSet<WorkloadKey>>,
    deadlines: Deadlines,
}

impl Guarantee for AutoscalerFollowsWorkload {
    accessors!(
        DELIVERY_16,
        [
            Template,
            Assigned,
            Required,
            EvictionBegan,
            EvictionEnded,
            WorkloadGone,
            Delivered,
            Recalled,
            DeliveryGone,
            MemberLeaving,
            MemberGone
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Template(key)
            | Change::Delivered { workload: key, .. }
            | Change::Recalled { workload: key, .. }
            | Change::DeliveryGone { workload: key, .. }
                if key.kind() == "HorizontalPodAutoscaler" =>
            {
                self.look(key, fact, context);
            }
            Change::Assigned { workload: key, .. }
            | Change::Required(key)
            | Change::EvictionBegan { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. }
            | Change::WorkloadGone(key) => {
                for autoscaler in self.of.get(key).cloned().into_iter().flatten() {
                    self.look(&autoscaler, fact, context);
                }
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl AutoscalerFollowsWorkload {
    /// Checks an autoscaler in every member that should have it or has it.
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let world = context.world;
        let template = world.templates.get(key).filter(|template| !template.leaving);
        if template.is_some() {
            self.known.insert(key.clone());
        }
        let deliveries = world.workloads.get(key).map(|known| &known.deliveries);
        let asks = deliveries.and_then(|all| all.values().next()).map(|delivery| &*delivery.asks);
        let content = template.map(|template| &template.content).or(asks);
        let scaled = content.and_then(|content| content.scales.as_ref());
        let Some(scaled) = scaled.map(|(kind, name)| WorkloadKey::new(kind, key.namespace(), name)) else {
            return self.deadlines.cancel_of(key, |_| true);
        };
        self.of.entry(scaled.clone()).or_default().insert(key.clone());
        // An autoscaler that a policy has claimed has a binding.
        let is_claimed = template.is_some_and(|template| !template.policy.is_empty());
        if is_claimed || !self.known.contains(key) {
            return self.deadlines.cancel_of(key, |_| true);
        }
        let workload = world.workloads.get(&scaled).filter(|workload| workload.recorded);
        if workload.is_some() {
            self.recorded.insert(scaled.clone());
        }
        let targets = workload.filter(|_| template.is_some()).map(|workload| &workload.assignment);
        let written = deliveries.into_iter().flat_map(BTreeMap::keys);
        let members: BTreeSet<&String> =
            targets.into_iter().flat_map(BTreeMap::keys).chain(written).collect_sorted();
        self.deadlines
            .cancel_of(key, |subject| !subject.member.as_ref().is_some_and(|it| members.contains(it)));
        for member in members {
            let subject = Subject::on(key, member);
            let stays = world.members.get(member).is_some_and(|member| !member.leaving);
            let delivery = deliveries.and_then(|all| all.get(member));
            if !stays
                || !world.manifests_shown
                || delivery.is_some_and(|it| it.leaving.is_some() || it.placed)
            {
                self.deadlines.cancel(&subject);
                continue;
            }
            let is_target = targets.is_some_and(|targets| targets.contains_key(member));
            // A history that never shows the record does not show which members the workload has left.
            let holds = !self.recorded.contains(&scaled)
                || workload.is_some_and(|workload| workload.holders().any(|holder| holder == member));
            let wrong = match delivery {
                None => is_target.then(|| Expectation {
                    because: format!("{scaled} is assigned to {member}, and {key} scales it"),
                    observed: format!("{member} has no manifest of {key}"),
                }),
                Some(_) => (!holds || template.is_none()).then(|| Expectation {
                    because: match template {
                        None => format!("{key} is gone"),
                        Some(_) => format!("{scaled}, which {key} scales, has left {member}"),
                    },
                    observed: format!("the manifest of {key} for {member} is not deleted"),
                }),
            };
            self.deadlines.expect_correction(
                subject,
                fact,
                bounds::change_reported(context.timings()),
                wrong,
                context,
            );
        }
    }
}
