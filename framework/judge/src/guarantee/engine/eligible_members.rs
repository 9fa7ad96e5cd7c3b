//! Which members may be chosen for a workload, as far as a history tells.

use std::time::Duration;

use super::context::JudgeContext;
use capsize_history::facts::{Member, Taint, TaintEffect, Workload, World};

/// The first taint of `member` that keeps the workload from being chosen for it: whether a toleration has run out does
/// not matter, only whether there is one.
pub(crate) fn repelled<'a>(workload: &Workload, member: &'a Member) -> Option<&'a Taint> {
    let repels = |taint: &&Taint| taint.effect != TaintEffect::PreferNoSchedule;
    let tolerated = |taint: &Taint| workload.tolerations.iter().any(|each| each.tolerates(taint));
    member.taints.iter().filter(repels).find(|taint| !tolerated(taint))
}

/// Whether `member` is known to serve the workload's kind; `None` where it never told.
pub(crate) fn serves(workload: &Workload, member: &Member) -> Option<bool> {
    Some(member.serves.as_ref()?.contains(&workload.served_as))
}

/// Whether nothing at all speaks against choosing the member called `name` anew.
///
/// A member with a `NoExecute` taint is none, even where it is tolerated: whether one whose toleration has run out may
/// be chosen is not the same in all implementations.
pub(crate) fn is_free_choice(workload: &Workload, name: &str, member: &Member) -> bool {
    workload.placement.admits(name, member)
        && !member.leaving
        && repelled(workload, member).is_none()
        && member.evicting_taints().next().is_none()
        && serves(workload, member) == Some(true)
        && workload.eviction(name).is_none()
}

/// Whether a member that has the workload may keep it.
pub(crate) fn may_stay(workload: &Workload, name: &str, world: &World) -> bool {
    let stays = |member: &Member| !member.leaving && workload.placement.admits(name, member);
    workload.eviction(name).is_none() && world.members.get(name).is_some_and(stays)
}

/// Whether whoever chose at `at` has seen `member` as it is.
pub(crate) fn is_settled(member: &Member, at: Duration, context: &JudgeContext<'_>) -> bool {
    member.changed < context.latest_surely_observed(at)
}

/// Whether the scheduler says that it has done what can be done.
pub(crate) fn cannot_be_placed(workload: &Workload) -> bool {
    workload.condition("Scheduled") == "False"
}
