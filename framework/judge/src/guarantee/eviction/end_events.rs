//! Checks that an event reports the end of an eviction: EVICTION.

use std::collections::BTreeMap;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact, WorkloadKey};

static EVICTION_16: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-16",
    sentence: "an event about the record of the workload reports the end of an eviction",
    features: &[Feature::GracefulEviction],
    formula: bounds::CHANGE_REPORTED,
    releases: "all",
    source: "Karmada pkg/util/helper/binding.go, EmitClusterEvictionEventForResourceBinding; client-go tools/record/event.go",
};

/// The number of ends whose events are surely published.
/// The rate limit of client-go lets 25 events about one object through at once, and the source may have published
/// others.
const SURELY_PUBLISHED: u32 = 20;

/// Checks that the end of an eviction publishes an event (requirement P10).
/// Events are lost if the API server refuses them, or if a controller stops before it writes them. So nothing is
/// expected under faults of the control plane.
#[derive(Default)]
pub(crate) struct EvictionEndEvent {
    /// The number of evictions of each workload that have ended.
    ended: BTreeMap<WorkloadKey, u32>,
    deadlines: Deadlines,
}

impl Guarantee for EvictionEndEvent {
    accessors!(EVICTION_16, [EvictionEnded, EvictionAnnounced, WorkloadGone, FaultBegan], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionEnded { workload, task } if context.world.eviction_events => {
                self.ended(workload, &task.member, fact, context);
            }
            Change::EvictionAnnounced { workload, member } => {
                if let Some(margin) = self.deadlines.close_as_met(&Subject::on(workload, member), fact) {
                    context.tally.record_held_by(margin);
                }
            }
            Change::WorkloadGone(key) => {
                self.ended.remove(key);
                self.deadlines.cancel_of(key, |_| true);
            }
            Change::FaultBegan { member: None, .. } => self.deadlines.cancel_all(|_| true),
            _ => {}
        }
    }
}

impl EvictionEndEvent {
    fn ended(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let ended = self.ended.entry(key.clone()).or_default();
        *ended += 1;
        // Controllers publish no event if a person removes a task.
        let by_hand = context.may_be_by_a_person(fact.at);
        if *ended > SURELY_PUBLISHED || by_hand || context.controllers_are_hindered(fact.at) {
            return;
        }
        // The watch of events may be ahead of the watch of records.
        let announced = context.workload(key).and_then(|workload| workload.announced.get(member));
        if announced.is_some_and(|at| fact.at <= *at + context.disorder()) {
            return context.tally.record_held();
        }
        let expectation = Expectation {
            because: format!("the eviction of {key} from {member} ended at {}", clock(fact.at)),
            observed: format!("no event about the record of {key} reports it"),
        };
        self.deadlines.start(
            Subject::on(key, member),
            fact,
            bounds::change_reported(context.timings()),
            expectation,
        );
    }
}
