//! The step `calm`: waits until every member and workload is at rest, and nothing is left over.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::expectations::is_settled;
use crate::run::driver::{Driver, StepError};
use crate::run::subject::Subject;
use crate::scenario::Calm;
use capsize_history::facts::{Health, InstanceHealth, Member, Workload, WorkloadKey, World};

/// The expectation of the step, as reports show it.
pub(crate) const AT_REST: &str = "the fleet is at rest";

impl Driver<'_> {
    /// Waits until the fleet has been at rest without a break for the wanted time.
    pub(in crate::run) async fn wait_for_quiescence(&self, calm: &Calm) -> Result<(), StepError> {
        let longest = self.wait_limits().rest(self.tolerated, self.start_up)
            + self.wait_limits().removal(self.tolerated);
        let within = self.within(&calm.within, longest)?;
        let what = AT_REST.to_owned();
        let lasts = self.length(&calm.lasts)?;
        let end = Instant::now() + within;
        let nodes = self.cluster.is_some();
        let is_at_rest = |world: &World| first_unsettled(world, nodes, &self.leftovers_allowed).is_none();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            self.until(
                what.clone(),
                Subject::Everything { nodes, leftovers_allowed: self.leftovers_allowed.clone() },
                left,
                |world, _| is_at_rest(world),
            )
            .await?;
            if !self.wait(lasts, |world, _| !is_at_rest(world)).await? {
                self.mark("lasted", &[("that", &what)]);
                return Ok(());
            }
        }
    }
}

/// The first member or workload, by name, that is not at rest.
/// With `nodes`, the members are nodes and the workloads pods. Leftover copies in the members `leftovers_allowed` do
/// not count.
pub(in crate::run) fn first_unsettled<'w>(
    world: &'w World,
    nodes: bool,
    leftovers_allowed: &BTreeSet<String>,
) -> Option<UnsettledObject<'w>> {
    let member = world.members.iter().find(|(_, member)| !is_ready_and_untainted(member));
    if let Some((name, _)) = member {
        return Some(UnsettledObject::Member(name));
    }
    let rests = |key: &WorkloadKey, workload: &Workload| match nodes {
        true => is_bound_and_ready(workload),
        false => is_delivered_exactly(key, workload, world, leftovers_allowed),
    };
    let mut workloads = world.workloads.iter();
    workloads
        .find(|(key, workload)| !rests(key, workload))
        .map(|(key, _)| UnsettledObject::Workload(key.name()))
}

/// A member or workload that is not at rest.
pub(in crate::run) enum UnsettledObject<'a> {
    Member(&'a str),
    Workload(&'a str),
}

fn is_ready_and_untainted(member: &Member) -> bool {
    member.health == Some(Health::Ready) && member.taints.is_empty() && !member.leaving
}

/// Returns true if the pod has ended, or if it is bound to a node, ready there, and not being deleted.
fn is_bound_and_ready(pod: &Workload) -> bool {
    let ready = |node: &String| {
        pod.instances.get(node).is_some_and(|instance| instance.health == InstanceHealth::Healthy)
    };
    pod.finished || pod.evictions.is_empty() && pod.assignment.keys().next().is_some_and(ready)
}

/// Returns true if the workload is at rest, and is delivered to its members and to no others.
/// The workload is left over nowhere else.
fn is_delivered_exactly(
    key: &WorkloadKey,
    workload: &Workload,
    world: &World,
    leftovers_allowed: &BTreeSet<String>,
) -> bool {
    let belongs = |member: &String| workload.targets().any(|target| target == member);
    let managed = workload.running.iter().filter(|(_, running)| running.managed).map(|(member, _)| member);
    let managed = managed.filter(|member| !leftovers_allowed.contains(*member));
    // A dependency without a placement of its own is assigned nowhere, also if no workload needs it any more.
    let has_own_placement = workload.placeable || !workload.policy.is_empty();
    let may_be_unassigned = !workload.required_by.is_empty()
        || !has_own_placement
        || has_outdated_placement(key, workload, world);
    (workload.assignment.is_empty() && may_be_unassigned || is_settled(workload))
        && workload.deliveries.keys().chain(managed).all(belongs)
}

/// Returns true if the policy is lazy and differs from the record.
/// The record may then fit no member until the template changes.
fn has_outdated_placement(key: &WorkloadKey, workload: &Workload, world: &World) -> bool {
    let claimed = world.templates.get(key).map_or(&workload.policy, |template| &template.policy);
    world.policies.get(claimed).is_some_and(|policy| policy.lazy && policy.placement != workload.placement)
}
