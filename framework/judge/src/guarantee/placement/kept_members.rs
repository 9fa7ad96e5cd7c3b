//! Checks that a workload stays on its members unless it is evicted from them: PLACEMENT.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, NEVER, Violation, accessors};
use crate::guarantee::engine::eligible_members::{is_scaled_to_zero, may_be_unserved};
use crate::guarantee::engine::tolerated_until::{TolerationEnd, toleration_end};
use crate::guarantee::replicas::divisions;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::digest::Table;
use capsize_history::facts::{Assignment, Change, Fact, Scheduling, Workload, WorkloadKey};

static PLACEMENT_01: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-01",
    sentence: "a workload stays on its members unless it is evicted from them",
    features: &[Feature::HealthProbes],
    formula: "at every change of an assignment",
    releases: "all",
    source: "Karmada pkg/scheduler/framework/plugins/{tainttoleration,clusterlocality}",
};

/// Checks that a workload stays on an assigned member without a reason to leave (requirement L1).
/// A share by weight may become empty. A scheduler with a stale cache may not know a member that another leader has
/// chosen. If no known member is suitable, it empties the assignment (on a `FitError` in Karmada's
/// `pkg/scheduler/scheduler.go`).
#[derive(Default)]
pub(crate) struct HealthyPlacementStays {
    /// The workloads whose replicas or placement have changed since they were last scheduled.
    changed: BTreeSet<WorkloadKey>,
    /// Losses without a known reason; another watch may still report one.
    suspected_violations: BTreeMap<Subject, Fact>,
    /// The time when each member joined.
    came: BTreeMap<String, Duration>,
    /// The replicas wanted for each workload, as last observed.
    wanted: Table<WorkloadKey, u64>,
}

impl Guarantee for HealthyPlacementStays {
    accessors!(PLACEMENT_01, [Health, Wanted, WorkloadGone, MemberLeaving, MemberGone, Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, first: true, .. } => {
                self.came.insert(member.clone(), fact.at);
            }
            Change::Wanted(key) => {
                // A change of the replicas moves no duplicated workload, and an increase moves no divided one. A
                // workload without replicas may be assigned to any members, which need not get a share later.
                let before =
                    self.wanted.insert(key.clone(), context.workload(key).map_or(0, |it| it.replicas));
                let Some(workload) = context.workload(key) else { return };
                let duplicated = workload.placement.scheduling == Scheduling::Duplicated;
                let anew = workload.asked_anew || !workload.placeable;
                let grows = before.is_some_and(|before| before > 0 && workload.replicas > before);
                if !(duplicated || grows) || anew || workload.placed_since == fact.at {
                    self.changed.insert(key.clone());
                }
            }
            Change::WorkloadGone(key) => {
                self.changed.remove(key);
                self.wanted.swap_remove(key);
                self.suspected_violations.retain(|subject, _| !subject.is_of(key));
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.suspected_violations.retain(|subject, _| !subject.is_on(member));
            }
            Change::Assigned { workload: key, was, .. } => {
                let Some(workload) = context.workload(key) else { return };
                let evicted = |member: &String| workload.eviction(member).is_some();
                let scheduled = workload.assignment.keys().any(|member| !was.contains_key(member))
                    || was.keys().any(|member| !workload.assignment.contains_key(member) && !evicted(member));
                let changed = if scheduled { self.changed.remove(key) } else { self.changed.contains(key) };
                if !changed && is_bound_to_stay(workload, was) {
                    self.lost(key, workload, was, fact, context);
                }
            }
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        if self.suspected_violations.is_empty() { NEVER } else { Duration::ZERO }
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let disorder = context.disorder();
        for (subject, fact) in
            self.suspected_violations.extract_if(.., |_, fact| now > fact.at.saturating_add(disorder))
        {
            let member = subject.member.clone().unwrap_or_default();
            let because =
                format!("{member} has no eviction task, still exists, and still matches the affinity");
            let seen = format!("{member} is no longer assigned");
            context.report_violation(Violation::by(&fact, subject, Bound::Never, because, seen));
        }
    }
}

impl HealthyPlacementStays {
    fn lost(
        &mut self,
        key: &WorkloadKey,
        workload: &Workload,
        was: &Assignment,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let (kept, lost): (Vec<_>, Vec<_>) =
            was.keys().partition(|member| workload.assignment.contains_key(*member));
        let is_unserved = |member: &String| {
            context.member(member).is_some_and(|state| may_be_unserved(workload, state, fact.at, context))
        };
        let goes = |member: &String| {
            may_go(workload, member, context)
                || is_unserved(member)
                || was_relabelled(member, fact, context)
                || may_get_nothing(workload, member, was, fact, context)
                || self.may_be_unknown(member, fact, context)
        };
        let unexplained: Vec<_> = lost.into_iter().filter(|member| !goes(member)).collect();
        if unexplained.is_empty() && !kept.is_empty() {
            context.tally.record_held();
        }
        self.suspected_violations
            .extend(unexplained.into_iter().map(|member| (Subject::on(key, member), fact.clone())));
    }

    /// Returns true if the scheduler may have a stale cache from before `member` joined.
    fn may_be_unknown(&self, member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
        let unseen = |came: &Duration| context.may_have_missed(*came, fact.at);
        context.world.is_hindered(fact.at) && self.came.get(member).is_some_and(unseen)
    }
}

/// Returns true if the selection may not move healthy members.
/// It may if regions or capacity are weighed again, and if no replicas bind the workload to its members. A workload that
/// is scaled to zero may leave all members.
fn is_bound_to_stay(workload: &Workload, was: &Assignment) -> bool {
    let placement = &workload.placement;
    let joined = workload.assignment.keys().any(|member| !was.contains_key(member));
    let constrained = placement.spread_over_members().is_some();
    // A workload that was scaled to zero runs nowhere, so its members are chosen again when it grows.
    let ran = workload.replicas > 0 && was.values().any(|share| *share > 0);
    match placement.scheduling {
        _ if placement.spreads_over_groups() || placement.is_grouped() || is_scaled_to_zero(workload) => {
            false
        }
        Scheduling::Duplicated => ran || !constrained,
        Scheduling::DividedByStaticWeight => !joined,
        Scheduling::DividedByCapacity => !constrained,
    }
}

/// Returns true if the weighted share of `member` may have become empty.
/// The shares of the others grow when one member leaves.
fn may_get_nothing(
    workload: &Workload,
    member: &String,
    was: &Assignment,
    fact: &Fact,
    context: &JudgeContext<'_>,
) -> bool {
    let nothing = |allowed: Vec<Assignment>| allowed.iter().any(|shares| !shares.contains_key(member));
    workload.placement.scheduling == Scheduling::DividedByStaticWeight
        && divisions(workload, was, fact, context).is_none_or(nothing)
}

/// Returns true if the scheduler may go by earlier labels of `member`, which changed recently.
fn was_relabelled(member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let changed = context.member(member).map(|state| state.relabelled);
    changed.is_some_and(|at| !at.is_zero() && context.may_have_missed(at, fact.at))
}

/// Returns true if `member` may lose the workload for a reason of its own.
fn may_go(workload: &Workload, member: &str, context: &JudgeContext<'_>) -> bool {
    let state = context.member(member);
    // Without graceful eviction no task records that a taint has evicted the workload.
    let driven_out = !context.profile.has(Feature::GracefulEviction)
        && state.and_then(|state| toleration_end(workload, state.taints.iter())).is_some_and(|tolerates| {
            // Stamps are cut to the second.
            matches!(tolerates, TolerationEnd::At(end, _) if end <= context.world.now + Duration::from_secs(1) + context.world.clock_set)
        });
    driven_out
        || workload.eviction(member).is_some()
        || state.is_none_or(|state| state.leaving || !workload.placement.surely_admits(member, state))
}
