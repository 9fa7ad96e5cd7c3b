//! Keeps the last facts about each member and workload, for the timeline of a violation.

use std::collections::VecDeque;
use std::hash::Hash;
use std::time::Duration;

use crate::guarantee::Subject;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, WorkloadKey, World};

/// The longest timeline of a violation.
const LONGEST_TIMELINE: usize = 6;

/// The timeline of a deleted object is kept for at least this many further facts.
/// It is kept for fewer than twice as many.
const REMEMBERED: u64 = 10_000;

/// The last facts about each member and workload.
#[derive(Debug, Default)]
pub(crate) struct RecentFacts {
    count: u64,
    members: Table<String, Recent>,
    workloads: Table<WorkloadKey, Recent>,
}

type Recent = VecDeque<(u64, Fact)>;

/// The recent facts about `name`. The name is cloned only when it is new.
fn of<'a, Name: Clone + Eq + Hash>(all: &'a mut Table<Name, Recent>, name: &Name) -> &'a mut Recent {
    let place = all.get_index_of(name).unwrap_or_else(|| all.insert_full(name.clone(), Recent::new()).0);
    &mut all[place]
}

impl RecentFacts {
    /// Keeps `fact` if it belongs on a timeline.
    /// From time to time it drops the timelines of deleted objects.
    pub(crate) fn note(&mut self, fact: &Fact, world: &World) {
        let recent = match &fact.change {
            Change::FaultBegan { member: Some(member), .. }
            | Change::FaultEnded { member: Some(member), .. }
            | Change::ClockWrong { member: Some(member), .. }
            | Change::ClockRight { member: Some(member), .. }
            | Change::Health { member, first: false, .. }
            | Change::TaintAdded { member, first: false, .. }
            | Change::TaintRemoved { member, .. }
            | Change::MemberLeaving(member)
            | Change::MemberGone(member) => of(&mut self.members, member),
            Change::Assigned { workload, .. }
            | Change::EvictionBegan { workload, .. }
            | Change::EvictionEnded { workload, .. }
            | Change::Delivered { workload, .. }
            | Change::Recalled { workload, .. }
            | Change::WorkloadGone(workload) => of(&mut self.workloads, workload),
            _ => return,
        };
        if recent.len() == LONGEST_TIMELINE {
            recent.pop_front();
        }
        self.count += 1;
        recent.push_back((self.count, fact.clone()));
        if self.count.is_multiple_of(REMEMBERED) {
            self.forget(world);
        }
    }

    fn forget(&mut self, world: &World) {
        let old = self.count - REMEMBERED;
        let is_fresh = |recent: &Recent| recent.back().is_some_and(|(order, _)| *order > old);
        self.members.retain(|name, recent| is_fresh(recent) || world.members.contains_key(name));
        self.workloads.retain(|key, recent| is_fresh(recent) || world.workloads.contains_key(key));
    }

    /// Returns the last facts about `subject`, in order.
    /// If `since` is given, the timeline begins with the first facts at or after that time.
    pub(crate) fn about(&self, subject: &Subject, since: Option<Duration>) -> Vec<Fact> {
        let member = subject.member.iter().filter_map(|name| self.members.get(name));
        let workload = subject.workload.iter().filter_map(|key| self.workloads.get(key));
        let since = since.unwrap_or_default();
        let mut facts: Vec<_> =
            member.chain(workload).flatten().filter(|(_, fact)| fact.at >= since).collect();
        facts.sort_by_key(|(order, _)| *order);
        if facts.len() > LONGEST_TIMELINE {
            let first = if since.is_zero() { 0 } else { LONGEST_TIMELINE / 2 };
            facts.drain(first..facts.len() - (LONGEST_TIMELINE - first));
        }
        facts.into_iter().map(|(_, fact)| fact.clone()).collect()
    }
}
