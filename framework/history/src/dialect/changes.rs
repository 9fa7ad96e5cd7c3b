//! The changes that follow from a new state of a member, a manifest or a copy. Dialects share them.

use std::time::Duration;

use crate::facts::{
    Change, Delivery, Health, LONGEST_BACK_OFF, Member, Running, Taint, Workload, WorkloadKey, World,
};

/// Returns true if an object with this uid has replaced the object with the uid `before`.
/// A history may leave out uids, so that both have to be known.
#[must_use]
pub fn is_another(uid: &str, before: &str) -> bool {
    !uid.is_empty() && !before.is_empty() && uid != before
}

/// Keeps `uid` as the identity of an object, unless it is left out.
pub fn remember_uid(known: &mut String, uid: &str) {
    if !uid.is_empty() && known != uid {
        uid.clone_into(known);
    }
}

/// Records the time of a change of health, and how long a member that is Ready again was not.
pub fn health_changed(
    name: &str,
    member: &mut Member,
    was: Option<Health>,
    now: Duration,
    first: bool,
) -> Change {
    if member.health == Some(Health::Ready) && was.is_some() {
        member.away = now.saturating_sub(member.health_since);
    }
    member.health_since = now;
    Change::Health { member: name.to_owned(), was, now: member.health, first }
}

/// Returns true if two taints have the same key, value, effect and time.
/// A taint that was removed and added again between two observations is a new taint, so that the times are compared. A
/// toleration may depend on the value, so that the values are compared, too.
#[must_use]
pub fn same_taint(one: &Taint, other: &Taint) -> bool {
    (&one.key, &one.value, one.effect, one.time_added)
        == (&other.key, &other.value, other.effect, other.time_added)
}

/// Replaces the taints of `member` with `taints`, and returns the changes.
pub fn tainted(
    name: &str,
    member: &mut Member,
    taints: Vec<Taint>,
    now: Duration,
    first: bool,
) -> Vec<Change> {
    let evicted = member.evicting_taints().next().is_some();
    let was = std::mem::replace(&mut member.taints, taints);
    if evicted && member.evicting_taints().next().is_none() {
        member.untainted = Some(now);
    }
    let missing = |from: &[Taint], taint: &Taint| !from.iter().any(|each| same_taint(each, taint));
    let removed = was.iter().filter(|taint| missing(&member.taints, taint));
    let removed = removed.map(|taint| Change::TaintRemoved { member: name.to_owned(), taint: taint.clone() });
    let added = member.taints.iter().filter(|taint| missing(&was, taint));
    let added =
        added.map(|taint| Change::TaintAdded { member: name.to_owned(), taint: taint.clone(), first });
    removed.chain(added).collect()
}

/// Takes over the present state `now` of a manifest for `member`, and returns the changes.
/// `gone` says that the manifest is deleted.
pub fn delivered(
    world: &mut World,
    workload: &WorkloadKey,
    member: &str,
    now: Delivery,
    gone: bool,
) -> Vec<Change> {
    let entry = world.workloads.entry(workload.clone()).or_default();
    let was = entry.deliveries.get(member);
    let (workload, member) = (workload.clone(), member.to_owned());
    if was.is_some_and(|was| was.by != now.by) {
        // The first of two manifests for one copy counts, as long as it exists.
        let twice = (!gone).then_some(Change::DeliveredTwice { workload, member });
        return twice.into_iter().collect();
    }
    if !gone && was == Some(&now) {
        return Vec::new();
    }
    let mut changes = changes_of_manifest(&workload, &member, was, &now, gone);
    if gone {
        let was = entry.deliveries.remove(&member);
        // If the deletion began before it was observed, nobody knows how long it took.
        let seen = was.filter(|was| !was.leaving_before);
        let since = seen.map(|was| was.leaving.or(now.leaving).unwrap_or(world.now));
        retry(entry, &member, since, world.now);
        forget(world, &workload);
        changes.push(Change::DeliveryGone { workload, member });
    } else {
        entry.deliveries.insert(member, now);
    }
    changes
}

/// The changes between two versions of a manifest. The first version has none before it.
fn changes_of_manifest(
    workload: &WorkloadKey,
    member: &str,
    was: Option<&Delivery>,
    now: &Delivery,
    gone: bool,
) -> Vec<Change> {
    let (workload, member) = (workload.clone(), member.to_owned());
    let mut changes = Vec::new();
    if was.is_none_or(|was| was.replicas != now.replicas) && !gone {
        changes.push(Change::Delivered {
            workload: workload.clone(),
            member: member.clone(),
            new: was.is_none(),
        });
    }
    if was.is_some_and(|was| was.content != now.content) {
        changes.push(Change::Rewritten { workload: workload.clone(), member: member.clone() });
    }
    let reported =
        |delivery: &Delivery| (delivery.applied, delivery.suspended, delivery.preserved, delivery.held_up);
    if was.is_some_and(|was| reported(was) != reported(now)) {
        changes.push(Change::DeliveryReported { workload: workload.clone(), member: member.clone() });
    }
    if (now.leaving.is_some() || gone) && was.is_none_or(|was| was.leaving.is_none()) {
        changes.push(Change::Recalled { workload, member });
    }
    changes
}

/// Takes over the present state `now` of an object in `member`, and returns the changes.
/// `gone` says that the object is deleted. An object that the control plane does not manage counts only if its workload
/// is known.
pub fn ran(
    world: &mut World,
    workload: WorkloadKey,
    member: &str,
    now: Running,
    gone: bool,
) -> Option<Change> {
    // The manifest may be observed later than the copy, because another watch reports it.
    if !now.managed && !world.workloads.contains_key(&workload) {
        return None;
    }
    if !world.kinds_shown.contains(workload.kind()) {
        world.kinds_shown.insert(workload.kind().to_owned());
    }
    let entry = world.workloads.entry(workload.clone()).or_default();
    let member = member.to_owned();
    if gone {
        let was = entry.running.remove(&member);
        let known = was.is_some();
        let since = was.and_then(|was| was.leaving).or(now.leaving).unwrap_or(world.now);
        retry(entry, &member, Some(since), world.now);
        forget(world, &workload);
        return known.then_some(Change::RunningGone { workload, member });
    }
    if entry.running.get(&member) == Some(&now) {
        return None;
    }
    entry.running.insert(member.clone(), now);
    Some(Change::Running { workload, member })
}

/// Notes that an object in `member` is gone at `now`.
/// The deletion of the object began at `since`, if that time is known. A controller that waited for the end of the
/// deletion retried at growing intervals. The controller may be late by as long as the deletion took.
fn retry(workload: &mut Workload, member: &str, since: Option<Duration>, now: Duration) {
    let took = since.map_or(LONGEST_BACK_OFF, |since| now.saturating_sub(since).min(LONGEST_BACK_OFF));
    if took.is_zero() {
        workload.retried.remove(member);
    } else {
        workload.retried.insert(member.to_owned(), now + took);
    }
}

/// Removes a workload that has neither a record nor copies.
fn forget(world: &mut World, workload: &WorkloadKey) {
    let over = |it: &Workload| !it.recorded && it.deliveries.is_empty() && it.running.is_empty();
    if world.workloads.get(workload).is_some_and(over) {
        world.workloads.remove(workload);
    }
}

/// Removes the record of a workload. Copies may still be observed.
pub fn unrecorded(world: &mut World, workload: WorkloadKey) -> Change {
    let entry = world.workloads.entry(workload.clone()).or_default();
    let was = std::mem::take(entry);
    *entry = Workload { deliveries: was.deliveries, running: was.running, ..Workload::default() };
    if entry.deliveries.is_empty() && entry.running.is_empty() {
        world.workloads.remove(&workload);
    }
    world.reassign(&workload, &was.assignment, &std::collections::BTreeMap::new());
    Change::WorkloadGone(workload)
}
