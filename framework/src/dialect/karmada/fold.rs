//! Takes entries one by one, and finds whose business each is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{binding, cluster, copies, taint_policy};
use crate::facts::{Fact, FaultInForce, News, ObjectVersion, World};
use crate::history::{CONTROL_PLANE, Entry, EventType, Kind, LONGEST, Mark};

/// How servers write times; such texts are in the order of their times.
const WHOLE_SECONDS: &str = "2006-01-02T15:04:05Z";

/// Folds the entries of a history of Karmada, or of anything that speaks its API.
#[derive(Debug, Default)]
pub struct Karmada {
    world: World,
    latest_stamp: String,
    bindings: binding::Bindings,
}

/// One version of one object, with what every kind has.
pub(super) struct Seen<'a> {
    pub(super) object: &'a Value,
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    /// Deleted, not merely being deleted.
    pub(super) gone: bool,
    /// Being deleted.
    pub(super) leaving: bool,
    pub(super) witness: ObjectVersion,
}

/// What is at `pointer`, whose names have no character that would have to be escaped: so nothing is made to look there.
pub(super) fn at<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(object, |value, name| match value {
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

impl Seen<'_> {
    /// The text at `pointer`, empty if there is none.
    pub(super) fn text(&self, pointer: &str) -> &str {
        at(self.object, pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The whole number at `pointer`.
    pub(super) fn number(&self, pointer: &str) -> Option<u64> {
        at(self.object, pointer).and_then(Value::as_u64)
    }

    /// The list at `pointer`, empty if there is none.
    pub(super) fn list(&self, pointer: &str) -> &[Value] {
        at(self.object, pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Karmada {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The present state.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes the next entry, and answers with what it changed, in order.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        let (at, width) = self.world.observers.place(entry);
        self.world.now = at;
        let (news, witness) = match &entry.kind {
            Kind::Mark(mark) => (vec![self.mark(mark)], None),
            Kind::Event { on, event, object } => {
                let seen = seen(on, *event, object);
                self.see_stamps(&seen);
                (self.event(on, &seen), Some(seen.witness))
            }
        };
        news.into_iter().map(|news| Fact { at, width, news, witness: witness.clone() }).collect()
    }

    fn event(&mut self, on: &str, seen: &Seen<'_>) -> Vec<News> {
        let group = seen.text("/apiVersion").split('/').next().unwrap_or_default();
        match (on, group, seen.witness.kind()) {
            (CONTROL_PLANE, "cluster.karmada.io", "Cluster") => cluster::observe(&mut self.world, seen),
            (CONTROL_PLANE, "work.karmada.io", "ResourceBinding" | "ClusterResourceBinding") => {
                self.bindings.observe(&mut self.world, seen)
            }
            (CONTROL_PLANE, "policy.karmada.io", "ClusterTaintPolicy") => {
                taint_policy::observe(&mut self.world, seen)
            }
            (CONTROL_PLANE, "work.karmada.io", "Work") => copies::deliveries(&mut self.world, seen),
            (CONTROL_PLANE, ..) => Vec::new(),
            (member, ..) => copies::running(&mut self.world, member, seen),
        }
    }

    /// A mark: a fault that begins or ends, or anything else.
    fn mark(&mut self, mark: &Mark) -> News {
        let text = |key: &str| mark.get(key).and_then(Value::as_str).map(str::to_owned);
        let member = text("cluster").filter(|name| name != CONTROL_PLANE);
        self.world.faults_are_marked |= mark.contains_key("fault") || mark.contains_key("scenario");
        match (text("fault"), text("state").as_deref()) {
            (Some(fault), Some("begin")) => {
                let (since, direction) = (self.world.now, text("direction"));
                let begun = FaultInForce { fault: fault.clone(), member: member.clone(), direction, since };
                self.world.faults.push(begun);
                News::FaultBegan { fault, member }
            }
            (Some(fault), Some("end")) => {
                let same = |each: &FaultInForce| each.fault == fault && each.member == member;
                if let Some(place) = self.world.faults.iter().position(same) {
                    self.world.faults.remove(place);
                }
                News::FaultEnded { fault, member }
            }
            _ => {
                let tainted = mark.get("step").is_some_and(|step| step == "taint");
                if let (true, Some(member)) =
                    (tainted, member.and_then(|name| self.world.members.get_mut(&name)))
                {
                    member.tainted_by_hand = Some(self.world.now);
                }
                News::Step(mark.clone())
            }
        }
    }

    /// A server's or controller's stamp is never in the future, so each bounds the wall time of the start from below.
    fn see_stamps(&mut self, seen: &Seen<'_>) {
        let transitions = seen.list("/status/conditions").iter().map(|each| &each["lastTransitionTime"]);
        for stamp in transitions.chain(at(seen.object, "/metadata/creationTimestamp")) {
            // Most are no later than one that was seen before, and say nothing new.
            let text = stamp.as_str().unwrap_or_default();
            let is_plain = text.len() == WHOLE_SECONDS.len() && text.ends_with('Z');
            if is_plain && text <= self.latest_stamp.as_str() {
                continue;
            }
            if is_plain {
                text.clone_into(&mut self.latest_stamp);
            }
            let since = SignedDuration::try_from(self.world.now).unwrap_or(SignedDuration::MAX);
            let start = time(stamp).and_then(|time| time.checked_sub(since).ok());
            self.world.wall_start = self.world.wall_start.max(start);
        }
    }
}

fn seen<'a>(on: &Arc<str>, event: EventType, object: &'a Value) -> Seen<'a> {
    let metadata = &object["metadata"];
    let text = |value: &'a Value| value.as_str().unwrap_or_default();
    let (kind, name, namespace) =
        (text(&object["kind"]), text(&metadata["name"]), text(&metadata["namespace"]));
    let full = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    Seen {
        object,
        name,
        namespace,
        gone: event == EventType::Deleted,
        leaving: metadata.get("deletionTimestamp").is_some(),
        witness: ObjectVersion::new(Arc::clone(on), kind, full, text(&metadata["resourceVersion"])),
    }
}

/// A length of time in seconds, a century at most.
pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST)
}

/// Type and status of each condition.
pub(super) fn conditions(seen: &Seen<'_>) -> BTreeMap<String, String> {
    let read = |condition: &Value| {
        Some((condition["type"].as_str()?.to_owned(), condition["status"].as_str()?.to_owned()))
    };
    seen.list("/status/conditions").iter().filter_map(read).collect()
}

/// A time stamp, if it is one.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    capsize_clock::parse_time(value.as_str()?)
}
