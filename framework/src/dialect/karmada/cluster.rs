//! Cluster: a member's health, taints and place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fold::{Seen, time};
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
    };
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
    world.members.insert(name, now);
    news
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
