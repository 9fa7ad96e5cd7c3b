//! Decides which members may be chosen, kept or left, as far as a history shows.
//! The module also opens the deadlines of choices.

use std::time::Duration;

use super::bounds;
use super::context::{Deadlines, Expectation, JudgeContext};
use crate::guarantee::Subject;
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Member, Taint, TaintEffect, Workload, World};

/// Returns the first taint of `member` that the workload does not tolerate.
/// A toleration counts even if its time has run out.
pub(crate) fn first_untolerated_taint<'a>(workload: &Workload, member: &'a Member) -> Option<&'a Taint> {
    let repels = |taint: &&Taint| taint.effect != TaintEffect::PreferNoSchedule;
    let tolerated = |taint: &Taint| workload.tolerations.iter().any(|each| each.tolerates(taint));
    member.taints.iter().filter(repels).find(|taint| !tolerated(taint))
}

/// Returns true if `member` is known to serve the workload's kind.
/// Returns `None` if its API resources were never reported.
pub(crate) fn serves(workload: &Workload, member: &Member) -> Option<bool> {
    Some(member.serves.as_ref()?.contains(&workload.served_as))
}

/// Returns true if `member` may lose the workload because the member does not serve its kind.
/// The same holds if the member did not serve the kind until recently. A member that says that it cannot report all kinds is in doubt, and keeps the workload.
pub(crate) fn may_be_unserved(
    workload: &Workload,
    member: &Member,
    at: Duration,
    context: &JudgeContext<'_>,
) -> bool {
    let in_doubt = member.conditions.get("CompleteAPIEnablements").is_some_and(|status| status != "True");
    let was_unserved = !member.kinds_since.is_zero() && context.may_have_missed(member.kinds_since, at);
    context.profile.has(Feature::LeavesUnservedKinds)
        && (was_unserved || !in_doubt && serves(workload, member) == Some(false))
}

/// Returns true if the workload has been scaled to zero.
/// Since Karmada 1.16 such a workload leaves all members (`AssignReplicas` of `pkg/scheduler/core/common.go`).
pub(crate) fn is_scaled_to_zero(workload: &Workload) -> bool {
    workload.replicas == 0 && workload.has_replicas
}

/// Returns true if the member called `name` can run the workload, and may be newly chosen.
///
/// A member with a `NoExecute` taint does not count, even if the workload tolerates the taint. Implementations differ
/// in whether a member may be chosen after the toleration has run out.
pub(crate) fn is_free_choice(workload: &Workload, name: &str, member: &Member) -> bool {
    !is_scaled_to_zero(workload)
        && workload.placement.surely_admits(name, member)
        && !member.leaving
        && first_untolerated_taint(workload, member).is_none()
        && member.evicting_taints().next().is_none()
        && serves(workload, member) == Some(true)
        && workload.eviction(name).is_none()
}

/// Returns true if a member that has the workload may keep it.
pub(crate) fn may_stay(workload: &Workload, name: &str, world: &World) -> bool {
    let stays = |member: &Member| !member.leaving && workload.placement.surely_admits(name, member);
    workload.eviction(name).is_none() && world.members.get(name).is_some_and(stays)
}

/// Returns true if a controller that acted at `at` has surely observed the present state of `member`.
pub(crate) fn is_surely_observed(member: &Member, at: Duration, context: &JudgeContext<'_>) -> bool {
    !context.may_have_missed(member.changed, at)
}

/// Opens a deadline if the choice of members is wrong. Otherwise the open deadline is closed as met.
/// A change that makes no scheduler act opens no deadline.
pub(crate) fn expect_choice(
    deadlines: &mut Deadlines,
    subject: Subject,
    fact: &Fact,
    wrong: Option<Expectation>,
    context: &mut JudgeContext<'_>,
) {
    if wrong.is_none() || !is_status_change_only(fact, context) {
        let limit = bounds::members_chosen(context.timings());
        deadlines.expect_correction(subject, fact, limit, wrong, context);
    }
}

/// Returns true if `fact` shows only another status of a member, for example other API resources.
/// Such a change makes no scheduler act.
fn is_status_change_only(fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let is_of_member = matches!(fact.change, Change::MemberChanged(_) | Change::Health { .. });
    let member = fact.change.member().and_then(|name| context.member(name));
    is_of_member && member.is_some_and(|member| member.status_only)
}

/// Returns true if the scheduler reports that the workload cannot be placed.
pub(crate) fn cannot_be_placed(workload: &Workload) -> bool {
    workload.condition("Scheduled") == "False"
}
