//! Checks the order in which members are chosen, and the number of their regions: PLACEMENT.
//!
//! Affinity groups are tried in their order, and members with equal scores in the order of their names. A divided workload
//! does not move back.

use std::collections::BTreeSet;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use jiff::Timestamp;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::engine::eligible_members::{
    is_free_choice, is_surely_observed, may_be_unserved, may_stay,
};
use crate::guarantee::engine::suspected_violations::SuspectedViolations;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::digest::Table;
use capsize_history::facts::{
    Assignment, Change, Fact, Group, Scheduling, SpreadField, Workload, WorkloadKey, World, sum,
};

static PLACEMENT_09: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-09",
    sentence: "a workload with several affinity groups does not return to an earlier group, unless a user requests it",
    features: &[Feature::AffinityGroups],
    formula: "at every version, until the list changes; with RebalancesFromTheFirst, a request for a choice from scratch begins anew",
    releases: "all; until 1.18 also after a request (#5425); users ask for a return (#4990, #7717)",
    source: "Karmada pkg/scheduler/scheduler.go, scheduleResourceBindingWithClusterAffinities",
};

/// Requirement L12: the group in use moves forward only.
#[derive(Default)]
pub(crate) struct AffinityGroupsMoveForward(Table<WorkloadKey, GroupInUse>);

/// The group that a workload used when it was last observed.
struct GroupInUse {
    groups: Vec<Group>,
    position: usize,
    /// Whether a choice from scratch was requested and not made yet.
    asked_anew: bool,
    /// When such a choice was last requested.
    last_asked: Option<Timestamp>,
}

impl Guarantee for AffinityGroupsMoveForward {
    accessors!(PLACEMENT_09, [Recorded, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let key = match &fact.change {
            Change::Recorded(key) => key,
            Change::WorkloadGone(key) => return drop(self.0.swap_remove(key)),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        let groups = &workload.placement.groups;
        if groups.is_empty() {
            return drop(self.0.swap_remove(key));
        }
        let Some(now) = groups.iter().position(|group| group.name == workload.group) else { return };
        let before = self.0.get(key).filter(|before| &before.groups == groups);
        if let Some(GroupInUse { position: was, asked_anew, last_asked, .. }) = before {
            let asked = *asked_anew || *last_asked != workload.last_asked;
            if now < *was && !(asked && context.profile.has(Feature::RebalancesFromTheFirst)) {
                let because =
                    format!("{} comes before {} in the policy", groups[now].name, groups[*was].name);
                let seen = format!("{} is in use again", groups[now].name);
                context.report_violation(Violation::by(
                    fact,
                    Subject::workload(key),
                    Bound::Never,
                    because,
                    seen,
                ));
            } else if now != *was {
                context.tally.record_held();
            }
        }
        let (asked_anew, last_asked) = (workload.asked_anew, workload.last_asked);
        self.0.insert(
            key.clone(),
            GroupInUse { groups: groups.clone(), position: now, asked_anew, last_asked },
        );
    }
}

static PLACEMENT_10: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-10",
    sentence: "the number of regions of the chosen members is within the spread constraint",
    features: &[Feature::SpreadOverRegions],
    formula: "minGroups to maxGroups, at every choice",
    releases: "all; until 1.5 as few as possible",
    source: "Karmada pkg/scheduler/core/spreadconstraint/select_clusters_by_region.go",
};

/// Checks that the number of regions is within the constraint (requirement L8).
/// This holds whenever members are chosen, and also for zones and providers. A divided workload leaves out members with
/// an empty share, so that it may be in fewer regions.
pub(crate) struct RegionCountWithinConstraint;

impl Guarantee for RegionCountWithinConstraint {
    accessors!(PLACEMENT_10, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        let placement = &workload.placement;
        let chosen = now.keys().any(|member| !was.contains_key(member));
        // A history that begins late may not contain a chosen member.
        let is_known = now.keys().all(|member| context.member(member).is_some());
        if !chosen || !is_known || placement.scheduling == Scheduling::DividedByStaticWeight {
            return;
        }
        let whole = placement.scheduling == Scheduling::Duplicated;
        // Only the first constraint on groups is checked.
        let by =
            |field| placement.spread.iter().find(|spread| is_by(&spread.field, field)).map(|by| (field, by));
        let Some((field, spread)) = ["region", "zone", "provider"].into_iter().find_map(by) else { return };
        let members = now.keys().filter_map(|name| context.member(name));
        let groups: BTreeSet<_> = members.flat_map(|member| member.field(field)).collect_sorted();
        let (count, most) = (groups.len() as u64, spread.max.unwrap_or(u64::MAX));
        if count <= most && (count >= spread.min || !whole) {
            return context.tally.record_held();
        }
        let most = spread.max.map_or("any number of".to_owned(), |most| most.to_string());
        let because = format!("the policy requires {} to {most} different values of {field}", spread.min);
        let seen = format!("the assigned members have {count}");
        context.report_violation(Violation::by(fact, Subject::workload(key), Bound::Never, because, seen));
    }
}

fn is_by(by: &SpreadField, field: &str) -> bool {
    matches!(by, SpreadField::Other(other) if other == field)
}

static PLACEMENT_11: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-11",
    sentence: "a divided workload with all of its replicas is not moved when members join or recover",
    features: &[Feature::HealthProbes],
    formula: "at every change of an assignment",
    releases: "all; a return of replicas has to be requested (#5206, #7441)",
    source: "Karmada pkg/scheduler/scheduler.go, doScheduleBinding",
};

/// Checks that no member gains replicas without a reason (requirement L14).
/// There is no reason if all replicas were assigned, the workload has not changed, and every member could keep its
/// share.
#[derive(Default)]
pub(crate) struct NoFailback {
    /// The workloads that have changed since they were last scheduled.
    changed: BTreeSet<WorkloadKey>,
    suspected_violations: SuspectedViolations,
}

impl Guarantee for NoFailback {
    accessors!(PLACEMENT_11, [Wanted, WorkloadGone, Assigned, TaintRemoved]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Wanted(key) => drop(self.changed.insert(key.clone())),
            Change::WorkloadGone(key) => drop(self.changed.remove(key)),
            Change::Assigned { workload: key, was, now, .. } => self.assigned(key, was, now, fact, context),
            // The guarantee is exercised by a member that recovers, if a divided workload could move there.
            Change::TaintRemoved { member, .. } => {
                let divided = |(_, workload): &(&WorkloadKey, &Workload)| {
                    let divided = workload.placement.scheduling != Scheduling::Duplicated;
                    divided && workload.replicas > 0 && sum(&workload.assignment) == workload.replicas
                };
                if context.member(member).is_some_and(|member| member.taints.is_empty())
                    && context.world.workloads.iter().take(MOST_LOOKED_AT).any(|entry| divided(&entry))
                {
                    context.tally.record_held();
                }
            }
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        self.suspected_violations.due()
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        self.suspected_violations.advance_to(now, context, |_, _, _| false);
    }
}

/// The number of workloads that are searched for a divided one when a member recovers.
const MOST_LOOKED_AT: usize = 16;

impl NoFailback {
    fn assigned(
        &mut self,
        key: &WorkloadKey,
        was: &Assignment,
        now: &Assignment,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let Some(workload) = context.workload(key) else { return };
        let gains = |(name, replicas): &(&String, &u64)| was.get(*name).is_none_or(|had| had < replicas);
        // An eviction alone is not the requested choice.
        let chosen = sum(now) >= workload.replicas;
        let changed = if chosen { self.changed.remove(key) } else { self.changed.contains(key) };
        let Some((gaining, _)) = now.iter().find(gains) else { return };
        let whole = sum(was) == workload.replicas && workload.replicas > 0;
        let divided = workload.placement.scheduling != Scheduling::Duplicated;
        let served = |name: &String| {
            context.member(name).is_some_and(|member| !may_be_unserved(workload, member, fact.at, context))
        };
        let stays = |name: &String| {
            may_stay(workload, name, context.world) && settled(name, fact, context) && served(name)
        };
        let stay = was.keys().all(stays);
        if divided && whole && !changed && !workload.asked_anew && stay {
            let because = "all replicas were assigned, and every member could keep its own".to_owned();
            self.suspected_violations.add(
                Subject::workload(key),
                fact,
                because,
                format!("{gaining} gets more replicas"),
            );
        }
    }
}

/// Returns true if the scheduler has surely observed the present state of a member.
fn settled(name: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let member = context.member(name);
    member.is_some_and(|member| is_surely_observed(member, fact.at, context))
}

static PLACEMENT_12: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-12",
    sentence: "among equal members, the first ones by name are chosen",
    features: &[Feature::SpreadConstraints, Feature::NewcomersByName],
    formula: "at every choice",
    releases: "1.5 and older; later releases compare the room first",
    source: "Karmada 1.5 pkg/scheduler/core/spreadconstraint/util.go",
};

/// Requirement L15: among suitable members without the workload, the first ones by name get it.
/// PLACEMENT-01 checks that members with the workload come before them.
pub(crate) struct NewMembersInNameOrder;

impl Guarantee for NewMembersInNameOrder {
    accessors!(PLACEMENT_12, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        let placement = &workload.placement;
        let counted =
            placement.scheduling == Scheduling::Duplicated && placement.spread_over_members().is_some();
        if !counted
            || placement.spreads_over_groups()
            || placement.is_grouped()
            || placement.depends_on_other_workloads
        {
            return;
        }
        let Some(last) = now.keys().rfind(|name| !was.contains_key(*name)) else { return };
        let passed = passed_over(workload, was, now, last, context.world);
        let passed = passed.filter(|name| settled(name, fact, context));
        let Some(first) = passed.min() else { return context.tally.record_held() };
        let because = format!("{first} is suitable, too, and comes before {last}");
        let subject = Subject::on(key, last);
        context.report_violation(Violation::by(
            fact,
            subject,
            Bound::Never,
            because,
            format!("{last} is chosen"),
        ));
    }
}

/// Returns the suitable members before `last` that were not chosen.
fn passed_over<'a>(
    workload: &'a Workload,
    was: &'a Assignment,
    now: &'a Assignment,
    last: &'a String,
    world: &'a World,
) -> impl Iterator<Item = &'a String> {
    let before = world.members.range::<String, _>(..last);
    let free = move |(name, member): &(&'a String, &capsize_history::facts::Member)| {
        !was.contains_key(*name) && !now.contains_key(*name) && is_free_choice(workload, name, member)
    };
    before.filter(free).map(|(name, _)| name)
}
