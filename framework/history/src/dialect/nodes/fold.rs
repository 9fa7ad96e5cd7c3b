//! Folds the entries of a history with nodes: passes each entry to the module of its kind.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{node, pod};
use crate::dialect::changes::{is_another, remember_uid};
use crate::dialect::{Fold, lease, marks};
use crate::facts::{Change, Fact, Health, ObjectVersion, World};
use crate::format::{CONTROL_PLANE, Entry, EventType, Field, Kind, Object, Tree};

/// The namespace of the Leases of nodes.
const NAMESPACE: &str = "kube-node-lease";

/// Folds the entries of a history of a cluster with nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    world: World,
    leases: lease::Leases,
    pods: pod::Pods,
    /// The uid of each Node, by name.
    uids: BTreeMap<String, String>,
}

/// One version of one object. Only the fields that are needed are parsed.
#[derive(Clone)]
pub(super) struct ObservedObject<'a> {
    object: &'a Object,
    pub(super) name: Cow<'a, str>,
    /// Whether the object is deleted, and not merely being deleted.
    pub(super) gone: bool,
    pub(super) witness: ObjectVersion,
    conditions: Tree<'a>,
}

impl<'a> ObservedObject<'a> {
    fn new(on: &Arc<str>, event: EventType, object: &'a Object) -> Self {
        let (name, namespace) = (object.text("metadata", "name"), object.text("metadata", "namespace"));
        let full = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
        let version = object.text("metadata", "resourceVersion");
        let witness = ObjectVersion::new(Arc::clone(on), &object.kind(), &full, &version);
        let conditions = object.field("status", "conditions").map(Field::tree).unwrap_or_default();
        Self { object, name, gone: event == EventType::Deleted, witness, conditions }
    }

    /// The text of a field; empty if the field is absent.
    pub(super) fn text(&self, part: &str, name: &str) -> Cow<'a, str> {
        self.object.text(part, name)
    }

    /// The field, if it exists.
    pub(super) fn field(&self, part: &str, name: &str) -> Option<Field<'a>> {
        self.object.field(part, name)
    }

    /// The value of a field; null if the field is absent.
    pub(super) fn tree(&self, part: &str, name: &str) -> Tree<'a> {
        self.field(part, name).map(Field::tree).unwrap_or_default()
    }

    /// The conditions of the status.
    pub(super) fn conditions(&self) -> &[Tree<'a>] {
        self.conditions.items()
    }

    /// The condition of this type.
    pub(super) fn condition(&self, kind: &str) -> Option<&Tree<'a>> {
        self.conditions().iter().find(|condition| condition["type"] == kind)
    }
}

impl Fold for Nodes {
    fn world(&self) -> &World {
        &self.world
    }

    fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        let (at, uncertainty) = self.world.observers.place(entry);
        self.world.now = at;
        let (changes, witness) = match &entry.kind {
            Kind::Mark(mark) => {
                let change = marks::observe(&mut self.world, mark);
                if matches!(change, Change::FaultEnded { member: None, .. }) {
                    self.leases.begin_anew();
                }
                (vec![change], None)
            }
            Kind::Event { on, object, event } if object.kind() == "Lease" => {
                let renewal = if &**on == CONTROL_PLANE { self.lease(*event, object) } else { None };
                let (name, version) =
                    (object.text("metadata", "name"), object.text("metadata", "resourceVersion"));
                let full = format!("{}/{name}", object.text("metadata", "namespace"));
                (
                    renewal.into_iter().collect(),
                    Some(ObjectVersion::new(Arc::clone(on), "Lease", &full, &version)),
                )
            }
            Kind::Event { on, event, object } => {
                let observed = ObservedObject::new(on, *event, object);
                self.see_stamps(&observed);
                // A watch from the beginning reports each existing node as added.
                let is_known = self.world.members.contains_key(&*observed.name);
                let is_node = observed.witness.kind() == "Node";
                let is_another = is_node && self.is_another_node(&observed);
                if (*event == EventType::Added && is_node) || is_another {
                    self.leases.made_anew(&observed.name);
                }
                self.world.begun_late |= *event == EventType::Modified && is_node && !is_known;
                let mut changes = Vec::new();
                if &**on == CONTROL_PLANE {
                    if is_another {
                        changes = self.event(&ObservedObject { gone: true, ..observed.clone() });
                    }
                    changes.extend(self.event(&observed));
                }
                for change in &changes {
                    if let Change::Health { member, now: Some(Health::Unknown), .. } = change {
                        self.leases.became_unknown(member);
                    }
                }
                (changes, Some(observed.witness))
            }
        };
        changes.into_iter().map(|change| Fact { at, uncertainty, change, witness: witness.clone() }).collect()
    }
}

impl Nodes {
    /// Reads a Lease without building a tree.
    /// Most entries are Leases, and most versions of a Lease differ in one field.
    fn lease(&mut self, event: EventType, object: &Object) -> Option<Change> {
        if object.text("metadata", "namespace") != NAMESPACE || event == EventType::Deleted {
            return None;
        }
        let name = object.text("metadata", "name");
        if !self.leases.knows(&name) {
            let stamp = capsize_clock::parse_time(&object.text("metadata", "creationTimestamp"));
            self.world.bound_start(stamp);
        }
        let renewed = capsize_clock::parse_time(&object.text("spec", "renewTime"))?;
        self.leases.observe(&mut self.world, &name, renewed)
    }

    /// Returns true if the Node has replaced one of the same name whose deletion was not observed.
    /// A list after a silence of the recorder shows only the new Node.
    fn is_another_node(&mut self, observed: &ObservedObject<'_>) -> bool {
        let uid = observed.text("metadata", "uid");
        if observed.gone {
            self.uids.remove(&*observed.name);
            return false;
        }
        let known = self.uids.entry(observed.name.to_string()).or_default();
        let is_another = is_another(&uid, known);
        remember_uid(known, &uid);
        is_another && self.world.observers.is_in_gap(CONTROL_PLANE, self.world.now)
    }

    fn event(&mut self, observed: &ObservedObject<'_>) -> Vec<Change> {
        let version = observed.object.whole("apiVersion").and_then(Field::text).unwrap_or_default();
        match (&*version, observed.witness.kind()) {
            ("v1", "Node") => node::observe(&mut self.world, observed),
            ("v1", "Pod") => self.pods.observe(&mut self.world, observed),
            _ => Vec::new(),
        }
    }

    /// Reads the stamps of servers and controllers.
    /// Such a stamp is never in the future, so each bounds the wall time of the start from below. The stamps of
    /// kubelets are left out, because their clocks may be wrong.
    fn see_stamps(&mut self, observed: &ObservedObject<'_>) {
        let taints = observed.tree("spec", "taints");
        let created = capsize_clock::parse_time(&observed.text("metadata", "creationTimestamp"));
        let added = taints.items().iter().filter_map(|taint| time(&taint["timeAdded"]));
        self.world.bound_start(added.chain(created));
    }
}

/// The time stamp in a value, if the value is one.
pub(super) fn time(value: &Tree<'_>) -> Option<Timestamp> {
    capsize_clock::parse_time(value.as_str()?)
}
