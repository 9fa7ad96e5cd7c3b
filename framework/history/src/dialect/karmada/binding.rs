//! `ResourceBinding` and `ClusterResourceBinding`: where a workload runs, and from where it is evicted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_sorted::CollectSorted;

use super::observed_object::{
    LastDigest, ObservedObject, conditions, list, replace, seconds, text, time, value,
};
use super::templates::COUNTS;
use super::{placement, policies, task};
use crate::dialect::changes::{is_another, remember_uid, unrecorded};
use crate::dialect::digest::digest;
use crate::dialect::quantity::quantities;
use crate::facts::{
    Assignment, Change, Instance, InstanceHealth, ObjectVersion, Toleration, Workload, WorkloadKey, World,
};
use crate::format::digest::Table;
use crate::format::{CONTROL_PLANE, Field, Tree};

/// The annotation with the placement that the scheduler last acted on.
/// The tolerations are read from it.
const APPLIED: &str = "policy.karmada.io/applied-placement";

/// The latest version of each binding.
#[derive(Debug, Default)]
pub(super) struct Bindings(Table<String, KnownBinding>);

/// The part of a binding that [`World`] does not hold.
#[derive(Debug, Default)]
struct KnownBinding {
    /// The identity of the binding; empty if the history leaves it out.
    uid: String,
    /// The workload that the binding was for when it was first observed.
    workload: WorkloadKey,
    /// The latest version of the binding.
    record: Option<ObjectVersion>,
    /// The number of that version's specification.
    generation: Option<u64>,
    /// The text of the annotation, and the tolerations in it.
    /// The tolerations are absent if none can be read.
    applied: (String, Option<Vec<Toleration>>),
    /// Whether any version had the annotation.
    was_applied: bool,
    /// When a user last asked for a placement from scratch.
    rescheduled: String,
    resource: LastDigest,
    /// The workload that the latest version is for.
    now_for: WorkloadKey,
    fields: BindingFields,
}

/// Digests of the fields that [`World`] shows, as last observed.
#[derive(Debug, Default)]
struct BindingFields {
    spec: LastDigest,
    evictions: LastDigest,
    placement: LastDigest,
    /// The tolerations of the placement in the specification.
    tolerations: Vec<Toleration>,
    annotations: LastDigest,
    /// The digests of the annotations and of the labels.
    owner: [LastDigest; 2],
    suspension: LastDigest,
    required: LastDigest,
    resource: LastDigest,
    requirements: LastDigest,
    clusters: LastDigest,
    status: LastDigest,
    conditions: LastDigest,
    instances: LastDigest,
}

impl Bindings {
    /// Returns the changes that this version of a binding makes.
    pub(super) fn observe(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
        let name = observed.witness.name();
        if observed.gone || observed.leaving {
            world.records.swap_remove(name);
            let known = self.0.swap_remove(name);
            return known.map(|known| unrecorded(world, known.workload)).into_iter().collect();
        }
        let mut changes = Vec::from_iter(self.forget_replaced(world, observed));
        let first = !self.0.contains_key(name);
        let known = self.0.entry(name.to_owned()).or_default();
        let workload = known.read_workload(observed);
        remember_uid(&mut known.uid, &text(observed.metadata("uid")));
        if first {
            known.workload = workload.clone();
            world.records.insert(name.to_owned(), workload.clone());
        }
        let now = world.now;
        let in_gap = world.observers.is_in_gap(CONTROL_PLANE, now);
        let entry = world.workloads.entry(workload.clone()).or_default();
        known.take_over(entry, observed);
        if known.read_generation(entry, observed) || in_gap {
            entry.missed = Some(now);
        }
        let spec_changed = known.fields.spec.differs(observed.object.whole("spec"));
        if spec_changed && known.fields.evictions.differs(observed.spec("gracefulEvictionTasks")) {
            let tasks = list(observed.spec("gracefulEvictionTasks"));
            changes.extend(task::observe(entry, &tasks, now, first, &workload));
        }
        let placed = spec_changed && known.read_placement(entry, observed);
        let (wanted, tolerates) = known.read_wanted(entry, observed, spec_changed);
        if wanted || tolerates || placed {
            // The first version that is observed is no change for the scheduler.
            if !first {
                if placed || tolerates {
                    entry.constrained_since = now;
                }
                entry.wanted_since = now;
                entry.placed_since = if placed { now } else { entry.placed_since };
            }
            changes.push(Change::Wanted(known.workload.clone()));
        }
        if let Some(was) = known.read_owner(entry, observed) {
            changes.push(Change::Claimed { workload: workload.clone(), was });
        }
        if spec_changed && known.read_suspension(entry, observed, now, first) {
            changes.push(Change::HeldBack(workload.clone()));
        }
        let status_changed = known.fields.status.differs(observed.object.whole("status"));
        if spec_changed || status_changed {
            read_rescheduling(entry, observed);
        }
        let mut moved = None;
        if spec_changed {
            if known.fields.read_required(entry, observed) {
                changes.push(Change::Required(workload.clone()));
            }
            let scheduler = std::mem::take(&mut entry.scheduler);
            known.fields.read_aside(entry, observed);
            if scheduler != entry.scheduler && !first {
                entry.reserved_since = now;
            }
            moved = known.fields.read_assignment(entry, observed);
        }
        let reported = known.fields.read_status(entry, observed, &workload, status_changed);
        if let Some((was, now)) = moved {
            world.reassign(&workload, &was, &now);
            changes.push(Change::Assigned { workload: workload.clone(), was, now, first });
        }
        changes.extend(reported);
        changes.push(Change::Recorded(workload));
        changes
    }

    /// Forgets a binding that another binding with the same name has replaced.
    /// The history lacks the end of the old binding.
    fn forget_replaced(&mut self, world: &mut World, observed: &ObservedObject<'_>) -> Option<Change> {
        let (name, uid) = (observed.witness.name(), text(observed.metadata("uid")));
        if !is_another(&uid, &self.0.get(name)?.uid) {
            return None;
        }
        self.0.swap_remove(name).map(|known| unrecorded(world, known.workload))
    }
}

impl KnownBinding {
    /// Makes this binding the record of the workload.
    fn take_over(&mut self, entry: &mut Workload, observed: &ObservedObject<'_>) {
        if entry.record != self.record {
            // The entry shows values of another record, or old values of this record.
            self.fields = BindingFields::default();
        }
        entry.recorded = true;
        entry.record = Some(observed.witness.clone());
        self.record.clone_from(&entry.record);
    }

    /// Reads whether the binding is scheduled, and whether versions before this one may be missing.
    /// A history may leave out generations. Returns true if versions are surely missing.
    fn read_generation(&mut self, entry: &mut Workload, observed: &ObservedObject<'_>) -> bool {
        let generation = observed.metadata("generation").and_then(Field::number);
        let scheduled = observed.status("schedulerObservedGeneration").and_then(Field::number);
        let before = std::mem::replace(&mut self.generation, generation);
        let both = before.zip(generation);
        let missed = both.is_some_and(|(before, now)| now > before.saturating_add(1));
        entry.skipped = missed || both.is_none();
        entry.scheduled = generation.is_none() || scheduled == generation;
        missed
    }

    /// Reads what is suspended.
    /// Returns true if the clusters whose manifests are held back have changed.
    fn read_suspension(
        &mut self,
        entry: &mut Workload,
        observed: &ObservedObject<'_>,
        now: Duration,
        first: bool,
    ) -> bool {
        if !self.fields.suspension.differs(observed.spec("suspension")) {
            return false;
        }
        let suspension = value(observed.spec("suspension"));
        if replace(&mut entry.suspended, suspension["scheduling"] == true) && !first {
            entry.reserved_since = now;
        }
        replace(&mut entry.held_back, policies::held_back(&suspension))
    }

    fn read_workload(&mut self, observed: &ObservedObject<'_>) -> WorkloadKey {
        if self.resource.differs(observed.spec("resource")) {
            let resource = value(observed.spec("resource"));
            let text = |name: &str| resource[name].text();
            self.now_for = WorkloadKey::new(text("kind"), text("namespace"), text("name"));
        }
        self.now_for.clone()
    }

    /// Reads the policy that owns the binding. Returns the policy before, if it was another one.
    fn read_owner(&mut self, entry: &mut Workload, observed: &ObservedObject<'_>) -> Option<String> {
        let marks = ["annotations", "labels"].map(|place| observed.metadata(place));
        let [annotations, labels] = &mut self.fields.owner;
        if !annotations.differs(marks[0]) & !labels.differs(marks[1]) {
            return None;
        }
        let was = std::mem::replace(&mut entry.policy, policies::owner(&marks.map(value)));
        (was != entry.policy).then_some(was)
    }

    /// Reads the placement, and returns whether it has changed.
    fn read_placement(&mut self, entry: &mut Workload, observed: &ObservedObject<'_>) -> bool {
        if !self.fields.placement.differs(observed.spec("placement")) {
            return false;
        }
        let (placement, tolerations) =
            observed.spec("placement").and_then(placement::read).unwrap_or_default();
        self.fields.tolerations = tolerations;
        replace(&mut entry.placement, placement)
    }

    /// Reads replicas and tolerations.
    /// Returns whether what is wanted, and whether the tolerations have changed.
    /// Until the scheduler has acted on a placement, the tolerations of the placement itself count.
    fn read_wanted(
        &mut self,
        entry: &mut Workload,
        observed: &ObservedObject<'_>,
        spec_changed: bool,
    ) -> (bool, bool) {
        let (mut changed, mut tolerates) = (false, false);
        let annotations_changed = self.fields.annotations.differs(observed.metadata("annotations"));
        if annotations_changed {
            let annotations = value(observed.metadata("annotations"));
            let applied = annotations[APPLIED].text();
            if applied != self.applied.0 {
                let read = placement::read_text(applied).map(|(_, tolerations)| tolerations);
                self.applied = (applied.to_owned(), read);
            }
        }
        self.was_applied |= self.applied.1.is_some();
        entry.unapplied = !self.was_applied;
        if spec_changed {
            changed |=
                replace(&mut entry.replicas, observed.spec("replicas").and_then(Field::number).unwrap_or(0));
            changed |= replace(&mut entry.placeable, is_placeable(observed));
            changed |=
                replace(&mut self.rescheduled, text(observed.spec("rescheduleTriggeredAt")).into_owned());
        }
        if spec_changed || annotations_changed {
            let tolerations = self.applied.1.as_ref().unwrap_or(&self.fields.tolerations);
            if *tolerations != entry.tolerations {
                entry.tolerations.clone_from(tolerations);
                tolerates = true;
            }
        }
        (changed, tolerates)
    }
}

impl BindingFields {
    fn read_required(&mut self, entry: &mut Workload, observed: &ObservedObject<'_>) -> bool {
        let field = observed.spec("requiredBy");
        self.required.differs(field) && replace(&mut entry.required_by, required_by(&list(field)))
    }

    /// Reads the fields that guarantees use and that make no change of their own.
    fn read_aside(&mut self, entry: &mut Workload, observed: &ObservedObject<'_>) {
        let requirements = observed.spec("replicaRequirements");
        if self.requirements.differs(requirements) {
            entry.request = quantities(&value(requirements)["resourceRequest"]);
        }
        entry.has_replicas = entry.replicas > 0 || requirements.is_some();
        if self.resource.differs(observed.spec("resource")) {
            let resource = value(observed.spec("resource"));
            let text = |name: &str| resource[name].text();
            entry.served_as = format!("{}/{}", text("apiVersion"), text("kind"));
            text("resourceVersion").clone_into(&mut entry.template);
        }
        let failover = value(observed.spec("failover"));
        entry.failover = observed.spec("failover").map(|_| digest(&failover));
        entry.leaves_when_unhealthy = !failover["application"].is_null();
        let lasts = &failover["application"]["decisionConditions"]["tolerationSeconds"];
        entry.leads = observed.spec("propagateDeps").is_some_and(Field::is_true);
        entry.unhealthy_for = lasts.as_u64().filter(|_| entry.leads).map(seconds);
        let rules = failover["application"]["statePreservation"]["rules"].items();
        let path = |rule: &Tree<'_>| rule["jsonPath"].as_str().map(str::to_owned);
        let hands_on = rules.iter().filter_map(path).collect_sorted();
        if replace(&mut entry.hands_on, hands_on) {
            // Other fields of the status are read from now on, so the status has to be read again.
            self.instances = LastDigest::default();
        }
        entry.purges = failover["cluster"]["purgeMode"].as_str().map(|mode| mode == "Directly");
        entry.scheduler = text(observed.spec("schedulerName")).into_owned();
        entry.priority = value(observed.spec("schedulePriority"))["priority"].as_i64().unwrap_or_default();
    }

    /// Reads the assignment. Returns the assignments before and now if they differ.
    fn read_assignment(
        &mut self,
        entry: &mut Workload,
        observed: &ObservedObject<'_>,
    ) -> Option<(Assignment, Assignment)> {
        let field = observed.spec("clusters");
        if !self.clusters.differs(field) {
            return None;
        }
        let clusters = list(field);
        entry.defects = defects(&clusters);
        let now = assignment(&clusters);
        (now != entry.assignment).then(|| (std::mem::replace(&mut entry.assignment, now.clone()), now))
    }

    fn read_status(
        &mut self,
        entry: &mut Workload,
        observed: &ObservedObject<'_>,
        workload: &WorkloadKey,
        changed: bool,
    ) -> Vec<Change> {
        if !changed && entry.hands_on.is_empty() {
            return Vec::new();
        }
        entry.group = text(observed.status("schedulerObservingAffinityName")).into_owned();
        if self.conditions.differs(observed.status("conditions")) {
            entry.conditions = conditions(observed.conditions());
            entry.lacks_room = lacks_room(observed);
        }
        let instances = observed.status("aggregatedStatus");
        if !self.instances.differs(instances) {
            return Vec::new();
        }
        let with_status = !entry.hands_on.is_empty();
        let now = list(instances).iter().filter_map(|item| instance(item, with_status)).collect_sorted();
        let was = std::mem::replace(&mut entry.instances, now);
        let members = was.keys().chain(entry.instances.keys().filter(|member| !was.contains_key(*member)));
        members
            .filter(|member| was.get(*member) != entry.instances.get(*member))
            .map(|member| {
                let only_counts = differ_in_counts(was.get(member), entry.instances.get(member));
                let (workload, member) = (workload.clone(), member.clone());
                if only_counts {
                    Change::InstanceCounts { workload, member }
                } else {
                    Change::InstanceHealth { workload, member }
                }
            })
            .collect()
    }
}

/// Returns true if two different reports about a copy differ in nothing but counts of replicas.
fn differ_in_counts(was: Option<&Instance>, now: Option<&Instance>) -> bool {
    was.zip(now).is_some_and(|(was, now)| *was == Instance { counts: was.counts, ..now.clone() })
}

/// Reads when a new schedule was requested last, and whether the scheduler has yet to make it.
fn read_rescheduling(entry: &mut Workload, observed: &ObservedObject<'_>) {
    let last = time(observed.status("lastScheduledTime"));
    entry.last_asked = time(observed.spec("rescheduleTriggeredAt"));
    entry.asked_anew = entry.last_asked.is_some() && last < entry.last_asked;
}

/// Whether the scheduler reports that the members have too little room, as releases from 1.7 on do.
fn lacks_room(observed: &ObservedObject<'_>) -> bool {
    let conditions = list(observed.status("conditions"));
    let is_it = |condition: &Tree<'_>| {
        condition["type"].text() == "Scheduled"
            && condition["status"].text() == "False"
            && condition["reason"].text() == "Unschedulable"
    };
    conditions.iter().any(is_it)
}

/// Whether the binding has a placement of its own, and the judged scheduler has to act on it.
fn is_placeable(observed: &ObservedObject<'_>) -> bool {
    let suspended = value(observed.spec("suspension"))["scheduling"] == true;
    let placed = observed.spec("placement").is_some();
    placed && !suspended && matches!(&*text(observed.spec("schedulerName")), "" | "default-scheduler")
}

fn required_by(required: &[Tree<'_>]) -> BTreeMap<String, BTreeSet<String>> {
    let text = |value: &Tree<'_>| value.as_str().map(str::to_owned);
    let read = |value: &Tree<'_>| {
        let (namespace, name) = (text(&value["namespace"]).unwrap_or_default(), text(&value["name"])?);
        let record = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
        let members = value["clusters"].items();
        Some((record, members.iter().filter_map(|member| text(&member["name"])).collect_sorted()))
    };
    required.iter().filter_map(read).collect_sorted()
}

fn defects(clusters: &[Tree<'_>]) -> Vec<String> {
    let mut names = BTreeSet::new();
    let defect = |value: &Tree<'_>| {
        let Some(name) = value["name"].as_str() else { return Some("an entry has no name".to_owned()) };
        let negative = value["replicas"].as_i64().filter(|replicas| *replicas < 0);
        let twice = !names.insert(name.to_owned());
        negative
            .map(|replicas| format!("{name} has {replicas} replicas"))
            .or(twice.then(|| format!("{name} is named twice")))
    };
    clusters.iter().filter_map(defect).collect()
}

fn assignment(clusters: &[Tree<'_>]) -> Assignment {
    let read = |value: &Tree<'_>| {
        Some((value["name"].as_str()?.to_owned(), value["replicas"].as_u64().unwrap_or_default()))
    };
    clusters.iter().filter_map(read).collect_sorted()
}

/// The report about one member, with the paths in its status if `with_status` is set.
fn instance(value: &Tree<'_>, with_status: bool) -> Option<(String, Instance)> {
    let health = match value["health"].as_str() {
        Some("Healthy") => InstanceHealth::Healthy,
        Some("Unhealthy") => InstanceHealth::Unhealthy,
        _ => InstanceHealth::Unknown,
    };
    let ready = ready(&value["status"]);
    let counts = COUNTS.map(|name| value["status"][name].as_u64());
    let has_status = !value["status"].is_null();
    let applied = value["applied"] == true;
    let mut says = BTreeSet::new();
    if with_status {
        paths(&value["status"], String::new(), &mut says);
    }
    Some((
        value["clusterName"].as_str()?.to_owned(),
        Instance { health, ready, counts, has_status, applied, says },
    ))
}

/// The fields of a status that are not counts.
const GENERATIONS: [&str; 3] = ["generation", "observedGeneration", "resourceTemplateGeneration"];

/// The ready replicas in a status.
/// Controllers that report a generation omit counts of zero, so a status with only generations means 0. A status with
/// zero replicas means 0 as well.
fn ready(status: &Tree<'_>) -> Option<u64> {
    let ready = status["readyReplicas"].as_u64();
    let counts = || status.fields().iter().any(|(name, _)| !GENERATIONS.contains(&&**name));
    let is_of_none =
        || status["replicas"].as_u64() == Some(0) || (status.get("generation").is_some() && !counts());
    ready.or_else(|| is_of_none().then_some(0))
}

/// Collects the paths to all fields of `value` in the notation of `JSONPath`: `{.job.id}`.
/// Items of lists are left out.
fn paths(value: &Tree<'_>, path: String, found: &mut BTreeSet<String>) {
    for (key, value) in value.fields() {
        let path = format!("{path}.{key}");
        found.insert(format!("{{{path}}}"));
        paths(value, path, found);
    }
}
