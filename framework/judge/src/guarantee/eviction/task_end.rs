//! Checks that eviction tasks end with healthy replacements, or at their timeout: EVICTION.

use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::tolerated_until::earliest_start_of_timeout;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::digest::Table;
use capsize_history::facts::{Assignment, Change, EvictionTask, Fact, InstanceHealth, Workload, WorkloadKey};

/// Returns true if every assigned member is reported healthy.
/// The result is also true without an assigned member.
fn are_reported_healthy(workload: &Workload) -> bool {
    let healthy = |member: &String| {
        workload.instances.get(member).is_some_and(|instance| instance.health == InstanceHealth::Healthy)
    };
    workload.assignment.keys().all(healthy)
}

/// Returns true if the reports on all assigned members belong to the latest schedule.
/// They have its number of replicas, and their manifests are applied. A copy that was scaled to zero is healthy without
/// replicas, and stays reported as healthy until its new state is delivered and reported.
fn is_report_of_latest_schedule(workload: &Workload) -> bool {
    let is_of = |(member, replicas): (&String, &u64)| {
        let Some(report) = workload.instances.get(member).filter(|report| report.applied) else {
            return false;
        };
        let reported = report.ready;
        let failed = workload.deliveries.get(member).is_some_and(|it| it.applied == Some(false));
        !failed && (*replicas == 0 || reported.is_none_or(|ready| ready == *replicas))
    };
    workload.assignment.iter().all(is_of)
}

static EVICTION_01: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-01",
    sentence: "an eviction task ends when every assigned member is reported to be healthy",
    features: &[Feature::GracefulEviction],
    formula: bounds::TASK_ENDED_WHEN_HEALTHY,
    releases: "all",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

/// Checks that a stamped task ends when all assigned members are healthy (requirement T11).
/// The health counts by a status that is not older than the schedule.
#[derive(Default)]
pub(crate) struct TaskEndsWhenReplacementsAreHealthy(Deadlines);

impl Guarantee for TaskEndsWhenReplacementsAreHealthy {
    accessors!(EVICTION_01, [EvictionEnded, Recorded, WorkloadGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionEnded { workload, task } => {
                if let Some(margin) = self.0.close_as_met(&Subject::on(workload, &task.member), fact) {
                    context.tally.record_held_by(margin);
                }
            }
            Change::Recorded(key) => self.recorded(key, fact, context),
            Change::WorkloadGone(key) => self.0.cancel_of(key, |_| true),
            _ => {}
        }
    }
}

impl TaskEndsWhenReplacementsAreHealthy {
    fn recorded(&mut self, key: &WorkloadKey, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let placed = workload.scheduled && !workload.assignment.is_empty();
        let ready = placed && are_reported_healthy(workload) && is_report_of_latest_schedule(workload);
        for task in &workload.evictions {
            let subject = Subject::on(key, &task.member);
            if ready && task.stamped.is_some() && task.suppress_deletion != Some(true) {
                let expectation = Expectation {
                    because: format!(
                        "all assigned members have been reported healthy since {}",
                        clock(fact.at)
                    ),
                    observed: format!("the task for {} still exists", task.member),
                };
                self.0.start(subject, fact, bounds::task_ended_when_healthy(context.timings()), expectation);
            } else {
                self.0.cancel(&subject);
            }
        }
    }
}

static EVICTION_02: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-02",
    sentence: "an eviction task without healthy replacements ends when its timeout has passed, and not before",
    features: &[Feature::GracefulEviction],
    formula: bounds::TASK_TIMED_OUT,
    releases: "all",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

/// The health of all assigned members together, as the last versions of a record reported it.
#[derive(Default)]
struct HealthBefore {
    /// Whether all were healthy.
    healthy: bool,
    /// When all were last healthy.
    until: Duration,
    /// The assignment of that time.
    assignment: Assignment,
}

impl HealthBefore {
    fn update(&mut self, workload: &Workload, now: Duration) {
        let healthy = are_reported_healthy(workload);
        if healthy {
            self.assignment.clone_from(&workload.assignment);
        }
        if healthy || self.healthy {
            self.until = now;
        }
        self.healthy = healthy;
    }

    /// Returns true if a controller may take all members for healthy.
    /// A controller may know a version from up to `latency` ago.
    fn may_be_known(&self, workload: &Workload, now: Duration, latency: Duration) -> bool {
        self.healthy || self.until + latency >= now && self.assignment == workload.assignment
    }
}

/// Checks that a task ends at its timeout, and not earlier (requirements T12 and V7).
/// If all assigned members are healthy, the task may end earlier.
#[derive(Default)]
pub(crate) struct TaskEndsAtTimeout {
    deadlines: Deadlines,
    /// The reports before the current version. A task may end in the same version in which they change.
    healthy: Table<WorkloadKey, HealthBefore>,
}

impl Guarantee for TaskEndsAtTimeout {
    accessors!(
        EVICTION_02,
        [EvictionBegan, EvictionStamped, EvictionEnded, Recorded, WorkloadGone],
        deadlines
    );

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload, task } | Change::EvictionStamped { workload, task } => {
                self.start_deadline(workload, task, fact, context);
            }
            Change::EvictionEnded { workload, task } => self.ended(workload, task, fact, context),
            Change::Recorded(key) => {
                let Some(workload) = context.workload(key) else { return };
                self.healthy.entry(key.clone()).or_default().update(workload, fact.at);
                for task in workload.evictions.iter().filter(|task| task.suppress_deletion == Some(true)) {
                    self.deadlines.cancel(&Subject::on(key, &task.member));
                }
            }
            Change::WorkloadGone(key) => {
                self.healthy.swap_remove(key);
                self.deadlines.cancel_of(key, |_| true);
            }
            _ => {}
        }
    }
}

impl TaskEndsAtTimeout {
    /// Opens the deadline of a task. A missing stamp may come within the latency.
    fn start_deadline(
        &mut self,
        key: &WorkloadKey,
        task: &EvictionTask,
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) {
        let limit = bounds::task_timed_out(context.timings(), task.grace);
        let until = task.stamped.unwrap_or(task.seen + context.timings().latency) + limit;
        let expectation = Expectation {
            because: format!("the task began at {}, and may last {} at most", clock(task.seen), span(limit)),
            observed: match task.stamped {
                Some(_) => format!("the task for {} still exists", task.member),
                None => {
                    format!("the task for {} still exists, and has no time stamp", task.member)
                }
            },
        };
        self.deadlines.restart(
            Subject::on(key, &task.member),
            fact,
            until,
            context.timings().latency,
            expectation,
        );
    }

    fn ended(&mut self, key: &WorkloadKey, task: &EvictionTask, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, &task.member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let latency = context.timings().latency;
        let may_be_healthy = |workload: &Workload| {
            let before = self.healthy.get(key);
            are_reported_healthy(workload)
                || before.is_none_or(|before| before.may_be_known(workload, fact.at, latency))
        };
        let healthy = context.workload(key).is_none_or(may_be_healthy);
        if healthy || task.inherited || task.suppress_deletion.is_some() {
            return;
        }
        let earliest = earliest_start_of_timeout(task, context.world, latency)
            + bounds::earliest_task_timeout(context.timings(), task.grace);
        let (world, timings) = (context.world, context.timings());
        // All members may have been healthy in a version that the history lacks.
        if fact.at < earliest && context.has_missed_versions(&subject, fact.at) {
            let because = "the history lacks versions of the record just before".to_owned();
            return context.report_undecided(subject, Bound::NotBefore(earliest), because, fact.at);
        }
        if fact.at < earliest && world.stamp_error(task) >= earliest - fact.at {
            let because = "the stamp of the task comes from a wrong clock".to_owned();
            return context.report_undecided(subject, Bound::NotBefore(earliest), because, fact.at);
        }
        context.check_arrival(subject, fact, earliest, margin, || {
            let timeout = task.grace.unwrap_or(timings.graceful_eviction_timeout);
            let because =
                format!("the task began at {}, and its timeout is {}", clock(task.seen), span(timeout));
            (because, format!("the task is gone, and {}", unhealthy(world.workloads.get(key))))
        });
    }
}

/// Lists the assigned members that are not reported healthy.
fn unhealthy(workload: Option<&Workload>) -> String {
    let Some(workload) = workload else { return "its state is not known".to_owned() };
    let state = |member: &String| workload.instances.get(member).map(|each| each.health).unwrap_or_default();
    let named: Vec<_> = workload
        .assignment
        .keys()
        .map(|member| (member, state(member)))
        .filter(|(_, health)| *health != InstanceHealth::Healthy)
        .map(|(member, health)| format!("{member} is {health:?}"))
        .collect();
    named.join(", ")
}
