//! Runs the steps of one scenario: what all steps need, and the waiting. What the single steps do is in `steps/`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_clock::{Clock, Stream};
use capsize_clusters::{Breakdown, Cluster, Fleet, Member, Sockets};
use kube::Client;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::controllers::Controllers;
use super::fault_permission::FaultPermission;
use super::log::Log;
use super::pod_counts::PodCounts;
use super::run_state::Eviction;
use super::subject::Subject;
use super::wait_limits::WaitLimits;
use crate::nemesis::FaultGuard;
use crate::objects::{karmada as objects, nodes as node_objects};
use crate::scenario::{Length, MemberRef, Scenario, Selector, Step, Within};
use capsize_history::facts::World;
use capsize_judge::profile::Profile;
use capsize_judge::text::span;

/// Why a step failed.
#[derive(Debug)]
pub(super) enum StepError {
    /// What was expected did not come, or did not last.
    Unmet {
        /// What was expected.
        expected: String,
        /// What was the case instead.
        seen: String,
    },
    /// The run itself is broken: the recording is not whole.
    Broken(String),
}

/// A step that failed, and why.
pub(super) type FailedStep<'a> = (&'a Spanned<Step>, StepError);

pub(super) struct Driver<'a> {
    pub(super) fleet: &'a Fleet,
    /// The cluster whose nodes are the members, where it does not run on a fleet.
    pub(super) cluster: Option<&'a Cluster>,
    pub(super) scenario: &'a Scenario,
    pub(super) clock: Clock,
    pub(super) client: Client,
    pub(super) log: Log,
    pub(super) profile: &'a Profile,
    pub(super) controllers: Controllers<'a>,
    /// Who lets faults strike members.
    pub(super) permission: FaultPermission,
    /// How the fleet is reached from outside of this process, where that is needed.
    pub(super) sockets: Option<&'a Sockets>,
    /// Where in the target's cycles a disturbance falls is drawn from this.
    pub(super) phase: Stream,
    /// The longest time that a workload tolerates a taint, apart from for ever.
    pub(super) tolerated: Duration,
    /// The longest time that replicas take to become ready, apart from for ever.
    pub(super) start_up: Duration,
    pub(super) aliases: BTreeMap<String, String>,
    /// How many pods each workload of a cluster is to have.
    pub(super) wanted_pods: BTreeMap<String, u64>,
    pub(super) faults: Vec<(String, FaultGuard)>,
    /// Machines that have broken down, in that order.
    pub(super) broken_machines: Vec<(String, Breakdown)>,
    pub(super) flapping: BTreeMap<String, JoinSet<()>>,
    /// Members without power, once for each fault that has them so.
    pub(super) powered_off: Vec<String>,
    /// Members that may keep copies for good: those that have left the fleet, be it for a while, and all where there were two
    /// leaders, of whom one may have made a copy anew that the other had taken away, and those that were restored, where copies are
    /// back of which nobody knows.
    pub(super) leftovers_allowed: BTreeSet<String>,
}

impl Driver<'_> {
    /// Runs all steps, up to the first that fails.
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
            expected: format!("a target with the timing that `{length}` names"),
            seen: format!("the target {} has none", self.profile.name),
        })
    }

    /// How long to wait at most; `bound` is what the target may take, and longer where its clock was set. What is seen comes late by
    /// its latency.
    pub(super) fn within(&self, within: &Within, bound: Duration) -> Result<Duration, StepError> {
        match within {
            Within::Bound => Ok(bound.saturating_add(self.log.look(|world, _| world.clock_set))),
            Within::Length(length) => Ok(self.length(length)? + self.profile.timings.latency),
        }
    }

    /// The member that is meant, by name.
    pub(super) fn member_name(&self, member: &MemberRef) -> Result<String, StepError> {
        match member {
            MemberRef::Named(name) => match self.aliases.get(name) {
                Some(member) => Ok(member.clone()),
                None if self.scenario.members().contains(name) => Ok(name.clone()),
                // The step that would have given the name was one that need not come about.
                None => Err(StepError::Unmet {
                    expected: format!("a member called {name}"),
                    seen: "none is".into(),
                }),
            },
            MemberRef::Selected(selector) => {
                let (select, subject) = match self.cluster {
                    None => (select as Select, Subject::Workload(selector.workload().into())),
                    Some(_) => (select_node as Select, Subject::Pods(selector.workload().into())),
                };
                // The control plane may know Clusters that are no members of the fleet.
                let found = self.log.look(|world, _| select(world, selector));
                let found = found.filter(|name| self.cluster.is_some() || self.fleet.member(name).is_some());
                found.ok_or_else(|| StepError::Unmet {
                    expected: format!("a {member}"),
                    seen: self.log.look(|world, _| subject.describe(world)),
                })
            }
        }
    }

    pub(super) fn member(&self, name: &str) -> Result<&Member, StepError> {
        self.fleet.member(name).ok_or_else(|| StepError::Broken(format!("the fleet has no member {name}")))
    }

    /// What marks call a member.
    pub(super) fn member_word(&self) -> &'static str {
        if self.cluster.is_some() { "node" } else { "cluster" }
    }

    /// The full key of a taint, in the words of the dialect.
    pub(super) fn taint_key(&self, key: &str) -> String {
        if self.cluster.is_some() { node_objects::taint_key(key) } else { objects::taint_key(key) }
    }

    pub(super) fn mark(&self, step: &str, more: &[(&str, &str)]) {
        let more = more.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value)));
        self.log.mark(Map::from_iter([("step".to_owned(), Value::from(step))].into_iter().chain(more)));
    }

    /// Waits until `holds`, at most for `within`.
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

    /// Fails when `holds` does not, at any time while `lasts` passes.
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

    /// Fails when the recording is not whole, or the target never comes to rest.
    pub(super) fn check_run(&self) -> Result<(), StepError> {
        if let Some(why) = self.log.state().broken.clone() {
            return Err(StepError::Broken(why));
        }
        self.log.state().livelock_entries().map_or(Ok(()), |entries| Err(livelock_error(entries)))
    }

    /// Whether `holds` comes to hold while `within` passes.
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
                Ok(Err(_)) => return Err(StepError::Broken("the log is closed".into())),
                Err(_) => return Ok(false),
            }
        }
    }
}

/// What is said of a target that never comes to rest.
pub(super) fn livelock_error(entries: u32) -> StepError {
    let seen = format!("{entries} changes at one instant, and no end: the latest are below");
    StepError::Unmet { expected: "the target comes to rest at each instant".into(), seen }
}

/// How the member is found that plays a part.
type Select = fn(&World, &Selector) -> Option<String>;

/// The node that plays a part, if there is one.
fn select_node(world: &World, selector: &Selector) -> Option<String> {
    let staying = PodCounts::of(world, selector.workload()).staying;
    if selector.carrying.is_some() {
        return staying.into_keys().nth(selector.index);
    }
    world.members.keys().filter(|name| !staying.contains_key(*name)).nth(selector.index).cloned()
}

/// The member that plays a part, if there is one.
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
