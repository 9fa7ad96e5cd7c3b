//! Templates and namespaces in the control plane.

use super::fold::OWN;
use super::observed_object::{LastDigest, ObservedObject, list, text, value};
use super::policies;
use super::works::EXECUTION_NAMESPACE;
use crate::dialect::content::{self, PARTS};
use crate::facts::{Change, Template, WorkloadKey, World};
use crate::format::Field;
use crate::format::digest::Table;

/// The counts in a status apart from the ready replicas.
pub(super) const COUNTS: [&str; 3] = ["replicas", "updatedReplicas", "availableReplicas"];

/// The label of a namespace that is not propagated to members.
const KEPT_BACK: &str = "namespace.karmada.io/skip-auto-propagation";

/// The digests of each template as last observed: its content, and the marks of its policy.
#[derive(Debug, Default)]
pub(super) struct Templates(Table<WorkloadKey, ([LastDigest; 4], [LastDigest; 2])>);

impl Templates {
    /// Returns the changes that this version of an object makes, if its kind is observed.
    pub(super) fn observe(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
        match observed.witness.kind() {
            "Namespace" => namespace(world, observed),
            "Deployment"
            | "StatefulSet"
            | "DaemonSet"
            | "Job"
            | "ConfigMap"
            | "Secret"
            | "Service"
            | "HorizontalPodAutoscaler"
            | "PriorityClass"
            | "StorageClass"
            | "Role"
            | "RoleBinding"
            | "ClusterRole"
            | "ClusterRoleBinding" => self.template(world, observed),
            _ if content::is_custom(&text(observed.object.whole("apiVersion")), OWN) => {
                self.template(world, observed)
            }
            _ => Vec::new(),
        }
    }

    fn template(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
        let key = WorkloadKey::new(observed.witness.kind(), &*observed.namespace, &*observed.name);
        if observed.gone {
            self.0.swap_remove(&key);
            return world.templates.swap_remove(&key).map(|_| Change::Template(key)).into_iter().collect();
        }
        let first = !self.0.contains_key(&key);
        let (last, [annotations, labels]) = self.0.entry(key.clone()).or_default();
        let parts =
            PARTS.map(|part| observed.object.whole(part)).into_iter().chain([observed.metadata("labels")]);
        // Every part has to be compared, so that every digest is stored.
        let differs = last.iter_mut().zip(parts).fold(false, |any, (last, part)| last.differs(part) || any);
        let known = world.templates.entry(key.clone()).or_default();
        let number = |name: &str| observed.status(name).and_then(Field::number);
        // A count of zero is omitted, also in a status that is still empty.
        let ready = number("readyReplicas").or(observed.object.whole("status").map(|_| 0));
        let orphans = list(observed.metadata("finalizers")).iter().any(|finalizer| *finalizer == "orphan");
        let counts = COUNTS.map(number);
        let mut now = Template { leaving: observed.leaving, orphans, ready, counts, ..known.clone() };
        if differs {
            now.content = content::object(observed.object, OWN);
            now.content.drops_labels_of(&known.content);
        }
        now.content.hidden = content::is_hidden(&now.content, &mut world.data_shown[0]);
        let marks = ["annotations", "labels"].map(|place| observed.metadata(place));
        if annotations.differs(marks[0]) | labels.differs(marks[1]) {
            now.policy = policies::owner(&marks.map(value));
        }
        if *known == now && !first {
            return Vec::new();
        }
        *known = now;
        vec![Change::Template(key)]
    }
}

/// Notes whether an execution namespace is being deleted.
/// Nothing can be written into it until it is gone. A controller that tried meanwhile may then be late by as long as
/// the deletion took.
fn close(world: &mut World, member: &str, observed: &ObservedObject<'_>) {
    let now = world.now;
    if observed.leaving && !observed.gone {
        world.closed.fail(&member.to_owned(), now);
    } else {
        world.closed.succeed(&member.to_owned(), now);
    }
}

fn namespace(world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
    let name = observed.name.to_string();
    if let Some(member) = name.strip_prefix(EXECUTION_NAMESPACE) {
        close(world, member, observed);
    }
    if observed.gone || observed.leaving {
        return world.namespaces.remove(&name).map(|_| Change::Namespace(name)).into_iter().collect();
    }
    let labels = value(observed.metadata("labels"));
    let label = labels[KEPT_BACK].text();
    let own =
        matches!(&*name, "default" | "karmada-system" | "karmada-cluster") || name.starts_with("karmada-es-");
    let now = own || label.eq_ignore_ascii_case("true");
    let was = world.namespaces.insert(name.clone(), now);
    (was != Some(now)).then_some(Change::Namespace(name)).into_iter().collect()
}
