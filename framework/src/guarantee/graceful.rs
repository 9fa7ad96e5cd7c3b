//! The old copy stays until the new one really runs: EVICTION.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::bounds;
use super::court::{Charge, Court, Guarantee};
use super::{Bound, Rule, Subject};
use crate::facts::{EvictionTask, Fact, InstanceHealth, News, Workload, WorkloadKey, World};
use crate::report::text::{clock, span};
use crate::target::Feature;

static GRACEFUL: Rule = Rule {
    id: "EVICTION-03",
    sentence: "the old copy stays until the new one is healthy, or the graceful-eviction-timeout has passed",
    features: &[Feature::GracefulEviction],
    formula: bounds::GRACEFUL,
    releases: "the target for all; Karmada breaks it where a status is older than the schedule (#3736)",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go; karmada-io/karmada#3736",
};

/// V6: what counts is not what the control plane tells, which may be older than the schedule, but what the members'
/// own APIs show; where a history lacks a member's, the control plane's word on the replicas that are ready.
#[derive(Default)]
pub(super) struct Graceful {
    /// The last eviction of a workload from a member, until it is assigned there again.
    tasks: BTreeMap<Subject, EvictionTask>,
    /// Deletions for which no reason is seen yet; another watch may still tell of it.
    suspects: BTreeMap<Subject, (Fact, EvictionTask)>,
    old: OldCopies,
}

/// What was assigned to members when its record was first seen: copies that do not change may be older than the history.
#[derive(Default)]
struct OldCopies(BTreeSet<Subject>);

impl OldCopies {
    /// Whether the copy on `member` may be there though it was not seen: nothing of that member was.
    fn may_hide(&self, key: &WorkloadKey, member: &str, world: &World) -> bool {
        !world.observers.has_heard(member) && self.0.contains(&Subject::on(key, member))
    }
}

impl Guarantee for Graceful {
    fn rule(&self) -> &'static Rule {
        &GRACEFUL
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::EvictionBegan { workload, task } | News::EvictionStamped { workload, task } => {
                self.tasks.insert(Subject::on(workload, &task.member), task.clone());
            }
            News::EvictionEnded { workload, task } if task.suppress_deletion == Some(false) => {
                self.tasks.remove(&Subject::on(workload, &task.member));
            }
            News::Assigned { workload: key, was, now, .. } => {
                let Some(workload) = court.world.workloads.get(key) else { return };
                if was.is_empty() {
                    self.old.0.extend(now.keys().map(|member| Subject::on(key, member)));
                }
                for member in was.keys().filter(|member| !now.contains_key(*member)) {
                    self.old.0.remove(&Subject::on(key, member));
                }
                let again = |subject: &Subject| {
                    subject.is_of(key)
                        && subject
                            .member
                            .as_ref()
                            .is_some_and(|member| workload.assignment.contains_key(member))
                };
                self.tasks.retain(|subject, _| !again(subject));
            }
            News::Recalled { workload, member } => {
                let subject = Subject::on(workload, member);
                let leaving = court.world.members.get(member).is_none_or(|member| member.leaving);
                let task = self.tasks.remove(&subject).filter(|task| !task.directly && !leaving);
                let recorded = court.world.workloads.get(workload).is_some_and(|each| each.recorded);
                if let Some(task) = task.filter(|_| recorded) {
                    self.suspects.insert(subject, (fact.clone(), task));
                }
            }
            News::WorkloadGone(key) => {
                self.tasks.retain(|subject, _| !subject.is_of(key));
                self.suspects.retain(|subject, _| !subject.is_of(key));
                self.old.0.retain(|subject| !subject.is_of(key));
            }
            _ => {}
        }
        self.acquit(fact.at, court);
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        self.acquit(now, court);
        let disorder = court.disorder();
        let over = |fact: &Fact| now > fact.at.saturating_add(disorder);
        for (subject, (fact, task)) in self.suspects.extract_if(.., |_, (fact, _)| over(fact)) {
            accuse(subject, &fact, &task, &self.old, court);
        }
    }
}

impl Graceful {
    /// Lets those go whose old copy might go.
    fn acquit(&mut self, now: Duration, court: &mut Court<'_>) {
        let (world, timings, disorder) = (court.world, &court.profile.timings, court.disorder());
        let (book, old) = (&mut *court.book, &self.old);
        self.suspects.retain(|subject, (fact, task)| {
            let workload = subject.workload.as_ref().and_then(|key| world.workloads.get_key_value(key));
            let earliest = earliest(task, timings);
            let in_time = now <= fact.at.saturating_add(disorder);
            if fact.at >= earliest {
                book.held_by(fact.at.saturating_sub(earliest));
                false
            } else if task.inherited {
                false
            } else if in_time && workload.is_some_and(|(key, workload)| runs(key, workload, old, world)) {
                book.held();
                false
            } else {
                true
            }
        });
    }
}

fn earliest(task: &EvictionTask, timings: &crate::target::Timings) -> Duration {
    task.stamped.unwrap_or(task.seen) + bounds::not_timed_out(timings, task.grace)
}

/// Whether every assigned member runs what it is assigned; with no member assigned, nothing runs.
fn runs(key: &WorkloadKey, workload: &Workload, old: &OldCopies, world: &World) -> bool {
    !workload.assignment.is_empty()
        && workload.assignment.keys().all(|member| lacks(key, workload, member, old, world).is_none())
}

/// What `member` lacks of what it is assigned, in words.
fn lacks(
    key: &WorkloadKey,
    workload: &Workload,
    member: &str,
    old: &OldCopies,
    world: &World,
) -> Option<String> {
    let assigned = workload.assignment.get(member).copied().unwrap_or_default();
    let (healthy, ready) = match workload.running.get(member) {
        Some(running) => (running.is_healthy(), running.ready),
        None if workload.running.is_empty() || old.may_hide(key, member, world) => {
            let told = workload.instances.get(member);
            let healthy = told.is_some_and(|told| told.health == InstanceHealth::Healthy);
            (healthy, told.and_then(|told| told.ready).unwrap_or(if healthy { assigned } else { 0 }))
        }
        None => (false, 0),
    };
    (!healthy || ready < assigned).then(|| format!("{member} has {ready} of {assigned} ready"))
}

fn accuse(subject: Subject, fact: &Fact, task: &EvictionTask, old: &OldCopies, court: &mut Court<'_>) {
    let world = court.world;
    let workload = subject.workload.as_ref().and_then(|key| world.workloads.get_key_value(key));
    let state = match workload {
        Some((key, workload)) if !workload.assignment.is_empty() => {
            let members = workload.assignment.keys();
            let lacking: Vec<_> =
                members.filter_map(|member| lacks(key, workload, member, old, world)).collect();
            lacking.join(", ")
        }
        _ => "no member is assigned".to_owned(),
    };
    let timeout = task.grace.unwrap_or(court.timings().graceful_eviction_timeout);
    let bound = Bound::NotBefore(earliest(task, court.timings()));
    let because = format!("task begun {}, timeout {}", clock(task.seen), span(timeout));
    let seen = format!("the old copy is deleted; {state}");
    court.violated(Charge::by(fact, subject, bound, because, seen));
}
