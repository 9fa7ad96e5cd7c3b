//! Checks that the endpoint addresses of services survive an outage: SERVICES.

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Topics, Violation, topics};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Health, WorkloadKey};

static SERVICES_01: GuaranteeSpec = GuaranteeSpec {
    id: "SERVICES-01",
    sentence: "the endpoint addresses that a member exports stay while the member is not Ready, as long as its export exists",
    features: &[Feature::MultiClusterServices],
    formula: "at every version",
    releases: "1.14 and newer (#6258)",
    source: "Karmada pkg/controllers/mcs/service_export_controller.go",
};

/// Requirement P8: clients keep the addresses of a member during an outage that ends before anything moves.
pub(crate) struct EndpointAddressesSurviveOutage;

impl Guarantee for EndpointAddressesSurviveOutage {
    fn spec(&self) -> &'static GuaranteeSpec {
        &SERVICES_01
    }

    fn topics(&self) -> Topics {
        topics![Recalled, Rewritten, Delivered]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (key, name, recalled) = match &fact.change {
            Change::Recalled { workload, member } => (workload, member, true),
            Change::Rewritten { workload, member } => (workload, member, false),
            Change::Delivered { workload, member, .. } => (workload, member, false),
            _ => return,
        };
        let world = context.world;
        let delivery = world.workloads.get(key).and_then(|it| it.deliveries.get(name));
        let Some((namespace, service)) = delivery.and_then(|it| it.collected.as_ref()) else { return };
        let Some(member) = world.members.get(name) else { return };
        let export = WorkloadKey::new("ServiceExport", namespace.clone(), service.clone());
        let export = world.workloads.get(&export).and_then(|export| export.deliveries.get(name));
        let exports = export.is_some_and(|export| export.leaving.is_none()) && !member.leaving;
        if !recalled || !exports || member.health == Some(Health::Ready) {
            return context.tally.record_held();
        }
        let because = format!("{name} is not Ready, and still exports {namespace}/{service}");
        let seen = format!("its addresses in {key} are deleted");
        context.report_violation(Violation::by(fact, Subject::on(key, name), Bound::Never, because, seen));
    }
}
