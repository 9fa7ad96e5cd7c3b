//! Checks the contents of eviction tasks, and that they do not change: EVICTION.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::unmarked_causes::report_if_actions_are_marked;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::digest::Table;
use capsize_history::facts::{Assignment, Change, EvictionTask, Fact, WorkloadKey};

static EVICTION_05: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-05",
    sentence: "a workload has at most one eviction task for a member",
    features: &[Feature::GracefulEviction, Feature::EvictedNotRechosen],
    formula: "at every version",
    releases: "1.6 and newer (#3456)",
    source: "Karmada pkg/apis/work/v1alpha2/binding_types_helper.go, GracefulEvictCluster",
};

static EVICTION_06: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-06",
    sentence: "an eviction task records the number of replicas that the member had",
    features: &[Feature::GracefulEviction],
    formula: "when the task begins, if it records a number; a member without the workload gets no task",
    releases: "all",
    source: "Karmada pkg/apis/work/v1alpha2/binding_types_helper.go, GracefulEvictCluster",
};

static EVICTION_07: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-07",
    sentence: "an eviction task does not change while it lasts, even if other tasks begin or end",
    features: &[Feature::GracefulEviction],
    formula: "at every version; a person may allow or forbid the deletion of the old copy",
    releases: "all; Karmada lost tasks and stamps until 1.18 (#7290), mixed up their timeouts until 1.17 (#7184)",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

static EVICTION_08: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-08",
    sentence: "an eviction task gets its time stamp, and does not end without one",
    features: &[Feature::GracefulEviction],
    formula: bounds::TASK_STAMPED,
    releases: "all; 1.5.0 never stamps tasks of divided workloads (#3455)",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go, assessEvictionTasks",
};

static EVICTION_09: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-09",
    sentence: "only an eviction for a workload's own health has its own timeout or keeps the old copy",
    features: &[Feature::GracefulEviction],
    formula: "when the task begins",
    releases: "1.6 and newer",
    source: "Karmada pkg/controllers/applicationfailover/common.go, buildTaskOptions",
};

/// Returns what is wrong with a new task: the reason, and the observation.
type TaskCheck = fn(task: &EvictionTask, had: Option<u64>, of_member: usize) -> Option<(String, String)>;

/// Checks the contents of each new task.
pub(crate) struct NewTaskContents {
    spec: &'static GuaranteeSpec,
    check: TaskCheck,
    /// The assignments before the latest version.
    had: Table<WorkloadKey, Assignment>,
}

impl NewTaskContents {
    fn new(spec: &'static GuaranteeSpec, check: TaskCheck) -> Self {
        Self { spec, check, had: Table::default() }
    }

    /// Requirement S2: no two tasks are for one member.
    pub(crate) fn single_task() -> Self {
        Self::new(&EVICTION_05, |task, _, of_member| {
            let because = format!("there already is a task for {}", task.member);
            (of_member > 1).then(|| (because, format!("there are {of_member} tasks for {}", task.member)))
        })
    }

    /// Requirement S8: the task records the replicas. A member without the workload gets no task.
    pub(crate) fn replicas() -> Self {
        Self::new(&EVICTION_06, |task, had, _| {
            let (recorded, had) = (task.replicas?, had?);
            let because = format!("{} had {had} replicas", task.member);
            (recorded != had).then(|| (because, format!("the task records {recorded}")))
        })
    }

    /// Requirement S10: only some tasks have their own timeout or suppress the deletion.
    pub(crate) fn timeout_and_suppression() -> Self {
        Self::new(&EVICTION_09, |task, _, _| {
            let kept = task.suppress_deletion == Some(true) && !task.keeps;
            if task.keeps && task.by_taint {
                let because = format!("the reason is {}", task.reason);
                return Some((because, "the task keeps the old copy".to_owned()));
            }
            if kept {
                let because = "the purge mode does not keep the old copy".to_owned();
                return Some((because, "the task keeps the old copy".to_owned()));
            }
            let own = task.grace.is_some() && !task.by_health;
            own.then(|| (format!("the reason is {}", task.reason), "the task has its own timeout".to_owned()))
        })
    }
}

impl Guarantee for NewTaskContents {
    accessors!(self.spec, [Assigned, WorkloadGone, EvictionBegan]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Assigned { workload, now, .. } => drop(self.had.insert(workload.clone(), now.clone())),
            Change::WorkloadGone(key) => drop(self.had.swap_remove(key)),
            Change::EvictionBegan { workload: key, task } if !task.inherited => {
                let Some(workload) = context.workload(key) else { return };
                let of_member = workload.evictions.iter().filter(|each| each.member == task.member).count();
                let before = self.had.get(key);
                let had = before.and_then(|had| had.get(&task.member)).copied();
                let is_known = before.is_some() && !workload.skipped && !task.is_derived && of_member == 1;
                if self.spec.id == EVICTION_06.id && had.is_none() && is_known {
                    if context.may_be_by_a_person(fact.at) {
                        return;
                    }
                    let because = format!("the workload was not assigned to {}", task.member);
                    let seen = format!("there is a task for {}", task.member);
                    let subject = Subject::on(key, &task.member);
                    let violation = Violation::by(fact, subject, Bound::Never, because, seen);
                    return report_if_actions_are_marked(violation, context);
                }
                match (self.check)(task, had, of_member) {
                    None => context.tally.record_held(),
                    Some((because, seen)) => {
                        let subject = Subject::on(key, &task.member);
                        context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Checks that neither the stamp nor another field of a task changes (requirements S9 and V19).
/// An exception is that a person allows or forbids the deletion of the old copy.
pub(crate) struct TaskStaysUnchanged;

impl Guarantee for TaskStaysUnchanged {
    accessors!(EVICTION_07, [EvictionEnded, EvictionChanged]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionEnded { .. } => context.tally.record_held(),
            Change::EvictionChanged { workload, was, task }
                if was.suppress_deletion == task.suppress_deletion =>
            {
                let what = if was.created.is_some() && was.created != task.created {
                    "the time stamp"
                } else if was.grace != task.grace {
                    "the timeout"
                } else if was.replicas != task.replicas {
                    "the number of replicas"
                } else {
                    "the treatment of the old copy"
                };
                let subject = Subject::on(workload, &task.member);
                let because = format!("the task for {} is the same", task.member);
                context.report_violation(Violation::by(
                    fact,
                    subject,
                    Bound::Never,
                    because,
                    format!("{what} has changed"),
                ));
            }
            _ => {}
        }
    }
}

/// Requirements T7 and V8: the stamp is written in time.
/// A task that disappears without a stamp was lost by a writer with a stale list. No object records a derived task, so
/// that nothing could have a stamp.
#[derive(Default)]
pub(crate) struct TaskGetsTimestamp(Deadlines);

impl Guarantee for TaskGetsTimestamp {
    accessors!(
        EVICTION_08,
        [EvictionBegan, EvictionStamped, EvictionChanged, EvictionEnded, WorkloadGone],
        0
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload, task } => self.begun(workload, task, fact, context),
            Change::EvictionStamped { workload, task } | Change::EvictionChanged { workload, task, .. } => {
                let subject = Subject::on(workload, &task.member);
                if let Some(margin) = self.0.close_as_met(&subject, fact).filter(|_| task.created.is_some()) {
                    context.tally.record_held_by(margin);
                }
            }
            Change::EvictionEnded { workload, task } => {
                let subject = Subject::on(workload, &task.member);
                self.0.cancel(&subject);
                if task.created.is_none() && task.suppress_deletion.is_none() && !task.inherited {
                    let because = "the task has no time stamp".to_owned();
                    let seen = format!("the task for {} is gone", task.member);
                    context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
                }
            }
            Change::WorkloadGone(key) => self.0.cancel_of(key, |_| true),
            _ => {}
        }
    }
}

impl TaskGetsTimestamp {
    fn begun(&mut self, key: &WorkloadKey, task: &EvictionTask, fact: &Fact, context: &mut JudgeContext<'_>) {
        if task.created.is_some() {
            return context.tally.record_held();
        }
        let expectation = Expectation {
            because: format!("the eviction from {} has begun", task.member),
            observed: format!("the task for {} has no time stamp", task.member),
        };
        let limit = bounds::task_stamped(context.timings());
        self.0.start(Subject::on(key, &task.member), fact, limit, expectation);
    }
}
