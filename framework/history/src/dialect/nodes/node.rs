//! Node: the health, the taints and the zone of a member.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;

use super::fold::{ObservedObject, time};
use crate::facts::{Change, Health, Member, Taint, TaintEffect, World, Zone};
use crate::format::{Field, Tree};

/// Returns the changes that this version of a Node makes.
pub(super) fn observe(world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
    let name = observed.name.to_string();
    if observed.gone {
        let Some(was) = world.members.remove(&name) else { return Vec::new() };
        world.count(&was, false);
        return vec![Change::MemberGone(name)];
    }
    world.strangers.remove(&name);
    let first = !world.members.contains_key(&name);
    let was = world
        .members
        .remove(&name)
        .unwrap_or_else(|| Member { health_since: world.now, ..Member::default() });
    if !first {
        world.count(&was, false);
    }
    let mut now = read(world, observed, &was, first);
    let mut changes = Vec::new();
    if now.health != was.health {
        (now.health_since, now.changed) = (world.now, world.now);
        if now.health == Some(Health::Ready) && was.health.is_some() {
            now.away = world.now.saturating_sub(was.health_since);
        }
    }
    if first || now.health != was.health {
        changes.push(Change::Health { member: name.clone(), was: was.health, now: now.health, first });
    }
    let missing = |from: &[Taint], taint: &Taint| !from.iter().any(|each| same(each, taint));
    for taint in was.taints.iter().filter(|taint| missing(&now.taints, taint)) {
        changes.push(Change::TaintRemoved { member: name.clone(), taint: taint.clone() });
    }
    if now.evicting_taints().next().is_none() && was.evicting_taints().next().is_some() {
        now.untainted = Some(world.now);
    }
    for taint in now.taints.iter().filter(|taint| missing(&was.taints, taint)) {
        changes.push(Change::TaintAdded { member: name.clone(), taint: taint.clone(), first });
    }
    if now.leaving && !was.leaving {
        changes.push(Change::MemberLeaving(name.clone()));
    }
    if first || now.conditions != was.conditions {
        changes.push(Change::Conditions(name.clone()));
    }
    if now.heartbeat != was.heartbeat && !first && speaks_itself(&now) {
        now.sign_of_life = Some(world.now);
        changes.push(Change::SignOfLife(name.clone()));
    }
    if first || (now.cordoned, &now.labels, &now.taints) != (was.cordoned, &was.labels, &was.taints) {
        now.changed = world.now;
        changes.push(Change::MemberChanged(name.clone()));
    }
    world.count(&now, true);
    world.members.insert(name, now);
    changes
}

fn read(world: &World, observed: &ObservedObject<'_>, was: &Member, first: bool) -> Member {
    let text = |value: &Tree<'_>| value.text().to_owned();
    let labels = observed.tree("metadata", "labels");
    let labels: BTreeMap<_, _> =
        labels.fields().iter().map(|(key, value)| (key.to_string(), text(value))).collect_sorted();
    let status = |condition: &Tree<'_>| Some((text(condition.get("type")?), text(&condition["status"])));
    let reason = |condition: &Tree<'_>| Some((text(condition.get("type")?), text(&condition["reason"])));
    let fields = fields(&labels);
    let zone = if first || fields != was.fields { zone(&fields) } else { was.zone.clone() };
    let heartbeat = observed.condition("Ready").map(|ready| text(&ready["lastHeartbeatTime"]));
    Member {
        record: Some(observed.witness.clone()),
        health: observed.condition("Ready").map(|ready| health(ready["status"].text())),
        taints: taints(world, observed, &was.taints, first),
        leaving: observed.field("metadata", "deletionTimestamp").is_some(),
        pulls: true,
        fields,
        zone,
        counts: !labels.contains_key(EXCLUDED),
        conditions: observed.conditions().iter().filter_map(status).collect_sorted(),
        reasons: observed.conditions().iter().filter_map(reason).collect_sorted(),
        created: capsize_clock::parse_time(&observed.text("metadata", "creationTimestamp")),
        cordoned: observed.field("spec", "unschedulable").is_some_and(Field::is_true),
        heartbeat: heartbeat.unwrap_or_default(),
        labels,
        ..was.clone()
    }
}

/// Whether the kubelet has set the status, because a kubelet never reports `Unknown`.
fn speaks_itself(member: &Member) -> bool {
    matches!(member.health, Some(Health::Ready | Health::NotReady))
}

fn health(status: &str) -> Health {
    match status {
        "True" => Health::Ready,
        "False" => Health::NotReady,
        _ => Health::Unknown,
    }
}

/// The region and the zone of a node. The older one of the two labels counts first.
fn fields(labels: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let field = |name: &str| {
        let (old, new) =
            (format!("failure-domain.beta.kubernetes.io/{name}"), format!("topology.kubernetes.io/{name}"));
        let value =
            [old, new].iter().find_map(|key| labels.get(key).filter(|value| !value.is_empty()).cloned());
        (name.to_owned(), value.into_iter().collect())
    };
    ["region", "zone"].map(field).into()
}

/// The label that excludes a node from the count of its zone.
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// Region and zone in one text; either may be empty.
fn zone(fields: &BTreeMap<String, Vec<String>>) -> Zone {
    let value = |name: &str| fields.get(name).and_then(|values| values.first()).map_or("", String::as_str);
    format!("{}\0{}", value("region"), value("zone")).into()
}

/// Returns true if two taints have the same key, value, effect and time.
/// A taint that was removed and added again between two observations is a new taint, so that the times are compared. A
/// toleration may depend on the value, so that the values are compared, too.
fn same(one: &Taint, other: &Taint) -> bool {
    (&one.key, &one.value, one.effect, one.time_added)
        == (&other.key, &other.value, other.effect, other.time_added)
}

fn taints(world: &World, observed: &ObservedObject<'_>, was: &[Taint], inherited: bool) -> Vec<Taint> {
    let read = |value: &Tree<'_>| {
        let text = |key: &str| value[key].text().to_owned();
        let taint = Taint {
            key: text("key"),
            value: text("value"),
            effect: effect(&text("effect"))?,
            health: health_of_taint(&text("key")),
            time_added: time(&value["timeAdded"]),
            // A taint without a time begins when it is first observed.
            ages: true,
            seen: world.now,
            inherited,
        };
        let known = was.iter().find(|each| same(each, &taint));
        Some(known.cloned().unwrap_or(taint))
    };
    observed.tree("spec", "taints").items().iter().filter_map(read).collect()
}

/// The health that a taint with this key stands for.
fn health_of_taint(key: &str) -> Option<Health> {
    match key {
        "node.kubernetes.io/not-ready" => Some(Health::NotReady),
        "node.kubernetes.io/unreachable" => Some(Health::Unknown),
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
