//! Describes the observed state of the workload, member or nodes that an expectation is about.

use std::collections::BTreeSet;

use super::pod_counts::PodCounts;
use super::steps::quiescence::{UnsettledObject, first_unsettled};
use capsize_history::facts::{InstanceHealth, Taint, TaintEffect, Workload, World};

/// The subject of an expectation. It is described when the expectation is not met.
pub(super) enum Subject {
    Workload(String),
    Member(String),
    /// The pods of a workload.
    Pods(String),
    /// The nodes that have a taint with this key and effect, in one zone or in all.
    Tainted {
        zone: Option<String>,
        key: String,
        effect: TaintEffect,
    },
    /// The whole fleet, or with `nodes` the whole cluster.
    Everything {
        nodes: bool,
        leftovers_allowed: BTreeSet<String>,
    },
}

impl Subject {
    pub(super) fn describe(&self, world: &World) -> String {
        match self {
            Self::Workload(name) => match world.workload(name) {
                Some(workload) => describe_workload(name, workload),
                None => format!("{name} does not exist"),
            },
            Self::Member(name) => match world.members.get(name) {
                Some(member) => {
                    let health =
                        member.health.map_or_else(|| "of unknown health".into(), |health| health.to_string());
                    let taints: Vec<String> = member.taints.iter().map(ToString::to_string).collect();
                    let taints = if taints.is_empty() { "no taint".into() } else { taints.join(", ") };
                    format!("{name} is {health}, with {taints}")
                }
                None => format!("{name} does not exist"),
            },
            Self::Pods(name) => format!("{name} is {}", PodCounts::of(world, name)),
            Self::Tainted { zone, key, effect } => {
                let nodes = world.members.iter();
                let nodes = nodes.filter(|(_, node)| zone.is_none() || node.field("zone") == zone.as_slice());
                let this = |taint: &Taint| taint.key == *key && taint.effect == *effect;
                let tainted = nodes.filter(|(_, node)| node.taints.iter().any(this));
                let names: Vec<&str> = tainted.map(|(name, _)| name.as_str()).collect();
                format!("{} nodes have it: {}", names.len(), names.join(", "))
            }
            Self::Everything { nodes, leftovers_allowed } => {
                match first_unsettled(world, *nodes, leftovers_allowed) {
                    Some(UnsettledObject::Member(name)) => Self::Member(name.to_owned()).describe(world),
                    Some(UnsettledObject::Workload(name)) => Self::Workload(name.to_owned()).describe(world),
                    None => "nothing moves".to_owned(),
                }
            }
        }
    }
}

fn describe_workload(name: &str, workload: &Workload) -> String {
    let mut parts: Vec<String> = workload
        .assignment
        .iter()
        .map(|(member, replicas)| {
            let ready = workload.running.get(member).map_or(0, |running| running.ready);
            let health = match workload.instances.get(member).map(|instance| instance.health) {
                Some(InstanceHealth::Healthy) => "reported healthy",
                Some(InstanceHealth::Unhealthy) => "reported unhealthy",
                Some(InstanceHealth::Unknown) | None => "health unknown",
            };
            format!("{member} ({ready} of {replicas} ready, {health})")
        })
        .collect();
    if parts.is_empty() {
        parts.push("no member".into());
    }
    let leaving: Vec<&str> = workload.evictions.iter().map(|task| task.member.as_str()).collect();
    let leaving = if leaving.is_empty() {
        String::new()
    } else {
        format!(", being evicted from {}", leaving.join(", "))
    };
    format!("{name} is on {}{leaving}", parts.join(", "))
}
