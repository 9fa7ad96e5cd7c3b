//! Checks clusters with nodes and their steps.

use std::collections::{BTreeMap, BTreeSet};

use capsize_clusters::{Direction, Quantity};
use capsize_history::FileValue;
use capsize_sorted::CollectSorted;
use serde_saphyr::Location;

use super::check::{MOST_MEMBERS, Mistake, ScenarioCheck, name, wrong};
use super::check_steps::Scope;
use super::clock_skew::one_way;
use super::cluster::{ClusterShape, PodOwner, Pods, Skew, TaintedNodes};
use super::step::Step;
use capsize_judge::profile::Zones;

/// Settings of single nodes and zones must refer to nodes and zones of the cluster.
pub(super) fn check_cluster(shape: &FileValue<ClusterShape>) -> ScenarioCheck {
    let cluster = &shape.value;
    let nodes: BTreeSet<String> = cluster.places().map(|(name, _)| name).collect_sorted();
    if nodes.is_empty() || nodes.len() > MOST_MEMBERS {
        return wrong(shape, format!("a cluster has 1 to {MOST_MEMBERS} nodes, not {}", nodes.len()));
    }
    if nodes.len() < cluster.places().count() {
        return wrong(shape, "two nodes of this cluster have the same name: rename a zone");
    }
    for zone in cluster.zones.keys() {
        name(&shape.with(zone.clone()), "a zone's name")?;
    }
    if let Some((zone, region)) = cluster.regions.iter().find(|(zone, _)| !cluster.zones.contains_key(*zone))
    {
        return wrong(region, format!("there is no zone `{zone}` in this cluster"));
    }
    quantities(&cluster.room)?;
    let known = |name: &String| nodes.contains(name) || cluster.zones.contains_key(name);
    if let Some((name, labels)) = cluster.labels.iter().find(|(name, _)| !known(name)) {
        return wrong(labels, format!("there is no node and no zone `{name}` in this cluster"));
    }
    if let Some((flag, value)) = cluster.flags.iter().find(|(flag, _)| !Zones::FLAGS.contains(&flag.as_str()))
    {
        return wrong(value, format!("there is no flag `{flag}`; the flags are {}", Zones::FLAGS.join(", ")));
    }
    match cluster.flags.iter().find(|(_, value)| !(0.0..=1e6).contains(&value.value)) {
        Some((flag, value)) => wrong(value, format!("`{flag}` must be a number from 0 to 1000000")),
        None => Ok(()),
    }
}

/// Amounts must be Kubernetes quantities.
fn quantities(amounts: &BTreeMap<String, FileValue<String>>) -> ScenarioCheck {
    let wrong_one = amounts.values().find(|amount| Quantity::parse(&amount.value).is_none());
    wrong_one.map_or(Ok(()), |amount| {
        wrong(amount, format!("`{}` is not a quantity: write for example 500m, 2 or 1Gi", amount.value))
    })
}

/// Checks that a step is allowed in its scenario.
/// A step for fleets needs a scenario on a fleet, and a step for nodes needs a scenario on a cluster.
pub(super) fn fits(step: &FileValue<Step>, on_nodes: bool) -> ScenarioCheck {
    let of_fleets = match &step.value {
        Step::Workload(_) => "workload",
        Step::Scale(_) => "scale",
        Step::Override(_) => "override",
        Step::Remedy(_) => "remedy",
        Step::Runs(_) => "runs",
        Step::Refuse(_) => "refuse",
        Step::Delay(_) => "delay",
        Step::Disturb(_) => "disturb",
        Step::Down(_) => "down",
        Step::StartUp(_) => "startUp",
        Step::TaskEnded(_) => "taskEnded",
        Step::Kept(_) => "kept",
        _ => "",
    };
    let of_nodes = match &step.value {
        Step::Pods(_) => "pods",
        Step::Silence(_) => "silence",
        Step::ShutDown(_) => "shutDown",
        Step::Condition(_) => "condition",
        Step::Skew(_) => "skew",
        Step::TaintedNodes(_) => "taintedNodes",
        _ => "",
    };
    match &step.value {
        _ if on_nodes && !of_fleets.is_empty() => {
            wrong(step, format!("the step `{of_fleets}` needs a fleet, and this scenario runs on a cluster"))
        }
        _ if !on_nodes && !of_nodes.is_empty() => {
            wrong(step, format!("the step `{of_nodes}` needs a cluster, and this scenario runs on a fleet"))
        }
        Step::Partition(partition) if on_nodes && partition.direction != Direction::Both => wrong(
            step,
            "a partition of a node always drops packets in both directions: leave out `direction`",
        ),
        _ => Ok(()),
    }
}

impl Scope<'_> {
    pub(super) fn pods(&mut self, pods: &Pods) -> ScenarioCheck {
        let new = &pods.name;
        let starts =
            |longer: &str, name: &str| longer.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let other =
            self.workload_names().find(|other| starts(other, &new.value) || starts(&new.value, other));
        if let Some(other) = other {
            return wrong(
                new,
                format!(
                    "the names of the pods of `{}` and `{other}` would begin alike: rename one workload",
                    new.value
                ),
            );
        }
        self.name_workload(new)?;
        pods.on.iter().try_for_each(|node| self.member(node))?;
        quantities(&pods.requests)?;
        let counted = matches!(pods.kind.value, PodOwner::Deployment | PodOwner::StatefulSet);
        let bound = matches!(pods.kind.value, PodOwner::Pod | PodOwner::StaticPod);
        match &pods.replicas {
            Some(replicas) if !counted => {
                return wrong(replicas, "only a Deployment or a StatefulSet has `replicas`");
            }
            None if counted => return wrong(&pods.kind, "`replicas` is missing"),
            _ => {}
        }
        match pods.on.first() {
            Some(node) if !bound => wrong(node, "only a Pod or a StaticPod has `on`"),
            None if bound => wrong(&pods.kind, "`on` is missing: it lists the nodes of the pods"),
            _ => Ok(()),
        }
    }

    pub(super) fn skew(&mut self, skew: &Skew) -> ScenarioCheck {
        one_way(&skew.node, skew.ahead.as_ref(), skew.behind.as_ref())?;
        self.strikes(&skew.node, skew.alias.as_ref())
    }

    pub(super) fn tainted_nodes(&self, tainted: &TaintedNodes, step: Location) -> ScenarioCheck {
        if let Some(zone) = &tainted.zone
            && !self.has_zone(&zone.value)
        {
            return wrong(zone, format!("there is no zone `{}` in this cluster", zone.value));
        }
        if tainted.at_most.is_some_and(|most| most < tainted.at_least) {
            let message = "`atMost` is less than `atLeast`".into();
            return Err(Mistake { location: step, message });
        }
        if tainted.at_least == 0 && tainted.at_most.is_none() {
            let message = "give `atLeast`, `atMost` or both".into();
            return Err(Mistake { location: step, message });
        }
        Ok(())
    }
}
