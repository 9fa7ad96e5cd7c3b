//! How replicas are divided among members that have some already, by what they can take: REPLICAS.

use std::collections::BTreeMap;

use super::static_weights::{by_largest_weight, by_seats, shares_in_words};
use crate::guarantee::engine::context::{Guarantee, JudgeContext, Topics, Violation, topics};
use crate::guarantee::engine::eligible_members::{is_free_choice, may_stay};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Assignment, Change, Fact, Member, Scheduling, Workload, sum};

static REPLICAS_07: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-07",
    sentence: "of what is divided by room, a member that keeps its place keeps its replicas, unless there are fewer to divide",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment",
    releases: "all, unless a choice from scratch is asked for (1.10)",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicScaleUp",
};

static REPLICAS_08: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-08",
    sentence: "where replicas divided by room become fewer, no member gains",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment",
    releases: "all; Karmada broke it until 1.17 (#7110)",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicScaleDown",
};

static REPLICAS_09: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-09",
    sentence: "replicas are divided all of them, or where there is too little room not at all",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment",
    releases: "all",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicDivideReplicas",
};

static REPLICAS_10: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-10",
    sentence: "a member is not given more replicas by room than it says it has room for",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment; what a member tells counts from latency after it is seen",
    releases: "all",
    source: "Karmada pkg/estimator/client/general.go",
};

static REPLICAS_11: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-11",
    sentence: "what is to be on few members comes to another one only if those that have it lack room",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment; what a member tells counts from latency after it is seen",
    releases: "all",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicDivideReplicas",
};

static REPLICAS_12: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-12",
    sentence: "what is new of replicas that are divided by room is divided in proportion to it",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment; what a member tells counts from latency after it is seen",
    releases: "all; not where a member tells the sizes of its nodes, too",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicScaleUp",
};

/// One change of the assignment of what is divided by room.
struct AssignmentChange<'a> {
    workload: &'a Workload,
    was: &'a Assignment,
    now: &'a Assignment,
    context: &'a JudgeContext<'a>,
    at: std::time::Duration,
}

/// `None` where the change does not put the rule to the test; else what is wrong, if anything: of whom, why, and what is
/// seen.
type Assessment = Option<Option<(String, String, String)>>;

/// Whenever replicas are divided by room, the rule holds.
pub(crate) struct DynamicDivision {
    spec: &'static GuaranteeSpec,
    judged: fn(&AssignmentChange<'_>) -> Assessment,
}

impl DynamicDivision {
    /// R3.
    pub(crate) fn steady() -> Self {
        Self { spec: &REPLICAS_07, judged: steady }
    }

    /// R4.
    pub(crate) fn shrinks() -> Self {
        Self { spec: &REPLICAS_08, judged: shrinks }
    }

    /// R7.
    pub(crate) fn all_or_nothing() -> Self {
        Self { spec: &REPLICAS_09, judged: all_or_nothing }
    }

    /// R5.
    pub(crate) fn room() -> Self {
        Self { spec: &REPLICAS_10, judged: within_room }
    }

    /// R3: what is new is divided by the room that there is.
    pub(crate) fn in_proportion() -> Self {
        Self { spec: &REPLICAS_12, judged: in_proportion }
    }

    /// R6.
    pub(crate) fn fewest() -> Self {
        Self { spec: &REPLICAS_11, judged: fewest }
    }
}

impl Guarantee for DynamicDivision {
    fn spec(&self) -> &'static GuaranteeSpec {
        self.spec
    }

    fn topics(&self) -> Topics {
        topics![Assigned]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        let placement = &workload.placement;
        // Of groups that overflow into each other, what flowed over comes back; it is not asked here.
        let judged = placement.scheduling == Scheduling::DividedByCapacity
            && !placement.is_grouped()
            && workload.has_replicas
            && !workload.asked_anew;
        if !judged || was.is_empty() && self.spec.id == REPLICAS_07.id {
            return;
        }
        let change = AssignmentChange { workload, was, now, context, at: fact.at };
        match (self.judged)(&change) {
            None => {}
            Some(None) => context.tally.record_held(),
            Some(Some((member, because, seen))) => {
                let subject = Subject::on(key, &member);
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
        }
    }
}

impl AssignmentChange<'_> {
    /// Replicas of the members that have had some and still have.
    fn kept(&self) -> u64 {
        let kept = self.was.iter().filter(|(name, _)| self.now.contains_key(*name));
        kept.fold(0, |sum, (_, replicas)| sum.saturating_add(*replicas))
    }

    /// The members that have more than before, and how many more.
    fn gains(&self) -> impl Iterator<Item = (&String, u64)> {
        self.now.iter().filter_map(|(name, now)| {
            let had = self.was.get(name).copied().unwrap_or_default();
            (*now > had).then(|| (name, now - had))
        })
    }

    /// How many more replicas fit into a member, if it told and whoever chose has seen that.
    fn room(&self, name: &str) -> Option<u64> {
        let member = self.context.member(name)?;
        let settled = member.measured + self.context.timings().latency < self.at;
        room(self.workload, member).filter(|_| settled)
    }
}

/// How many more replicas fit into `member`, by the scarcest of what one needs; `None` where it never told.
fn room(workload: &Workload, member: &Member) -> Option<u64> {
    let free = member.free.as_ref()?;
    let one: BTreeMap<&str, u64> = workload
        .request
        .iter()
        .map(|(name, amount)| (name.as_str(), *amount))
        .chain([("pods", 1000)])
        .collect();
    one.into_iter()
        .filter(|(_, amount)| *amount > 0)
        .map(|(resource, amount)| free.get(resource).copied().unwrap_or_default() / amount)
        .min()
}

fn steady(change: &AssignmentChange<'_>) -> Assessment {
    if change.workload.replicas < change.kept() {
        return None;
    }
    let loses = |(name, had): &(&String, &u64)| change.now.get(*name).is_some_and(|now| now < *had);
    Some(change.was.iter().find(loses).map(|(name, had)| {
        let because = format!("it had {had}, and {} are to be divided", change.workload.replicas);
        (name.clone(), because, format!("{name} has {} now", change.now[name]))
    }))
}

fn shrinks(change: &AssignmentChange<'_>) -> Assessment {
    let fewer = change.workload.replicas < change.kept();
    fewer.then(|| {
        change.gains().next().map(|(name, more)| {
            let because = format!("{} replicas become {}", change.kept(), change.workload.replicas);
            (name.clone(), because, format!("{name} has {more} more"))
        })
    })
}

fn all_or_nothing(change: &AssignmentChange<'_>) -> Assessment {
    let (name, _) = change.gains().next()?;
    let sum = sum(change.now);
    let wanted = change.workload.replicas;
    // The number may have changed since it was read; REPLICAS-03 has that put right.
    let is_recent = change.context.latest_surely_observed(change.at) <= change.workload.wanted_since;
    if sum != wanted && is_recent {
        return None;
    }
    Some(
        (sum != wanted)
            .then(|| (name.clone(), format!("{wanted} replicas are wanted"), format!("{sum} are assigned"))),
    )
}

fn within_room(change: &AssignmentChange<'_>) -> Assessment {
    let measured = |(name, more): (&String, u64)| Some((name.clone(), more, change.room(name)?));
    let measured: Vec<_> = change.gains().filter_map(measured).collect();
    let (name, more, room) = measured.iter().max_by_key(|(_, more, room)| more.saturating_sub(*room))?;
    Some((more > room).then(|| {
        (name.clone(), format!("{name} says that it has room for {room}"), format!("{name} gets {more} more"))
    }))
}

fn fewest(change: &AssignmentChange<'_>) -> Assessment {
    let workload = change.workload;
    let newcomer = change.now.keys().find(|name| !change.was.contains_key(*name))?;
    // Where none are wanted there is nothing to divide: whoever may be chosen is, as for what has no replicas.
    let divides = workload.replicas > 0 && workload.placement.aggregated;
    if !divides || !workload.placement.spread.is_empty() {
        return None;
    }
    let stay = |name: &&String| may_stay(workload, name, change.context.world);
    let (mut room, mut have) = (0_u64, 0_u64);
    for name in change.was.keys().filter(stay) {
        room = room.saturating_add(change.room(name)?);
        have = have.saturating_add(change.was[name]);
    }
    let missing = workload.replicas.checked_sub(have)?;
    if have > 0 {
        return Some((room >= missing).then(|| {
            let because =
                format!("{missing} are missing, and those that have the others have room for {room}");
            (newcomer.clone(), because, format!("{newcomer} is chosen"))
        }));
    }
    // Of those that are chosen together, the one with the least room must be needed.
    let measured: Option<Vec<_>> = change.now.keys().map(|name| Some((change.room(name)?, name))).collect();
    let measured = measured?;
    let (least, name) = measured.iter().min()?;
    let others = measured.iter().fold(0_u64, |sum, (room, _)| sum.saturating_add(*room)) - least;
    Some((measured.len() > 1 && others >= workload.replicas).then(|| {
        let because = format!("{} are wanted, and the others have room for {others}", workload.replicas);
        ((*name).clone(), because, format!("{name} is chosen, too"))
    }))
}

fn in_proportion(change: &AssignmentChange<'_>) -> Assessment {
    let workload = change.workload;
    let new = workload.replicas.checked_sub(change.kept())?;
    if workload.placement.aggregated || !workload.placement.spread.is_empty() || new == 0 {
        return None;
    }
    let mut rooms = Vec::new();
    for (name, member) in &change.context.world.members {
        if change.now.contains_key(name) || is_free_choice(workload, name, member) {
            rooms.push((name.clone(), change.room(name).filter(|_| !member.modelled)?));
        }
    }
    rooms.retain(|(_, room)| *room > 0);
    let backwards: Vec<_> = rooms.iter().rev().cloned().collect();
    let allowed = [by_largest_weight(new, &rooms), by_seats(new, &rooms), by_seats(new, &backwards)];
    let gains: Assignment = change.gains().map(|(name, more)| (name.clone(), more)).collect();
    // Whoever loses some, gets more than there is room for, or leaves some over, breaks another rule.
    let too_many =
        |(name, more): (&String, &u64)| rooms.iter().any(|(each, room)| each == name && more > room);
    let loses = |(name, had): (&String, &u64)| change.now.get(name).is_some_and(|now| now < had);
    if sum(&gains) != new || gains.iter().any(too_many) || change.was.iter().any(loses) {
        return None;
    }
    let (name, _) = change.now.first_key_value()?;
    Some((!allowed.contains(&gains)).then(|| {
        let because = format!("{new} more by room are {}", shares_in_words(&allowed[0]));
        (name.clone(), because, format!("more get {}", shares_in_words(&gains)))
    }))
}
