//! A workload leaves a tainted member when its tolerations are over, and only then: TOLERATION.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds;
use super::court::{Charge, Court, Guarantee, Reason, Waits};
use super::{Bound, Rule, Subject};
use crate::facts::{Fact, News, Taint, TaintEffect, Workload, WorkloadKey, World};
use crate::report::text::{clock, span};
use crate::target::Feature;

/// Until when a workload tolerates a member.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tolerates {
    /// For ever.
    Forever,
    /// Until then, because of this taint.
    Until(Duration, Taint),
}

/// Until when `workload` tolerates the taints of `member`; `None` where none of them evicts.
///
/// Of a workload's tolerations the first that matches a taint counts. A taint that carries no time runs out only for
/// those that do not tolerate it at all.
fn tolerates<'a>(workload: &Workload, taints: impl Iterator<Item = &'a Taint>) -> Option<Tolerates> {
    let mut all = None;
    for taint in taints.filter(|taint| taint.effect == TaintEffect::NoExecute) {
        let until = match workload.tolerations.iter().find(|each| each.tolerates(taint)) {
            None => Some(taint.seen),
            Some(toleration) => {
                toleration.lasts.filter(|_| taint.time_added.is_some()).map(|lasts| taint.seen + lasts)
            }
        };
        all = match (all, until) {
            (Some(Tolerates::Until(least, by)), Some(until)) if least <= until => {
                Some(Tolerates::Until(least, by))
            }
            (_, Some(until)) => Some(Tolerates::Until(until, taint.clone())),
            (all, None) => all.or(Some(Tolerates::Forever)),
        };
    }
    all
}

/// Workloads that are assigned to members from which something is to be evicted.
fn queued(world: &World) -> usize {
    let tainted =
        |name: &String| world.members.get(name).is_some_and(|m| m.evicting_taints().next().is_some());
    world
        .workloads
        .values()
        .map(|workload| workload.assignment.keys().filter(|name| tainted(name)).count())
        .sum()
}

static DEADLINE: Rule = Rule {
    id: "TOLERATION-01",
    sentence: "a workload is evicted from a tainted member when its toleration is over, not before",
    features: &[Feature::NoExecuteTaints, Feature::GracefulEviction],
    formula: bounds::EVICTED,
    releases: "all",
    source: "T5, T6",
};

/// T5 with T6: from a `NoExecute` taint to the eviction.
#[derive(Default)]
pub(super) struct Deadline {
    /// Of each workload on a tainted member.
    known: BTreeMap<Subject, Tolerates>,
    waits: Waits,
}

impl Guarantee for Deadline {
    fn rule(&self) -> &'static Rule {
        &DEADLINE
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        self.waits.observe(fact, court);
        match &fact.news {
            News::TaintAdded { member, .. } => self.look_at_member(member, fact, false, court),
            News::TaintRemoved { member, .. } => self.look_at_member(member, fact, true, court),
            News::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                self.evicted(workload, &task.member, fact, court);
            }
            News::Assigned { workload, .. }
            | News::Wanted(workload)
            | News::EvictionBegan { workload, .. } => {
                self.look_at_workload(workload, fact, court);
            }
            News::WorkloadGone(key) => {
                self.known.retain(|subject, _| !subject.is_of(key));
                self.waits.cancel_all(|subject| subject.is_of(key));
            }
            News::MemberGone(member) => {
                self.known.retain(|subject, _| !subject.is_on(member));
                self.waits.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        self.waits.pass(now, court);
    }
}

impl Deadline {
    fn look_at_member(&mut self, member: &str, fact: &Fact, removed: bool, court: &mut Court<'_>) {
        let assigned = |workload: &&Workload| workload.assignment.contains_key(member);
        let keys: Vec<_> = court
            .world
            .workloads
            .iter()
            .filter(|(_, workload)| assigned(workload))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            let was = self.known.get(&Subject::on(&key, member)).cloned();
            self.look(&key, member, fact, removed, court);
            let still = self.known.contains_key(&Subject::on(&key, member));
            if was == Some(Tolerates::Forever) && !still {
                court.book.held();
            }
        }
    }

    fn look_at_workload(&mut self, key: &WorkloadKey, fact: &Fact, court: &Court<'_>) {
        let Some(workload) = court.world.workloads.get(key) else { return };
        let dropped = |subject: &Subject| {
            subject.is_of(key)
                && !subject.member.as_ref().is_some_and(|member| workload.assignment.contains_key(member))
        };
        self.known.retain(|subject, _| !dropped(subject));
        self.waits.cancel_all(dropped);
        for member in workload.assignment.keys() {
            self.look(key, member, fact, true, court);
        }
    }

    /// Works out the deadline of a workload on a member. Where it is not the taint that is new, the eviction may have
    /// to wait for the next recheck.
    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, rechecked: bool, court: &Court<'_>) {
        let (world, timings) = (court.world, court.timings());
        let subject = Subject::on(key, member);
        let workload = world.workloads.get(key);
        let taints = world.members.get(member).map(crate::facts::Member::evicting_taints);
        let now = workload.zip(taints).and_then(|(workload, taints)| tolerates(workload, taints));
        if now.as_ref() == self.known.get(&subject) {
            return;
        }
        self.waits.cancel(&subject);
        if let Some(Tolerates::Until(until, taint)) = &now {
            let from = if rechecked { fact.at + timings.recheck } else { fact.at };
            let allowed = bounds::queue(timings, queued(world)) + timings.latency;
            let reason = Reason {
                because: format!(
                    "{taint} on {member} since {}, tolerated until {}",
                    clock(taint.seen),
                    clock(*until)
                ),
                missing: format!("{key} is still assigned to {member}"),
            };
            self.waits.restart(
                subject.clone(),
                fact,
                from.max(*until) + allowed,
                timings.recheck + allowed,
                reason,
            );
        }
        match now {
            Some(now) => self.known.insert(subject, now),
            None => self.known.remove(&subject),
        };
    }

    fn evicted(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, court: &mut Court<'_>) {
        let subject = Subject::on(key, member);
        let left = self.waits.met(&subject, fact.at);
        let Some(tolerates) = self.known.remove(&subject) else { return };
        let (seen, witness) = (format!("{key} is evicted from {member}"), fact.witness.clone());
        let (until, taint) = match tolerates {
            Tolerates::Until(until, taint) => (until, taint),
            Tolerates::Forever => {
                let because = "every NoExecute taint is tolerated for ever".to_owned();
                let bound = Bound::Never;
                return court.violated(Charge {
                    subject,
                    bound,
                    because,
                    at: fact.at,
                    seen,
                    witness,
                    since: None,
                });
            }
        };
        if !is_fresh(&taint, court.world) {
            return left.into_iter().for_each(|left| court.book.held_by(left));
        }
        let stamp = if until > taint.seen { bounds::STAMP } else { Duration::ZERO };
        let earliest = until.saturating_sub(stamp + court.timings().skew).max(taint.seen.min(fact.at));
        if fact.at < earliest {
            let tolerated = span(until.saturating_sub(taint.seen));
            let because = format!("{taint} since {}, tolerated for {tolerated}", clock(taint.seen));
            let bound = Bound::NotBefore(earliest);
            return court.violated(Charge {
                subject,
                bound,
                because,
                at: fact.at,
                seen,
                witness,
                since: None,
            });
        }
        let late = fact.at.saturating_sub(earliest);
        // There is nothing to be early for where nothing is tolerated.
        let late = Some(late).filter(|_| until > taint.seen);
        match left.into_iter().chain(late).min() {
            Some(margin) => court.book.held_by(margin),
            None => court.book.held(),
        }
    }
}

/// Whether the time on `taint` is that of its being set: a person may write another, and a taint may be older than the
/// history.
fn is_fresh(taint: &Taint, world: &World) -> bool {
    let (Some(start), Some(added)) = (world.wall_start, taint.time_added) else { return !taint.inherited };
    let seen = jiff::SignedDuration::try_from(taint.seen).unwrap_or(jiff::SignedDuration::MAX);
    // The start is known to a second, the stamp is cut to a second.
    let oldest = seen - jiff::SignedDuration::from_secs(3);
    !taint.inherited && added.duration_since(start) >= oldest
}

static SPARED: Rule = Rule {
    id: "TOLERATION-02",
    sentence: "a workload stays where it is if the taint is gone before its toleration is over",
    features: &[Feature::NoExecuteTaints, Feature::GracefulEviction],
    formula: bounds::SPARED,
    releases: "all",
    source: "V3",
};

/// V3: no eviction for a taint that is gone before the deadline, or that never was.
#[derive(Default)]
pub(super) struct Spared {
    deadlines: BTreeMap<Subject, Spare>,
    /// Evictions from members without a taint, and when they were seen: the taint may be told of later.
    suspects: BTreeMap<Subject, (Fact, Option<Spare>)>,
}

/// A workload whose toleration was not used up.
#[derive(Clone)]
struct Spare {
    until: Duration,
    removed: Duration,
    taint: Taint,
}

impl Guarantee for Spared {
    fn rule(&self) -> &'static Rule {
        &SPARED
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::TaintRemoved { member, taint } if taint.effect == TaintEffect::NoExecute => {
                self.removed(member, taint, fact, court);
            }
            News::TaintAdded { member, taint, .. } if taint.effect == TaintEffect::NoExecute => {
                self.deadlines.retain(|subject, _| !subject.is_on(member));
                self.suspects.retain(|subject, _| !subject.is_on(member));
            }
            News::EvictionBegan { workload, task } if task.by_taint && !task.inherited => {
                let subject = Subject::on(workload, &task.member);
                let member = court.world.members.get(&task.member);
                if member.is_some_and(|member| member.evicting_taints().next().is_none() && !member.leaving) {
                    let spare = self.deadlines.remove(&subject);
                    self.suspects.insert(subject, (fact.clone(), spare));
                }
            }
            News::WorkloadGone(key) => self.deadlines.retain(|subject, _| !subject.is_of(key)),
            News::MemberGone(member) => {
                self.deadlines.retain(|subject, _| !subject.is_on(member));
                self.suspects.retain(|subject, _| !subject.is_on(member));
            }
            _ => {}
        }
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        let skew = court.timings().skew;
        for (subject, (fact, spare)) in self.suspects.extract_if(.., |_, (fact, _)| now > fact.at + skew) {
            accuse(subject, &fact, spare, court);
        }
        let latency = court.timings().latency;
        for (_, spare) in self.deadlines.extract_if(.., |_, spare| now > spare.until + latency) {
            court.book.held_by(spare.until.saturating_sub(spare.removed + bounds::STAMP));
        }
    }
}

impl Spared {
    fn removed(&mut self, member: &str, taint: &Taint, fact: &Fact, court: &Court<'_>) {
        let Some(state) = court.world.members.get(member) else { return };
        if state.evicting_taints().next().is_some() {
            return;
        }
        for (key, workload) in
            court.world.workloads.iter().filter(|(_, each)| each.assignment.contains_key(member))
        {
            let tolerated = tolerates(workload, std::iter::once(taint));
            let Some(Tolerates::Until(until, taint)) = tolerated else { continue };
            if is_fresh(&taint, court.world) && fact.at + court.timings().latency + bounds::STAMP < until {
                let spare = Spare { until, removed: fact.at, taint };
                self.deadlines.insert(Subject::on(key, member), spare);
            }
        }
    }
}

/// An eviction for a taint that is not there. One that came just before its taint went is no matter of this guarantee.
fn accuse(subject: Subject, fact: &Fact, spare: Option<Spare>, court: &mut Court<'_>) {
    let name = subject.member.clone().unwrap_or_default();
    let gone = court.world.members.get(&name).and_then(|member| member.untainted);
    let in_flight = gone.is_some_and(|gone| fact.at <= gone + court.timings().latency);
    let because = match spare {
        Some(Spare { until, removed, taint }) => {
            format!("{taint} was gone at {}, and tolerated until {}", clock(removed), clock(until))
        }
        None if in_flight => return,
        None => "the member has no NoExecute taint".to_owned(),
    };
    let seen = format!("{subject} is evicted");
    let witness = fact.witness.clone();
    court.violated(Charge { subject, bound: Bound::Never, because, at: fact.at, seen, witness, since: None });
}
