//! That the end of an eviction is announced by an event: EVICTION.

use std::collections::BTreeMap;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::court::{Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::{Rule, Subject};
use crate::profile::Feature;
use crate::text::clock;
use capsize_history::facts::{Fact, News, WorkloadKey};

static EVICTION_16: Rule = Rule {
    id: "EVICTION-16",
    sentence: "the end of an eviction is announced by an event about the record of the workload",
    features: &[Feature::GracefulEviction],
    formula: bounds::TOLD,
    releases: "all",
    source: "Karmada pkg/util/helper/binding.go, EmitClusterEvictionEventForResourceBinding; client-go tools/record/event.go",
};

/// From so many ends on, the rate limit of client-go may drop the events about one object: it lets 25 through at once, and a
/// source may have published others.
const SURELY_PUBLISHED: u32 = 20;

/// P10. Events that the API server refuses are lost, and so are those that controllers had not written when they were stopped:
/// under faults of the control plane nothing is asked.
#[derive(Default)]
pub(crate) struct EvictionEndEvent {
    /// The number of evictions of each workload that have ended.
    ended: BTreeMap<WorkloadKey, u32>,
    waits: Waits,
}

impl Guarantee for EvictionEndEvent {
    fn rule(&self) -> &'static Rule {
        &EVICTION_16
    }

    fn topics(&self) -> Topics {
        topics![EvictionEnded, EvictionAnnounced, WorkloadGone, FaultBegan]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.waits)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::EvictionEnded { workload, task } if court.world.eviction_events => {
                self.ended(workload, &task.member, fact, court);
            }
            News::EvictionAnnounced { workload, member } => {
                if let Some(left) = self.waits.met(&Subject::on(workload, member), fact) {
                    court.book.held_by(left);
                }
            }
            News::WorkloadGone(key) => {
                self.ended.remove(key);
                self.waits.cancel_of(key, |_| true);
            }
            News::FaultBegan { member: None, .. } => self.waits.cancel_all(|_| true),
            _ => {}
        }
    }
}

impl EvictionEndEvent {
    fn ended(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, court: &mut Court<'_>) {
        let ended = self.ended.entry(key.clone()).or_default();
        *ended += 1;
        let (world, latency) = (court.world, court.timings().latency);
        // A person who removes a task announces nothing.
        let by_hand = !world.acted.is_zero() && fact.at <= world.acted + latency;
        if *ended > SURELY_PUBLISHED || by_hand || court.controllers_are_hindered(fact.at) {
            return;
        }
        // The watch of events may be ahead of that of records.
        let announced = world.workloads.get(key).and_then(|workload| workload.announced.get(member));
        if announced.is_some_and(|at| fact.at <= *at + court.disorder()) {
            return court.book.held();
        }
        let reason = Reason {
            because: format!("the eviction of {key} from {member} has ended at {}", clock(fact.at)),
            missing: format!("no event about the record of {key} says so"),
        };
        self.waits.start(Subject::on(key, member), fact, bounds::told(court.timings()), reason);
    }
}
