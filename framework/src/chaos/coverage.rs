//! What has been tried: which fault struck in which phase of a failover, with which workloads about.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::{Fact, News, Scheduling, TaintEffect, Workload, World};

/// How often each fault struck in each situation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<Cell, u64>);

/// A fault in a situation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The kind of fault.
    pub fault: String,
    /// How far a failover was when it struck.
    pub phase: Phase,
    /// A kind of workload that was assigned somewhere then.
    pub workload: Kind,
}

/// How far a failover is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Nothing is wrong.
    Calm,
    /// Something is, and nobody has noticed.
    Outage,
    /// A member is tainted, and nothing moves.
    Tainted,
    /// Something moves.
    Evicting,
}

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// All replicas everywhere.
    Duplicated,
    /// Shared out by weights.
    Weighted,
    /// Shared out by room.
    ByRoom,
    /// Without replicas.
    Scoped,
}

/// The steps that disturb; the other disturbances are marked as faults.
const DISTURBING: [&str; 5] = ["taint", "startUp", "scale", "delete", "deleteMember"];

impl Coverage {
    /// Takes a fact; `world` is the state after it.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        let (fault, already) = match &fact.news {
            News::FaultBegan { fault, .. } => (fault.as_str(), 1),
            News::Step(mark) => match mark.get("step").and_then(|step| step.as_str()) {
                Some(step) if DISTURBING.contains(&step) => (step, 0),
                _ => return,
            },
            _ => return,
        };
        let phase = Phase::of(world, already);
        let mut kinds: Vec<Kind> = world.workloads.values().filter_map(Kind::of).collect();
        kinds.sort();
        kinds.dedup();
        for workload in kinds {
            *self.0.entry(Cell { fault: fault.to_owned(), phase, workload }).or_default() += 1;
        }
    }

    /// Counts what `other` has counted.
    pub fn add(&mut self, other: &Self) {
        for (cell, times) in &other.0 {
            *self.0.entry(cell.clone()).or_default() += times;
        }
    }

    /// Whether there is a phase in which such a fault has not struck with such a workload about.
    #[must_use]
    pub fn lacks(&self, fault: &str, workload: Kind) -> bool {
        let cell = |phase| Cell { fault: fault.to_owned(), phase, workload };
        Phase::ALL.into_iter().any(|phase| !self.0.contains_key(&cell(phase)))
    }

    /// Every cell with its count.
    pub fn cells(&self) -> impl Iterator<Item = (&Cell, u64)> {
        self.0.iter().map(|(cell, times)| (cell, *times))
    }
}

impl FromIterator<(Cell, u64)> for Coverage {
    fn from_iter<I: IntoIterator<Item = (Cell, u64)>>(cells: I) -> Self {
        Self(cells.into_iter().collect())
    }
}

impl Phase {
    /// All of them, in the order of a failover.
    pub const ALL: [Self; 4] = [Self::Calm, Self::Outage, Self::Tainted, Self::Evicting];

    /// How far a failover is, not counting the `latest` faults.
    fn of(world: &World, latest: usize) -> Self {
        let mut members = world.members.values();
        if world.workloads.values().any(|workload| !workload.evictions.is_empty()) {
            Self::Evicting
        } else if members.any(|member| member.taints.iter().any(|it| it.effect == TaintEffect::NoExecute)) {
            Self::Tainted
        } else if world.faults.len() > latest {
            Self::Outage
        } else {
            Self::Calm
        }
    }
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

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Duplicated, Self::Weighted, Self::ByRoom, Self::Scoped];

    /// That of a step that makes a workload, if it makes one.
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicated => "duplicated",
            Self::Weighted => "by weight",
            Self::ByRoom => "by room",
            Self::Scoped => "no replicas",
        })
    }
}
