//! Counts which fault began in which phase of a failover, with which kinds of workloads assigned.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use capsize_history::FaultKind;
use capsize_history::facts::{Change, Fact, Scheduling, Taint, TaintEffect, Workload, World};

/// How often each fault began in each situation.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    cells: BTreeMap<Cell, u64>,
    /// The situation at the latest fault, with its time, as long as only faults were observed since.
    /// A zone fails node by node at one instant, and computing the situation reads the whole world.
    about: Option<(Duration, Situation)>,
}

/// The situation in which a fault strikes, except for other faults.
#[derive(Clone, Debug)]
struct Situation {
    evicting: bool,
    tainted: bool,
    kinds: BTreeSet<WorkloadKind>,
}

/// A fault in a situation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The kind of fault.
    pub fault: String,
    /// The phase of the failover when the fault began.
    pub phase: Phase,
    /// A kind of workload that was assigned to a member then.
    pub workload: WorkloadKind,
}

/// The phase of a failover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Nothing is wrong.
    Calm,
    /// A fault is in force, and no controller has reacted.
    Outage,
    /// A member is tainted, and no workload is being evicted.
    Tainted,
    /// A workload is being evicted.
    Evicting,
}

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkloadKind {
    /// Every member runs all replicas.
    Duplicated,
    /// Members share the replicas by weights.
    Weighted,
    /// Members share the replicas by free capacity.
    ByRoom,
    /// The workload has no replicas.
    Scoped,
}

/// The steps that count as faults, although they are not marked as faults in histories.
const DISTURBING: [&str; 5] = ["taint", "startUp", "scale", "delete", "deleteMember"];

impl Coverage {
    /// Counts a fact, if it is the beginning of a fault. `world` is the state after the fact.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        let Some((fault, latest)) = strike(&fact.change) else {
            self.about = None;
            return;
        };
        let known = self.about.take().filter(|(at, _)| *at == fact.at);
        let (_, about) = self.about.insert(known.unwrap_or_else(|| (fact.at, Situation::of(world))));
        let phase = about.phase(world.faults.len() > latest);
        for workload in about.kinds.iter().copied() {
            *self.cells.entry(Cell { fault: fault.to_owned(), phase, workload }).or_default() += 1;
        }
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (cell, times) in &other.cells {
            *self.cells.entry(cell.clone()).or_default() += times;
        }
    }

    /// Returns true if this fault is missing in some phase.
    /// The fault has not begun in that phase with this kind of workload assigned.
    #[must_use]
    pub fn lacks(&self, fault: &str, workload: WorkloadKind) -> bool {
        let cell = |phase| Cell { fault: fault.to_owned(), phase, workload };
        Phase::ALL.into_iter().any(|phase| !self.cells.contains_key(&cell(phase)))
    }

    /// Every cell with its count.
    pub fn cells(&self) -> impl Iterator<Item = (&Cell, u64)> {
        self.cells.iter().map(|(cell, times)| (cell, *times))
    }
}

/// The fault that begins with this fact, and how many entries it has in the list of faults in force.
fn strike(change: &Change) -> Option<(&str, usize)> {
    match change {
        Change::FaultBegan { fault, .. } => Some((fault.name(), 1)),
        Change::ClockWrong { .. } => Some((FaultKind::Skew.name(), 1)),
        Change::Step(mark) => {
            let step = mark.get("step").and_then(Value::as_str);
            step.filter(|step| DISTURBING.contains(step)).map(|step| (step, 0))
        }
        _ => None,
    }
}

impl Situation {
    fn of(world: &World) -> Self {
        let shuts_out = |taint: &Taint| taint.effect == TaintEffect::NoExecute;
        Self {
            evicting: world.workloads.values().any(|workload| !workload.evictions.is_empty()),
            tainted: world.members.values().any(|member| member.taints.iter().any(shuts_out)),
            kinds: world.workloads.values().filter_map(WorkloadKind::of).collect_sorted(),
        }
    }

    /// The phase of the failover. `others` says whether other faults are in force.
    fn phase(&self, others: bool) -> Phase {
        match self {
            Self { evicting: true, .. } => Phase::Evicting,
            Self { tainted: true, .. } => Phase::Tainted,
            _ if others => Phase::Outage,
            _ => Phase::Calm,
        }
    }
}

impl FromIterator<(Cell, u64)> for Coverage {
    fn from_iter<I: IntoIterator<Item = (Cell, u64)>>(cells: I) -> Self {
        Self { cells: cells.collect_sorted(), about: None }
    }
}

impl Phase {
    /// All phases, in the order of a failover.
    pub const ALL: [Self; 4] = [Self::Calm, Self::Outage, Self::Tainted, Self::Evicting];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calm => "calm",
            Self::Outage => "outage",
            Self::Tainted => "tainted",
            Self::Evicting => "evicting",
        })
    }
}

impl WorkloadKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Duplicated, Self::Weighted, Self::ByRoom, Self::Scoped];

    /// The kind of the workload that a step creates, if it creates one.
    pub(super) fn of_step(step: &Value) -> Option<Self> {
        let Some(workload) = step.get("workload") else {
            return step.get("pods").map(|_| Self::Duplicated);
        };
        Some(match &workload["policy"]["scheduling"] {
            _ if workload["replicas"] == 0 => Self::Scoped,
            Value::Object(_) => Self::Weighted,
            scheduling if scheduling == "Duplicated" => Self::Duplicated,
            _ => Self::ByRoom,
        })
    }

    fn of(workload: &Workload) -> Option<Self> {
        if workload.assignment.is_empty() {
            return None;
        }
        Some(match workload.placement.scheduling {
            _ if workload.replicas == 0 => Self::Scoped,
            Scheduling::Duplicated => Self::Duplicated,
            Scheduling::DividedByStaticWeight => Self::Weighted,
            Scheduling::DividedByCapacity => Self::ByRoom,
        })
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicated => "duplicated",
            Self::Weighted => "by weight",
            Self::ByRoom => "by room",
            Self::Scoped => "no replicas",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capsize_history::facts::{EvictionTask, FaultInForce, Uncertainty, WorkloadKey};

    fn fact(at_s: u64, change: Change) -> Fact {
        Fact { at: Duration::from_secs(at_s), uncertainty: Uncertainty::default(), change, witness: None }
    }

    #[test]
    fn each_fault_is_counted_in_the_phase_in_which_it_strikes() {
        let (mut world, mut coverage) = (World::default(), Coverage::default());
        let mut workload = Workload { replicas: 1, ..Workload::default() };
        workload.assignment.insert("m1".into(), 1);
        world.workloads.insert(WorkloadKey::default(), workload);
        let mut strike = |world: &mut World| {
            world.faults.push(FaultInForce { fault: FaultKind::Silent, ..FaultInForce::default() });
            coverage.observe(&fact(1, Change::FaultBegan { fault: FaultKind::Silent, member: None }), world);
        };
        strike(&mut world);
        strike(&mut world);
        strike(&mut world);
        let evicted = vec![EvictionTask::default()];
        world.workloads.values_mut().for_each(|workload| workload.evictions = evicted.clone());
        coverage.observe(&fact(1, Change::MemberChanged("m1".into())), &world);
        coverage.observe(&fact(1, Change::FaultBegan { fault: FaultKind::Silent, member: None }), &world);
        let counted: Vec<_> = coverage.cells().map(|(cell, times)| (cell.phase, times)).collect();
        assert_eq!(counted, [(Phase::Calm, 1), (Phase::Outage, 2), (Phase::Evicting, 1)]);
    }
}
