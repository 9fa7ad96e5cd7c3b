//! Checks that a workload is evicted when its toleration ends, and not before: TOLERATION.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::tolerated_until::{
    TolerationEnd, has_true_time, is_by_taint, lateness_of_write, lead_of_stamp, toleration_end,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{Change, Fact, Taint, Workload, WorkloadKey, World};

/// The result of [`queued`], computed at most once for a fact because it is expensive.
type Queue = OnceCell<(usize, u32)>;

/// Returns how many workloads must leave their members, and how often each is processed.
/// These are workloads that must leave the members that they are assigned to. They are processed once if none of them
/// has a toleration.
fn queued(world: &World) -> (usize, u32) {
    let (mut workloads, mut looks) = (0, 1);
    for (name, member) in world.members.iter().filter(|(_, member)| member.evicting_taints().next().is_some())
    {
        for (_, workload) in world.assigned_to(name) {
            if let Some(TolerationEnd::At(until, taint)) = toleration_end(workload, member.evicting_taints())
            {
                workloads += 1;
                looks = if until > taint.seen { 2 } else { looks };
            }
        }
    }
    (workloads, looks)
}

/// Returns true if the workload tolerates every taint of the member, at least for a time.
fn tolerates_all(world: &World, subject: &Subject) -> bool {
    let workload = subject.workload.as_ref().and_then(|key| world.workloads.get(key));
    let member = subject.member.as_ref().and_then(|name| world.members.get(name));
    workload.zip(member).is_some_and(|(workload, member)| {
        let tolerated = |taint: &Taint| workload.tolerations.iter().any(|each| each.tolerates(taint));
        member.evicting_taints().all(tolerated)
    })
}

/// Returns true if a taint of the member has no time, and the toleration of the workload is limited.
fn is_undated(key: &WorkloadKey, member: &str, context: &JudgeContext<'_>) -> bool {
    let Some((workload, member)) = context.workload(key).zip(context.member(member)) else { return false };
    let limited = |taint: &Taint| {
        let tolerated = workload.tolerations.iter().find(|each| each.tolerates(taint));
        tolerated.is_some_and(|toleration| toleration.lasts.is_some())
    };
    member.evicting_taints().any(|taint| !taint.ages && limited(taint))
}

/// Returns how long the workload tolerates a taint that it tolerates `until` then.
fn lasts(workload: Option<&Workload>, until: Duration, taint: &Taint) -> Duration {
    until.saturating_sub(taint.seen.max(workload.map(|workload| workload.arrived).unwrap_or_default()))
}

static TOLERATION_01: GuaranteeSpec = GuaranteeSpec {
    id: "TOLERATION-01",
    sentence: "a workload is evicted from a tainted member when its toleration is over, and not before",
    features: &[Feature::NoExecuteTaints],
    formula: bounds::EVICTED_AFTER_TOLERATION,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/taint_manager.go, needEviction",
};

/// Checks the time from a `NoExecute` taint to the eviction (requirements T5 and T6).
#[derive(Default)]
pub(crate) struct EvictionAtTolerationEnd {
    /// The toleration of each workload on a tainted member.
    known: BTreeMap<Subject, TolerationEnd>,
    /// For nodes, the least end of a toleration that is earlier than the known one, and its taint.
    least: BTreeMap<Subject, (Duration, Taint)>,
    /// The time since which a workload tolerates all taints for ever.
    /// This concerns a workload whose toleration of an earlier taint had ended.
    eased: BTreeMap<Subject, Duration>,
    /// For nodes, the ends of tolerations that were known when a node was deleted.
    /// A controller may go by them although a node of this name is there again.
    of_deleted: BTreeMap<Subject, Duration>,
    /// The workloads that are evicted only after the scheduler has recorded their placement as applied.
    unapplied: BTreeSet<WorkloadKey>,
    /// The time of the last eviction for a taint.
    last: Option<Duration>,
    deadlines: Deadlines,
    /// Whether no member is Ready, and the target promises that nothing leaves then.
    halts: bool,
}

impl Guarantee for EvictionAtTolerationEnd {
    accessors!(
        TOLERATION_01,
        [
            TaintAdded,
            TaintRemoved,
            EvictionBegan,
            Assigned,
            Wanted,
            Recorded,
            WorkloadGone,
            MemberGone,
            Health
        ],
        deadlines
    );

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::TaintAdded { member, .. } => self.look_at_member(member, fact, false, context),
            Change::TaintRemoved { member, .. } => self.look_at_member(member, fact, true, context),
            Change::EvictionBegan { workload, task } if is_by_taint(task, fact, context) => {
                self.evicted(workload, &task.member, fact, context);
                self.last = Some(fact.at);
            }
            Change::Assigned { workload, .. }
            | Change::Wanted(workload)
            | Change::EvictionBegan { workload, .. } => {
                self.look_at_workload(workload, fact, context);
            }
            Change::Recorded(key) if self.unapplied.contains(key) => self.applied(key, fact, context),
            Change::WorkloadGone(key) => {
                self.unapplied.remove(key);
                self.of_deleted.retain(|subject, _| !subject.is_of(key));
                self.least.retain(|subject, _| !subject.is_of(key));
                self.known.retain(|subject, _| !subject.is_of(key));
                self.eased.retain(|subject, _| !subject.is_of(key));
                self.deadlines.cancel_of(key, |_| true);
            }
            Change::Health { .. } if context.profile.has(Feature::HaltsWhenNoneReady) => {
                self.halted(fact, context);
            }
            Change::MemberGone(member) => {
                if context.profile.dialect == DialectKind::Nodes {
                    let ends = self.known.iter().filter(|(subject, _)| subject.is_on(member));
                    self.of_deleted.extend(ends.filter_map(|(subject, tolerates)| match tolerates {
                        TolerationEnd::At(until, _) => Some((subject.clone(), *until)),
                        TolerationEnd::Never => None,
                    }));
                }
                self.least.retain(|subject, _| !subject.is_on(member));
                self.known.retain(|subject, _| !subject.is_on(member));
                self.eased.retain(|subject, _| !subject.is_on(member));
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl EvictionAtTolerationEnd {
    fn look_at_member(&mut self, member: &str, fact: &Fact, removed: bool, context: &mut JudgeContext<'_>) {
        let (world, queue) = (context.world, Queue::new());
        for (key, _) in world.assigned_to(member) {
            let subject = Subject::on(key, member);
            let was_for_ever = self.known.get(&subject) == Some(&TolerationEnd::Never);
            self.look(key, member, fact, removed, &queue, context);
            if was_for_ever && !self.known.contains_key(&subject) {
                context.tally.record_held();
            }
        }
    }

    fn look_at_workload(&mut self, key: &WorkloadKey, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let dropped = |subject: &Subject| {
            !subject.member.as_ref().is_some_and(|member| workload.assignment.contains_key(member))
        };
        let of_key = self.known.range(Subject::workload(key)..).map(|(subject, _)| subject);
        let of_key = of_key.take_while(|subject| subject.is_of(key));
        for subject in of_key.filter(|subject| dropped(subject)).cloned().collect::<Vec<_>>() {
            self.known.remove(&subject);
        }
        self.deadlines.cancel_of(key, dropped);
        let queue = Queue::new();
        for member in workload.assignment.keys() {
            self.look(key, member, fact, true, &queue, context);
        }
    }

    /// Opens the deadlines of a workload whose placement is recorded as applied at last.
    fn applied(&mut self, key: &WorkloadKey, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(workload) = context.workload(key).filter(|workload| !workload.unapplied) else { return };
        self.unapplied.remove(key);
        let (queue, from) = (Queue::new(), fact.at + context.timings().recheck);
        for member in workload.assignment.keys() {
            let subject = Subject::on(key, member);
            if let Some(TolerationEnd::At(until, taint)) = self.known.get(&subject).cloned() {
                self.start_deadline(&subject, fact, from, (until, &taint), &queue, context);
            }
        }
    }

    /// Computes the deadline of a workload on a member.
    /// If the change is not a new taint, the eviction may have to wait for the next recheck.
    fn look(
        &mut self,
        key: &WorkloadKey,
        member: &str,
        fact: &Fact,
        rechecked: bool,
        queue: &Queue,
        context: &JudgeContext<'_>,
    ) {
        let (world, timings) = (context.world, context.timings());
        let subject = Subject::on(key, member);
        let workload = world.workloads.get(key);
        let taints = world.members.get(member).map(capsize_history::facts::Member::evicting_taints);
        let now = workload.zip(taints).and_then(|(workload, taints)| toleration_end(workload, taints));
        if now.as_ref() == self.known.get(&subject) {
            return;
        }
        // For nodes, a deadline that is set need not move (kubernetes/kubernetes#102993), unless a taint is not
        // tolerated at all. A controller whose deadline moves conforms too, and one that was restarted has to move it.
        if context.profile.dialect == DialectKind::Nodes
            && let (Some(TolerationEnd::At(first, _)), Some(TolerationEnd::At(until, taint))) =
                (self.known.get(&subject), &now)
            && tolerates_all(world, &subject)
        {
            if until < first {
                self.least.insert(subject, (*until, taint.clone()));
            } else if self.deadlines.has(&subject) {
                self.start_deadline(&subject, fact, fact.at, (*until, taint), queue, context);
            }
            return;
        }
        self.least.remove(&subject);
        self.deadlines.cancel(&subject);
        if let Some(TolerationEnd::At(until, taint)) = &now {
            let from = if rechecked { fact.at + timings.recheck } else { fact.at };
            // A node controller without a timer for the pod counts from the change of its toleration.
            let had_no_timer = self.known.get(&subject) == Some(&TolerationEnd::Never);
            let is_node = context.profile.dialect == DialectKind::Nodes;
            let from = if is_node && had_no_timer { from + lasts(workload, *until, taint) } else { from };
            self.start_deadline(&subject, fact, from, (*until, taint), queue, context);
        }
        match (self.known.get(&subject), &now) {
            (Some(TolerationEnd::At(until, _)), Some(TolerationEnd::Never)) if *until <= fact.at => {
                self.eased.insert(subject.clone(), fact.at);
            }
            _ => drop(self.eased.remove(&subject)),
        }
        match now {
            Some(now) => self.known.insert(subject, now),
            None => self.known.remove(&subject),
        };
    }

    /// Ends all deadlines while no member is Ready, and opens them again afterwards.
    /// Nothing may leave while no member is Ready.
    fn halted(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        let halts = context.world.no_member_is_ready();
        if halts == self.halts {
            return;
        }
        self.halts = halts;
        if halts {
            return self.deadlines.cancel_all(|_| true);
        }
        let queue = Queue::new();
        for (subject, known) in self.known.clone() {
            if let TolerationEnd::At(until, taint) = known {
                let from = fact.at + context.timings().recheck;
                self.start_deadline(&subject, fact, from, (until, &taint), &queue, context);
            }
        }
    }

    /// Opens the deadline of a workload that tolerates its member `until` a time because of a taint.
    fn start_deadline(
        &mut self,
        subject: &Subject,
        fact: &Fact,
        from: Duration,
        (until, taint): (Duration, &Taint),
        queue: &Queue,
        context: &JudgeContext<'_>,
    ) {
        let (Some(key), Some(member)) = (&subject.workload, &subject.member) else { return };
        if self.halts {
            return;
        }
        if context.workload(key).is_some_and(|workload| workload.unapplied) {
            self.unapplied.insert(key.clone());
            return;
        }
        let (world, timings) = (context.world, context.timings());
        let (workloads, looks) = *queue.get_or_init(|| queued(world));
        let pace = timings.eviction_pace.unwrap_or_default();
        let rested = looks == 1 && self.last.is_none_or(|last| last.saturating_add(pace) < fact.at);
        let queue = bounds::queue(timings, workloads, looks);
        let allowed = queue.saturating_sub(if rested { pace } else { Duration::ZERO }) + timings.latency;
        let expectation = Expectation {
            because: format!(
                "{member} has had {taint} since {}, and it is tolerated until {}",
                clock(taint.seen),
                clock(until)
            ),
            observed: format!("{key} is still assigned to {member}"),
        };
        let latest = from.max(until + lead_of_stamp(taint, timings.latency, world)) + allowed;
        self.deadlines.restart(subject.clone(), fact, latest, timings.recheck + allowed, expectation);
    }

    fn evicted(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let eased = self.eased.remove(&subject);
        let least = self.least.remove(&subject);
        let of_deleted = self.of_deleted.remove(&subject);
        let Some(tolerates) = self.known.remove(&subject) else { return };
        let seen = format!("{key} is evicted from {member}");
        let (until, taint) = match tolerates {
            TolerationEnd::At(until, taint) => least.unwrap_or((until, taint)),
            // The controllers may not have observed yet that the taint with the ended toleration is gone.
            TolerationEnd::Never if eased.is_some_and(|eased| context.may_have_missed(eased, fact.at)) => {
                return;
            }
            // A taint without a time may have been there for the whole toleration.
            TolerationEnd::Never if is_undated(key, member, context) => {
                let because = "a NoExecute taint has no time from which its toleration counts".to_owned();
                return context.report_undecided(subject, Bound::Never, because, fact.at);
            }
            TolerationEnd::Never => {
                let because = "every NoExecute taint is tolerated for ever".to_owned();
                return context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
        };
        if !has_true_time(&taint, context.world) {
            return margin.into_iter().for_each(|margin| context.tally.record_held_by(margin));
        }
        if until <= taint.seen {
            // Without a toleration there is no lower bound.
            return match margin {
                Some(margin) => context.tally.record_held_by(margin),
                None => context.tally.record_held(),
            };
        }
        let early = bounds::STAMP + context.timings().skew + lateness_of_write(&taint, context.world);
        if of_deleted.is_some_and(|until| until.saturating_sub(early) <= fact.at) {
            return;
        }
        let earliest = until.saturating_sub(early).max(taint.seen.min(fact.at));
        context.check_arrival(subject, fact, earliest, margin, || {
            let tolerated = span(until.saturating_sub(taint.seen));
            (
                format!(
                    "{taint} has been there since {}, and is tolerated for {tolerated}",
                    clock(taint.seen)
                ),
                seen,
            )
        });
    }
}
