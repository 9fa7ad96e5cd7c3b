//! Follows members, workloads and faults, and keeps the lanes of the time line.

use std::collections::BTreeSet;

use capsize_history::CONTROL_PLANE;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, FaultInForce, Workload, WorkloadKey, World};
use capsize_judge::numbers::{reachable_replicas, requested_replicas};
use capsize_sorted::CollectSorted;

use super::data::{FaultBand, MemberLane, Micros, PlaceLane, Steps, TaintLane, WorkloadLane};

/// The lanes of one history.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    pub(super) members: Table<String, MemberLane>,
    pub(super) workloads: Table<WorkloadKey, WorkloadLane>,
    pub(super) faults: Vec<FaultBand>,
}

impl Lanes {
    /// Takes a change at `at`. `world` is the state after it.
    pub(super) fn observe(&mut self, at: Micros, change: &Change, world: &World) {
        match change {
            Change::FaultBegan { fault, member } => self.begin(at, fault.name(), member.as_deref()),
            Change::ClockWrong { member, .. } => self.begin(at, "skew", member.as_deref()),
            Change::FaultEnded { fault, member } => self.end(at, fault.name(), member.as_deref()),
            Change::ClockRight { member, .. } => self.end(at, "skew", member.as_deref()),
            _ => {}
        }
        if let Some(member) = change.member() {
            self.member(at, member, world);
        }
        match change {
            Change::FaultBegan { member: Some(_), .. } | Change::FaultEnded { member: Some(_), .. } => {
                for key in self.workloads.keys().cloned().collect::<Vec<_>>() {
                    self.workload(at, &key, world);
                }
            }
            _ => {}
        }
        if let Some(key) = change.workload() {
            self.workload(at, key, world);
        }
    }

    fn begin(&mut self, at: Micros, kind: &str, member: Option<&str>) {
        let member = member.filter(|name| *name != CONTROL_PLANE).map(str::to_owned);
        self.faults.push(FaultBand {
            kind: kind.to_owned(),
            member,
            from: at,
            to: None,
            effect: String::new(),
        });
    }

    fn end(&mut self, at: Micros, kind: &str, member: Option<&str>) {
        let is_open = |band: &&mut FaultBand| {
            band.to.is_none() && band.kind == kind && band.member.as_deref() == member
        };
        if let Some(band) = self.faults.iter_mut().find(is_open) {
            band.to = Some(at);
        }
    }

    fn member(&mut self, at: Micros, name: &str, world: &World) {
        let lane = self.members.entry(name.to_owned()).or_insert_with(|| MemberLane {
            name: name.to_owned(),
            health: Steps::default(),
            taints: Vec::new(),
        });
        let member = world.members.get(name);
        lane.health.set(
            at,
            match member.and_then(|member| member.health) {
                Some(capsize_history::facts::Health::Ready) => "Ready",
                Some(capsize_history::facts::Health::NotReady) => "NotReady",
                Some(capsize_history::facts::Health::Unknown) => "Unknown",
                None => "",
            },
        );
        let taints = member.map(|member| member.taints.as_slice()).unwrap_or_default();
        for taint in taints {
            let (name, effect) = (taint.to_string(), taint.effect.to_string());
            if !lane.taints.iter().any(|lane| lane.name == name) {
                lane.taints.push(TaintLane { name, effect, present: Steps::default() });
            }
        }
        for lane in &mut lane.taints {
            lane.present.set(at, taints.iter().any(|taint| taint.to_string() == lane.name));
        }
    }

    fn workload(&mut self, at: Micros, key: &WorkloadKey, world: &World) {
        let workload = world.workloads.get(key);
        // Copies without a record of their placement have no lane.
        if !self.workloads.contains_key(key) && !workload.is_some_and(|workload| workload.recorded) {
            return;
        }
        let lane = self.workloads.entry(key.clone()).or_insert_with(|| WorkloadLane {
            name: key.to_string(),
            replicas: Steps::default(),
            lost: 0.0,
            places: Vec::new(),
        });
        let nothing = Workload::default();
        let workload = workload.unwrap_or(&nothing);
        let asked = if workload.recorded { requested_replicas(workload) } else { 0 };
        let cut_off = |member: &str| is_cut_off(world, member);
        let (ready, reachable) = if has_copies(workload) {
            (workload.ready(), reachable_replicas(workload, cut_off))
        } else {
            (reported_replicas(workload, |_| false), reported_replicas(workload, cut_off))
        };
        lane.replicas.set(at, (asked, ready, reachable));
        let known: BTreeSet<&String> = workload
            .assignment
            .keys()
            .chain(workload.evictions.iter().map(|task| &task.member))
            .chain(workload.deliveries.keys())
            .chain(workload.running.keys())
            .collect_sorted();
        for name in known {
            if !lane.places.iter().any(|place| place.member == *name) {
                lane.places.push(PlaceLane { member: name.clone(), ..PlaceLane::default() });
                lane.places.sort_by(|one, other| one.member.cmp(&other.member));
            }
        }
        for place in &mut lane.places {
            set_place(place, at, workload);
        }
    }
}

fn set_place(place: &mut PlaceLane, at: Micros, workload: &Workload) {
    let name = &place.member;
    place.assigned.set(at, workload.assignment.get(name).copied());
    place.task.set(at, workload.eviction(name).map(|task| task.reason.clone()));
    place.manifest.set(
        at,
        match workload.deliveries.get(name) {
            Some(delivery) if delivery.leaving.is_some() => "leaving",
            Some(_) => "present",
            None => "",
        },
    );
    let running = workload.running.get(name).map(|running| running.ready);
    let reported = || workload.instances.get(name).and_then(|instance| instance.ready);
    let ready = running.or_else(|| if has_copies(workload) { None } else { reported() });
    place.ready.set(at, ready.unwrap_or_default());
}

/// Returns true if the workload is copied to members.
/// With nodes as members it is not, and the pod itself reports that it is ready.
fn has_copies(workload: &Workload) -> bool {
    !workload.running.is_empty() || !workload.deliveries.is_empty()
}

/// The replicas that are reported as ready, without those in members that are cut off.
fn reported_replicas(workload: &Workload, cut_off: impl Fn(&str) -> bool) -> u64 {
    let reported = workload.instances.iter().filter(|(member, _)| !cut_off(member));
    reported.fold(0, |sum, (_, instance)| sum.saturating_add(instance.ready.unwrap_or_default()))
}

/// Returns true if a fault makes `member` unreachable.
fn is_cut_off(world: &World, member: &str) -> bool {
    let hits = |fault: &&FaultInForce| fault.member.as_deref() == Some(member);
    world.faults.iter().filter(hits).any(|fault| !fault.is_of_a_clock() && !fault.fault.only_slows())
}
