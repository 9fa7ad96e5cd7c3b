//! The chosen members of a workload, and the evictions that follow from a choice.

use std::collections::BTreeSet;
use std::time::Duration;

use capsize_history::facts::{Assignment, Change, EvictionTask, Workload, WorkloadKey, World};
use capsize_sorted::CollectSorted;
use kube_cel::cel::Value;

use super::compile::{Compiler, DialectError, Section};
use super::document::{AssignmentSection, Evictions};
use super::expression::Expression;
use super::observed::Scope;
use super::value::{items, number, texts};

/// The reason of an eviction that no object records.
pub(crate) const DERIVED: &str = "LeavesWhileTainted";

/// The time after a change of the wanted placement in which the change may explain a move.
/// A workload that leaves a member in this time may leave the member because of the change.
const SOON: Duration = Duration::from_secs(5);

/// Reads the chosen members.
pub(crate) struct AssignmentReader {
    members: Expression,
    replicas: Option<Expression>,
}

impl AssignmentReader {
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        own: &Section<'_>,
        section: &AssignmentSection,
    ) -> Result<Self, DialectError> {
        Ok(Self {
            members: compiler.expression(own, "assignment.members", &section.members)?,
            replicas: compiler.optional(own, "assignment.replicas", section.replicas.as_ref())?,
        })
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        std::iter::once(&self.members).chain(&self.replicas)
    }

    /// The members and their replicas, with the names that occur twice.
    pub(crate) fn assignment(&self, scope: &Scope<'_>) -> (Assignment, Vec<String>) {
        let members = scope.read(&self.members, texts).unwrap_or_default();
        let replicas = scope.maybe(self.replicas.as_ref(), |value| Some(value.clone()));
        let of = |place: usize| match &replicas {
            Some(list @ Value::List(_)) => items(list).get(place).and_then(number).unwrap_or_default(),
            Some(one) => number(one).unwrap_or_default(),
            None => 0,
        };
        let mut names = BTreeSet::new();
        let twice = members.iter().filter(|name| !names.insert((*name).clone()));
        let defects = twice.map(|name| format!("{name} is named twice")).collect();
        let assignment =
            members.into_iter().enumerate().map(|(place, name)| (name, of(place))).collect_sorted();
        (assignment, defects)
    }
}

/// Takes over the chosen members, and returns the changes.
pub(crate) fn assign(
    world: &mut World,
    key: &WorkloadKey,
    (now, defects): (Assignment, Vec<String>),
    evictions: Option<Evictions>,
    first: bool,
) -> Vec<Change> {
    let Some(entry) = world.workloads.get(key) else { return Vec::new() };
    let was = entry.assignment.clone();
    let left = was.keys().filter(|member| !now.contains_key(*member));
    let tasks: Vec<EvictionTask> = match evictions {
        Some(Evictions::LeavesWhileTainted) => {
            left.filter(|member| is_evicted(world, entry, member)).map(|member| task(world, member)).collect()
        }
        None => Vec::new(),
    };
    let time = world.now;
    let Some(entry) = world.workloads.get_mut(key) else { return Vec::new() };
    entry.defects = defects;
    if was == now {
        return Vec::new();
    }
    let mut changes = Vec::new();
    let ended = |entry: &Workload, task: &EvictionTask| {
        now.contains_key(&task.member) || !entry.deliveries.contains_key(&task.member)
    };
    let (over, open): (Vec<_>, Vec<_>) =
        std::mem::take(&mut entry.evictions).into_iter().partition(|task| now.contains_key(&task.member));
    entry.evictions = open;
    changes.extend(over.into_iter().map(|task| ended_change(key, task)));
    for task in tasks {
        changes.push(Change::EvictionBegan { workload: key.clone(), task: Box::new(task.clone()) });
        if ended(entry, &task) {
            changes.push(ended_change(key, task));
        } else {
            entry.evictions.push(task);
        }
    }
    entry.assignment.clone_from(&now);
    entry.assigned_since = time;
    world.reassign(key, &was, &now);
    changes.push(Change::Assigned { workload: key.clone(), was, now, first });
    changes
}

/// The change for the end of an eviction.
pub(crate) fn ended_change(key: &WorkloadKey, task: EvictionTask) -> Change {
    Change::EvictionEnded { workload: key.clone(), task: Box::new(task) }
}

/// Ends the derived eviction from `member`, whose manifest is gone.
pub(crate) fn end_eviction(world: &mut World, key: &WorkloadKey, member: &str) -> Option<Change> {
    let entry = world.workloads.get_mut(key)?;
    let place = entry.evictions.iter().position(|task| task.member == member && task.is_derived)?;
    Some(ended_change(key, entry.evictions.remove(place)))
}

/// Returns true if a workload that leaves `member` is evicted from it.
/// The member has a `NoExecute` taint then, and nothing else explains the move.
fn is_evicted(world: &World, workload: &Workload, member: &str) -> bool {
    let Some(state) = world.members.get(member) else { return false };
    let tainted = state.evicting_taints().next().is_some();
    let asked = workload.wanted_since > workload.assigned_since
        && world.now.saturating_sub(workload.wanted_since) < SOON;
    tainted && !state.leaving && workload.placement.admits(member, state) && !asked
}

fn task(world: &World, member: &str) -> EvictionTask {
    EvictionTask {
        member: member.to_owned(),
        reason: DERIVED.to_owned(),
        seen: world.now,
        is_derived: true,
        directly: true,
        by_taint: true,
        ..EvictionTask::default()
    }
}
