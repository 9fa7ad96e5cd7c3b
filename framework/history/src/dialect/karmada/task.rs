//! Eviction tasks of a binding: which tasks begin, change and end from one version to the next.

use std::time::Duration;

use capsize_sorted::CollectSorted;

use super::observed_object::{seconds, time_in};
use crate::facts::{Change, EvictionTask, Workload, WorkloadKey};
use crate::format::Tree;

/// Returns the changes that this version of a binding makes to its tasks.
/// The member identifies a task, together with the time stamp if a member has several tasks.
pub(super) fn observe(
    entry: &mut Workload,
    tasks: &[Tree<'_>],
    now: Duration,
    first: bool,
    key: &WorkloadKey,
) -> Vec<Change> {
    let mut was = std::mem::take(&mut entry.evictions);
    let read: Vec<_> = tasks.iter().map(|value| task(value, now, first)).collect();
    let count =
        |tasks: &[EvictionTask], member: &str| tasks.iter().filter(|task| task.member == member).count();
    let mut changes = Vec::new();
    let mut is_written_by_person = false;
    for mut task in read.iter().cloned() {
        let of_member = |old: &EvictionTask| old.member == task.member;
        // The only task of its member before and after is the same task, whatever its fields are. If versions were
        // missed, a task with another stamp may have replaced it.
        let alone =
            entry.missed != Some(now) && count(&was, &task.member) == 1 && count(&read, &task.member) == 1;
        let known = was
            .iter()
            .position(|old| of_member(old) && old.created == task.created)
            .or_else(|| was.iter().position(|old| of_member(old) && (old.created.is_none() || alone)));
        let old = known.map(|place| was.remove(place));
        let decision = old.as_ref().and_then(|old| old.suppress_deletion);
        is_written_by_person |= task.suppress_deletion == Some(false) && decision != Some(false);
        match old {
            Some(old) => {
                task.seen = old.seen;
                task.inherited = old.inherited;
                task.stamped = if old.created == task.created { old.stamped } else { task.stamped };
                changes.extend(difference(key, old, &task));
            }
            None => {
                changes.push(Change::EvictionBegan { workload: key.clone(), task: Box::new(task.clone()) });
            }
        }
        entry.evictions.push(task);
    }
    let ended = |mut task: EvictionTask| {
        // Only a person decides to drop a copy. A person who writes the list also decides which tasks stay in it.
        if is_written_by_person {
            task.suppress_deletion = Some(false);
        }
        Change::EvictionEnded { workload: key.clone(), task: Box::new(task) }
    };
    // A task ends before another one for its member begins.
    let is_replaced = |task: &EvictionTask| count(&entry.evictions, &task.member) > 0;
    let (replaced, over): (Vec<_>, Vec<_>) = was.into_iter().partition(is_replaced);
    let (replaced, over) = (replaced.into_iter().map(ended), over.into_iter().map(ended));
    replaced.chain(changes).chain(over).collect()
}

fn difference(key: &WorkloadKey, was: EvictionTask, task: &EvictionTask) -> Option<Change> {
    if was == *task {
        return None;
    }
    let (workload, task) = (key.clone(), Box::new(task.clone()));
    let stamped = was.created.is_none() && task.created.is_some();
    let same_but_for_the_stamp =
        EvictionTask { created: task.created, stamped: task.stamped, ..was.clone() } == *task;
    if stamped && same_but_for_the_stamp {
        return Some(Change::EvictionStamped { workload, task });
    }
    Some(Change::EvictionChanged { workload, was: Box::new(was), task })
}

fn task(value: &Tree<'_>, now: Duration, inherited: bool) -> EvictionTask {
    let text = |name: &str| value[name].text().to_owned();
    let created = time_in(&value["creationTimestamp"]);
    let preserved = value["preservedLabelState"].fields().iter();
    EvictionTask {
        member: text("fromCluster"),
        by_taint: text("producer") == "TaintManager" || text("reason") == "TaintUntolerated",
        by_health: text("reason") == "ApplicationFailure",
        reason: text("reason"),
        seen: now,
        inherited,
        is_derived: false,
        created,
        stamped: created.map(|_| now),
        grace: value["gracePeriodSeconds"].as_u64().map(seconds),
        directly: matches!(value["purgeMode"].as_str(), Some("Directly" | "Immediately")),
        keeps: value["purgeMode"] == "Never",
        replicas: value["replicas"].as_u64(),
        preserved: preserved
            .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
            .collect_sorted(),
        suppress_deletion: value["suppressDeletion"].as_bool(),
    }
}
