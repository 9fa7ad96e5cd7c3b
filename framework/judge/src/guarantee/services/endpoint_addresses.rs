//! Checks that the endpoint addresses of services survive an outage: SERVICES.

use std::collections::BTreeMap;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::engine::faults_on_members::in_force;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::FaultKind;
use capsize_history::facts::{Change, Fact, Health, WorkloadKey};

static SERVICES_01: GuaranteeSpec = GuaranteeSpec {
    id: "SERVICES-01",
    sentence: "the endpoint addresses that a member exports stay while the member is not Ready, as long as its export exists",
    features: &[Feature::MultiClusterServices],
    formula: "at every version",
    releases: "1.14 and newer (#6258)",
    source: "Karmada pkg/controllers/mcs/service_export_controller.go",
};

/// Checks that clients keep the addresses of a member during an outage (requirement P8).
/// The outage ends before anything moves.
#[derive(Default)]
pub(crate) struct EndpointAddressesSurviveOutage {
    /// The number of addresses of each manifest.
    addresses: BTreeMap<Subject, usize>,
}

/// Returns true if controllers have surely observed all changes from before a fault cut the member off.
/// The member is called `name`. Until then, the addresses may change because the endpoints in the member did.
fn is_cut_off(name: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    in_force(name, context).any(|fault| {
        let cuts = matches!(fault.fault, FaultKind::Refuse | FaultKind::Reset | FaultKind::Partition);
        cuts && fault.direction.is_none() && !context.may_have_missed(fault.since, fact.at)
    })
}

impl Guarantee for EndpointAddressesSurviveOutage {
    accessors!(SERVICES_01, [Recalled, Rewritten, Delivered, DeliveryGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (key, name, recalled) = match &fact.change {
            Change::Recalled { workload, member } => (workload, member, true),
            Change::Rewritten { workload, member } => (workload, member, false),
            Change::Delivered { workload, member, .. } => (workload, member, false),
            Change::DeliveryGone { workload, member } => {
                self.addresses.remove(&Subject::on(workload, member));
                return;
            }
            _ => return,
        };
        let world = context.world;
        let delivery = world.workloads.get(key).and_then(|it| it.deliveries.get(name));
        let Some((namespace, service)) = delivery.and_then(|it| it.collected.as_ref()) else { return };
        let subject = Subject::on(key, name);
        let now = delivery.map_or(0, |it| it.asks.addresses);
        let was = self.addresses.insert(subject.clone(), now).unwrap_or_default();
        let emptied = was > 0 && now == 0 && is_cut_off(name, fact, context);
        let Some(member) = world.members.get(name) else { return };
        let export = WorkloadKey::new("ServiceExport", namespace.clone(), service.clone());
        let export = world.workloads.get(&export).and_then(|export| export.deliveries.get(name));
        let exports = export.is_some_and(|export| export.leaving.is_none()) && !member.leaving;
        if !(recalled || emptied) || !exports || member.health == Some(Health::Ready) {
            return context.tally.record_held();
        }
        let because = format!("{name} is not Ready, and still exports {namespace}/{service}");
        let seen = format!("its addresses in {key} are deleted");
        context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
    }
}
