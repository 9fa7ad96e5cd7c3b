//! What the YAML types cannot say: that names are known, that numbers make sense, that what is healed was broken.

use std::collections::{BTreeMap, BTreeSet};

use serde_saphyr::{Location, Spanned};

use super::check_cluster::{check_cluster, fits};
use super::check_fault_windows::possible;
use super::document::{FleetShape, Scenario, Scheduling, Workload};
use super::expectations::{Placed, PlacedOn};
use super::member_ref::{MemberRef, Victims};
use super::object::{Manifest, Place};
use super::step::{Component, Flap, Step};
use super::time::Length;
use capsize_judge::profile::{Feature, Timings};

/// A mistake and its place.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) location: Location,
    pub(super) message: String,
}

pub(super) type Checked = Result<(), Mistake>;

pub(super) fn wrong<T>(at: &Spanned<T>, message: impl Into<String>) -> Checked {
    Err(Mistake { location: at.referenced, message: message.into() })
}

/// More members than any fleet or cluster that is run in one process.
pub(super) const MOST_MEMBERS: usize = 5000;

/// More nodes than a simulated member can be meant to have.
const MOST_NODES: usize = 1000;

/// Checks the whole scenario; the first mistake in the order of the file is told.
pub(super) fn check(scenario: &Scenario) -> Checked {
    name(&scenario.scenario, "a scenario's name")?;
    let (members, said) = (&scenario.fleet.members, scenario.fleet.members.referenced != Location::UNKNOWN);
    match &scenario.cluster {
        Some(cluster) if said => return wrong(cluster, "say one of `fleet` and `cluster`"),
        Some(cluster) => check_cluster(cluster)?,
        None if !said => return wrong(&scenario.scenario, "say what it runs on: `fleet` or `cluster`"),
        None if members.value == 0 || members.value > MOST_MEMBERS => {
            return wrong(members, format!("a fleet has 1 to {MOST_MEMBERS} members, not {}", members.value));
        }
        None => {}
    }
    if scenario.steps().next().is_none() {
        return wrong(&scenario.scenario, "this scenario has no steps");
    }
    check_fleet(&scenario.fleet)?;
    check_timings(scenario)?;
    if let (Some(member), false) =
        (scenario.fleet.pull.first(), scenario.features.contains(&Feature::PullMembers))
    {
        return wrong(member, "a fleet with such members needs the feature PullMembers");
    }
    let mut scope = Scope::of(scenario);
    scenario.steps().try_for_each(|step| scope.step(step))
}

/// What is said of single members is said of members of the fleet.
fn check_fleet(fleet: &FleetShape) -> Checked {
    let members: BTreeSet<String> = fleet.names().collect();
    let unknown = |name: &String| format!("there is no member `{name}` in this fleet of {}", members.len());
    if let Some(member) = fleet.pull.iter().find(|member| !members.contains(&member.value)) {
        return wrong(member, unknown(&member.value));
    }
    let mut places = fleet.regions.iter().chain(&fleet.zones).chain(&fleet.providers);
    if let Some((member, place)) = places.find(|(member, _)| !members.contains(*member)) {
        return wrong(place, unknown(member));
    }
    for (member, nodes) in &fleet.nodes {
        if !members.contains(member) {
            return wrong(nodes, unknown(member));
        }
        if nodes.value > MOST_NODES {
            return wrong(nodes, format!("a member has at most {MOST_NODES} nodes, not {}", nodes.value));
        }
    }
    Ok(())
}

/// What a scenario may set is what a target is set to; how fast it is on top of that is not a setting.
fn check_timings(scenario: &Scenario) -> Checked {
    let settings: Vec<&str> =
        Timings::NAMES.iter().copied().filter(|name| Timings::is_setting(name)).collect();
    for (name, length) in &scenario.timings {
        if !settings.contains(&name.as_str()) {
            return wrong(length, format!("`{name}` cannot be set; what can is {}", settings.join(", ")));
        }
        if !matches!(length.value, Length::Fixed(_)) {
            return wrong(length, format!("`{name}` is set to a length of time, as `30s`"));
        }
    }
    Ok(())
}

/// Names go into objects and file names.
pub(super) fn name(name: &Spanned<String>, what: &str) -> Checked {
    let text = &name.value;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edges = text.starts_with('-') || text.ends_with('-');
    if text.is_empty() || text.len() > 63 || edges || !text.chars().all(allowed) {
        return wrong(
            name,
            format!("{what} is made of a-z, 0-9 and `-`, at most 63 of them, and `{text}` is not"),
        );
    }
    Ok(())
}

/// What the steps so far have defined.
pub(super) struct Scope<'a> {
    scenario: &'a Scenario,
    pub(super) members: BTreeSet<String>,
    aliases: BTreeSet<String>,
    workloads: BTreeMap<String, Location>,
    broken: Vec<MemberRef>,
    /// Whether the controllers are dead.
    pub(super) killed: bool,
}

impl<'a> Scope<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            members: scenario.members().into_iter().collect(),
            aliases: BTreeSet::new(),
            workloads: BTreeMap::new(),
            broken: Vec::new(),
            killed: false,
        }
    }

    fn step(&mut self, step: &Spanned<Step>) -> Checked {
        fits(step, self.on_nodes())?;
        match &step.value {
            Step::Workload(workload) => self.new_workload(workload),
            Step::Scale(scale) => self.workload(&scale.workload),
            Step::Override(step) => {
                self.workload(&step.workload)?;
                step.clusters.iter().try_for_each(|cluster| self.member(cluster))
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
            Step::Wait(_) | Step::Calm(_) => Ok(()),
            Step::Taint(taint) | Step::Untaint(taint) => {
                self.member(&taint.cluster)?;
                self.alias(taint.alias.as_ref())
            }
            Step::DeleteMember(member) => self.member(member),
            Step::StartUp(start_up) => self.member(&start_up.cluster),
            Step::Apply(apply) => self.object(&apply.to, &apply.object),
            Step::Delete(delete) => self.object(&delete.from, &delete.object),
            Step::Seen(seen) | Step::Unseen(seen) => self.object(&seen.place, &seen.object),
            Step::SeenFor(seen) | Step::UnseenFor(seen) => self.object(&seen.place, &seen.object),
            Step::Pods(pods) => self.pods(pods),
            Step::Silence(silence) => self.strikes(&silence.node, silence.alias.as_ref()),
            Step::Condition(condition) => self.strikes(&condition.node, condition.alias.as_ref()),
            Step::Skew(skew) => self.skew(skew),
            Step::TaintedNodes(tainted) => self.tainted_nodes(tainted, step.referenced),
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
            Step::Placed(placed) => self.placed(placed, step.referenced),
            Step::Ready(instance) => {
                self.workload(&instance.workload)?;
                self.member(&instance.on)
            }
            Step::TaskEnded(task) => {
                self.workload(&task.workload)?;
                self.member(&task.from)
            }
            Step::MemberGone(gone) => self.member(&gone.cluster),
        }
    }

    /// Whether the members are nodes.
    pub(super) fn on_nodes(&self) -> bool {
        self.scenario.cluster.is_some()
    }

    /// A name that is new.
    pub(super) fn name_workload(&mut self, new: &Spanned<String>) -> Checked {
        name(new, "a workload's name")?;
        let Some(earlier) = self.workloads.insert(new.value.clone(), new.referenced) else { return Ok(()) };
        let line = earlier.line();
        wrong(new, format!("there is a workload `{}` already, in line {line}", new.value))
    }

    /// The names of the workloads so far.
    pub(super) fn workload_names(&self) -> impl Iterator<Item = &String> {
        self.workloads.keys()
    }

    fn new_workload(&mut self, workload: &Workload) -> Checked {
        self.name_workload(&workload.name)?;
        if workload.cluster_scoped && workload.replicas.value > 0 {
            return wrong(&workload.replicas, "what belongs to no namespace has no replicas");
        }
        let policy = &workload.policy;
        let grouped = policy.groups.iter().flat_map(|group| &group.clusters);
        for cluster in policy.clusters.iter().flatten().chain(&policy.exclude).chain(grouped) {
            self.real_member(cluster, &cluster.value)?;
        }
        for (index, group) in policy.groups.iter().enumerate() {
            name(&group.name, "a group's name")?;
            if policy.groups[..index].iter().any(|other| other.name.value == group.name.value) {
                return wrong(&group.name, format!("there is a group `{}` already", group.name.value));
            }
            if policy.clusters.is_some() || !policy.exclude.is_empty() || !policy.fields.is_empty() {
                return wrong(&group.name, "`groups` are in the place of `clusters`, `exclude` and `fields`");
            }
        }
        for (field, bounds) in policy.spread.bounds() {
            let (min, max) = (bounds.value.min, bounds.value.max);
            if max == 0 || min > max {
                return wrong(bounds, format!("no placement has at least {min} and at most {max} {field}s"));
            }
            if policy.spread.cluster.is_none() {
                return wrong(bounds, "to spread over groups, say over how many clusters too");
            }
        }
        if let Scheduling::Divided { weights } = &workload.policy.scheduling {
            if weights.value.is_empty() || weights.value.values().any(|weight| *weight == 0) {
                return wrong(weights, "weights are at least 1, and there is at least one of them");
            }
            for cluster in weights.value.keys() {
                self.real_member(weights, cluster)?;
            }
        }
        Ok(())
    }

    /// One member, or all those of a domain, which has some.
    pub(super) fn strikes(&mut self, victims: &Spanned<Victims>, alias: Option<&Spanned<String>>) -> Checked {
        let members = match &victims.value {
            Victims::Member(member) => {
                return self
                    .breaks(&Spanned::new(member.clone(), victims.referenced, victims.defined), alias);
            }
            domain @ Victims::Domain(..) => self.domain(domain, victims)?,
        };
        if let Some(alias) = alias {
            return wrong(alias, "an alias names one member, and this step may strike several");
        }
        self.broken.extend(members.into_iter().map(MemberRef::Named));
        Ok(())
    }

    /// The members of a domain.
    pub(super) fn domain(&self, domain: &Victims, at: &Spanned<Victims>) -> Result<Vec<String>, Mistake> {
        let members = domain.of_domain(self.scenario).unwrap_or_default();
        if members.is_empty() {
            let whole =
                if self.scenario.cluster.is_some() { "node of this cluster" } else { "member of this fleet" };
            wrong(at, format!("no {whole} is in it: {domain}"))?;
        }
        Ok(members)
    }

    fn breaks(&mut self, member: &Spanned<MemberRef>, alias: Option<&Spanned<String>>) -> Checked {
        self.member(member)?;
        self.alias(alias)?;
        self.broken.push(member.value.clone());
        self.broken.extend(alias.map(|alias| MemberRef::Named(alias.value.clone())));
        Ok(())
    }

    fn flap(&mut self, flap: &Flap) -> Checked {
        if flap.times.value == 0 {
            return wrong(&flap.times, "a member flaps at least once");
        }
        self.breaks(&flap.cluster, flap.alias.as_ref())
    }

    fn runs(&mut self, party: &Spanned<Component>, starts: bool) -> Checked {
        if self.killed != starts {
            let message = if starts { "nothing has killed them before" } else { "they are dead already" };
            return wrong(party, message);
        }
        self.killed = !starts;
        Ok(())
    }

    /// A part that was broken may turn out to be any member, or any alias of one; only the run can tell.
    fn heal(&self, victims: &Spanned<Victims>) -> Checked {
        let member = match &victims.value {
            Victims::Member(member) => member.clone(),
            domain @ Victims::Domain(..) => {
                let members = self.domain(domain, victims)?;
                let broken = |name: &String| self.broken.contains(&MemberRef::Named(name.clone()));
                if members.iter().any(broken) {
                    return Ok(());
                }
                return wrong(victims, format!("nothing has broken {domain} before this step"));
            }
        };
        let member = &Spanned::new(member, victims.referenced, victims.defined);
        self.member(member)?;
        let by_part = self.broken.iter().any(|broken| !self.is_real(broken));
        if self.broken.contains(&member.value) || (by_part && !self.broken.is_empty()) {
            return Ok(());
        }
        if !self.is_real(&member.value) && !self.broken.is_empty() {
            return Ok(());
        }
        wrong(member, format!("nothing has broken {} before this step", member.value))
    }

    pub(super) fn has_zone(&self, zone: &str) -> bool {
        self.scenario.cluster.as_ref().is_some_and(|cluster| cluster.value.zones.contains_key(zone))
    }

    fn is_real(&self, member: &MemberRef) -> bool {
        matches!(member, MemberRef::Named(name) if self.members.contains(name))
    }

    fn placed(&self, placed: &Placed, step: Location) -> Checked {
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
            let message = "say where: `on`, `members`, `including` or `excluding`".into();
            return Err(Mistake { location: step, message });
        }
        Ok(())
    }

    pub(super) fn object(&self, place: &Spanned<Place>, object: &Spanned<Manifest>) -> Checked {
        if let Place::Member(member) = &place.value {
            if self.on_nodes() {
                return wrong(place, "a node has no API: objects of a cluster are in `controlPlane`");
            }
            self.member(&Spanned::new(member.clone(), place.referenced, place.defined))?;
        }
        object.value.names().iter().try_for_each(|name| self.named(object, name))
    }

    fn alias(&mut self, alias: Option<&Spanned<String>>) -> Checked {
        let Some(alias) = alias else { return Ok(()) };
        name(alias, "an alias")?;
        if self.members.contains(&alias.value) {
            return wrong(
                alias,
                format!("`{}` is the name of a member, and cannot be an alias", alias.value),
            );
        }
        if !self.aliases.insert(alias.value.clone()) {
            return wrong(alias, format!("the alias `{}` is taken by an earlier step", alias.value));
        }
        Ok(())
    }

    pub(super) fn workload(&self, workload: &Spanned<String>) -> Checked {
        if self.workloads.contains_key(&workload.value) {
            return Ok(());
        }
        let known = list(self.workloads.keys());
        wrong(workload, format!("no step before this makes a workload `{}`{known}", workload.value))
    }

    pub(super) fn member(&self, member: &Spanned<MemberRef>) -> Checked {
        match &member.value {
            MemberRef::Named(name) => self.named(member, name),
            MemberRef::Selected(selector) => {
                if selector.carrying.is_some() == selector.spare_for.is_some() {
                    return wrong(member, "say one of `carrying` and `spareFor`");
                }
                let workload = selector.workload().to_owned();
                self.workload(&Spanned::new(workload, member.referenced, member.defined))
            }
        }
    }

    fn named<T>(&self, at: &Spanned<T>, name: &str) -> Checked {
        if self.aliases.contains(name) { Ok(()) } else { self.real_member(at, name) }
    }

    fn real_member<T>(&self, at: &Spanned<T>, name: &str) -> Checked {
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

/// What is known, to be put at the end of a sentence.
fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!("; known here: {}", names.join(", ")) }
}
