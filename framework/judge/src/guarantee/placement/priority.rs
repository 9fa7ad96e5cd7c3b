//! Checks which of several waiting workloads is placed first: PLACEMENT.

use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, WorkloadKey, sum};

static PLACEMENT_19: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-19",
    sentence: "of two workloads that wait for room, the one with the higher priority is placed first",
    features: &[Feature::WaitsForRoom, Feature::PlacesByPriority],
    formula: "for workloads that are placed within latency of each other, when their first wait of unschedulableRetry is over",
    releases: "1.19 and newer; before, the back-off of each workload decided",
    source: "Karmada pkg/scheduler/internal/queue/scheduling_queue.go, sortBindingsByPriority",
};

/// Requirement T8: the scheduler looks at all waiting workloads at once, and takes them by priority.
#[derive(Default)]
pub(crate) struct HigherPriorityIsPlacedFirst {
    /// The workloads that wait for room, with the beginning of their wait.
    waiting: Table<WorkloadKey, Duration>,
    /// The workloads that were placed after their wait, with the priority and the time.
    placed: Vec<(WorkloadKey, i64, Duration)>,
    /// When something last changed about a member for which the scheduler tries workloads again.
    woken: Option<Duration>,
}

impl Guarantee for HigherPriorityIsPlacedFirst {
    accessors!(PLACEMENT_19, [Recorded, Wanted, Assigned, WorkloadGone, MemberChanged, MemberGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::MemberChanged(_) | Change::MemberGone(_) => self.woken = Some(fact.at),
            Change::Wanted(key) | Change::WorkloadGone(key) => drop(self.waiting.swap_remove(key)),
            Change::Recorded(key) => {
                let lacks_room = context.workload(key).is_some_and(|workload| workload.lacks_room);
                if !lacks_room {
                    self.waiting.swap_remove(key);
                } else if !self.waiting.contains_key(key) {
                    self.waiting.insert(key.clone(), fact.at);
                }
            }
            Change::Assigned { workload: key, now, first: false, .. } => {
                let whole = context.workload(key).is_some_and(|workload| sum(now) == workload.replicas);
                let since = self.waiting.get(key).copied();
                if let Some(since) = since.filter(|_| whole) {
                    self.look(key, since, fact, context);
                }
            }
            _ => {}
        }
    }
}

impl HigherPriorityIsPlacedFirst {
    /// Compares a placed workload with those that were placed just before it.
    fn look(&mut self, key: &WorkloadKey, since: Duration, fact: &Fact, context: &mut JudgeContext<'_>) {
        let timings = context.timings();
        let (Some(retry), Some(check)) = (timings.unschedulable_retry, timings.unschedulable_check) else {
            return;
        };
        let recent = |at: Duration| at + timings.latency >= fact.at;
        let waited = fact.at.saturating_sub(since);
        let by_look = waited + timings.skew >= retry && waited <= retry + check + timings.latency;
        self.placed.retain(|(_, _, at)| recent(*at));
        // Another event than the end of the wait may have tried one workload before the other.
        let woken = self.woken.is_some_and(recent) || context.world.is_hindered(fact.at);
        let Some(workload) = context.workload(key).filter(|_| by_look && !woken) else { return };
        let lower = self.placed.iter().find(|(_, priority, _)| *priority < workload.priority);
        if let Some((first, priority, at)) = lower {
            let because = format!("its priority is {}, and that of {first} is {priority}", workload.priority);
            let seen = format!("{first} was placed before it, at {}", clock(*at));
            context.report_violation(Violation::by(
                fact,
                Subject::workload(key),
                Bound::Never,
                because,
                seen,
            ));
        } else if self.placed.iter().any(|(_, priority, _)| *priority > workload.priority) {
            context.tally.record_held();
        }
        self.placed.push((key.clone(), workload.priority, fact.at));
    }
}
