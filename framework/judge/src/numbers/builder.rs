//! Computes numbers from facts in one pass. The builder keeps a limited number of closed outages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::workload_numbers::WorkloadState;
use super::{Outage, Summary, WorkloadEffect, WorkloadNumbers};
use capsize_history::digest::Table;
use capsize_history::facts::{
    Change, Fact, Health, Scheduling, TaintEffect, Workload, WorkloadKey, World, sum,
};
use capsize_sorted::CollectSorted;

/// The number of outages that are listed one by one; more are only in the summary.
const LISTED_OUTAGES: usize = 100;

/// The numbers of one history.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The outages in the order in which they began; of more than 100, those that were over first.
    pub outages: Vec<Outage>,
    /// The numbers of each workload that existed at the end.
    pub workloads: BTreeMap<WorkloadKey, WorkloadNumbers>,
    /// The summary of all outages and workloads.
    pub summary: Summary,
}

/// Folds facts into numbers.
#[derive(Clone, Debug, Default)]
pub struct NumbersBuilder {
    open: BTreeMap<String, OpenOutage>,
    listed: Vec<(u64, Outage)>,
    summary: Summary,
    begun: u64,
    workloads: Table<WorkloadKey, WorkloadState>,
    /// The workloads that are assigned to each member, or run there.
    on: Table<String, BTreeSet<WorkloadKey>>,
}

/// An outage that is not over.
#[derive(Clone, Debug)]
struct OpenOutage {
    order: u64,
    /// Faults on the member that have not ended.
    faults: usize,
    outage: Outage,
}

impl NumbersBuilder {
    /// Takes the next fact. `world` is the state after it.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        match &fact.change {
            Change::FaultBegan { fault, member: Some(member) } if !fault.only_slows() => {
                self.began(fault.name(), member, fact.at, world);
            }
            Change::FaultEnded { fault, member: Some(member) } if !fault.only_slows() => {
                self.ended(member, fact.at, world);
            }
            Change::Health { member, now, .. } if *now != Some(Health::Ready) => {
                self.note(member, |outage| &mut outage.detected, fact.at);
            }
            Change::Health { member, .. } => self.close_if_over(member, world),
            Change::TaintAdded { member, taint, .. } if taint.effect == TaintEffect::NoExecute => {
                self.note(member, |outage| &mut outage.tainted, fact.at);
            }
            Change::Assigned { workload, was, now, .. } => {
                let left = was.keys().filter(|member| !now.contains_key(*member));
                self.left(workload, left, fact.at);
                let came = now.keys().filter(|member| !was.contains_key(*member));
                self.came(workload, came);
                self.progress(workload, fact.at, world);
            }
            Change::EvictionBegan { workload, task } if !task.inherited => {
                self.evicted(workload, &task.member, fact.at, world);
            }
            Change::Running { workload, member } => {
                self.is_on(workload, member);
                self.progress(workload, fact.at, world);
            }
            Change::RunningGone { workload, member } => {
                self.moved(workload, member, |each| &mut each.gone, fact.at);
                let assigned = |workload: &Workload| workload.assignment.contains_key(member);
                if !world.workloads.get(workload).is_some_and(assigned)
                    && let Some(followed) = self.workloads.get_mut(workload)
                    && followed.on.remove(member)
                {
                    self.off(workload, member);
                }
                self.progress(workload, fact.at, world);
                self.close_if_over(member, world);
            }
            Change::Wanted(workload) | Change::Recorded(workload) => self.progress(workload, fact.at, world),
            Change::WorkloadGone(workload) => self.gone(workload, fact.at),
            _ => {}
        }
    }

    /// Returns the numbers after the last fact, which was at `now`.
    #[must_use]
    pub fn finish(mut self, now: Duration) -> Numbers {
        for open in std::mem::take(&mut self.open).into_values() {
            self.close(open);
        }
        self.listed.sort_by_key(|(order, _)| *order);
        let mut workloads = BTreeMap::new();
        for (key, mut followed) in self.workloads.collect_sorted::<BTreeMap<_, _>>() {
            followed.advance_to(now);
            self.summary.workloads.add(&followed.numbers);
            workloads.insert(key, followed.numbers);
        }
        let outages = self.listed.into_iter().map(|(_, outage)| outage).collect();
        Numbers { outages, workloads, summary: self.summary }
    }

    fn began(&mut self, fault: &str, member: &str, at: Duration, world: &World) {
        if let Some(open) = self.open.get_mut(member).filter(|open| open.faults > 0) {
            open.faults += 1;
            return;
        }
        if let Some(earlier) = self.open.remove(member) {
            self.close(earlier);
        }
        let assigned = |key: &&WorkloadKey| {
            world.workloads.get(*key).is_some_and(|workload| workload.assignment.contains_key(member))
        };
        let moves = self.on.get(member).into_iter().flatten().filter(assigned).map(|key| {
            let members = world.workloads.get(key).map_or(0, |workload| workload.assignment.len());
            WorkloadEffect::new(key.clone(), members)
        });
        let outage = Outage::new(member.to_owned(), fault.to_owned(), at, moves.collect());
        self.open.insert(member.to_owned(), OpenOutage { order: self.begun, faults: 1, outage });
        self.begun += 1;
        self.reach(member, at, world);
    }

    fn ended(&mut self, member: &str, at: Duration, world: &World) {
        let Some(open) = self.open.get_mut(member) else { return };
        open.faults = open.faults.saturating_sub(1);
        if open.faults == 0 {
            open.outage.lasted.get_or_insert(at.saturating_sub(open.outage.began));
            self.reach(member, at, world);
            self.close_if_over(member, world);
        }
    }

    /// Updates the reachable copies after a fault on a member began or ended.
    fn reach(&mut self, member: &str, at: Duration, world: &World) {
        for key in self.on.get(member).cloned().unwrap_or_default() {
            self.follow(&key, at, world);
        }
    }

    /// Records the first time of a step of an outage.
    fn note(&mut self, member: &str, of: impl Fn(&mut Outage) -> &mut Option<Duration>, at: Duration) {
        // Events after the fault are not caused by it.
        if let Some(open) = self.open.get_mut(member).filter(|open| open.faults > 0) {
            let began = open.outage.began;
            of(&mut open.outage).get_or_insert(at.saturating_sub(began));
        }
    }

    /// Records the first time of a step of an outage for one workload.
    fn moved(
        &mut self,
        workload: &WorkloadKey,
        member: &str,
        of: impl Fn(&mut WorkloadEffect) -> &mut Option<Duration>,
        at: Duration,
    ) {
        let Some(open) = self.open.get_mut(member) else { return };
        let after = at.saturating_sub(open.outage.began);
        if let Ok(index) = open.outage.moves.binary_search_by(|each| each.workload.cmp(workload)) {
            of(&mut open.outage.moves[index]).get_or_insert(after);
        }
    }

    fn left<'a>(&mut self, workload: &WorkloadKey, members: impl Iterator<Item = &'a String>, at: Duration) {
        for member in members {
            self.workloads.entry(workload.clone()).or_default().left.insert(member.clone());
            self.moved(workload, member, |each| &mut each.evicted, at);
        }
    }

    fn came<'a>(&mut self, workload: &WorkloadKey, members: impl Iterator<Item = &'a String>) {
        self.workloads.entry(workload.clone()).or_default();
        for member in members {
            let followed = self.is_on(workload, member);
            followed.numbers.undone_moves += u64::from(followed.left.remove(member));
        }
    }

    /// Records that a workload is assigned to a member, or runs there.
    fn is_on(&mut self, workload: &WorkloadKey, member: &str) -> &mut WorkloadState {
        let followed = self.workloads.entry(workload.clone()).or_default();
        if followed.on.insert(member.to_owned()) {
            self.on.entry(member.to_owned()).or_default().insert(workload.clone());
        }
        followed
    }

    fn evicted(&mut self, workload: &WorkloadKey, member: &str, at: Duration, world: &World) {
        self.moved(workload, member, |each| &mut each.evicted, at);
        let by_hand =
            world.members.get(member).is_some_and(|each| each.leaving || each.tainted_by_hand.is_some());
        let caused = by_hand || self.open.contains_key(member);
        let numbers = &mut self.workloads.entry(workload.clone()).or_default().numbers;
        numbers.evictions += 1;
        numbers.extra_evictions += u64::from(!caused);
    }

    /// Records a change of a workload, which may be placed or served again.
    fn progress(&mut self, key: &WorkloadKey, at: Duration, world: &World) {
        self.follow(key, at, world);
        let Some(workload) = world.workloads.get(key) else { return };
        let Some(followed) = self.workloads.get(key) else { return };
        let left: Vec<String> =
            followed.left.iter().filter(|member| self.open.contains_key(*member)).cloned().collect();
        for member in left {
            let Some(open) = self.open.get_mut(&member) else { continue };
            let after = at.saturating_sub(open.outage.began);
            let Ok(index) = open.outage.moves.binary_search_by(|each| each.workload.cmp(key)) else {
                continue;
            };
            let each = &mut open.outage.moves[index];
            if is_whole(workload, each.members) {
                each.placed.get_or_insert(after);
                if serves(workload) {
                    each.served.get_or_insert(after);
                    self.close_if_over(&member, world);
                }
            }
        }
    }

    fn follow(&mut self, key: &WorkloadKey, at: Duration, world: &World) {
        let Some(workload) = world.workloads.get(key) else { return };
        let cut_off = |member: &str| self.open.get(member).is_some_and(|open| open.faults > 0);
        self.workloads.entry(key.clone()).or_default().becomes(at, workload, cut_off);
    }

    fn gone(&mut self, key: &WorkloadKey, at: Duration) {
        let Some(mut followed) = self.workloads.swap_remove(key) else { return };
        followed.advance_to(at);
        self.summary.workloads.add(&followed.numbers);
        for member in &followed.on {
            self.off(key, member);
        }
    }

    /// Records that a workload is neither assigned to a member nor runs there.
    /// Members without workloads are dropped, because there may be new ones all the time.
    fn off(&mut self, workload: &WorkloadKey, member: &str) {
        if let Some(workloads) = self.on.get_mut(member) {
            workloads.remove(workload);
            if workloads.is_empty() {
                self.on.swap_remove(member);
            }
        }
    }

    fn close_if_over(&mut self, member: &str, world: &World) {
        let ready = world.members.get(member).is_none_or(|each| each.health == Some(Health::Ready));
        if self.open.get(member).is_some_and(|open| open.faults == 0 && open.outage.is_over(ready))
            && let Some(open) = self.open.remove(member)
        {
            self.close(open);
        }
    }

    fn close(&mut self, open: OpenOutage) {
        self.summary.add_outage(&open.outage);
        if self.listed.len() < LISTED_OUTAGES {
            self.listed.push((open.order, open.outage));
        }
    }
}

/// Returns true if the workload is completely assigned. `members` is the number of members before.
fn is_whole(workload: &Workload, members: usize) -> bool {
    match workload.placement.scheduling {
        Scheduling::Duplicated => workload.assignment.len() >= members,
        Scheduling::DividedByStaticWeight | Scheduling::DividedByCapacity => {
            sum(&workload.assignment) == workload.replicas
        }
    }
}

/// Returns true if the workload is ready on all assigned members.
fn serves(workload: &Workload) -> bool {
    let ready = |(member, replicas): (&String, &u64)| {
        workload.running.get(member).is_some_and(|running| running.is_healthy() && running.ready >= *replicas)
    };
    !workload.assignment.is_empty() && workload.assignment.iter().all(ready)
}
