//! Checks that each member has manifests for the namespaces that it needs: DELIVERY.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Member, WorkloadKey, World};

static DELIVERY_12: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-12",
    sentence: "every member gets the namespaces of the control plane, except for reserved ones",
    features: &[Feature::NamespaceSync],
    formula: bounds::CHANGE_REPORTED,
    releases: "all",
    source: "Karmada pkg/controllers/namespace/namespace_sync_controller.go",
};

/// Requirement P5: a member that takes over a workload already has the namespace.
/// A setting may exclude namespaces that begin with `kube-`.
#[derive(Default)]
pub(crate) struct NamespacesOnAllMembers(Deadlines);

fn of(name: &str) -> WorkloadKey {
    WorkloadKey::new("Namespace", "", name)
}

/// Returns true if the control plane has the namespace, and members need it.
fn is_wanted(name: &str, world: &World) -> bool {
    world.namespaces.get(name) == Some(&false) && !is_held_back(name)
}

fn is_held_back(name: &str) -> bool {
    name.starts_with("kube-")
}

impl Guarantee for NamespacesOnAllMembers {
    accessors!(DELIVERY_12, [Namespace, Health, Delivered, DeliveryGone, MemberLeaving, MemberGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Namespace(name) if !is_wanted(name, context.world) => {
                self.0.cancel_of(&of(name), |_| true);
                // The manifests of a member are gone with the namespace that they are in.
                let world = context.world;
                self.0.cancel_all(|subject| subject.member.as_ref().is_some_and(|it| world.is_closed(it)));
            }
            Change::Namespace(name) => {
                let key = of(name);
                for (member, known) in &context.world.members {
                    self.look(&key, member, Some(known), fact, context);
                }
            }
            Change::Health { member, first: true, .. } => {
                // Most namespaces of a big fleet belong to the control plane alone.
                let wanted =
                    context.world.namespaces.iter().filter(|(name, own)| !**own && !is_held_back(name));
                for (name, _) in wanted {
                    self.look(&of(name), member, context.member(member), fact, context);
                }
            }
            Change::Delivered { workload, member, new } if workload.kind() == "Namespace" => {
                if *new && context.world.namespaces.get(workload.name()) == Some(&true) {
                    let because = "the namespace is reserved for the control plane".to_owned();
                    let seen = format!("the namespace is written for {member}");
                    let subject = Subject::on(workload, member);
                    return context.report_violation(Violation::by(
                        fact,
                        subject,
                        Bound::Never,
                        because,
                        seen,
                    ));
                }
                self.look(workload, member, context.member(member), fact, context);
            }
            // Real controllers do not write a manifest again that a person has deleted.
            Change::DeliveryGone { workload, member }
                if workload.kind() == "Namespace"
                    && context.world.acts_are_marked
                    && !context.may_be_by_a_person(fact.at) =>
            {
                self.look(workload, member, context.member(member), fact, context);
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.0.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl NamespacesOnAllMembers {
    fn look(
        &mut self,
        key: &WorkloadKey,
        member: &str,
        known: Option<&Member>,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let subject = Subject::on(key, member);
        let stays = known.is_some_and(|known| !known.leaving);
        if !stays
            || context.world.is_closed(member)
            || !is_wanted(key.name(), context.world)
            || !context.world.manifests_shown
        {
            return self.0.cancel(&subject);
        }
        let there = context.workload(key).is_some_and(|it| it.deliveries.contains_key(member));
        let waited = context.workload(key).map(|it| it.retried_after(member, fact.at)).unwrap_or_default();
        let wrong = (!there).then(|| Expectation {
            because: format!("the control plane has the namespace {}", key.name()),
            observed: format!("{member} has no manifest of it"),
        });
        self.0.expect_correction(
            subject,
            fact,
            bounds::change_reported(context.timings()) + waited,
            wrong,
            context,
        );
    }
}
