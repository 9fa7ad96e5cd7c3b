//! The state of a running fleet at one moment, as the terminal view and the live page show it.

use std::time::Duration;

use capsize_history::facts::{Fact, Member, TaintEffect, Workload, World};
use capsize_judge::fault_evidence::FaultEvidence;
use capsize_judge::guarantee::toleration_deadline;
use capsize_judge::numbers::requested_replicas;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::faults;
use super::phrase::moment;

/// The state of a fleet at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The case of a run that is in progress; absent for a fleet that people started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Seconds since the fleet was started, by its own clock.
    pub at_seconds: f64,
    /// The time of day of the fleet.
    pub time: String,
    /// Seconds of the fleet for each second of real time.
    pub speed: f64,
    /// The members.
    pub members: Vec<MemberState>,
    /// The faults of the control plane.
    pub faults: Vec<String>,
    /// The workloads that are recorded.
    pub workloads: Vec<WorkloadState>,
    /// The latest events, oldest first.
    pub events: Vec<String>,
}

/// The state of one member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberState {
    /// The name.
    pub name: String,
    /// The health that the control plane reports; empty if it reports none.
    pub health: String,
    /// The taints.
    pub taints: Vec<TaintState>,
    /// The faults in force, with what they have done so far.
    pub faults: Vec<String>,
}

/// A taint of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintState {
    /// Key and effect.
    pub name: String,
    /// Whether the taint evicts workloads.
    pub evicts: bool,
    /// Seconds until it evicts the first workload; absent if no workload waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_seconds: Option<f64>,
}

/// The state of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadState {
    /// Namespace and name.
    pub name: String,
    /// The requested replicas.
    pub requested: u64,
    /// The ready replicas.
    pub ready: u64,
    /// The state in each member.
    pub places: Vec<PlaceState>,
}

/// The state of a workload in one member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceState {
    /// The member.
    pub member: String,
    /// The assigned replicas; absent if the workload is not assigned to the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned: Option<u64>,
    /// The ready replicas.
    pub ready: u64,
    /// The eviction in progress, with its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction: Option<String>,
    /// Seconds until the timeout of the eviction; absent if the task has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
}

impl Snapshot {
    /// The state of `world` at `now`.
    /// `events` are the latest facts, and `evidence` is about all faults so far.
    #[must_use]
    pub fn of(
        world: &World,
        (now, time, speed): (Duration, Timestamp, f64),
        events: &[Fact],
        evidence: &[FaultEvidence],
    ) -> Self {
        let open = |member: Option<&str>| {
            let hits = |each: &&FaultEvidence| each.ended.is_none() && each.member.as_deref() == member;
            evidence.iter().filter(hits).map(faults::open).collect()
        };
        let member = |(name, member): (&String, &Member)| MemberState {
            name: name.clone(),
            health: member.health.map(|health| health.to_string()).unwrap_or_default(),
            taints: taints(world, name, member, now),
            faults: open(Some(name)),
        };
        let recorded = world.workloads.iter().filter(|(_, workload)| workload.recorded);
        Self {
            case: None,
            at_seconds: now.as_secs_f64(),
            time: time.strftime("%H:%M:%S").to_string(),
            speed,
            members: world.members.iter().map(member).collect(),
            faults: open(None),
            workloads: recorded
                .map(|(key, workload)| WorkloadState {
                    name: key.to_string(),
                    requested: requested_replicas(workload),
                    ready: workload.ready(),
                    places: places(workload, now),
                })
                .collect(),
            events: events.iter().map(moment).collect(),
        }
    }
}

fn taints(world: &World, name: &str, member: &Member, now: Duration) -> Vec<TaintState> {
    let assigned = world.workloads.values().filter(|workload| workload.assignment.contains_key(name));
    let first = assigned.filter_map(|workload| toleration_deadline(workload, member)).min();
    let left = first.map(|at| at.saturating_sub(now).as_secs_f64());
    let state = |taint: &capsize_history::facts::Taint| {
        let evicts = taint.effect == TaintEffect::NoExecute;
        TaintState { name: taint.to_string(), evicts, left_seconds: left.filter(|_| evicts) }
    };
    member.taints.iter().map(state).collect()
}

fn places(workload: &Workload, now: Duration) -> Vec<PlaceState> {
    let evicted = workload.evictions.iter().map(|task| &task.member);
    let mut names: Vec<&String> =
        workload.assignment.keys().chain(workload.running.keys()).chain(evicted).collect();
    names.sort();
    names.dedup();
    let place = |name: &String| {
        let task = workload.eviction(name);
        let timeout = task.and_then(|task| Some((task.seen + task.grace?).saturating_sub(now)));
        PlaceState {
            member: name.clone(),
            assigned: workload.assignment.get(name).copied(),
            ready: workload.running.get(name).map(|running| running.ready).unwrap_or_default(),
            eviction: task.map(|task| task.reason.clone()),
            timeout_seconds: timeout.map(|left| left.as_secs_f64()),
        }
    };
    names.into_iter().map(place).collect()
}
