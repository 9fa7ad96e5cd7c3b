//! Checks the steps of a scenario one after another, with the names that earlier steps defined.

use std::collections::{BTreeMap, BTreeSet};

use capsize_history::FileValue;
use capsize_sorted::CollectSorted;
use serde_saphyr::Location;

use super::check::{Mistake, ScenarioCheck, name, wrong};
use super::check_cluster::fits;
use super::check_fault_windows::possible;
use super::document::{Scenario, Scheduling, Workload};
use super::expectations::{Placed, PlacedOn};
use super::member_ref::{MemberRef, Victims};
use super::object::{Manifest, Place};
use super::step::{Component, Flap, Step};

/// The definitions of the steps so far.
pub(super) struct Scope<'a> {
    scenario: &'a Scenario,
    pub(super) members: BTreeSet<String>,
    aliases: BTreeSet<String>,
    workloads: BTreeMap<String, Location>,
    broken: Vec<MemberRef>,
    /// The members that a step may let join.
    later: BTreeSet<String>,
    /// Whether the controllers are dead.
    pub(super) killed: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            members: scenario.members().collect_sorted(),
            aliases: BTreeSet::new(),
            workloads: BTreeMap::new(),
            broken: Vec::new(),
            later: scenario.later().iter().map(|later| later.value.clone()).collect_sorted(),
            killed: false,
        }
    }

    pub(super) fn step(&mut self, step: &FileValue<Step>) -> ScenarioCheck {
        fits(step, self.on_nodes())?;
        match &step.value {
            Step::Workload(workload) => self.new_workload(workload),
            Step::Scale(scale) => self.workload(&scale.workload),
            Step::Override(step) => {
                self.workload(&step.workload)?;
                step.clusters.iter().try_for_each(|cluster| self.member(cluster))
            }
            Step::Remedy(remedy) => {
                name(&remedy.name, "a remedy's name")?;
                remedy.clusters.iter().flatten().try_for_each(|cluster| self.member(cluster))
            }
            Step::Runs(runs) => {
                self.workload(&runs.workload)?;
                self.member(&runs.on)
            }
            Step::Call(call) => {
                self.member(&call.member)?;
                self.alias(Some(&call.alias))
            }
            Step::Refuse(refuse) => self.strikes(&refuse.cluster, refuse.alias.as_ref()),
            Step::Partition(partition) => self.strikes(&partition.cluster, partition.alias.as_ref()),
            Step::Delay(delay) => self.strikes(&delay.cluster, delay.alias.as_ref()),
            Step::Disturb(disturb) => {
                possible(&disturb.by)?;
                self.strikes(&disturb.cluster, disturb.alias.as_ref())
            }
            Step::Down(down) => self.down(down),
            Step::Flap(flap) => self.flap(flap),
            Step::Heal(member) => self.heal(member),
            Step::Kill(party) => self.runs(party, false),
            Step::Start(party) => self.runs(party, true),
            Step::Faults(windows) => windows.iter().try_for_each(|window| self.window(window)),
            Step::Perhaps(step) => self.step(step),
            Step::Wait(_) | Step::Calm(_) | Step::Upgrade(_) => Ok(()),
            Step::Taint(taint) | Step::Untaint(taint) => {
                self.member(&taint.cluster)?;
                self.alias(taint.alias.as_ref())
            }
            Step::Join(member) => self.join(member),
            Step::DeleteMember(member) => self.member(member),
            Step::StartUp(start_up) => self.member(&start_up.cluster),
            Step::Apply(apply) => self.object(&apply.to, &apply.object),
            Step::Rejected(rejected) => self.object(&rejected.by, &rejected.object),
            Step::Delete(delete) => self.object(&delete.from, &delete.object),
            Step::Seen(seen) | Step::Unseen(seen) => self.object(&seen.place, &seen.object),
            Step::SeenFor(seen) | Step::UnseenFor(seen) => self.object(&seen.place, &seen.object),
            Step::Pods(pods) => self.pods(pods),
            Step::Silence(silence) => self.strikes(&silence.node, silence.alias.as_ref()),
            Step::ShutDown(stops) => self.strikes(&stops.node, stops.alias.as_ref()),
            Step::Condition(condition) => self.strikes(&condition.node, condition.alias.as_ref()),
            Step::Skew(skew) => self.skew(skew),
            Step::TaintedNodes(tainted) => self.tainted_nodes(tainted, step.location),
            expectation => self.expectation(expectation, step.location),
        }
    }

    /// Checks a step that waits for the state of a member or of a workload.
    fn expectation(&self, expectation: &Step, at: Location) -> ScenarioCheck {
        match expectation {
            Step::Settled(settled) => self.workload(&settled.workload),
            Step::Health(health) => self.member(&health.cluster),
            Step::Tainted(tainted) | Step::Untainted(tainted) => self.member(&tainted.cluster),
            Step::NotTainted(tainted) => self.member(&tainted.cluster),
            Step::Evicted(moved) | Step::Gone(moved) => {
                self.workload(&moved.workload)?;
                self.member(&moved.from)
            }
            Step::NotEvicted(stays) | Step::Kept(stays) => {
                self.workload(&stays.workload)?;
                self.member(&stays.on)
            }
            Step::Placed(placed) => self.placed(placed, at),
            Step::Ready(instance) => {
                self.workload(&instance.workload)?;
                self.member(&instance.on)
            }
            Step::TaskEnded(task) => {
                self.workload(&task.workload)?;
                self.member(&task.from)
            }
            Step::MemberGone(gone) => self.member(&gone.cluster),
            _ => Ok(()),
        }
    }

    /// Returns true if the members are nodes.
    pub(super) fn on_nodes(&self) -> bool {
        self.scenario.cluster.is_some()
    }

    /// Defines the name of a workload, which must be new.
    pub(super) fn name_workload(&mut self, new: &FileValue<String>) -> ScenarioCheck {
        name(new, "a workload's name")?;
        let Some(earlier) = self.workloads.insert(new.value.clone(), new.location) else { return Ok(()) };
        let line = earlier.line();
        wrong(new, format!("the workload `{}` exists already, in line {line}", new.value))
    }

    /// The names of the workloads so far.
    pub(super) fn workload_names(&self) -> impl Iterator<Item = &String> {
        self.workloads.keys()
    }

    fn new_workload(&mut self, workload: &Workload) -> ScenarioCheck {
        self.name_workload(&workload.name)?;
        if workload.cluster_scoped && workload.replicas.value > 0 {
            return wrong(
                &workload.replicas,
                "a cluster-scoped workload has no replicas: write `replicas: 0`",
            );
        }
        let policy = &workload.policy;
        let grouped = policy.groups.iter().flat_map(|group| &group.clusters);
        for cluster in policy.clusters.iter().flatten().chain(&policy.exclude).chain(grouped) {
            self.real_member(cluster, &cluster.value)?;
        }
        for (index, group) in policy.groups.iter().enumerate() {
            name(&group.name, "a group's name")?;
            if policy.groups[..index].iter().any(|other| other.name.value == group.name.value) {
                return wrong(&group.name, format!("the group `{}` exists already", group.name.value));
            }
            if policy.clusters.is_some() || !policy.exclude.is_empty() || !policy.fields.is_empty() {
                return wrong(
                    &group.name,
                    "`groups` cannot be combined with `clusters`, `exclude` or `fields`",
                );
            }
        }
        for (field, bounds) in policy.spread.bounds() {
            let (min, max) = (bounds.value.min, bounds.value.max);
            if max == 0 || min > max {
                return wrong(bounds, format!("no placement has at least {min} and at most {max} {field}s"));
            }
            if policy.spread.cluster.is_none() {
                return wrong(
                    bounds,
                    "a spread over regions, zones or providers also needs bounds for `cluster`",
                );
            }
        }
        if let Scheduling::Divided { weights } = &workload.policy.scheduling {
            if weights.value.is_empty() || weights.value.values().any(|weight| *weight == 0) {
                return wrong(
                    weights,
                    "there must be at least one weight, and every weight must be at least 1",
                );
            }
            for cluster in weights.value.keys() {
                self.real_member(weights, cluster)?;
            }
        }
        Ok(())
    }

    /// Checks the victims of a fault: one member, or the members of a domain, which must not be empty.
    pub(super) fn strikes(
        &mut self,
        victims: &FileValue<Victims>,
        alias: Option<&FileValue<String>>,
    ) -> ScenarioCheck {
        let members = match &victims.value {
            Victims::Member(member) => {
                return self.breaks(&victims.with(member.clone()), alias);
            }
            domain @ Victims::Domain(..) => self.domain(domain, victims)?,
        };
        if let Some(alias) = alias {
            return wrong(alias, "an alias stands for one member, and this step may strike several");
        }
        self.broken.extend(members.into_iter().map(MemberRef::Named));
        Ok(())
    }

    /// The members of a domain.
    pub(super) fn domain(&self, domain: &Victims, at: &FileValue<Victims>) -> Result<Vec<String>, Mistake> {
        let members = domain.of_domain(self.scenario).unwrap_or_default();
        if members.is_empty() {
            let whole =
                if self.scenario.cluster.is_some() { "node of this cluster" } else { "member of this fleet" };
            wrong(at, format!("no {whole} belongs to {domain}"))?;
        }
        Ok(members)
    }

    fn breaks(&mut self, member: &FileValue<MemberRef>, alias: Option<&FileValue<String>>) -> ScenarioCheck {
        self.member(member)?;
        self.alias(alias)?;
        self.broken.push(member.value.clone());
        self.broken.extend(alias.map(|alias| MemberRef::Named(alias.value.clone())));
        Ok(())
    }

    /// A member joins once at most, and by its own name: it cannot have the role of a member before.
    fn join(&mut self, member: &FileValue<MemberRef>) -> ScenarioCheck {
        self.member(member)?;
        let joins = matches!(&member.value, MemberRef::Named(name) if self.later.remove(name));
        if joins {
            return Ok(());
        }
        wrong(member, "`join` needs the name of a member that `later` lists, and that has not joined yet")
    }

    fn flap(&mut self, flap: &Flap) -> ScenarioCheck {
        if flap.times.value == 0 {
            return wrong(&flap.times, "`times` must be at least 1");
        }
        self.breaks(&flap.cluster, flap.alias.as_ref())
    }

    fn runs(&mut self, party: &FileValue<Component>, starts: bool) -> ScenarioCheck {
        if self.killed != starts {
            let message = if starts {
                "no earlier step kills the controllers"
            } else {
                "the controllers are dead already"
            };
            return wrong(party, message);
        }
        self.killed = !starts;
        Ok(())
    }

    /// A selector that was struck may mean any member, or any alias of one. Only the run can find out.
    fn heal(&self, victims: &FileValue<Victims>) -> ScenarioCheck {
        let member = match &victims.value {
            Victims::Member(member) => member.clone(),
            domain @ Victims::Domain(..) => {
                let members = self.domain(domain, victims)?;
                let broken = |name: &String| self.broken.contains(&MemberRef::Named(name.clone()));
                if members.iter().any(broken) {
                    return Ok(());
                }
                return wrong(victims, format!("no earlier step breaks a member of {domain}"));
            }
        };
        let member = &victims.with(member);
        self.member(member)?;
        let by_part = self.broken.iter().any(|broken| !self.is_real(broken));
        if self.broken.contains(&member.value) || (by_part && !self.broken.is_empty()) {
            return Ok(());
        }
        if !self.is_real(&member.value) && !self.broken.is_empty() {
            return Ok(());
        }
        wrong(member, format!("no earlier step breaks {}", member.value))
    }

    pub(super) fn has_zone(&self, zone: &str) -> bool {
        self.scenario.cluster.as_ref().is_some_and(|cluster| cluster.value.zones.contains_key(zone))
    }

    fn is_real(&self, member: &MemberRef) -> bool {
        matches!(member, MemberRef::Named(name) if self.members.contains(name))
    }

    fn placed(&self, placed: &Placed, step: Location) -> ScenarioCheck {
        self.workload(&placed.workload)?;
        match &placed.on {
            Some(PlacedOn::Members(members)) => members.iter().try_for_each(|member| self.member(member))?,
            Some(PlacedOn::Replicas(replicas)) => {
                replicas.iter().try_for_each(|(member, _)| self.named(member, &member.value))?;
            }
            None => {}
        }
        placed.including.iter().chain(&placed.excluding).try_for_each(|member| self.member(member))?;
        let says_nothing = placed.on.is_none() && placed.members.is_none();
        if says_nothing && placed.including.is_empty() && placed.excluding.is_empty() {
            let message = "give at least one of `on`, `members`, `including` and `excluding`".into();
            return Err(Mistake { location: step, message });
        }
        Ok(())
    }

    pub(super) fn object(&self, place: &FileValue<Place>, object: &FileValue<Manifest>) -> ScenarioCheck {
        if let Place::Member(member) = &place.value {
            if self.on_nodes() {
                return wrong(
                    place,
                    "a node has no API server: the objects of a cluster are in `controlPlane`",
                );
            }
            self.member(&place.with(member.clone()))?;
        }
        object.value.names().iter().try_for_each(|name| self.named(object, name))
    }

    fn alias(&mut self, alias: Option<&FileValue<String>>) -> ScenarioCheck {
        let Some(alias) = alias else { return Ok(()) };
        name(alias, "an alias")?;
        if self.members.contains(&alias.value) {
            return wrong(
                alias,
                format!("`{}` is the name of a member, and cannot be an alias", alias.value),
            );
        }
        if !self.aliases.insert(alias.value.clone()) {
            return wrong(alias, format!("an earlier step defines the alias `{}` already", alias.value));
        }
        Ok(())
    }

    pub(super) fn workload(&self, workload: &FileValue<String>) -> ScenarioCheck {
        if self.workloads.contains_key(&workload.value) {
            return Ok(());
        }
        let known = list(self.workloads.keys());
        wrong(workload, format!("no earlier step creates a workload `{}`{known}", workload.value))
    }

    pub(super) fn member(&self, member: &FileValue<MemberRef>) -> ScenarioCheck {
        match &member.value {
            MemberRef::Named(name) => self.named(member, name),
            MemberRef::Selected(selector) => {
                if selector.carrying.is_some() == selector.spare_for.is_some() {
                    return wrong(member, "give exactly one of `carrying` and `spareFor`");
                }
                let workload = selector.workload().to_owned();
                self.workload(&member.with(workload))
            }
        }
    }

    fn named<T>(&self, at: &FileValue<T>, name: &str) -> ScenarioCheck {
        if self.aliases.contains(name) { Ok(()) } else { self.real_member(at, name) }
    }

    fn real_member<T>(&self, at: &FileValue<T>, name: &str) -> ScenarioCheck {
        if self.members.contains(name) {
            return Ok(());
        }
        let aliases = list(self.aliases.iter());
        if self.scenario.cluster.is_some() {
            let nodes: Vec<&str> = self.members.iter().map(String::as_str).collect();
            let nodes = if nodes.len() > 20 { format!("{} nodes", nodes.len()) } else { nodes.join(", ") };
            return wrong(at, format!("there is no node `{name}` in this cluster ({nodes}){aliases}"));
        }
        let count = self.members.len();
        wrong(at, format!("there is no member `{name}` in this fleet of {count} (m1 to m{count}){aliases}"))
    }
}

/// The known names as the end of a message.
fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!("; known names: {}", names.join(", ")) }
}
