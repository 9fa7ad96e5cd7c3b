//! The steps for clusters with nodes that differ from those for fleets.

use std::time::Duration;

use capsize_clusters::{Cluster, NodeFault};
use rand::RngExt;

use super::placement::WantedPlacement;
use crate::nemesis::{FaultGuard, break_node};
use crate::objects::nodes as node_objects;
use crate::run::driver::{Driver, StepError};
use crate::run::pod_counts::PodCounts;
use crate::run::run_state::Eviction;
use crate::run::subject::Subject;
use crate::scenario::{
    Condition, Departure, Instance, NodeProblem, Placed, PodOwner, Pods, Settled, Silence, Skew, Stay, Step,
    TaintedNodes,
};
use capsize_history::FaultKind;
use capsize_history::facts::{Health as MemberHealth, Taint, World};
use capsize_judge::time_format::span;

/// The fault behind a node condition, with its name in histories.
pub(in crate::run) fn fault_of_problem(problem: NodeProblem) -> (FaultKind, NodeFault) {
    let pressure = |condition: &str| (FaultKind::Pressure, NodeFault::Pressure(condition.into()));
    match problem {
        NodeProblem::NotReady => (FaultKind::NotReady, NodeFault::NotReady),
        NodeProblem::MemoryPressure => pressure("MemoryPressure"),
        NodeProblem::DiskPressure => pressure("DiskPressure"),
        NodeProblem::PidPressure => pressure("PIDPressure"),
    }
}

/// The time in which the pods of a node end that shuts down.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(1);

impl Driver<'_> {
    fn cluster(&self) -> Result<&Cluster, StepError> {
        self.cluster
            .ok_or_else(|| StepError::Broken("this scenario runs on a fleet, which has no nodes".into()))
    }

    pub(in crate::run) async fn pods(&mut self, pods: &Pods) -> Result<(), StepError> {
        let seconds = pods.tolerations.iter().filter_map(|toleration| toleration.seconds?.try_into().ok());
        let longest = seconds.map(Duration::from_secs).max().unwrap_or_default();
        self.tolerated = self.tolerated.max(longest);
        let on = pods
            .on
            .iter()
            .map(|node| self.member_name(&node.value))
            .collect::<Result<Vec<_>, StepError>>()?;
        let wanted = match pods.kind.value {
            PodOwner::DaemonSet => self.scenario.members().len(),
            PodOwner::Pod | PodOwner::StaticPod => on.len(),
            PodOwner::Deployment | PodOwner::StatefulSet => {
                pods.replicas.as_ref().map_or(1, |count| count.value)
            }
        };
        self.wanted_pods.insert(pods.name.value.clone(), wanted as u64);
        self.mark("pods", &[("workload", &pods.name.value)]);
        for (kind, object) in node_objects::pods(pods, &on) {
            self.create(&kind, object).await?;
        }
        Ok(())
    }

    /// Begins `fault` on all of `nodes` at once. The seed chooses the moment within their heartbeat.
    pub(in crate::run) async fn strike_nodes(
        &mut self,
        nodes: &[String],
        kind: FaultKind,
        fault: &NodeFault,
    ) -> Result<(), StepError> {
        self.wait_for_random_phase().await;
        for node in nodes {
            let guard = self.break_node(node, kind, fault)?;
            self.faults.push((node.clone(), guard));
        }
        Ok(())
    }

    /// Begins `fault` on one node at once.
    pub(in crate::run) fn break_node(
        &self,
        node: &str,
        kind: FaultKind,
        fault: &NodeFault,
    ) -> Result<FaultGuard, StepError> {
        let kubelet = self.cluster()?.kubelet(node);
        let kubelet = kubelet.ok_or_else(|| StepError::Broken(format!("the cluster has no node {node}")))?;
        let log = self.log.clone();
        Ok(break_node((node, kubelet), (kind, fault.clone()), move |mark| log.mark(mark)))
    }

    pub(in crate::run) async fn condition(&mut self, step: &Condition) -> Result<(), StepError> {
        let nodes = self.resolve_victims(&step.node.value, step.alias.as_ref())?;
        let (kind, fault) = fault_of_problem(step.is);
        self.strike_nodes(&nodes, kind, &fault).await
    }

    /// Lets the kubelets report that their nodes shut down, and end the pods.
    /// Then the kubelets fall silent.
    pub(in crate::run) async fn shut_down(&mut self, step: &Silence) -> Result<(), StepError> {
        let nodes = self.resolve_victims(&step.node.value, step.alias.as_ref())?;
        self.strike_nodes(&nodes, FaultKind::NotReady, &NodeFault::ShuttingDown).await?;
        let within = self.profile.timings.status_update_frequency * 2 + self.profile.timings.latency;
        for node in &nodes {
            let reported = |world: &World, _: &[Eviction]| {
                world.members.get(node).is_none_or(|member| member.health != Some(MemberHealth::Ready))
            };
            let what = format!("{node} has reported that it shuts down");
            self.until(what, Subject::Member(node.clone()), within, reported).await?;
        }
        self.clock.sleep(SHUTDOWN_GRACE_PERIOD).await;
        for node in nodes {
            let guard = self.break_node(&node, FaultKind::Silent, &NodeFault::Silent)?;
            self.faults.push((node, guard));
        }
        Ok(())
    }

    pub(in crate::run) async fn skew(&mut self, step: &Skew) -> Result<(), StepError> {
        let nodes = self.resolve_victims(&step.node.value, step.alias.as_ref())?;
        let by = self.clock_offset(step.ahead.as_ref(), step.behind.as_ref())?;
        self.strike_nodes(&nodes, FaultKind::Skew, &NodeFault::Skew(by)).await
    }

    pub(in crate::run) async fn expect_on_nodes(&self, step: &Step) -> Result<(), StepError> {
        match step {
            Step::TaintedNodes(tainted) => self.tainted_nodes(tainted).await,
            Step::Settled(settled) => self.pods_settled(settled).await,
            Step::Evicted(moved) => self.pods_gone(moved, false).await,
            Step::Gone(moved) => self.pods_gone(moved, true).await,
            Step::NotEvicted(stays) => self.pods_stay(stays).await,
            Step::Placed(placed) => self.pods_placed(placed).await,
            Step::Ready(instance) => self.pods_ready(instance).await,
            other => self.expect_on_fleet(other).await,
        }
    }

    async fn tainted_nodes(&self, step: &TaintedNodes) -> Result<(), StepError> {
        let (key, effect) = (node_objects::taint_key(&step.key), step.effect);
        let (least, most) = (step.at_least, step.at_most.unwrap_or(usize::MAX));
        let zone = step.zone.as_ref().map(|zone| zone.value.clone());
        let wanted = match step.at_most {
            None => format!("{least} or more"),
            Some(most) if most == least => format!("{most}"),
            Some(most) => format!("{least} to {most}"),
        };
        let place = zone.as_ref().map(|zone| format!(" of zone {zone}")).unwrap_or_default();
        let what = format!("{wanted} nodes{place} have taint {}:{effect}", step.key);
        let subject = Subject::Tainted { zone: zone.clone(), key: key.clone(), effect };
        let holds = move |world: &World, _: &[Eviction]| {
            let this = |taint: &Taint| taint.key == key && taint.effect == effect;
            let nodes = world.members.values();
            let nodes = nodes.filter(|node| zone.is_none() || node.field("zone") == zone.as_slice());
            let count = nodes.filter(|node| node.taints.iter().any(this)).count();
            (least..=most).contains(&count)
        };
        if let Some(lasts) = &step.lasts {
            let lasts = self.length(lasts)?;
            return self.hold(format!("{what} for {}", span(lasts)), subject, lasts, holds).await;
        }
        let within = self.within(&step.within, self.wait_limits().taint(true))?;
        self.until(what, subject, within, holds).await
    }

    async fn pods_settled(&self, settled: &Settled) -> Result<(), StepError> {
        let name = settled.workload.value.clone();
        let wanted = self.wanted_pods.get(&name).copied().unwrap_or_default();
        let within = self.within(&settled.within, self.wait_limits().rest(self.tolerated, self.start_up))?;
        let what = format!("{name} is settled: {wanted} pods, all of them ready, and none leaving");
        let subject = Subject::Pods(name.clone());
        self.until(what, subject, within, move |world, _| PodCounts::of(world, &name).is_settled(wanted))
            .await
    }

    async fn pods_gone(&self, moved: &Departure, wholly: bool) -> Result<(), StepError> {
        let (name, from) = (moved.workload.value.clone(), self.member_name(&moved.from.value)?);
        let within = self.within(&moved.within, self.wait_limits().eviction(self.tolerated))?;
        let what = if wholly { "gone" } else { "evicted" };
        let what = format!("{name} is {what} from {from}");
        let subject = Subject::Pods(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            let pods = PodCounts::of(world, &name);
            let leaves = wholly && pods.leaving.contains_key(&from);
            !leaves && !pods.staying.contains_key(&from)
        };
        self.until(what, subject, within, holds).await
    }

    async fn pods_stay(&self, stays: &Stay) -> Result<(), StepError> {
        let (name, on) = (stays.workload.value.clone(), self.member_name(&stays.on.value)?);
        let lasts = self.length(&stays.lasts)?;
        let there = |pods: &PodCounts| pods.staying.get(&on).copied().unwrap_or_default();
        let before = self.log.look(|world, _| there(&PodCounts::of(world, &name))).max(1);
        let what = format!("{before} of {name} stay on {on} for {}", span(lasts));
        let subject = Subject::Pods(name.clone());
        self.hold(what, subject, lasts, |world, _| there(&PodCounts::of(world, &name)) >= before).await
    }

    async fn pods_placed(&self, placed: &Placed) -> Result<(), StepError> {
        let name = placed.workload.value.clone();
        let wanted = WantedPlacement::new(self, placed)?;
        let bound = self.wait_limits().replacement(self.tolerated, self.start_up);
        let within = self.within(&placed.within, bound)?;
        let what = format!("{name} is placed {}", wanted.text());
        let holds = |world: &World, _: &[Eviction]| wanted.holds(&PodCounts::of(world, &name).staying);
        self.until(what, Subject::Pods(name.clone()), within, holds).await
    }

    async fn pods_ready(&self, instance: &Instance) -> Result<(), StepError> {
        let (name, on) = (instance.workload.value.clone(), self.member_name(&instance.on.value)?);
        let bound = self.wait_limits().replacement(self.tolerated, self.start_up);
        let within = self.within(&instance.within, bound)?;
        let what = format!("all pods of {name} on {on} are ready");
        let holds = |world: &World, _: &[Eviction]| {
            let pods = PodCounts::of(world, &name);
            pods.staying.contains_key(&on) && pods.ready.get(&on) == pods.staying.get(&on)
        };
        self.until(what, Subject::Pods(name.clone()), within, holds).await
    }

    /// Waits for a part of the probe or heartbeat cycle. The seed chooses its length.
    pub(in crate::run) async fn wait_for_random_phase(&mut self) {
        let cycle = self.profile.timings.status_update_frequency;
        let moment = self.phase.random_range(0..=cycle.as_micros().try_into().unwrap_or(u64::MAX));
        self.clock.sleep(Duration::from_micros(moment)).await;
    }
}
