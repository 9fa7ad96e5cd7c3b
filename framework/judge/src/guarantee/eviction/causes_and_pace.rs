//! For what a workload may be evicted, and how many at a time: EVICTION.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Topics, Violation, topics,
};
use crate::guarantee::engine::formula::EVICTION_WORKERS;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::text::{clock, span};
use capsize_history::facts::{Change, Fact, InstanceHealth, TaintEffect, WorkloadKey};

static EVICTION_10: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-10",
    sentence: "nothing is evicted for a taint where that is switched off",
    features: &[],
    formula: "at every version, without the feature NoExecuteTaints",
    releases: "all; in 1.5 only --enable-taint-manager switches it off",
    source: "Karmada pkg/controllers/cluster/taint_manager.go, Start and Reconcile",
};

/// V4.
pub(crate) struct NoEvictionWhenDisabled;

impl Guarantee for NoEvictionWhenDisabled {
    fn spec(&self) -> &'static GuaranteeSpec {
        &EVICTION_10
    }

    fn topics(&self) -> Topics {
        topics![TaintAdded, EvictionBegan]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if context.profile.has(Feature::NoExecuteTaints) {
            return;
        }
        match &fact.change {
            Change::TaintAdded { taint, .. } if taint.effect == TaintEffect::NoExecute => {
                context.tally.record_held()
            }
            Change::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                let subject = Subject::on(workload, &task.member);
                let because = "evictions for taints are switched off".to_owned();
                let seen = format!("{workload} is evicted from {}", task.member);
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
            _ => {}
        }
    }
}

static EVICTION_11: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-11",
    sentence: "an old copy that is to be kept stays until somebody says that it may go",
    features: &[Feature::GracefulEviction, Feature::ApplicationFailover],
    formula: "as long as the task says so",
    releases: "1.6 and newer",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

/// V10: while a task suppresses the deletion, the manifest for its member is not deleted.
pub(crate) struct SuppressedDeletionKeepsCopy;

impl Guarantee for SuppressedDeletionKeepsCopy {
    fn spec(&self) -> &'static GuaranteeSpec {
        &EVICTION_11
    }

    fn topics(&self) -> Topics {
        topics![EvictionBegan, EvictionEnded, Recalled]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { task, .. } if task.suppress_deletion == Some(true) => {
                context.tally.record_held()
            }
            Change::EvictionEnded { workload: key, task } if task.suppress_deletion == Some(true) => {
                let world = context.world;
                let recent = world.acted.saturating_add(context.timings().latency) >= fact.at;
                // Only where the history tells what persons do is it known that none has taken the task away.
                if world.faults_are_marked && (world.acted.is_zero() || !recent) {
                    let because = format!("the task that evicts from {} keeps the old copy", task.member);
                    let subject = Subject::on(key, &task.member);
                    let seen = "nobody has said that it may go, and the task is gone".to_owned();
                    context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
                }
            }
            Change::Recalled { workload: key, member } => {
                let Some(workload) = context.workload(key).filter(|each| each.recorded) else {
                    return;
                };
                let stays = context.member(member).is_some_and(|member| !member.leaving);
                let kept = |task: &capsize_history::facts::EvictionTask| task.suppress_deletion == Some(true);
                if workload.eviction(member).is_some_and(kept) && stays {
                    let because = format!("the task that evicts from {member} keeps it");
                    let seen = format!("the old copy on {member} is deleted");
                    context.report_violation(Violation::by(
                        fact,
                        Subject::on(key, member),
                        Bound::Never,
                        because,
                        seen,
                    ));
                }
            }
            _ => {}
        }
    }
}

static EVICTION_12: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-12",
    sentence: "a workload leaves a member where it has been unhealthy for as long as its policy says, not before",
    features: &[Feature::GracefulEviction, Feature::ApplicationFailover],
    formula: bounds::UNHEALTHY,
    releases: "1.6 and newer; Karmada 1.6 counted an older time (#3500)",
    source: "Karmada pkg/controllers/applicationfailover/{rb_application_failover_controller,common}.go",
};

/// T18, V15 and V16: what counts is what the control plane is told, be it of a member that cannot be asked any more. Any
/// word other than unhealthy begins the time anew.
#[derive(Default)]
pub(crate) struct EvictionAfterIllHealth {
    since: BTreeMap<Subject, Duration>,
    deadlines: Deadlines,
}

impl Guarantee for EvictionAfterIllHealth {
    fn spec(&self) -> &'static GuaranteeSpec {
        &EVICTION_12
    }

    fn topics(&self) -> Topics {
        topics![InstanceHealth, Assigned, Wanted, EvictionBegan, WorkloadGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::InstanceHealth { workload, member } => self.look(workload, member, fact, context),
            Change::Assigned { workload: key, was, now, .. } => {
                for member in was.keys().chain(now.keys()) {
                    self.look(key, member, fact, context);
                }
            }
            Change::Wanted(key) => {
                let members = context.workload(key).map(|workload| workload.assignment.keys());
                for member in members.into_iter().flatten() {
                    self.deadlines.cancel(&Subject::on(key, member));
                    self.look(key, member, fact, context);
                }
            }
            Change::EvictionBegan { workload, task } if task.by_health && !task.inherited => {
                self.evicted(workload, &task.member, fact, context);
            }
            Change::WorkloadGone(key) => {
                self.since.retain(|subject, _| !subject.is_of(key));
                self.deadlines.cancel_of(key, |_| true);
            }
            _ => {}
        }
    }
}

impl EvictionAfterIllHealth {
    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let instance = workload.instances.get(member).map(|instance| instance.health);
        let subject = Subject::on(key, member);
        if instance != Some(InstanceHealth::Unhealthy) {
            self.since.remove(&subject);
            return self.deadlines.cancel(&subject);
        }
        let since = *self.since.entry(subject.clone()).or_insert(fact.at);
        let assigned = workload.assignment.contains_key(member) && workload.eviction(member).is_none();
        // What is to be handed on is waited for.
        let says = workload.instances.get(member).map(|instance| &instance.says);
        let handed_on = workload.evictions.iter().any(|task| !task.preserved.is_empty());
        let known = handed_on || says.is_some_and(|says| workload.hands_on.is_subset(says));
        let Some(lasts) = workload.unhealthy_for.filter(|_| assigned && known) else {
            return self.deadlines.cancel(&subject);
        };
        if !self.deadlines.has(&subject) {
            let allowed = bounds::unhealthy(context.timings());
            let expectation = Expectation {
                because: format!(
                    "it is unhealthy there since {}, and may be for {}",
                    clock(since),
                    span(lasts)
                ),
                missing: format!("{key} is still assigned to {member}"),
            };
            // A policy that changes is acted on from then on.
            let until = (since.saturating_add(lasts)).max(fact.at).saturating_add(allowed);
            self.deadlines.restart(subject, fact, until, lasts.saturating_add(allowed), expectation);
        }
    }

    fn evicted(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let margin = self.deadlines.met(&subject, fact);
        let Some(lasts) = context.workload(key).and_then(|workload| workload.unhealthy_for) else {
            return;
        };
        let seen = format!("{key} is evicted from {member}");
        let Some(since) = self.since.get(&subject) else {
            let because = "it is not told to be unhealthy there".to_owned();
            return context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
        };
        let earliest = since.saturating_add(lasts).saturating_sub(bounds::STAMP + context.timings().skew);
        let because =
            format!("it is unhealthy there since {}, and may be for {}", clock(*since), span(lasts));
        context.check_arrival(subject, fact, earliest, margin, || (because, seen));
    }
}

static EVICTION_13: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-13",
    sentence: "evictions for taints are paced: three workers, and each rests after each",
    features: &[Feature::NoExecuteTaints, Feature::GracefulEviction],
    formula: "of four evictions, the last not before evictionPace - skew after the first; for each scope of workloads",
    releases: "1.16 and newer",
    source: "Karmada pkg/controllers/cluster/eviction_worker.go",
};

/// V17: there is a queue for what is in a namespace, and one for what is not.
#[derive(Default)]
pub(crate) struct EvictionPace {
    queues: BTreeMap<bool, VecDeque<Duration>>,
}

impl Guarantee for EvictionPace {
    fn spec(&self) -> &'static GuaranteeSpec {
        &EVICTION_13
    }

    fn topics(&self) -> Topics {
        topics![EvictionBegan, FaultEnded]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(pace) = context.timings().eviction_pace else { return };
        let (key, member) = match &fact.change {
            Change::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                (workload, &task.member)
            }
            // Other workers take over, who have not begun to rest.
            Change::FaultEnded { member: None, .. } => return self.queues.clear(),
            _ => return,
        };
        let queue = self.queues.entry(key.namespace().is_empty()).or_default();
        queue.push_back(fact.at);
        if queue.len() <= EVICTION_WORKERS as usize {
            return;
        }
        let Some(first) = queue.pop_front() else { return };
        let earliest = first.saturating_add(pace).saturating_sub(context.timings().skew);
        context.check_arrival(Subject::on(key, member), fact, earliest, None, || {
            let because = format!("three others began since {}, and each takes {}", clock(first), span(pace));
            (because, format!("{key} is evicted from {member}"))
        });
    }
}
