//! Checks when Kubernetes 1.16 deletes the pods of unhealthy nodes: NODE.
//!
//! It deletes them after a timeout and without a taint, not too early and not too fast.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::zone::{Pace, certain_paces, paces};
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors, report_never_allowed,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{
    Change, EvictionTask, Fact, Health, Member, Workload, WorkloadKey, World, Zone,
};

static NODE_15: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-15",
    sentence: "a node that stays unhealthy for the pod eviction timeout loses its pods in turn, unless evictions in its zone are halted",
    features: &[Feature::DrainsAfterTimeout],
    formula: bounds::FIRST_POD_DELETED,
    releases: "Kubernetes 1.16 without taint-based evictions",
    source: "Kubernetes 1.16 pkg/controller/nodelifecycle/node_lifecycle_controller.go, doEvictionPass",
};

/// The times from which the timeouts of unhealthy nodes count anew.
///
/// If no node was ready, and then one is, the timeout of each node that is not due yet begins again.
#[derive(Default)]
struct Restarts(BTreeMap<String, Duration>);

impl Restarts {
    /// Restarts the timeouts of the unhealthy nodes for whose present start `is_due` returns false.
    fn restart(
        &mut self,
        now: Duration,
        world: &World,
        since: impl Fn(&str) -> Option<Duration>,
        is_due: impl Fn(Duration) -> bool,
    ) {
        for (name, _) in unhealthy(world) {
            if since(name).is_some_and(|since| !is_due(self.start_of(name, since))) {
                self.0.insert(name.to_owned(), now);
            }
        }
    }

    /// Returns when the timeout of a node began that has been unhealthy `since` this time.
    fn start_of(&self, name: &str, since: Duration) -> Duration {
        self.0.get(name).map_or(since, |restarted| since.max(*restarted))
    }
}

/// Requirement I31: the deletions begin in time, and then no pod is left out.
///
/// The controllers delete all pods of a node one after another, and look at no pod that comes later.
#[derive(Default)]
pub(crate) struct PodsOfUnhealthyNodeAreDeleted {
    /// The deadlines of the first deletion on each node, and then of each other pod.
    deadlines: Deadlines,
    /// When each pod came to its node.
    arrivals: BTreeMap<WorkloadKey, Duration>,
    paces: BTreeMap<Zone, Pace>,
    /// The unhealthy nodes whose pods are being deleted.
    begun: BTreeSet<String>,
    /// The last start of the controllers, from which they count.
    back: Duration,
    restarts: Restarts,
}

impl Guarantee for PodsOfUnhealthyNodeAreDeleted {
    accessors!(NODE_15, [Health, MemberGone, FaultEnded, Assigned, EvictionBegan, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now, .. } => {
                if *now == Some(Health::Ready) {
                    self.forget(member);
                }
                self.look(member, fact, context);
            }
            Change::MemberGone(member) => {
                self.forget(member);
                self.look(member, fact, context);
            }
            Change::FaultEnded { member: None, .. } => {
                self.back = fact.at;
                self.begun.clear();
                self.deadlines.cancel_all(|subject| subject.workload.is_some());
                for (name, _) in unhealthy(context.world) {
                    self.look(name, fact, context);
                }
            }
            Change::Assigned { workload, now, .. } if !now.is_empty() => {
                self.arrivals.entry(workload.clone()).or_insert(fact.at);
            }
            Change::EvictionBegan { workload, task } => self.deleted(workload, task, fact, context),
            Change::WorkloadGone(workload) => {
                self.arrivals.remove(workload);
                self.deadlines.cancel_of(workload, |_| true);
            }
            _ => {}
        }
    }
}

/// Returns the pods of a node that are to be deleted.
/// Pods of a `DaemonSet` and pods that are being deleted do not count.
fn pods<'a>(world: &'a World, name: &'a str) -> impl Iterator<Item = (&'a WorkloadKey, &'a Workload)> {
    world
        .assigned_to(name)
        .filter(move |(_, workload)| !workload.everywhere && workload.eviction(name).is_none())
}

fn has_pods(world: &World, name: &str) -> bool {
    pods(world, name).next().is_some()
}

impl PodsOfUnhealthyNodeAreDeleted {
    /// Forgets the pod evictions of a node that is ready again or gone.
    fn forget(&mut self, name: &str) {
        self.begun.remove(name);
        self.restarts.0.remove(name);
        self.deadlines.cancel_all(|subject| subject.is_on(name));
    }

    /// Records that the deletion of a pod began.
    fn deleted(
        &mut self,
        workload: &WorkloadKey,
        task: &EvictionTask,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let node = Subject::member(&task.member);
        if let Some(margin) = self.deadlines.close_as_met(&Subject::on(workload, &task.member), fact) {
            context.tally.record_held_by(margin);
        }
        if is_pod_eviction(workload, task, fact, context) {
            if let Some(margin) = self.deadlines.close_as_met(&node, fact) {
                context.tally.record_held_by(margin);
            }
            if self.begun.insert(task.member.clone()) {
                self.expect_others(&task.member, fact, context);
            }
        } else if !has_pods(context.world, &task.member) {
            // It may have been the last pod of the node.
            self.deadlines.cancel(&node);
        }
    }

    /// Opens a deadline for each other pod of a node from which the first pod was evicted.
    fn expect_others(&mut self, name: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let observed = context.latest_surely_observed(fact.at);
        for (key, workload) in pods(context.world, name) {
            if workload.finished || self.arrivals.get(key).is_some_and(|arrival| *arrival >= observed) {
                continue;
            }
            let expectation = Expectation {
                because: format!("the deletion of the pods of {name} began at {}", clock(fact.at)),
                observed: format!("{key} is not being deleted"),
            };
            let limit = bounds::other_pods_deleted(context.timings());
            self.deadlines.start(Subject::on(key, name), fact, limit, expectation);
        }
    }

    /// Computes the deadline of the changed node, and of all nodes in zones whose state has changed.
    fn look(&mut self, changed: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        let paces = certain_paces(context.world, zones);
        if all_are_halted(self.paces.values()) && !all_are_halted(paces.values()) {
            let seen = context.timings().failover_eviction_timeout + bounds::zone_observed(context.timings());
            let since = |name: &str| context.member(name).map(|member| member.health_since);
            self.restarts.restart(fact.at, context.world, since, |start| start + seen <= fact.at);
        }
        for (name, member) in unhealthy(context.world) {
            let pace = paces.get(&member.zone).copied();
            if (name == changed || pace != self.paces.get(&member.zone).copied())
                && !self.begun.contains(name)
            {
                self.restart_deadline(name, member, pace, fact, context);
            }
        }
        self.paces = paces;
    }

    fn restart_deadline(
        &mut self,
        name: &str,
        member: &Member,
        pace: Option<Pace>,
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) {
        let subject = Subject::member(name);
        let pace = pace.filter(|_| has_pods(context.world, name));
        let Some(Pace::Each(pause)) = pace else { return self.deadlines.cancel(&subject) };
        let turns = unhealthy(context.world).filter(|(_, other)| other.zone == member.zone).count();
        let turns = u32::try_from(turns).unwrap_or(u32::MAX).saturating_add(1);
        let timeout = context.timings().failover_eviction_timeout;
        let since = self.restarts.start_of(name, member.health_since);
        let allowed = bounds::first_pod_deleted(context.timings()) + bounds::repeated(pause, turns);
        let expectation = Expectation {
            because: format!(
                "the node has been unhealthy since {}, and its timeout is {}",
                clock(since),
                span(timeout)
            ),
            observed: format!("none of the pods of {name} is being deleted"),
        };
        let until = fact.at.max(since.max(self.back) + timeout) + allowed;
        self.deadlines.restart(subject, fact, until, allowed, expectation);
    }
}

/// Returns true if no counting node is ready.
fn all_are_halted<'a>(mut paces: impl Iterator<Item = &'a Pace>) -> bool {
    paces.any(|pace| *pace == Pace::AllHalted)
}

fn unhealthy(world: &World) -> impl Iterator<Item = (&str, &Member)> {
    let is_unhealthy = |member: &Member| member.health.is_some_and(|health| health != Health::Ready);
    world
        .members
        .iter()
        .filter(move |(_, member)| is_unhealthy(member))
        .map(|(name, member)| (name.as_str(), member))
}

/// Returns true if a pod is deleted for the health of its node.
/// A pod that is deleted for a taint, by a person, or with its node does not count.
fn is_pod_eviction(
    workload: &WorkloadKey,
    task: &EvictionTask,
    fact: &Fact,
    context: &JudgeContext<'_>,
) -> bool {
    let world = context.world;
    let is_unhealthy = unhealthy_since(world, &task.member).is_some();
    let by_hand = !world.faults_are_marked || fact.at <= world.acted + context.timings().latency;
    let tainted =
        world.members.get(&task.member).is_some_and(|member| member.evicting_taints().next().is_some());
    !task.inherited && is_unhealthy && !by_hand && !tainted && world.workloads.contains_key(workload)
}

/// Returns the time from which the controllers may count. For a silent node that is its last heartbeat.
fn unhealthy_since(world: &World, name: &str) -> Option<Duration> {
    let member = world.members.get(name)?;
    match member.health? {
        Health::Ready => None,
        Health::NotReady => Some(member.health_since),
        Health::Unknown => Some(member.sign_of_life.unwrap_or_default()),
    }
}

static NODE_16: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-16",
    sentence: "the pods of an unhealthy node are deleted after the pod eviction timeout, no faster than the rate for the state of \
        the zone, and pods of daemons are not deleted",
    features: &[Feature::DrainsAfterTimeout],
    formula: bounds::POD_DELETION_PACE,
    releases: "Kubernetes 1.16 without taint-based evictions",
    source: "Kubernetes 1.16 pkg/controller/nodelifecycle/node_lifecycle_controller.go, processNoTaintBaseEviction",
};

/// Requirements I9, I10 and I17: checks that no deletion is too early, too fast, or of a daemon's pod.
#[derive(Default)]
pub(crate) struct PodDeletionPace {
    /// The time when the deletion of the pods of each unhealthy node began.
    begun: BTreeMap<String, Duration>,
    /// The time when it last began for a node of each zone.
    last: BTreeMap<Zone, Duration>,
    /// The pace of each zone, and the time when it began.
    paces: BTreeMap<Zone, (Pace, Duration)>,
    restarts: Restarts,
}

impl Guarantee for PodDeletionPace {
    accessors!(NODE_16, [Health, MemberGone, FaultEnded, EvictionBegan]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now, .. } => {
                if *now == Some(Health::Ready) {
                    self.begun.remove(member);
                    self.restarts.0.remove(member);
                }
                self.look(fact.at, context);
            }
            Change::MemberGone(member) => {
                self.begun.remove(member);
                self.restarts.0.remove(member);
                self.look(fact.at, context);
            }
            // After a start the controllers have a new token, and begin with all nodes that are due.
            Change::FaultEnded { member: None, .. } => {
                self.last.clear();
                self.begun.clear();
            }
            Change::EvictionBegan { workload, task } if is_pod_eviction(workload, task, fact, context) => {
                self.began(workload, &task.member, fact, context);
            }
            _ => {}
        }
    }
}

impl PodDeletionPace {
    fn look(&mut self, now: Duration, context: &JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        let paces = paces(context.world, zones);
        if paces.is_empty() {
            // The state of some nodes is not known.
            return self.paces.clear();
        }
        let timings = context.timings();
        let (timeout, seen) = (timings.failover_eviction_timeout, bounds::zone_observed(timings));
        let halted = self.paces.values().filter(|(pace, _)| *pace == Pace::AllHalted);
        let halted_since = halted.map(|(_, since)| *since).min();
        // The controllers look at the zones from time to time, and do not observe what lasts shorter.
        if halted_since.is_some_and(|since| since + seen <= now) && !all_are_halted(paces.values()) {
            let since = |name: &str| unhealthy_since(context.world, name);
            self.restarts.restart(now, context.world, since, |start| start + timeout <= now + seen);
        }
        for (zone, pace) in paces {
            // Controllers forget a zone without nodes, and a new zone has a new token.
            if context.world.zone_counts.get(&zone).is_none_or(|zone_counts| zone_counts.size == 0) {
                self.last.remove(&zone);
            }
            if self.paces.get(&zone).is_none_or(|(was, _)| *was != pace) {
                self.last.remove(&zone);
                self.paces.insert(zone, (pace, now));
            }
        }
    }

    fn began(&mut self, workload: &WorkloadKey, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(workload, name);
        let seen = format!("{workload} is deleted");
        if context.workload(workload).is_some_and(|workload| workload.everywhere) {
            return report_never_allowed(subject, fact, "the pod belongs to a daemon", seen, context);
        }
        let (Some(since), Some(member)) = (unhealthy_since(context.world, name), context.member(name)) else {
            return;
        };
        let timings = context.timings();
        let timeout = timings.failover_eviction_timeout;
        let start = self.restarts.start_of(name, since);
        let earliest = (start + timeout).saturating_sub(timings.skew);
        context.check_arrival(subject.clone(), fact, earliest, None, || {
            let since_when = if start == since {
                format!("its node has been unhealthy since {}", clock(since))
            } else {
                format!("no node was ready until {}", clock(start))
            };
            (format!("{since_when}, and the timeout is {}", span(timeout)), seen.clone())
        });
        if self.begun.insert(name.to_owned(), fact.at).is_some() {
            return;
        }
        let Some((pace, from)) = self.paces.get(&member.zone).copied() else { return };
        let lag = bounds::zone_observed(timings);
        match pace {
            Pace::Each(pause) => {
                if let Some(last) = self.last.insert(member.zone.clone(), fact.at) {
                    let bound = Bound::NotBefore((last + pause).saturating_sub(timings.latency));
                    let because = format!(
                        "pods of another node of its zone were evicted at {}, and the pause is {}",
                        clock(last),
                        span(pause)
                    );
                    if fact.at + timings.latency < last + pause {
                        context.report_violation(Violation::by(fact, subject, bound, because, seen));
                    }
                }
            }
            Pace::ZoneHalted | Pace::AllHalted if fact.at > from + lag => {
                report_never_allowed(subject, fact, "evictions in its zone are halted", seen, context);
            }
            Pace::ZoneHalted | Pace::AllHalted => {}
        }
    }
}
