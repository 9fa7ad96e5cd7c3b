//! Takes entries one by one, and finds whose business each is.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{lease, node, pod};
use crate::dialect::marks;
use crate::facts::{Fact, News, ObjectVersion, World};
use crate::history::{CONTROL_PLANE, Entry, EventType, Kind, Object};

/// Folds the entries of a history of a cluster with nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    world: World,
    leases: lease::Leases,
}

/// One version of one object.
pub(super) struct Seen<'a> {
    pub(super) object: &'a Value,
    pub(super) name: &'a str,
    /// Deleted, not merely being deleted.
    pub(super) gone: bool,
    pub(super) witness: ObjectVersion,
}

impl<'a> Seen<'a> {
    /// The text at `pointer`, empty if there is none.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The list at `pointer`, empty if there is none.
    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        self.object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The condition of this type.
    pub(super) fn condition(&self, kind: &str) -> Option<&'a Value> {
        self.list("/status/conditions").iter().find(|condition| condition["type"] == kind)
    }
}

impl Nodes {
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
            Kind::Mark(mark) => {
                let news = marks::observe(&mut self.world, mark);
                if matches!(news, News::FaultEnded { member: None, .. }) {
                    self.leases.begin_anew();
                }
                (vec![news], None)
            }
            Kind::Event { on, object, event } if object.kind() == "Lease" => {
                let heard = if &**on == CONTROL_PLANE { self.lease(*event, object) } else { None };
                let (name, version) =
                    (object.text("metadata", "name"), object.text("metadata", "resourceVersion"));
                let full = format!("{}/{name}", object.text("metadata", "namespace"));
                (
                    heard.into_iter().collect(),
                    Some(ObjectVersion::new(Arc::clone(on), "Lease", &full, &version)),
                )
            }
            Kind::Event { on, event, object } => {
                let object = object.value();
                let seen = seen(on, *event, &object);
                self.see_stamps(&seen);
                // Who watches from the beginning is told of each node that is there.
                let is_known = self.world.members.contains_key(seen.name);
                self.world.begun_late |=
                    *event == EventType::Modified && seen.witness.kind() == "Node" && !is_known;
                let news = if &**on == CONTROL_PLANE { self.event(&seen) } else { Vec::new() };
                (news, Some(seen.witness))
            }
        };
        news.into_iter().map(|news| Fact { at, width, news, witness: witness.clone() }).collect()
    }

    /// Most of what is seen are Leases, and most of what a Lease says is the same as before: no tree is made of it.
    fn lease(&mut self, event: EventType, object: &Object) -> Option<News> {
        if object.text("metadata", "namespace") != lease::NAMESPACE || event == EventType::Deleted {
            return None;
        }
        let name = object.text("metadata", "name");
        if !self.leases.knows(&name) {
            let stamp = capsize_clock::parse_time(&object.text("metadata", "creationTimestamp"));
            self.see(stamp.into_iter());
        }
        let renewed = capsize_clock::parse_time(&object.text("spec", "renewTime"))?;
        self.leases.observe(&mut self.world, &name, renewed)
    }

    fn event(&mut self, seen: &Seen<'_>) -> Vec<News> {
        match (seen.text("/apiVersion"), seen.witness.kind()) {
            ("v1", "Node") => node::observe(&mut self.world, seen),
            ("v1", "Pod") => pod::observe(&mut self.world, seen),
            _ => Vec::new(),
        }
    }

    /// The stamp of a server or a controller is never in the future, so each bounds the wall time of the start from below.
    /// Those of kubelets are left out: their clocks may be wrong.
    fn see_stamps(&mut self, seen: &Seen<'_>) {
        let taints = seen.list("/spec/taints").iter().map(|taint| &taint["timeAdded"]);
        let stamps = taints.chain(seen.object.pointer("/metadata/creationTimestamp"));
        self.see(stamps.filter_map(time));
    }

    fn see(&mut self, stamps: impl Iterator<Item = Timestamp>) {
        let since = SignedDuration::try_from(self.world.now).unwrap_or(SignedDuration::MAX);
        let starts = stamps.filter_map(|stamp| stamp.checked_sub(since).ok());
        self.world.wall_start = starts.chain(self.world.wall_start).max();
    }
}

fn seen<'a>(on: &Arc<str>, event: EventType, object: &'a Value) -> Seen<'a> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    let full = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    let version = text("/metadata/resourceVersion");
    Seen {
        object,
        name,
        gone: event == EventType::Deleted,
        witness: ObjectVersion::new(Arc::clone(on), text("/kind"), &full, version),
    }
}

/// A time stamp, if it is one.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    capsize_clock::parse_time(value.as_str()?)
}
