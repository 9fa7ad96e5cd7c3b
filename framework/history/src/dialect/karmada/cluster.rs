//! Cluster: the health, the taints and the location of a member.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capsize_sorted::CollectSorted;

use super::observed_object::{LastDigest, ObservedObject, conditions, list, replace, text, time_in, value};
use super::works::EXECUTION_NAMESPACE;
use crate::dialect::changes::{health_changed, is_another, remember_uid, same_taint, tainted};
use crate::dialect::digest::digest;
use crate::dialect::quantity::quantities;
use crate::facts::{Change, Health, Member, Taint, TaintEffect, World};
use crate::format::digest::Table;
use crate::format::{CONTROL_PLANE, Field, Tree};

/// How many different statuses of members are remembered.
const REMEMBERED: usize = 1024;

/// The latest version of each Cluster.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    last: Table<String, ClusterFields>,
    shared: SharedReports,
}

#[derive(Debug, Default)]
struct ClusterFields {
    uid: String,
    spec: LastDigest,
    /// A digest of the specification that does not depend on its notation.
    specified: Option<u64>,
    taints: LastDigest,
    labels: LastDigest,
    status: LastDigest,
    conditions: LastDigest,
    remedies: LastDigest,
    enablements: LastDigest,
    resources: LastDigest,
}

/// Marks a new member as closed while its execution namespace is missing.
/// The namespace comes late while requests fail.
fn close_without_namespace(world: &mut World, member: &str, now: Duration) {
    if world.is_hindered(now) && lacks_execution_namespace(world, member) {
        world.closed.fail(&member.to_owned(), now);
    }
}

/// Whether the namespace for the manifests of a member is absent. A history may leave out namespaces.
fn lacks_execution_namespace(world: &World, member: &str) -> bool {
    let mut recorded =
        world.namespaces.keys().filter_map(|name| name.strip_prefix(EXECUTION_NAMESPACE)).peekable();
    recorded.peek().is_some() && !recorded.any(|owner| owner == member)
}

/// The parts of reports that are large and the same for most members.
#[derive(Debug, Default)]
struct SharedReports {
    digests: Table<u64, u64>,
    enablements: LastDigest,
    serves: Option<Arc<BTreeSet<String>>>,
}

impl Clusters {
    /// Returns the changes that this version of a Cluster makes.
    pub(super) fn observe(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
        let (name, now) = (&*observed.name, world.now);
        if observed.gone {
            return self.forget(world, name).into_iter().collect();
        }
        let mut changes: Vec<Change> = self.forget_replaced(world, observed).into_iter().collect();
        let first = !self.last.contains_key(name);
        if first {
            close_without_namespace(world, name, now);
        }
        let last = self.last.entry(name.to_owned()).or_default();
        remember_uid(&mut last.uid, &text(observed.metadata("uid")));
        let member = world.members.entry(name.to_owned()).or_default();
        member.record = Some(observed.witness.clone());
        let status_changed = last.status.differs(observed.object.whole("status"));
        let (was, conditions_changed) =
            (member.health, status_changed && last.read_conditions(member, observed));
        if first || member.health != was {
            changes.push(health_changed(name, member, was, now, first));
        }
        let (mut moved, mut relabelled) = (false, false);
        let spec = observed.object.whole("spec");
        let respecified = last.spec.differs(spec);
        // Another notation of the same specification is no change.
        let specified = respecified && replace(&mut last.specified, spec.map(|spec| digest(&spec.tree())));
        if respecified {
            relabelled = read_fields(member, observed);
            moved = relabelled;
            moved |= last.read_spec(member, observed, now, first, &mut changes);
        }
        if observed.leaving && !member.leaving {
            changes.push(Change::MemberLeaving(name.to_owned()));
        }
        let leaves = replace(&mut member.leaving, observed.leaving);
        moved |= leaves;
        moved |= replace(&mut member.held_up, observed.is_held_up());
        if first || conditions_changed {
            changes.push(Change::Conditions(name.to_owned()));
        }
        let digest = if status_changed { self.shared.digest(observed) } else { member.status_digest };
        let reported =
            respecified || conditions_changed || member.health != was || member.status_digest != digest;
        if status_changed && last.remedies.differs(observed.status("remedyActions")) {
            read_remedies(member, observed, reported.then_some(now));
        }
        if std::mem::replace(&mut member.status_digest, digest) != digest && !first {
            changes.push(Change::MemberReported { member: name.to_owned(), was });
        }
        if status_changed
            && last.enablements.differs(observed.status("apiEnablements"))
            && replace(&mut member.serves, self.shared.serves(observed))
        {
            moved = true;
            member.kinds_since = if first { Duration::ZERO } else { now };
        }
        let measured = status_changed
            && last.resources.differs(observed.status("resourceSummary"))
            && read_room(member, observed);
        if last.labels.differs(observed.metadata("labels")) && replace(&mut member.labels, labels(observed)) {
            (moved, relabelled) = (true, true);
        }
        member.status_only = !(first || specified || relabelled || leaves);
        let set = |time: &mut Duration, changed: bool| *time = if changed { now } else { *time };
        set(&mut member.relabelled, relabelled && !first);
        set(&mut member.measured, first || measured);
        set(&mut member.changed, first || moved);
        if first || moved || measured {
            changes.push(Change::MemberChanged(name.to_owned()));
        }
        changes
    }

    fn forget(&mut self, world: &mut World, name: &str) -> Option<Change> {
        self.last.swap_remove(name);
        world.members.remove(name).map(|_| Change::MemberGone(name.to_owned()))
    }

    /// Forgets a Cluster that another Cluster with the same name replaced during a silence of the recorder.
    /// Without a silence, the history has the end of the old Cluster, and a uid that changes means nothing.
    fn forget_replaced(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Option<Change> {
        let (name, uid) = (&*observed.name, text(observed.metadata("uid")));
        let replaced = is_another(&uid, &self.last.get(name)?.uid)
            && world.observers.is_in_gap(CONTROL_PLANE, world.now);
        replaced.then(|| self.forget(world, name)).flatten()
    }
}

/// Reads the remedy actions. `reported` is the time of a report that may not drop earlier actions.
fn read_remedies(member: &mut Member, observed: &ObservedObject<'_>, reported: Option<Duration>) {
    let remedies = list(observed.status("remedyActions"));
    let remedies: BTreeSet<String> =
        remedies.iter().filter_map(Tree::as_str).map(str::to_owned).collect_sorted();
    if reported.is_some() && !member.remedies.is_subset(&remedies) {
        member.remedies_lost = reported;
    }
    member.remedies = remedies;
}

/// Reads the free resources, and returns whether they have changed.
fn read_room(member: &mut Member, observed: &ObservedObject<'_>) -> bool {
    let summary = observed.status("resourceSummary").map(Field::tree);
    member.modelled = summary.as_ref().is_some_and(|summary| summary["allocatableModelings"].is_list());
    replace(&mut member.free, summary.as_ref().map(free))
}

impl ClusterFields {
    /// Reads how the control plane reaches the member, and the taints. Returns true if a taint has changed.
    fn read_spec(
        &mut self,
        member: &mut Member,
        observed: &ObservedObject<'_>,
        now: Duration,
        first: bool,
        changes: &mut Vec<Change>,
    ) -> bool {
        let name = &*observed.name;
        member.pulls = text(observed.spec("syncMode")) == "Pull";
        if replace(&mut member.access, access(observed)) && !first {
            changes.push(Change::Access(name.to_owned()));
        }
        if !self.taints.differs(observed.spec("taints")) {
            return false;
        }
        let taints = taints(now, &list(observed.spec("taints")), &member.taints, first);
        let moved = member.taints != taints;
        changes.extend(tainted(name, member, taints, now, first));
        moved
    }

    /// Reads the conditions and the health, and returns whether any condition has changed.
    fn read_conditions(&mut self, member: &mut Member, observed: &ObservedObject<'_>) -> bool {
        if !self.conditions.differs(observed.status("conditions")) {
            return false;
        }
        member.health = health(observed.conditions());
        replace(&mut member.conditions, conditions(observed.conditions()))
    }
}

impl SharedReports {
    /// A digest of the status without its conditions and its remedy actions.
    fn digest(&mut self, observed: &ObservedObject<'_>) -> u64 {
        if self.digests.len() > REMEMBERED {
            self.digests.clear();
        }
        let fields = observed.object.fields("status");
        let reported = fields.filter(|(name, _)| *name != "conditions" && *name != "remedyActions");
        let one = |name: &str, field: Field<'_>| {
            digest(&field.tree()).wrapping_mul(digest(&Tree::Text(name.into())) | 1)
        };
        reported.fold(0, |sum, (name, field)| {
            let digest = self.digests.entry(field.digest()).or_insert_with(|| one(name, field));
            digest.wrapping_add(sum)
        })
    }

    /// The kinds that the API of the member serves.
    fn serves(&mut self, observed: &ObservedObject<'_>) -> Option<Arc<BTreeSet<String>>> {
        let field = observed.status("apiEnablements")?;
        if self.enablements.differs(Some(field)) {
            self.serves = serves(&field.tree());
        }
        self.serves.clone()
    }
}

fn serves(enablements: &Tree<'_>) -> Option<Arc<BTreeSet<String>>> {
    let kinds = enablements.items().iter().flat_map(|group| {
        let version = group["groupVersion"].text();
        let resources = group["resources"].items().iter();
        resources.filter_map(move |resource| Some(format!("{version}/{}", resource["kind"].as_str()?)))
    });
    enablements.is_list().then(|| Arc::new(kinds.collect_sorted()))
}

/// A digest of the way in which the control plane reaches the member.
fn access(observed: &ObservedObject<'_>) -> u64 {
    let access = ["apiEndpoint", "secretRef"].into_iter().filter_map(|name| observed.spec(name));
    access.map(|field| digest(&field.tree())).fold(0, u64::wrapping_add)
}

/// The resources of the member that are neither allocated nor being allocated.
fn free(summary: &Tree<'_>) -> Arc<BTreeMap<String, u64>> {
    let mut free = quantities(&summary["allocatable"]);
    for taken in ["allocated", "allocating"] {
        for (resource, amount) in quantities(&summary[taken]) {
            free.entry(resource).and_modify(|left| *left = left.saturating_sub(amount));
        }
    }
    Arc::new(free)
}

/// The status of the condition `Ready`; `None` if it was never reported.
fn health(conditions: &[Tree<'_>]) -> Option<Health> {
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
    Some(match ready["status"].as_str()? {
        "True" => Health::Ready,
        "False" => Health::NotReady,
        _ => Health::Unknown,
    })
}

fn taints(now: Duration, taints: &[Tree<'_>], was: &[Taint], inherited: bool) -> Vec<Taint> {
    let read = |value: &Tree<'_>| {
        let text = |key: &str| value[key].text().to_owned();
        let taint = Taint {
            key: text("key"),
            value: text("value"),
            effect: effect(value["effect"].as_str()?)?,
            health: health_of_taint(value["key"].as_str()?),
            time_added: time_in(&value["timeAdded"]),
            ages: time_in(&value["timeAdded"]).is_some(),
            seen: now,
            inherited,
        };
        let known = was.iter().find(|each| same_taint(each, &taint));
        Some(known.map_or(taint.clone(), |known| Taint { value: taint.value, ..known.clone() }))
    };
    taints.iter().filter_map(read).collect()
}

/// The health that a taint with this key stands for.
fn health_of_taint(key: &str) -> Option<Health> {
    match key {
        "cluster.karmada.io/not-ready" => Some(Health::NotReady),
        "cluster.karmada.io/unreachable" => Some(Health::Unknown),
        _ => None,
    }
}

/// The effect with this name.
pub(super) fn effect(name: &str) -> Option<TaintEffect> {
    Some(match name {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return None,
    })
}

fn labels(observed: &ObservedObject<'_>) -> BTreeMap<String, String> {
    let labels = value(observed.metadata("labels"));
    labels.fields().iter().map(|(key, value)| (key.to_string(), value.text().to_owned())).collect_sorted()
}

/// Reads `provider`, `region` and `zone`, and returns whether any of them has changed.
/// The list `zones` counts before the older field `zone`.
fn read_fields(member: &mut Member, observed: &ObservedObject<'_>) -> bool {
    let one = |name: &str| match &*text(observed.spec(name)) {
        "" => Vec::new(),
        text => vec![text.to_owned()],
    };
    let zones = list(observed.spec("zones"));
    let zones: Vec<_> = zones.iter().filter_map(Tree::as_str).map(str::to_owned).collect();
    let is_older = zones.is_empty();
    let zones = if is_older { one("zone") } else { zones };
    let in_older_field = is_older && !zones.is_empty();
    let fields = [("provider", one("provider")), ("region", one("region")), ("zone", zones)];
    let fields = fields.into_iter().map(|(name, values)| (name.to_owned(), values)).collect_sorted();
    replace(&mut member.fields, fields) | replace(&mut member.zone_in_older_field, in_older_field)
}
