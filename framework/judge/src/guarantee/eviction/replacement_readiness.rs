//! Checks that the old copy stays until the new one runs: EVICTION.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, NEVER, Topics, Violation};
use crate::guarantee::engine::tolerated_until::earliest_start_of_timeout;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::{Feature, Timings};
use crate::time_format::{clock, span};
use capsize_history::facts::{
    Assignment, Change, EvictionTask, Fact, FaultInForce, InstanceHealth, Workload, WorkloadKey, World,
};

static EVICTION_03: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-03",
    sentence: "the old copy of a workload stays until the new one is healthy, or until the graceful-eviction-timeout has passed",
    features: &[Feature::GracefulEviction],
    formula: bounds::OLD_COPY_KEPT,
    releases: "the target for all; Karmada violates it if a status is older than the schedule (#3736)",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go; karmada-io/karmada#3736",
};

/// Checks that an old copy stays until its replacement runs (requirement V6).
/// The state in the members' own APIs counts.
/// The report of the control plane may be older than the schedule, and counts only if the history does not contain the
/// member.
#[derive(Default)]
pub(crate) struct OldCopyStaysUntilReplacementRuns {
    /// The last eviction of a workload from a member, until it is assigned there again.
    tasks: BTreeMap<Subject, Box<EvictionTask>>,
    /// The evictions of `tasks` that ended when all assigned replicas ran.
    /// A later assignment does not change that.
    replaced: BTreeSet<Subject>,
    /// Deletions without a known reason; another watch may still report one.
    suspected_violations: BTreeMap<Subject, SuspectedDeletion>,
    /// The copies that run all assigned replicas.
    /// The time is `None` for a copy that runs them now, else the time when it stopped.
    ran: BTreeMap<Subject, Option<Duration>>,
}

/// The deletion of an old copy, with its eviction and with the assignment at that time.
struct SuspectedDeletion {
    fact: Fact,
    task: Box<EvictionTask>,
    assignment: Assignment,
}

impl Guarantee for OldCopyStaysUntilReplacementRuns {
    fn spec(&self) -> &'static GuaranteeSpec {
        &EVICTION_03
    }

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn topics(&self) -> Topics {
        Topics::ALL
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload, task } | Change::EvictionStamped { workload, task } => {
                let subject = Subject::on(workload, &task.member);
                self.replaced.remove(&subject);
                self.tasks.insert(subject, task.clone());
            }
            Change::EvictionEnded { workload, task }
                if task.suppress_deletion == Some(false)
                    || may_be_over(task, fact.at, context)
                    || ended_unaware(workload, fact.at, context) =>
            {
                self.tasks.remove(&Subject::on(workload, &task.member));
            }
            Change::EvictionEnded { workload: key, task }
                if context.workload(key).is_some_and(|workload| {
                    let ran_just_now = |member: &str| self.ran_just_now(key, member, fact.at, context);
                    runs(workload, &workload.assignment, context.world, ran_just_now)
                }) =>
            {
                self.replaced.insert(Subject::on(key, &task.member));
            }
            Change::Assigned { workload: key, was, now, .. } => {
                let Some(workload) = context.workload(key) else { return };
                let again = |subject: &Subject| {
                    subject.is_of(key)
                        && subject
                            .member
                            .as_ref()
                            .is_some_and(|member| workload.assignment.contains_key(member))
                };
                self.tasks.retain(|subject, _| !again(subject));
                for (member, _) in now.iter().filter(|(member, share)| was.get(*member) != Some(share)) {
                    self.assigned(key, member, context);
                }
            }
            Change::Recalled { workload, member } => {
                let subject = Subject::on(workload, member);
                let leaving = context.member(member).is_none_or(|member| member.leaving);
                let task = self.tasks.remove(&subject).filter(|task| !task.directly && !leaving);
                let recorded = context.workload(workload).filter(|each| each.recorded);
                if let Some((task, workload)) = task.zip(recorded) {
                    if self.replaced.remove(&subject) {
                        context.tally.record_held();
                    } else {
                        let (fact, assignment) = (fact.clone(), workload.assignment.clone());
                        self.suspected_violations
                            .insert(subject, SuspectedDeletion { fact, task, assignment });
                    }
                }
            }
            Change::Running { workload, member } | Change::RunningGone { workload, member } => {
                self.record_running(workload, member, fact, context);
            }
            Change::WorkloadGone(key) => {
                self.ran.retain(|subject, _| !subject.is_of(key));
                self.tasks.retain(|subject, _| !subject.is_of(key));
                self.replaced.retain(|subject| !subject.is_of(key));
                self.suspected_violations.retain(|subject, _| !subject.is_of(key));
            }
            _ => {}
        }
        self.clear_explained(fact.at, context);
    }

    fn due(&mut self) -> Duration {
        if self.suspected_violations.is_empty() { NEVER } else { Duration::ZERO }
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        self.clear_explained(now, context);
        let disorder = context.disorder();
        let over = |suspected: &SuspectedDeletion| now > suspected.fact.at.saturating_add(disorder);
        for (subject, suspected) in self.suspected_violations.extract_if(.., |_, suspected| over(suspected)) {
            report_violation(subject, &suspected, context);
        }
    }
}

impl OldCopyStaysUntilReplacementRuns {
    /// Records whether a copy runs all assigned replicas.
    fn record_running(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let subject = Subject::on(key, member);
        // If the last copy of all members is gone, only the old report of the control plane is left.
        let is_gone = matches!(fact.change, Change::RunningGone { .. });
        if !workload.assignment.contains_key(member) {
            self.ran.remove(&subject);
        } else if !is_gone && lacks(workload, &workload.assignment, member, context.world).is_none() {
            self.ran.insert(subject, None);
        } else if let Some(lost) = self.ran.get_mut(&subject) {
            lost.get_or_insert(fact.at);
        }
    }

    /// Returns true if the copy stopped so recently that a controller may not have observed it.
    /// Before that, the copy ran all assigned replicas.
    fn ran_just_now(
        &self,
        key: &WorkloadKey,
        member: &str,
        now: Duration,
        context: &JudgeContext<'_>,
    ) -> bool {
        let lost = self.ran.get(&Subject::on(key, member)).copied().flatten();
        lost.is_some_and(|lost| context.may_have_missed(lost, now))
    }

    /// Resets the readiness after a new assignment, if replicas are missing.
    /// The controller that made the assignment knows that replicas are missing.
    fn assigned(&mut self, key: &WorkloadKey, member: &str, context: &JudgeContext<'_>) {
        let lacking = context
            .workload(key)
            .and_then(|workload| lacks(workload, &workload.assignment, member, context.world));
        if lacking.is_some() {
            self.ran.remove(&Subject::on(key, member));
        }
    }

    /// Clears the suspected violations whose deletion was allowed.
    fn clear_explained(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let (world, timings, disorder) = (context.world, &context.profile.timings, context.disorder());
        let tally = &mut *context.tally;
        let ran = &self.ran;
        self.suspected_violations.retain(|subject, SuspectedDeletion { fact, task, assignment }| {
            let workload = subject.workload.as_ref().and_then(|key| world.workloads.get(key));
            let earliest = earliest(task, timings, world);
            let in_time = now <= fact.at.saturating_add(disorder);
            if fact.at >= earliest {
                tally.record_held_by(fact.at.saturating_sub(earliest));
                false
            } else if task.inherited || workload.is_some_and(|it| has_lost(it, fact.at, timings, world)) {
                false
            } else if in_time
                && workload.is_some_and(|workload| {
                    let is_unknown = |member: &str| is_unknown(ran, subject, member, world, timings);
                    // The watch of a member may be behind that of the assignment, or ahead of it.
                    let assignments = [assignment, &workload.assignment];
                    assignments.into_iter().any(|assignment| runs(workload, assignment, world, is_unknown))
                })
            {
                tally.record_held();
                false
            } else {
                true
            }
        });
    }
}

fn earliest(task: &EvictionTask, timings: &Timings, world: &World) -> Duration {
    earliest_start_of_timeout(task, world, timings.latency)
        + bounds::earliest_task_timeout(timings, task.grace)
}

/// Returns true if a wrong clock may explain that the task ends `now`.
fn may_be_over(task: &EvictionTask, now: Duration, context: &JudgeContext<'_>) -> bool {
    let error = context.world.stamp_error(task);
    !error.is_zero() && now.saturating_add(error) >= earliest(task, context.timings(), context.world)
}

/// Returns true if an assigned member has lost its data recently.
/// It is possible that no controller has observed the loss at `now`.
fn has_lost(workload: &Workload, now: Duration, timings: &Timings, world: &World) -> bool {
    let recent = bounds::copies_restored(timings, Duration::ZERO);
    workload.assignment.keys().any(|member| world.has_lost(member, now, recent))
}

/// Returns true if a task that ends `now` may end because of reports from before a loss of data.
/// The deletion of the old copy follows from the end of the task, however much later it comes. Controllers that are
/// just back know no report from their absence.
fn ended_unaware(key: &WorkloadKey, now: Duration, context: &JudgeContext<'_>) -> bool {
    let known = context.latest_surely_observed(now);
    let workload = context.workload(key);
    workload.is_some_and(|workload| has_lost(workload, known, context.timings(), context.world))
}

/// Returns true if every assigned member runs its replicas, as far as a controller can know.
/// A member for which `is_unknown` returns true counts as well. Without an assigned member the result is false.
fn runs(
    workload: &Workload,
    assignment: &Assignment,
    world: &World,
    is_unknown: impl Fn(&str) -> bool,
) -> bool {
    let runs = |member: &String| lacks(workload, assignment, member, world).is_none() || is_unknown(member);
    !assignment.is_empty() && assignment.keys().all(runs)
}

/// Returns true if a fault in force has hidden `member` since about the time when its copy was lost.
fn is_unknown(
    ran: &BTreeMap<Subject, Option<Duration>>,
    subject: &Subject,
    member: &str,
    world: &World,
    timings: &Timings,
) -> bool {
    let subject = Subject { member: Some(member.to_owned()), ..subject.clone() };
    let Some(Some(lost)) = ran.get(&subject) else { return false };
    let hides = |fault: &FaultInForce| {
        fault.member.as_deref() == Some(member)
            && !fault.is_of_a_clock()
            && fault.unreachable_since <= lost.saturating_add(timings.latency)
    };
    world.faults.iter().any(hides)
}

/// Describes which of the replicas in `assignment` the member lacks; `None` if it runs all of them.
fn lacks(workload: &Workload, assignment: &Assignment, member: &str, world: &World) -> Option<String> {
    let assigned = assignment.get(member).copied().unwrap_or_default();
    let unreported = || !workload.running.values().any(|running| running.reports);
    let (healthy, ready) = match workload.running.get(member).filter(|running| running.reports) {
        Some(running) => (running.is_healthy(), running.ready),
        None if unreported() || !world.observers.observes(member) => {
            let instance = workload.instances.get(member);
            let healthy = instance.is_some_and(|instance| instance.health == InstanceHealth::Healthy);
            (
                healthy,
                instance.and_then(|instance| instance.ready).unwrap_or(if healthy { assigned } else { 0 }),
            )
        }
        None => (false, 0),
    };
    // A copy that still has to be scaled down is not healthy, but nothing is missing.
    let too_many = workload.running.get(member).is_some_and(|running| running.replicas > assigned);
    (!healthy && !too_many || ready < assigned).then(|| format!("{member} has {ready} of {assigned} ready"))
}

fn report_violation(subject: Subject, suspected: &SuspectedDeletion, context: &mut JudgeContext<'_>) {
    let SuspectedDeletion { fact, task, assignment } = suspected;
    let world = context.world;
    let workload = subject.workload.as_ref().and_then(|key| world.workloads.get(key));
    let state = match workload {
        Some(workload) if !assignment.is_empty() => {
            let lacks = |member: &String| lacks(workload, assignment, member, world);
            let lacking: Vec<_> = assignment.keys().filter_map(lacks).collect();
            lacking.join(", ")
        }
        _ => "no member is assigned".to_owned(),
    };
    let timeout = task.grace.unwrap_or(context.timings().graceful_eviction_timeout);
    let bound = Bound::NotBefore(earliest(task, context.timings(), world));
    let because = format!("the task began at {}, and its timeout is {}", clock(task.seen), span(timeout));
    let seen = format!("the old copy is deleted; {state}");
    context.report_violation(Violation::by(fact, subject, bound, because, seen));
}
