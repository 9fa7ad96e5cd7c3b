//! Names the component that caused a violation, and the event that started the deadline.
//! If an event is missing, the component that should have caused the event is named.
//!
//! Components have the names of the controllers of the implementation that a dialect stands for. Another implementation may
//! have them under other names, but the duties are the same.

use std::time::Duration;

use crate::guarantee::{Bound, Evidence, GuaranteeSpec};
use crate::profile::Timings;
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{Change, Fact, FaultInForce};

/// A part of an implementation that owns events.
pub type Component = &'static str;

const BINDING: Component = "binding controller";
const BINDING_STATUS: Component = "binding status controller";
const CLUSTER: Component = "cluster controller";
const CLUSTER_STATUS: Component = "cluster status controller";
const DEPENDENCIES: Component = "dependencies distributor";
const DETECTOR: Component = "resource detector";
const EXECUTION: Component = "execution controller";
const FAILOVER: Component = "application failover controller";
const GRACEFUL: Component = "graceful eviction controller";
const SCHEDULER: Component = "scheduler";
const TAINT_MANAGER: Component = "taint manager";
const WORK_STATUS: Component = "work status controller";
const NODE_LIFECYCLE: Component = "node lifecycle controller";
const TAINT_EVICTION: Component = "taint eviction controller";

/// The cause of one violation, as far as the history shows it.
#[derive(Clone, Debug)]
pub struct ViolationCause {
    /// The component that owns the event that is missing or wrong.
    pub component: Component,
    /// The deviation of that component.
    pub deviation: Deviation,
    /// The event that started the deadline, if the timeline of the evidence contains it.
    pub started: Option<Fact>,
    /// The timings in the formula of the bound, with their values.
    pub values: Vec<(&'static str, Duration)>,
    /// The faults that may have kept the component from observing, or from acting.
    pub hindrances: Vec<FaultInForce>,
}

/// How a component deviates from a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// It acted before the earliest allowed time.
    TooEarly,
    /// It did not act until the latest allowed time.
    TooLate,
    /// It acted although no time is allowed, or its result is wrong.
    Wrong,
}

impl ViolationCause {
    /// Returns the cause of the violation that `evidence` shows.
    #[must_use]
    pub fn of(spec: &GuaranteeSpec, evidence: &Evidence, dialect: &DialectKind, timings: &Timings) -> Self {
        let since = evidence.since;
        let started = evidence.timeline.iter().rev().find(|fact| Some(fact.at) == since).cloned();
        let words: Vec<&str> = spec.formula.split(|c: char| !c.is_alphanumeric()).collect();
        let named = Timings::NAMES.into_iter().filter(|name| words.contains(name));
        let member = evidence.subject.member.as_deref();
        let concerns = |fault: &&FaultInForce| fault.member.is_none() || fault.member.as_deref() == member;
        Self {
            component: component(spec.id, evidence, dialect),
            deviation: match evidence.bound {
                Bound::NotBefore(_) => Deviation::TooEarly,
                Bound::NotAfter(_) => Deviation::TooLate,
                Bound::Never => Deviation::Wrong,
            },
            started,
            values: named.filter_map(|name| Some((name, timings.get(name)?))).collect(),
            hindrances: evidence.faults.iter().filter(concerns).cloned().collect(),
        }
    }
}

fn component(id: &str, evidence: &Evidence, dialect: &DialectKind) -> Component {
    match dialect {
        DialectKind::Nodes if id.starts_with("TOLERATION") || id == "NODE-13" => return TAINT_EVICTION,
        DialectKind::Nodes => return NODE_LIFECYCLE,
        DialectKind::Karmada | DialectKind::Data(_) => {}
    }
    let group = id.split('-').next().unwrap_or(id);
    if matches!(dialect, DialectKind::Data(_)) {
        return neutral(group);
    }
    match group {
        "HEALTH" => match id {
            "HEALTH-02" | "HEALTH-03" | "HEALTH-06" => CLUSTER,
            _ => CLUSTER_STATUS,
        },
        "TAINT" => match id {
            "TAINT-08" => "cluster taint policy controller",
            _ => CLUSTER,
        },
        "TOLERATION" => TAINT_MANAGER,
        "EVICTION" => eviction(id, evidence),
        "PLACEMENT" => placement(id, evidence),
        "POLICY" => DETECTOR,
        "LIVENESS" => match id {
            "LIVENESS-02" => BINDING_STATUS,
            "LIVENESS-03" | "LIVENESS-05" => CLUSTER,
            "LIVENESS-06" => WORK_STATUS,
            "LIVENESS-07" => DETECTOR,
            _ => SCHEDULER,
        },
        "DELIVERY" => match id {
            "DELIVERY-04" | "DELIVERY-05" | "DELIVERY-15" => EXECUTION,
            "DELIVERY-06" => BINDING_STATUS,
            "DELIVERY-10" | "DELIVERY-13" => DEPENDENCIES,
            "DELIVERY-12" => "namespace sync controller",
            "DELIVERY-16" => "autoscaler distributor",
            _ => BINDING,
        },
        "RECOVERY" => EXECUTION,
        "SERVICES" => "endpoint slice collector",
        "STATUS" => match id {
            "STATUS-03" => BINDING_STATUS,
            _ => WORK_STATUS,
        },
        _ => SCHEDULER,
    }
}

/// Returns the component if the real names of the components are not known.
fn neutral(group: &str) -> Component {
    match group {
        "HEALTH" | "TAINT" => "health controller",
        "DELIVERY" | "RECOVERY" | "AVAILABILITY" => "delivery controller",
        "STATUS" => "status controller",
        _ => SCHEDULER,
    }
}

/// The owner of a violation of the group EVICTION.
fn eviction(id: &str, evidence: &Evidence) -> Component {
    match id {
        "EVICTION-01" | "EVICTION-02" | "EVICTION-08" | "EVICTION-11" | "EVICTION-16" => GRACEFUL,
        // The copy goes because its task ended too early, or although the task has not ended.
        "EVICTION-03" => match last(evidence, is_of_task) {
            Some(Change::EvictionEnded { .. }) => GRACEFUL,
            _ => BINDING,
        },
        // A member is assigned and evicted: the later of the two events is the wrong one.
        "EVICTION-04" => match last(evidence, |change| is_of_task(change) || is_assignment(change)) {
            Some(Change::Assigned { was, now, .. }) if now.len() > was.len() || is_replaced(was, now) => {
                SCHEDULER
            }
            _ => evictor(evidence),
        },
        "EVICTION-12" | "EVICTION-15" => FAILOVER,
        _ => evictor(evidence),
    }
}

/// Returns the owner of a violation of the group PLACEMENT.
/// The owner is the scheduler, unless an eviction without a task removed a member.
fn placement(id: &str, evidence: &Evidence) -> Component {
    match last(evidence, is_assignment) {
        Some(Change::Assigned { was, now, .. })
            if id == "PLACEMENT-01"
                && now.len() < was.len()
                && now.keys().all(|name| was.contains_key(name)) =>
        {
            evictor(evidence)
        }
        _ => SCHEDULER,
    }
}

fn is_of_task(change: &Change) -> bool {
    matches!(change, Change::EvictionBegan { .. } | Change::EvictionEnded { .. })
}

fn is_assignment(change: &Change) -> bool {
    matches!(change, Change::Assigned { .. })
}

/// Returns true if `now` has a member that `was` lacks.
fn is_replaced(was: &capsize_history::facts::Assignment, now: &capsize_history::facts::Assignment) -> bool {
    now.keys().any(|name| !was.contains_key(name))
}

/// The latest change of the timeline for which `which` returns true.
fn last(evidence: &Evidence, which: impl Fn(&Change) -> bool) -> Option<&Change> {
    evidence.timeline.iter().rev().map(|fact| &fact.change).find(|change| which(change))
}

/// The component that began the latest eviction.
fn evictor(evidence: &Evidence) -> Component {
    match last(evidence, |change| matches!(change, Change::EvictionBegan { .. })) {
        Some(Change::EvictionBegan { task, .. }) if task.by_health => FAILOVER,
        _ => TAINT_MANAGER,
    }
}
