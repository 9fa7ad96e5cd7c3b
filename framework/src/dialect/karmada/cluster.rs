//! Cluster: a member's health, taints and place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::digest::digest;
use super::fold::{Seen, conditions, time};
use super::quantity::quantities;
use crate::facts::{Health, Member, News, Taint, TaintEffect, World};

/// What this version of a Cluster changes.
pub(super) fn observe(world: &mut World, seen: &Seen<'_>) -> Vec<News> {
    let name = seen.name.to_owned();
    if seen.gone {
        return world.members.remove(&name).map(|_| News::MemberGone(name)).into_iter().collect();
    }
    let (first, was) = match world.members.get(&name) {
        Some(member) => (false, member.clone()),
        None => (true, Member { health_since: world.now, ..Member::default() }),
    };
    let health = health(seen);
    let mut now = Member {
        record: Some(seen.witness.clone()),
        health,
        health_since: if health == was.health { was.health_since } else { world.now },
        taints: taints(world, seen, &was.taints, first),
        leaving: seen.leaving,
        pulls: seen.text("/spec/syncMode") == "Pull",
        tainted_by_hand: was.tainted_by_hand,
        untainted: was.untainted,
        labels: labels(seen),
        fields: fields(seen),
        conditions: conditions(seen),
        serves: was.serves.clone(),
        free: was.free.clone(),
        told: told(seen),
        changed: was.changed,
        away: was.away,
    };
    if first || now.told != was.told {
        now.serves = serves(seen);
        now.free = free(seen);
    }
    if now.health == Some(Health::Ready) && was.health.is_some_and(|was| was != Health::Ready) {
        now.away = world.now.saturating_sub(was.health_since);
    }
    let mut news = Vec::new();
    if first || health != was.health {
        news.push(News::Health { member: name.clone(), was: was.health, now: health, first });
    }
    let missing = |from: &[Taint], taint: &Taint| !from.iter().any(|each| same(each, taint));
    for taint in was.taints.iter().filter(|taint| missing(&now.taints, taint)) {
        news.push(News::TaintRemoved { member: name.clone(), taint: taint.clone() });
    }
    if now.evicting_taints().next().is_none() && was.evicting_taints().next().is_some() {
        now.untainted = Some(world.now);
    }
    for taint in now.taints.iter().filter(|taint| missing(&was.taints, taint)) {
        news.push(News::TaintAdded { member: name.clone(), taint: taint.clone(), first });
    }
    if now.leaving && !was.leaving {
        news.push(News::MemberLeaving(name.clone()));
    }
    news.extend(changes(&name, &was, &mut now, first, world));
    world.members.insert(name, now);
    news
}

/// What changed beside health and taints.
fn changes(name: &str, was: &Member, now: &mut Member, first: bool, world: &World) -> Vec<News> {
    let mut news = Vec::new();
    if first || now.conditions != was.conditions {
        news.push(News::Conditions(name.to_owned()));
    }
    if !first && now.told != was.told {
        news.push(News::MemberTold { member: name.to_owned(), was: was.health });
    }
    let place = |member: &Member| (member.leaving, member.serves.clone(), member.free.clone());
    let same_place = place(was) == place(now) && was.labels == now.labels && was.fields == now.fields;
    if first || !same_place || was.taints != now.taints {
        now.changed = world.now;
        news.push(News::MemberChanged(name.to_owned()));
    }
    news
}

/// Stands for the status but for its conditions, and but for what is to be done about them.
fn told(seen: &Seen<'_>) -> u64 {
    let fields = seen.object.get("status").and_then(Value::as_object).into_iter().flatten();
    let told = fields.filter(|(field, _)| *field != "conditions" && *field != "remedyActions");
    told.fold(0, |sum, (field, value)| {
        digest(value).wrapping_mul(digest(&Value::from(field.as_str())) | 1).wrapping_add(sum)
    })
}

/// The kinds that the API of the member serves.
fn serves(seen: &Seen<'_>) -> Option<Arc<BTreeSet<String>>> {
    let groups = seen.object.pointer("/status/apiEnablements")?.as_array()?;
    let kinds = groups.iter().flat_map(|group| {
        let version = group["groupVersion"].as_str().unwrap_or_default();
        let resources = group["resources"].as_array().into_iter().flatten();
        resources.filter_map(move |resource| Some(format!("{version}/{}", resource["kind"].as_str()?)))
    });
    Some(Arc::new(kinds.collect()))
}

/// What the member has, without what is taken and what is asked for.
fn free(seen: &Seen<'_>) -> Option<Arc<BTreeMap<String, u64>>> {
    let summary = seen.object.pointer("/status/resourceSummary")?;
    let mut free = quantities(summary.get("allocatable"));
    for taken in ["allocated", "allocating"] {
        for (resource, amount) in quantities(summary.get(taken)) {
            free.entry(resource).and_modify(|left| *left = left.saturating_sub(amount));
        }
    }
    Some(Arc::new(free))
}

/// The condition `Ready`; `None` where it was never reported.
fn health(seen: &Seen<'_>) -> Option<Health> {
    let ready = seen.list("/status/conditions").iter().find(|condition| condition["type"] == "Ready")?;
    Some(match ready["status"].as_str()? {
        "True" => Health::Ready,
        "False" => Health::NotReady,
        _ => Health::Unknown,
    })
}

/// A taint that was taken off and put on again between two observations is another one, as its time says.
fn same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect && one.time_added == other.time_added
}

fn taints(world: &World, seen: &Seen<'_>, was: &[Taint], inherited: bool) -> Vec<Taint> {
    let read = |value: &Value| {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let taint = Taint {
            key: text("key"),
            value: text("value"),
            effect: effect(value["effect"].as_str()?)?,
            tells: tells(value["key"].as_str()?),
            time_added: time(&value["timeAdded"]),
            seen: world.now,
            inherited,
        };
        let known = was.iter().find(|each| same(each, &taint));
        Some(known.map_or(taint.clone(), |known| Taint { value: taint.value, ..known.clone() }))
    };
    seen.list("/spec/taints").iter().filter_map(read).collect()
}

/// The health that a taint with this key tells.
fn tells(key: &str) -> Option<Health> {
    match key {
        "cluster.karmada.io/not-ready" => Some(Health::NotReady),
        "cluster.karmada.io/unreachable" => Some(Health::Unknown),
        _ => None,
    }
}

/// The effect called `name`.
pub(super) fn effect(name: &str) -> Option<TaintEffect> {
    Some(match name {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return None,
    })
}

fn labels(seen: &Seen<'_>) -> BTreeMap<String, String> {
    let labels = seen.object.pointer("/metadata/labels").and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    labels.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// `zones` where there is such a list, else the older `zone`.
fn fields(seen: &Seen<'_>) -> BTreeMap<String, Vec<String>> {
    let one = |pointer: &str| match seen.text(pointer) {
        "" => Vec::new(),
        text => vec![text.to_owned()],
    };
    let zones: Vec<_> =
        seen.list("/spec/zones").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    BTreeMap::from([
        ("provider".to_owned(), one("/spec/provider")),
        ("region".to_owned(), one("/spec/region")),
        ("zone".to_owned(), if zones.is_empty() { one("/spec/zone") } else { zones }),
    ])
}
