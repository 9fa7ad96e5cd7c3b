//! The reported state of the copies of a workload.

use std::collections::BTreeMap;

use capsize_history::facts::{Change, Instance, InstanceHealth, WorkloadKey, World};
use capsize_sorted::CollectSorted;
use kube_cel::cel::Value;

use super::compile::{Compiler, DialectError};
use super::document::{InstancesSection, WorkloadSection};
use super::expression::Expression;
use super::observed::Scope;
use super::value::{is_true, items, number, text};

/// Reads the reported state of copies.
pub(crate) struct InstancesReader {
    item: String,
    each: Expression,
    member: Expression,
    applied: Option<Expression>,
    ready: Option<Expression>,
    healthy: Option<Expression>,
}

impl InstancesReader {
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        workload: &WorkloadSection,
        section: &InstancesSection,
        item: &str,
    ) -> Result<Self, DialectError> {
        let outer = compiler.section("workload.instances", vec![item], &workload.names)?;
        let own = vec![item, section.name.value.as_str()];
        let own = compiler.section("workload.instances", own, &workload.names)?;
        Ok(Self {
            item: section.name.value.clone(),
            each: compiler.expression(&outer, "each", &section.each)?,
            member: compiler.expression(&own, "member", &section.member)?,
            applied: compiler.optional(&own, "applied", section.applied.as_ref())?,
            ready: compiler.optional(&own, "ready", section.ready.as_ref())?,
            healthy: compiler.optional(&own, "healthy", section.healthy.as_ref())?,
        })
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let optional = [&self.applied, &self.ready, &self.healthy].into_iter().flatten();
        [&self.each, &self.member].into_iter().chain(optional)
    }

    /// The reported state in each member.
    pub(crate) fn instances(&self, scope: &Scope<'_>) -> BTreeMap<String, Instance> {
        let list = scope.read(&self.each, |value| items(value).to_vec()).unwrap_or_default();
        let instance = |item: Value| {
            let scope = scope.with(&self.item, item);
            let health = match scope.maybe(self.healthy.as_ref(), |value| Some(is_true(value))) {
                Some(true) => InstanceHealth::Healthy,
                Some(false) => InstanceHealth::Unhealthy,
                None => InstanceHealth::Unknown,
            };
            let ready = scope.maybe(self.ready.as_ref(), number);
            let applied = scope.is_true(self.applied.as_ref());
            let instance = Instance { health, ready, has_status: true, applied, ..Instance::default() };
            Some((scope.maybe(Some(&self.member), text)?, instance))
        };
        list.into_iter().filter_map(instance).collect_sorted()
    }
}

/// Takes over the reported state, and returns the changes.
pub(crate) fn report(world: &mut World, key: &WorkloadKey, now: BTreeMap<String, Instance>) -> Vec<Change> {
    let Some(entry) = world.workloads.get_mut(key) else { return Vec::new() };
    let was = std::mem::replace(&mut entry.instances, now);
    let members = was.keys().chain(entry.instances.keys().filter(|member| !was.contains_key(*member)));
    members
        .filter(|member| was.get(*member) != entry.instances.get(*member))
        .map(|member| Change::InstanceHealth { workload: key.clone(), member: member.clone() })
        .collect()
}
