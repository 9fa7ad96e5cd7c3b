//! Computes until when a workload tolerates a member, and whether a taint caused an eviction.
//! The module also computes from when a time stamp counts, and when an eviction task times out.

use std::time::Duration;

use jiff::Timestamp;

use super::context::JudgeContext;
use crate::profile::Feature;
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{EvictionTask, Fact, Member, Taint, TaintEffect, Workload, World};

/// The longest time that owners of pods take to follow a change by a person.
const FOLLOWED: Duration = Duration::from_secs(60);

/// Returns true if `task`, which `fact` reports, evicts a workload for a taint.
///
/// A controller of nodes without the feature `TellsDisruption` gives no reason. In the history of a scenario, it deleted
/// every pod of a known node that neither a person nor the owner of the pod deleted.
pub(crate) fn is_by_taint(task: &EvictionTask, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let gives_no_reason = || {
        let (profile, world) = (context.profile, context.world);
        let is_silent = profile.dialect == DialectKind::Nodes
            && !profile.has(Feature::TellsDisruption)
            && !profile.has(Feature::DrainsAfterTimeout);
        let may_be_by_a_person = || world.acts > 0 && fact.at <= world.acted + FOLLOWED;
        let is_by_node = || context.member(&task.member).is_none_or(|node| node.leaving);
        is_silent
            && world.is_of_a_scenario
            && task.reason.is_empty()
            && !may_be_by_a_person()
            && !is_by_node()
    };
    !task.inherited && (task.by_taint || gives_no_reason())
}

/// The time until which a workload tolerates a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TolerationEnd {
    /// The workload tolerates the member without an end.
    Never,
    /// The workload tolerates the member until this time, because of this taint.
    At(Duration, Taint),
}

/// Returns the time until which `workload` tolerates the `taints` of a member.
/// The result is `None` if none of the taints evicts.
///
/// For each taint, the first matching toleration of the workload counts. A taint that does not age evicts only
/// workloads without any toleration of it.
pub(crate) fn toleration_end<'a>(
    workload: &Workload,
    taints: impl Iterator<Item = &'a Taint>,
) -> Option<TolerationEnd> {
    let mut all = None;
    for taint in taints.filter(|taint| taint.effect == TaintEffect::NoExecute) {
        let until = match workload.tolerations.iter().find(|each| each.tolerates(taint)) {
            None => Some(taint.seen),
            Some(toleration) => {
                let began = taint.seen.max(workload.arrived);
                toleration.lasts.filter(|_| taint.ages).map(|lasts| began + lasts)
            }
        };
        all = match (all, until) {
            (Some(TolerationEnd::At(least, by)), Some(until)) if least <= until => {
                Some(TolerationEnd::At(least, by))
            }
            (_, Some(until)) => Some(TolerationEnd::At(until, taint.clone())),
            (all, None) => all.or(Some(TolerationEnd::Never)),
        };
    }
    all
}

/// Returns true if the time on `taint` is the time when it was set.
/// A person may write another time, and a taint may be older than the history.
pub(crate) fn has_true_time(taint: &Taint, world: &World) -> bool {
    let (Some(start), Some(added)) = (world.wall_start, taint.time_added) else { return !taint.inherited };
    let seen = jiff::SignedDuration::try_from(taint.seen).unwrap_or(jiff::SignedDuration::MAX);
    // The start is known to a second, and the stamp is cut to a second.
    let oldest = seen - jiff::SignedDuration::from_secs(3);
    !taint.inherited && added.duration_since(start) >= oldest
}

/// Returns by how much `taint` was written later than its own time, if its author was hindered.
/// Tolerations count from the taint's own time.
pub(crate) fn lateness_of_write(taint: &Taint, world: &World) -> Duration {
    late(taint.seen, taint.time_added, world)
}

/// Returns by how much the time of `taint` is later than its observation.
/// A clock that was ahead has set it then. Tolerations count from the taint's own time. The start of the history is
/// known to a second and the latency.
pub(crate) fn lead_of_stamp(taint: &Taint, latency: Duration, world: &World) -> Duration {
    let (Some(start), Some(added)) = (world.wall_start, taint.time_added) else { return Duration::ZERO };
    let added = Duration::try_from(added.duration_since(start)).unwrap_or_default();
    let ahead = added.saturating_sub(taint.seen);
    if ahead > latency + Duration::from_secs(1) { ahead } else { Duration::ZERO }
}

/// Returns the earliest time from which the timeout of `task` may count.
///
/// Its author reads the clock before it writes the stamp, which takes up to `latency`, and not before the task was observed.
/// If the author was hindered, the stamp's own time counts. A task without a stamp counts from its observation.
pub(crate) fn earliest_start_of_timeout(task: &EvictionTask, world: &World, latency: Duration) -> Duration {
    let Some(stamped) = task.stamped else { return task.seen };
    let read = stamped.saturating_sub(latency).max(task.seen);
    read.min(stamped.saturating_sub(late(stamped, task.created, world)))
}

fn late(seen: Duration, stamp: Option<Timestamp>, world: &World) -> Duration {
    let (Some(start), Some(stamp)) = (world.wall_start, stamp) else { return Duration::ZERO };
    if !world.was_hindered(seen) {
        return Duration::ZERO;
    }
    seen.saturating_sub(Duration::try_from(stamp.duration_since(start)).unwrap_or(seen))
}

/// The time at which a workload no longer tolerates the taints of a member.
/// It is `None` if the workload tolerates the taints for ever.
#[must_use]
pub fn toleration_deadline(workload: &Workload, member: &Member) -> Option<Duration> {
    match toleration_end(workload, member.taints.iter()) {
        Some(TolerationEnd::At(until, _)) => Some(until),
        Some(TolerationEnd::Never) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_counts_from_a_clock_that_was_read_before_the_stamp_was_written() {
        let seconds = Duration::from_secs;
        let world = World::default();
        let task = |stamped| EvictionTask { seen: seconds(20), stamped, ..EvictionTask::default() };
        let cases = [(None, 20), (Some(20), 20), (Some(22), 20), (Some(23), 20), (Some(30), 27)];
        for (stamped, expected) in cases {
            let begun = earliest_start_of_timeout(&task(stamped.map(seconds)), &world, seconds(3));
            assert_eq!(begun, seconds(expected), "stamped at {stamped:?}");
        }
    }
}
