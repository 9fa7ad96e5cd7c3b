//! Until when a workload tolerates a member, and from when what is stamped counts.

use std::time::Duration;

use jiff::Timestamp;

use capsize_history::facts::{EvictionTask, Taint, TaintEffect, Workload, World};

/// Until when a workload tolerates a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tolerates {
    /// For ever.
    Forever,
    /// Until then, because of this taint.
    Until(Duration, Taint),
}

/// Until when `workload` tolerates the taints of `member`; `None` where none of them evicts.
///
/// Of a workload's tolerations the first that matches a taint counts. A taint that does not age runs out only for those
/// that do not tolerate it at all.
pub(crate) fn tolerates<'a>(
    workload: &Workload,
    taints: impl Iterator<Item = &'a Taint>,
) -> Option<Tolerates> {
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
            (Some(Tolerates::Until(least, by)), Some(until)) if least <= until => {
                Some(Tolerates::Until(least, by))
            }
            (_, Some(until)) => Some(Tolerates::Until(until, taint.clone())),
            (all, None) => all.or(Some(Tolerates::Forever)),
        };
    }
    all
}

/// Whether the time on `taint` is that of its being set: a person may write another, and a taint may be older than the
/// history.
pub(crate) fn is_fresh(taint: &Taint, world: &World) -> bool {
    let (Some(start), Some(added)) = (world.wall_start, taint.time_added) else { return !taint.inherited };
    let seen = jiff::SignedDuration::try_from(taint.seen).unwrap_or(jiff::SignedDuration::MAX);
    // The start is known to a second, the stamp is cut to a second.
    let oldest = seen - jiff::SignedDuration::from_secs(3);
    !taint.inherited && added.duration_since(start) >= oldest
}

/// By how much `taint` may have come later than its own time says where whoever set it was hindered: tolerations count from
/// that time.
pub(crate) fn written_late(taint: &Taint, world: &World) -> Duration {
    late(taint.seen, taint.time_added, world)
}

/// From when the timeout of `task` counts: its stamp, or the time on it where whoever stamped it was hindered; until it
/// has one, when it was seen.
pub(crate) fn begun(task: &EvictionTask, world: &World) -> Duration {
    task.stamped.map_or(task.seen, |seen| seen.saturating_sub(late(seen, task.created, world)))
}

fn late(seen: Duration, stamp: Option<Timestamp>, world: &World) -> Duration {
    let (Some(start), Some(stamp)) = (world.wall_start, stamp) else { return Duration::ZERO };
    if !world.was_hindered(seen) {
        return Duration::ZERO;
    }
    seen.saturating_sub(Duration::try_from(stamp.duration_since(start)).unwrap_or(seen))
}
