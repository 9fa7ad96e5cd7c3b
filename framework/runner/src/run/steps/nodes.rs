//! The steps of scenarios that run on a cluster with nodes, as far as they are not those of fleets.

use std::time::Duration;

use capsize_clusters::{Cluster, ClusterSpec, Delay, NodeFault, NodeSpec, Stages};
use rand::RngExt;

use super::expectations::Wanted;
use crate::run::driver::{Driver, Miss, Subject};
use crate::run::pod_counts::Crew;
use crate::run::run_state::Eviction;

use crate::nemesis::{FaultGuard, break_node};
use crate::objects::nodes as node_objects;
use crate::scenario::{
    ClusterShape, Condition, Ill, Instance, Keeper, Moved, Placed, Pods, Settled, Skew, StartUpTime, Stays,
    Step, TaintedNodes,
};
use capsize_history::facts::{SKEW, Taint, World};
use capsize_judge::text::span;

/// A pod that never starts would start after this, longer than any run.
const NEVER: Duration = Duration::from_secs(366 * 86_400);

/// The cluster to be, of that shape; `start_up` is what its start-up time has come to, and its kubelets renew their
/// Leases once each `heartbeat`.
pub(in crate::run) fn cluster_spec(
    shape: &ClusterShape,
    start_up: Option<Duration>,
    heartbeat: Duration,
) -> ClusterSpec {
    let node = |(name, zone): (String, Option<&str>)| {
        let region = zone.and_then(|zone| shape.regions.get(zone)).map(|region| region.value.clone());
        let labels = shape.labels_of(&name, zone);
        let mut spec = NodeSpec { region, zone: zone.map(str::to_owned), labels, ..NodeSpec::default() };
        let room = shape.room.iter().map(|(resource, amount)| (resource.clone(), amount.value.clone()));
        spec.room.extend(room);
        (name, spec)
    };
    let default = Stages::default();
    let start = match (&shape.start_up, start_up) {
        (Some(StartUpTime::Never), _) => Delay::Always(NEVER),
        (_, Some(start_up)) => Delay::Always(start_up),
        (_, None) => default.start,
    };
    ClusterSpec { nodes: shape.places().map(node).collect(), stages: Stages { start, heartbeat, ..default } }
}

/// What is wrong with a node that says so, and what histories call that.
pub(in crate::run) fn illness(ill: Ill) -> (&'static str, NodeFault) {
    let pressure = |condition: &str| ("pressure", NodeFault::Pressure(condition.into()));
    match ill {
        Ill::NotReady => ("not-ready", NodeFault::NotReady),
        Ill::MemoryPressure => pressure("MemoryPressure"),
        Ill::DiskPressure => pressure("DiskPressure"),
        Ill::PidPressure => pressure("PIDPressure"),
    }
}

impl Driver<'_> {
    fn cluster(&self) -> Result<&Cluster, Miss> {
        self.cluster.ok_or_else(|| Miss::Broken("this runs on a fleet, which has no nodes".into()))
    }

    pub(in crate::run) async fn pods(&mut self, pods: &Pods) -> Result<(), Miss> {
        let seconds = pods.tolerations.iter().filter_map(|toleration| toleration.seconds?.try_into().ok());
        let longest = seconds.map(Duration::from_secs).max().unwrap_or_default();
        self.tolerated = self.tolerated.max(longest);
        let on = pods.on.iter().map(|node| self.name(&node.value)).collect::<Result<Vec<_>, Miss>>()?;
        let wanted = match pods.kind.value {
            Keeper::DaemonSet => self.scenario.members().len(),
            Keeper::Pod | Keeper::StaticPod => on.len(),
            Keeper::Deployment | Keeper::StatefulSet => pods.replicas.as_ref().map_or(1, |count| count.value),
        };
        self.crews.insert(pods.name.value.clone(), wanted as u64);
        self.mark("pods", &[("workload", &pods.name.value)]);
        for (kind, object) in node_objects::pods(pods, &on) {
            self.create(&kind, object).await?;
        }
        Ok(())
    }

    /// Lets `fault` strike all of `nodes` at once, at a moment of their heartbeat that the seed chooses.
    pub(in crate::run) async fn strike_nodes(
        &mut self,
        nodes: &[String],
        kind: &'static str,
        fault: &NodeFault,
    ) -> Result<(), Miss> {
        self.some_moment().await;
        for node in nodes {
            let guard = self.break_node(node, kind, fault)?;
            self.faults.push((node.clone(), guard));
        }
        Ok(())
    }

    /// Lets `fault` strike a node at once.
    pub(in crate::run) fn break_node(
        &self,
        node: &str,
        kind: &str,
        fault: &NodeFault,
    ) -> Result<FaultGuard, Miss> {
        let kubelet = self.cluster()?.kubelet(node);
        let kubelet = kubelet.ok_or_else(|| Miss::Broken(format!("the cluster has no node {node}")))?;
        let log = self.log.clone();
        Ok(break_node((node, kubelet), (kind, fault.clone()), move |mark| log.mark(mark)))
    }

    pub(in crate::run) async fn condition(&mut self, step: &Condition) -> Result<(), Miss> {
        let nodes = self.victims(&step.node.value, step.alias.as_ref())?;
        let (kind, fault) = illness(step.is);
        self.strike_nodes(&nodes, kind, &fault).await
    }

    pub(in crate::run) async fn skew(&mut self, step: &Skew) -> Result<(), Miss> {
        let nodes = self.victims(&step.node.value, step.alias.as_ref())?;
        let by = self.off_by(step.ahead.as_ref(), step.behind.as_ref())?;
        self.strike_nodes(&nodes, SKEW, &NodeFault::Skew(by)).await
    }

    pub(in crate::run) async fn expect_on_nodes(&self, step: &Step) -> Result<(), Miss> {
        match step {
            Step::TaintedNodes(tainted) => self.tainted_nodes(tainted).await,
            Step::Settled(settled) => self.pods_settled(settled).await,
            Step::Evicted(moved) => self.pods_gone(moved, false).await,
            Step::Gone(moved) => self.pods_gone(moved, true).await,
            Step::NotEvicted(stays) => self.pods_stay(stays).await,
            Step::Placed(placed) => self.pods_placed(placed).await,
            Step::Ready(instance) => self.pods_ready(instance).await,
            other => self.expect_anywhere(other).await,
        }
    }

    async fn tainted_nodes(&self, step: &TaintedNodes) -> Result<(), Miss> {
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
        let subject = Subject::Tainted { zone: zone.clone(), key: key.clone() };
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
        let within = self.within(&step.within, self.patience().taint(true))?;
        self.until(what, subject, within, holds).await
    }

    async fn pods_settled(&self, settled: &Settled) -> Result<(), Miss> {
        let name = settled.workload.value.clone();
        let wanted = self.crews.get(&name).copied().unwrap_or_default();
        let within = self.within(&settled.within, self.patience().rest(self.tolerated, self.start_up))?;
        let what = format!("{name} is settled: {wanted} pods, all of them ready, and none leaving");
        let subject = Subject::Pods(name.clone());
        self.until(what, subject, within, move |world, _| Crew::of(world, &name).is_settled(wanted)).await
    }

    async fn pods_gone(&self, moved: &Moved, wholly: bool) -> Result<(), Miss> {
        let (name, from) = (moved.workload.value.clone(), self.name(&moved.from.value)?);
        let within = self.within(&moved.within, self.patience().eviction(self.tolerated))?;
        let what = if wholly { "gone" } else { "evicted" };
        let what = format!("{name} is {what} from {from}");
        let subject = Subject::Pods(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            let crew = Crew::of(world, &name);
            let leaves = wholly && crew.leaving.contains_key(&from);
            !leaves && !crew.staying.contains_key(&from)
        };
        self.until(what, subject, within, holds).await
    }

    async fn pods_stay(&self, stays: &Stays) -> Result<(), Miss> {
        let (name, on) = (stays.workload.value.clone(), self.name(&stays.on.value)?);
        let lasts = self.length(&stays.lasts)?;
        let there = |crew: &Crew| crew.staying.get(&on).copied().unwrap_or_default();
        let before = self.log.look(|world, _| there(&Crew::of(world, &name))).max(1);
        let what = format!("{before} of {name} stay on {on} for {}", span(lasts));
        let subject = Subject::Pods(name.clone());
        self.hold(what, subject, lasts, |world, _| there(&Crew::of(world, &name)) >= before).await
    }

    async fn pods_placed(&self, placed: &Placed) -> Result<(), Miss> {
        let name = placed.workload.value.clone();
        let wanted = Wanted::new(self, placed)?;
        let bound = self.patience().replacement(self.tolerated, self.start_up);
        let within = self.within(&placed.within, bound)?;
        let what = format!("{name} is placed {}", wanted.text());
        let holds = |world: &World, _: &[Eviction]| wanted.holds(&Crew::of(world, &name).staying);
        self.until(what, Subject::Pods(name.clone()), within, holds).await
    }

    async fn pods_ready(&self, instance: &Instance) -> Result<(), Miss> {
        let (name, on) = (instance.workload.value.clone(), self.name(&instance.on.value)?);
        let bound = self.patience().replacement(self.tolerated, self.start_up);
        let within = self.within(&instance.within, bound)?;
        let what = format!("all pods of {name} on {on} are ready");
        let holds = |world: &World, _: &[Eviction]| {
            let crew = Crew::of(world, &name);
            crew.staying.contains_key(&on) && crew.ready.get(&on) == crew.staying.get(&on)
        };
        self.until(what, Subject::Pods(name.clone()), within, holds).await
    }

    /// Lets a part of the target's cycle of signs of life pass that the seed chooses.
    pub(in crate::run) async fn some_moment(&mut self) {
        let cycle = self.profile.timings.status_update_frequency;
        let moment = self.phase.random_range(0..=cycle.as_micros().try_into().unwrap_or(u64::MAX));
        self.clock.sleep(Duration::from_micros(moment)).await;
    }
}
