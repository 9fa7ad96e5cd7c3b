//! Runs the steps of one scenario: the state that all steps share, and the functions that wait.
//! The single steps are in `steps/`, the faults that begin and end on their own in `faults/`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_clock::{Clock, Simulation, Stream};
use capsize_clusters::{Breakdown, Cluster, Fleet, Member, Sockets};
use capsize_history::FileValue;
use capsize_sorted::CollectSorted;
use kube::Client;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::controllers::Controllers;
use super::fault_permission::FaultPermission;
use super::log::Log;
use super::pod_counts::PodCounts;
use super::run_state::Eviction;
use super::steps::by_dialect::writer_of;
use super::subject::Subject;
use super::testbed::{AdmissionSlot, Testbed};
use super::wait_limits::WaitLimits;
use crate::nemesis::FaultGuard;
use crate::objects::{karmada as objects, nodes as node_objects};
use crate::scenario::{Case, Length, MemberRef, Scenario, Selector, Step, Within};
use capsize_history::facts::World;
use capsize_judge::profile::Profile;
use capsize_judge::time_format::span;

/// Why a step failed.
#[derive(Debug)]
pub(super) enum StepError {
    /// The expected state did not come, or did not last.
    Unmet {
        /// The expected state.
        expected: String,
        /// The observed state.
        seen: String,
    },
    /// The run itself is broken: the history is incomplete.
    Broken(String),
}

/// A step that failed, with its error.
pub(super) type FailedStep<'a> = (&'a FileValue<Step>, StepError);

/// The state that all steps of one run share.
pub(super) struct Driver<'a> {
    pub(super) fleet: &'a Fleet,
    /// The cluster whose nodes are the members, if the scenario uses one in place of a fleet.
    pub(super) cluster: Option<&'a Cluster>,
    pub(super) scenario: &'a Scenario,
    pub(super) clock: Clock,
    pub(super) client: Client,
    pub(super) log: Log,
    pub(super) profile: &'a Profile,
    pub(super) controllers: Controllers<'a>,
    /// The admission of the control plane, if the case changes it.
    pub(super) admission: Option<AdmissionSlot>,
    /// Asks the provider of the members before each fault.
    pub(super) permission: FaultPermission,
    /// The sockets through which programs outside of this process reach the fleet, if there are any.
    pub(super) sockets: Option<&'a Sockets>,
    /// Random numbers for the moment of a fault within the periodic work of the target.
    pub(super) phase: Stream,
    /// The longest finite time that a workload tolerates a taint.
    pub(super) tolerated: Duration,
    /// The longest finite time that replicas take to become ready.
    pub(super) start_up: Duration,
    /// The members that earlier steps gave an alias, by alias.
    pub(super) aliases: BTreeMap<String, String>,
    /// The number of pods that each workload on nodes should have.
    pub(super) wanted_pods: BTreeMap<String, u64>,
    /// Faults that the step `heal` ends, each with its member.
    pub(super) faults: Vec<(String, FaultGuard)>,
    /// Machines that are broken, in the order in which they broke.
    pub(super) broken_machines: Vec<(String, Breakdown)>,
    /// Tasks that make members unreachable and reachable in turn, by member.
    pub(super) flapping: BTreeMap<String, JoinSet<()>>,
    /// Members without power. A member appears once per fault that keeps it so.
    pub(super) powered_off: Vec<String>,
    /// Members whose leftover copies are not checked by `calm`.
    /// These members left the fleet, were restored from a backup, or ran while two leaders were active.
    pub(super) leftovers_allowed: BTreeSet<String>,
}

impl<'a> Driver<'a> {
    /// The state before the first step, on a fleet in this process.
    pub(super) fn new(
        (run, case): (Simulation, &'a Case),
        profile: &'a Profile,
        testbed: &'a Testbed,
        controllers: Controllers<'a>,
        log: Log,
    ) -> Self {
        Self {
            fleet: &testbed.fleet,
            cluster: testbed.cluster.as_ref(),
            scenario: &case.scenario,
            clock: run.clock,
            client: testbed.fleet.control_plane().client(),
            permission: FaultPermission::of(None, log.clone()),
            log,
            profile,
            controllers,
            admission: testbed.admission.clone(),
            sockets: None,
            tolerated: Duration::ZERO,
            start_up: testbed.start_up,
            aliases: BTreeMap::new(),
            wanted_pods: BTreeMap::new(),
            faults: Vec::new(),
            broken_machines: Vec::new(),
            flapping: BTreeMap::new(),
            powered_off: Vec::new(),
            leftovers_allowed: BTreeSet::new(),
            phase: run.seed.stream("phase"),
        }
    }
}

impl Driver<'_> {
    /// Runs all steps up to the first that fails.
    pub(super) async fn run<'s>(&mut self, scenario: &'s Scenario) -> Result<(), FailedStep<'s>> {
        for step in scenario.steps() {
            self.step(&step.value).await.map_err(|error| (step, error))?;
        }
        Ok(())
    }

    pub(super) fn wait_limits(&self) -> WaitLimits<'_> {
        WaitLimits { profile: self.profile, members: self.scenario.members().len() }
    }

    pub(super) fn length(&self, length: &Length) -> Result<Duration, StepError> {
        length.resolve(&self.profile.timings).ok_or_else(|| StepError::Unmet {
            expected: format!("a target with the timing in `{length}`"),
            seen: format!("the target {} does not have it", self.profile.name),
        })
    }

    /// The longest time to wait.
    /// `bound` is the time that the target may take; it is extended by the time by which a clock was set. Observations
    /// arrive late by the latency of the target.
    pub(super) fn within(&self, within: &Within, bound: Duration) -> Result<Duration, StepError> {
        match within {
            Within::Bound => Ok(bound.saturating_add(self.log.look(|world, _| world.clock_set))),
            Within::Length(length) => Ok(self.length(length)? + self.profile.timings.latency),
        }
    }

    /// The name of the member that a step refers to.
    pub(super) fn member_name(&self, member: &MemberRef) -> Result<String, StepError> {
        match member {
            MemberRef::Named(name) => match self.aliases.get(name) {
                Some(member) => Ok(member.clone()),
                None if self.scenario.members().contains(name) => Ok(name.clone()),
                // The step that defines the alias stands under `perhaps`, and failed.
                None => Err(StepError::Unmet {
                    expected: format!("a member with the alias {name}"),
                    seen: "no earlier step defined it".into(),
                }),
            },
            MemberRef::Selected(selector) => {
                let (select, subject) = match self.cluster {
                    None => (select as Select, Subject::Workload(selector.workload().into())),
                    Some(_) => (select_node as Select, Subject::Pods(selector.workload().into())),
                };
                // The control plane may contain Clusters that are not members of the fleet.
                let found = self.log.look(|world, _| select(world, selector));
                let found = found.filter(|name| self.cluster.is_some() || self.fleet.member(name).is_some());
                found.ok_or_else(|| StepError::Unmet {
                    expected: format!("{member} exists"),
                    seen: self.log.look(|world, _| subject.describe(world)),
                })
            }
        }
    }

    pub(super) fn member(&self, name: &str) -> Result<&Member, StepError> {
        self.fleet.member(name).ok_or_else(|| StepError::Broken(format!("the fleet has no member {name}")))
    }

    /// The field of a mark that contains the name of a member.
    pub(super) fn member_word(&self) -> &'static str {
        if self.cluster.is_some() { "node" } else { "cluster" }
    }

    /// The full key of a taint in the dialect of the target.
    pub(super) fn taint_key(&self, key: &str) -> String {
        match writer_of(self.profile) {
            Some(writer) => writer.taint_key(key),
            None if self.cluster.is_some() => node_objects::taint_key(key),
            None => objects::taint_key(key),
        }
    }

    pub(super) fn mark(&self, step: &str, more: &[(&str, &str)]) {
        let more = more.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value)));
        self.log.mark([("step".to_owned(), Value::from(step))].into_iter().chain(more).collect_sorted());
    }

    /// Waits until `holds` returns true, for at most `within`.
    pub(super) async fn until(
        &self,
        what: String,
        subject: Subject,
        within: Duration,
        holds: impl Fn(&World, &[Eviction]) -> bool,
    ) -> Result<(), StepError> {
        if self.wait(within, &holds).await? {
            self.mark("seen", &[("that", &what)]);
            return Ok(());
        }
        let seen = self.log.look(|world, _| subject.describe(world));
        Err(StepError::Unmet { expected: what, seen: format!("after {}: {seen}", span(within)) })
    }

    /// Fails if `holds` returns false at any time during `lasts`.
    pub(super) async fn hold(
        &self,
        what: String,
        subject: Subject,
        lasts: Duration,
        holds: impl Fn(&World, &[Eviction]) -> bool,
    ) -> Result<(), StepError> {
        let began = self.log.now();
        if self.wait(lasts, |world, evictions| !holds(world, evictions)).await? {
            let (after, seen) =
                self.log.look(|world, _| (world.now.saturating_sub(began), subject.describe(world)));
            return Err(StepError::Unmet { expected: what, seen: format!("after {}: {seen}", span(after)) });
        }
        self.mark("lasted", &[("that", &what)]);
        Ok(())
    }

    /// Fails if the history is incomplete, or if the target is in a livelock.
    pub(super) fn check_run(&self) -> Result<(), StepError> {
        if let Some(why) = self.log.state(|state| state.broken.clone()) {
            return Err(StepError::Broken(why));
        }
        self.log
            .state(|state| state.livelock_entries())
            .map_or(Ok(()), |entries| Err(livelock_error(entries)))
    }

    /// Returns true if `holds` returns true at any time during `within`.
    pub(super) async fn wait(
        &self,
        within: Duration,
        holds: impl Fn(&World, &[Eviction]) -> bool,
    ) -> Result<bool, StepError> {
        let deadline = Instant::now() + within;
        let mut changes = self.log.changes();
        loop {
            changes.mark_unchanged();
            self.check_run()?;
            if self.log.look(&holds) {
                return Ok(true);
            }
            match timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(StepError::Broken("internal error: the log is closed".into())),
                Err(_) => return Ok(false),
            }
        }
    }
}

/// The error for a target that makes changes without end at one instant.
pub(super) fn livelock_error(entries: u32) -> StepError {
    let seen = format!("{entries} changes at one instant without an end; the timeline shows the latest");
    StepError::Unmet { expected: "the target comes to rest at each instant".into(), seen }
}

/// Finds the member that a selector refers to.
type Select = fn(&World, &Selector) -> Option<String>;

/// The node that `selector` refers to, if there is one.
fn select_node(world: &World, selector: &Selector) -> Option<String> {
    let staying = PodCounts::of(world, selector.workload()).staying;
    if selector.carrying.is_some() {
        return staying.into_keys().nth(selector.index);
    }
    world.members.keys().filter(|name| !staying.contains_key(*name)).nth(selector.index).cloned()
}

/// The member that `selector` refers to, if there is one.
fn select(world: &World, selector: &Selector) -> Option<String> {
    let workload = world.workload(selector.workload())?;
    if selector.carrying.is_some() {
        return workload.assignment.keys().nth(selector.index).cloned();
    }
    let spare = |(name, member): &(&String, &capsize_history::facts::Member)| {
        !member.leaving && workload.placement.admits(name, member) && !workload.assignment.contains_key(*name)
    };
    world.members.iter().filter(spare).nth(selector.index).map(|(name, _)| name.clone())
}
