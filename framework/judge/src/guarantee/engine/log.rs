//! The last things that happened to each member and workload: the time line of a violation.

use std::collections::VecDeque;
use std::hash::Hash;
use std::time::Duration;

use crate::guarantee::Subject;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, WorkloadKey, World};

/// A violation is told with so many facts.
const LONGEST_TIMELINE: usize = 6;

/// Of what is gone the time line is kept until so many other facts were noted.
const REMEMBERED: u64 = 10_000;

/// What happened last, by whom it happened to.
#[derive(Debug, Default)]
pub(crate) struct Log {
    count: u64,
    members: Table<String, Recent>,
    workloads: Table<WorkloadKey, Recent>,
}

type Recent = VecDeque<(u64, Fact)>;

/// What is kept of one of them. Its name is copied only where it is new.
fn of<'a, Name: Clone + Eq + Hash>(all: &'a mut Table<Name, Recent>, name: &Name) -> &'a mut Recent {
    let place = all.get_index_of(name).unwrap_or_else(|| all.insert_full(name.clone(), Recent::new()).0);
    &mut all[place]
}

impl Log {
    /// Keeps `fact`, if it is one to tell. What is gone for good is forgotten in time.
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

    /// The last facts about `subject`, in order; those first that came `since` then, where there is such a time.
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
