//! Checks that suspended workloads, and those of other schedulers, are not scheduled: PLACEMENT.

use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use capsize_history::facts::{Change, Fact, Workload, World};

static PLACEMENT_13: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-13",
    sentence: "no member is chosen for a workload whose scheduling is suspended, or that another scheduler is responsible for",
    features: &[],
    formula: "at every choice, from latency after the change of the workload",
    releases: "all; Karmada scheduled workloads of other schedulers until 1.8 (#4139), and suspended ones until 1.14 (#6356)",
    source: "Karmada pkg/scheduler/event_handler.go, resourceBindingEventFilter",
};

/// Checks that workloads of other schedulers are not scheduled (requirement V18).
/// Workloads of other schedulers are known only if the recorder lists the schedulers that run.
pub(crate) struct ReservedWorkloadsAreNotScheduled;

/// Returns why members must not be chosen for `workload`.
fn reserved(workload: &Workload, world: &World) -> Option<String> {
    if workload.suspended {
        return Some("its scheduling is suspended".to_owned());
    }
    let known = world.schedulers.as_ref()?;
    let others = !workload.scheduler.is_empty() && !known.contains(&workload.scheduler);
    others.then(|| format!("it is for the scheduler {}, which does not run", workload.scheduler))
}

impl Guarantee for ReservedWorkloadsAreNotScheduled {
    accessors!(PLACEMENT_13, [Assigned, Wanted]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (key, gains) = match &fact.change {
            Change::Assigned { workload, was, now, first: false } => {
                let gains =
                    now.iter().find(|(name, replicas)| was.get(*name).is_none_or(|had| had < replicas));
                (workload, gains.map(|(name, _)| name))
            }
            // A workload that becomes reserved exercises the guarantee.
            Change::Wanted(key) => (key, None),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        let Some(because) = reserved(workload, context.world) else { return };
        let is_recent = workload.reserved_since > Duration::ZERO
            && context.may_have_missed(workload.reserved_since, fact.at);
        match gains {
            None => context.tally.record_held(),
            Some(_) if is_recent => {}
            Some(name) => {
                let seen = format!("{name} gets the workload, or more replicas of it");
                context.report_violation(Violation::by(
                    fact,
                    Subject::on(key, name),
                    Bound::Never,
                    because,
                    seen,
                ));
            }
        }
    }
}
