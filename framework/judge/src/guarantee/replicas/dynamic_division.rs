//! Checks how replicas are divided dynamically, by the room of the members: REPLICAS.

use std::collections::BTreeMap;

use super::static_weights::{by_largest_weight, by_webster_method, shares_in_words};
use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::engine::eligible_members::{
    is_free_choice, is_surely_observed, may_be_unserved, may_stay,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Assignment, Change, Fact, Member, Scheduling, Workload, sum};
use capsize_sorted::CollectSorted;

static REPLICAS_07: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-07",
    sentence: "a member that keeps a workload divided by room keeps its replicas, unless the workload shrinks",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment",
    releases: "all, unless a choice from scratch is requested (1.10)",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicScaleUp",
};

static REPLICAS_08: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-08",
    sentence: "when a workload divided by room shrinks, no member gains replicas",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment",
    releases: "all; Karmada violated it until 1.17 (#7110)",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicScaleDown",
};

static REPLICAS_09: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-09",
    sentence: "a workload divided by room is assigned all of its replicas, or its assignment does not change",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment",
    releases: "all",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicDivideReplicas",
};

static REPLICAS_10: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-10",
    sentence: "a member gets no more replicas than it reports room for",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment; a report of a member counts from latency after it is observed",
    releases: "all; by pods alone if a member also reports the sizes of its nodes",
    source: "Karmada pkg/estimator/client/general.go",
};

static REPLICAS_11: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-11",
    sentence: "an aggregated workload gets another member only if its members lack room",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment; a report of a member counts from latency after it is observed",
    releases: "all; not if a member also reports the sizes of its nodes",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicDivideReplicas",
};

static REPLICAS_12: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-12",
    sentence: "additional replicas of a workload divided by room are divided in proportion to the room",
    features: &[Feature::WeightsByRoom],
    formula: "at every change of an assignment; a report of a member counts from latency after it is observed",
    releases: "all; not if a member also reports the sizes of its nodes",
    source: "Karmada pkg/scheduler/core/division_algorithm.go, dynamicScaleUp",
};

/// One change of the assignment of a workload that is divided by room.
struct AssignmentChange<'a> {
    workload: &'a Workload,
    was: &'a Assignment,
    now: &'a Assignment,
    context: &'a JudgeContext<'a>,
    at: std::time::Duration,
}

/// The check of a change: `None` if it does not exercise the guarantee.
/// Otherwise the member, the reason and the observation, if something is wrong.
type Assessment = Option<Option<(String, String, String)>>;

/// Checks each division of replicas by room.
pub(crate) struct DynamicDivision {
    spec: &'static GuaranteeSpec,
    judged: fn(&AssignmentChange<'_>) -> Assessment,
}

impl DynamicDivision {
    /// Requirement R3: members keep their replicas.
    pub(crate) fn kept_replicas() -> Self {
        Self { spec: &REPLICAS_07, judged: kept_replicas }
    }

    /// Requirement R4: no member gains when the workload shrinks.
    pub(crate) fn no_gain_when_shrinking() -> Self {
        Self { spec: &REPLICAS_08, judged: no_gain_when_shrinking }
    }

    /// Requirement R7: all replicas are assigned, or the assignment does not change.
    pub(crate) fn all_or_nothing() -> Self {
        Self { spec: &REPLICAS_09, judged: all_or_nothing }
    }

    /// Requirement R5: no member gets more replicas than it has room for.
    pub(crate) fn within_room() -> Self {
        Self { spec: &REPLICAS_10, judged: within_room }
    }

    /// Requirement R3: additional replicas are divided by the room.
    pub(crate) fn in_proportion() -> Self {
        Self { spec: &REPLICAS_12, judged: in_proportion }
    }

    /// Requirement R6: few members are used.
    pub(crate) fn fewest_members() -> Self {
        Self { spec: &REPLICAS_11, judged: fewest_members }
    }
}

impl Guarantee for DynamicDivision {
    accessors!(self.spec, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        let placement = &workload.placement;
        // Replicas that overflowed into another group come back, which is not checked here.
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
    /// The replicas of the members that had some before and still have some.
    fn kept(&self) -> u64 {
        let kept = self.was.iter().filter(|(name, _)| self.now.contains_key(*name));
        kept.fold(0, |sum, (_, replicas)| sum.saturating_add(*replicas))
    }

    /// The members that have more replicas than before, with the increase.
    fn gains(&self) -> impl Iterator<Item = (&String, u64)> {
        self.now.iter().filter_map(|(name, now)| {
            let had = self.was.get(name).copied().unwrap_or_default();
            (*now > had).then(|| (name, now - had))
        })
    }

    /// Returns how many more replicas fit into a member.
    /// The result is not known if the member also reports the sizes of its nodes, because these count instead.
    fn room(&self, name: &str) -> Option<u64> {
        let member = self.observed_member(name).filter(|member| !member.modelled)?;
        room(&self.workload.request, member)
    }

    /// Returns how many more replicas fit into a member at most.
    /// By the sizes of its nodes, a member may have more room than its free resources show. The number of pods limits
    /// the room in each case.
    fn largest_room(&self, name: &str) -> Option<u64> {
        let member = self.observed_member(name)?;
        if member.modelled { room(&BTreeMap::new(), member) } else { room(&self.workload.request, member) }
    }

    /// Returns the member if the scheduler has observed its latest report.
    fn observed_member(&self, name: &str) -> Option<&Member> {
        let member = self.context.member(name)?;
        (!self.context.may_have_missed(member.measured, self.at)).then_some(member)
    }

    /// Returns true if the scheduler has surely observed the present state of every member.
    fn members_are_settled(&self) -> bool {
        self.context.world.members.values().all(|member| is_surely_observed(member, self.at, self.context))
    }
}

/// Returns how many more replicas with this request fit into `member`, by the scarcest resource.
/// Returns `None` if the member has never reported its room.
fn room(request: &BTreeMap<String, u64>, member: &Member) -> Option<u64> {
    let free = member.free.as_ref()?;
    let one: BTreeMap<&str, u64> = request
        .iter()
        .map(|(name, amount)| (name.as_str(), *amount))
        .chain([("pods", 1000)])
        .collect_sorted();
    one.into_iter()
        .filter(|(_, amount)| *amount > 0)
        .map(|(resource, amount)| free.get(resource).copied().unwrap_or_default() / amount)
        .min()
}

fn kept_replicas(change: &AssignmentChange<'_>) -> Assessment {
    if change.workload.replicas < change.kept() {
        return None;
    }
    let loses = |(name, had): &(&String, &u64)| change.now.get(*name).is_some_and(|now| now < *had);
    Some(change.was.iter().find(loses).map(|(name, had)| {
        let because =
            format!("{name} had {had} replicas, and {} are to be divided", change.workload.replicas);
        (name.clone(), because, format!("{name} has {} now", change.now[name]))
    }))
}

fn no_gain_when_shrinking(change: &AssignmentChange<'_>) -> Assessment {
    let fewer = change.workload.replicas < change.kept();
    fewer.then(|| {
        change.gains().next().map(|(name, more)| {
            let because = format!(
                "the workload shrinks from {} to {} replicas",
                change.kept(),
                change.workload.replicas
            );
            (name.clone(), because, format!("{name} gets {more} more"))
        })
    })
}

fn all_or_nothing(change: &AssignmentChange<'_>) -> Assessment {
    let (name, _) = change.gains().next()?;
    let sum = sum(change.now);
    let wanted = change.workload.replicas;
    // The number may have changed since the scheduler read it; REPLICAS-03 checks that it becomes right.
    let is_recent = change.context.may_have_missed(change.workload.wanted_since, change.at);
    if sum != wanted && is_recent {
        return None;
    }
    Some(
        (sum != wanted).then(|| {
            (name.clone(), format!("{wanted} replicas are required"), format!("{sum} are assigned"))
        }),
    )
}

fn within_room(change: &AssignmentChange<'_>) -> Assessment {
    let measured = |(name, more): (&String, u64)| Some((name.clone(), more, change.largest_room(name)?));
    let measured: Vec<_> = change.gains().filter_map(measured).collect();
    let (name, more, room) = measured.iter().max_by_key(|(_, more, room)| more.saturating_sub(*room))?;
    Some((more > room).then(|| {
        (name.clone(), format!("{name} reports room for {room}"), format!("{name} gets {more} more"))
    }))
}

fn fewest_members(change: &AssignmentChange<'_>) -> Assessment {
    let workload = change.workload;
    let newcomer = change.now.keys().find(|name| !change.was.contains_key(*name))?;
    // Without replicas there is nothing to divide, and every eligible member may be chosen.
    let divides = workload.replicas > 0 && workload.placement.aggregated;
    if !divides || !workload.placement.spread.is_empty() || !change.members_are_settled() {
        return None;
    }
    let context = change.context;
    let is_unserved = |name: &&String| {
        context.member(name).is_some_and(|it| may_be_unserved(workload, it, change.at, context))
    };
    let stay = |name: &&String| may_stay(workload, name, context.world) && !is_unserved(name);
    let (mut room, mut have) = (0_u64, 0_u64);
    for name in change.was.keys().filter(stay) {
        room = room.saturating_add(change.room(name)?);
        have = have.saturating_add(change.was[name]);
    }
    let missing = workload.replicas.checked_sub(have)?;
    if have > 0 {
        return Some((room >= missing).then(|| {
            let because =
                format!("{missing} replicas are missing, and the present members have room for {room}");
            (newcomer.clone(), because, format!("{newcomer} is chosen"))
        }));
    }
    // Among members that are chosen together, the one with the least room must be needed.
    let measured: Option<Vec<_>> = change.now.keys().map(|name| Some((change.room(name)?, name))).collect();
    let measured = measured?;
    let (least, name) = measured.iter().min()?;
    let others = measured.iter().fold(0_u64, |sum, (room, _)| sum.saturating_add(*room)) - least;
    Some((measured.len() > 1 && others >= workload.replicas).then(|| {
        let because = format!(
            "{} replicas are required, and the other members have room for {others}",
            workload.replicas
        );
        ((*name).clone(), because, format!("{name} is chosen, too"))
    }))
}

fn in_proportion(change: &AssignmentChange<'_>) -> Assessment {
    let workload = change.workload;
    let new = workload.replicas.checked_sub(change.kept())?;
    let members = &change.context.world.members;
    // The replicas may be divided among members that the history does not show.
    if change.context.world.may_have_unobserved_members()
        || change.now.keys().any(|name| !members.contains_key(name))
    {
        return None;
    }
    let divides = new > 0 && !workload.placement.aggregated && workload.placement.spread.is_empty();
    if !divides || !change.members_are_settled() {
        return None;
    }
    let mut rooms = Vec::new();
    for (name, member) in members {
        if change.now.contains_key(name) || is_free_choice(workload, name, member) {
            rooms.push((name.clone(), change.room(name)?));
        }
    }
    rooms.retain(|(_, room)| *room > 0);
    let backwards: Vec<_> = rooms.iter().rev().cloned().collect();
    let gains: Assignment = change.gains().map(|(name, more)| (name.clone(), more)).collect_sorted();
    let allowed = [
        by_largest_weight(new, &rooms, &gains),
        by_webster_method(new, &rooms),
        by_webster_method(new, &backwards),
    ];
    // Lost replicas, replicas without room and a wrong sum violate other guarantees.
    let too_many =
        |(name, more): (&String, &u64)| rooms.iter().any(|(each, room)| each == name && more > room);
    let loses = |(name, had): (&String, &u64)| change.now.get(name).is_some_and(|now| now < had);
    if sum(&gains) != new || gains.iter().any(too_many) || change.was.iter().any(loses) {
        return None;
    }
    let (name, _) = change.now.first_key_value()?;
    Some((!allowed.contains(&gains)).then(|| {
        let because = format!("{new} additional replicas by room are {}", shares_in_words(&allowed[0]));
        (name.clone(), because, format!("the members get {}", shares_in_words(&gains)))
    }))
}
