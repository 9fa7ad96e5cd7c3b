//! Compares the rules with recordings of the real controllers, under `suites/recordings/karmada-*`.
//!
//! A history is recorded by several watches, so that a cause may come after its effect: where a recorded object follows
//! from another, some version of the other must explain it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use capsize_controllers::api::{
    Cluster, Placement, PurgeMode, ResourceBinding, ResourceBindingSpec, TAINT_NOT_READY, TAINT_UNREACHABLE,
    TargetCluster, Work, cluster_of,
};
use capsize_controllers::rules::{
    AffinityClusters, Behaviour, BindingRef, Delivery, EvictionTime, ReferenceRules, Release, Rules,
    SchedulingInput, aggregated_status, clusters_with_work, evict, eviction_due, health, manifest,
    no_execute_taints, no_schedule_taints, reflected_status, schedule, taint_task,
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An object as one watch reported it.
struct Event {
    on: String,
    deleted: bool,
    object: Value,
}

struct History {
    name: String,
    release: String,
    events: Vec<Event>,
}

fn histories() -> Vec<History> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/recordings"));
    let entries = |path: PathBuf| {
        let mut paths: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let is_karmada = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("karmada-");
    let files = entries(root).into_iter().filter(is_karmada).flat_map(entries);
    let histories: Vec<_> = files.map(|path| read(&path)).collect();
    assert!(!histories.is_empty());
    histories
}

fn read(path: &PathBuf) -> History {
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let event = |line: &Value| {
        let on = line["on"].as_str()?.to_owned();
        Some(Event { on, deleted: line["event"] == "DELETED", object: line["object"].clone() })
    };
    History {
        name: path.display().to_string(),
        release: lines[0]["mark"]["version"].as_str().unwrap().to_owned(),
        events: lines.iter().filter_map(event).collect(),
    }
}

impl History {
    /// All versions of the objects of a kind on one cluster, in order.
    fn of<'a>(&'a self, on: &'a str, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let wanted = move |event: &&Event| event.on == on && event.object["kind"] == kind;
        self.events.iter().filter(wanted).map(|event| &event.object)
    }

    /// Calls `step` with each change of an object of this kind on the control plane.
    /// The function `step` also gets the Clusters at that time. The function returns for how many changes `step`
    /// returned true.
    fn changes<K: DeserializeOwned>(
        &self,
        kind: &str,
        mut step: impl FnMut(&K, &K, &[Arc<Cluster>]) -> bool,
    ) -> usize {
        let mut clusters: BTreeMap<String, Arc<Cluster>> = BTreeMap::new();
        let mut before: BTreeMap<String, K> = BTreeMap::new();
        let mut judged = 0;
        for event in self.events.iter().filter(|event| event.on == "control-plane" && !event.deleted) {
            let name =
                format!("{}/{}", event.object["metadata"]["namespace"], event.object["metadata"]["name"]);
            if event.object["kind"] == kind {
                let after: K = typed(&event.object);
                if let Some(before) = before.get(&name) {
                    let clusters: Vec<_> = clusters.values().cloned().collect();
                    judged += usize::from(step(before, &after, &clusters));
                }
                before.insert(name.clone(), after);
            }
            if event.object["kind"] == "Cluster" {
                clusters.insert(name, Arc::new(typed(&event.object)));
            }
        }
        judged
    }
}

fn typed<K: DeserializeOwned>(object: &Value) -> K {
    serde_json::from_value(object.clone()).unwrap()
}

fn by_name(targets: &[TargetCluster]) -> BTreeMap<&str, i32> {
    targets.iter().map(|target| (target.name.as_str(), target.replicas)).collect()
}

fn leaving(spec: &ResourceBindingSpec) -> Vec<&str> {
    spec.graceful_eviction_tasks.iter().map(|task| task.from_cluster.as_str()).collect()
}

#[test]
fn bindings_are_scheduled_as_recorded() {
    for history in histories() {
        let judged = history.changes::<ResourceBinding>("ResourceBinding", |before, after, clusters| {
            let scheduled =
                before.spec.clusters != after.spec.clusters && leaving(&before.spec) == leaving(&after.spec);
            if scheduled {
                let rules = Release::of(&history.release);
                let status = before.status.clone().unwrap_or_default();
                let scene = SchedulingInput {
                    clusters,
                    affinity_clusters: AffinityClusters::default(),
                    now: Timestamp::UNIX_EPOCH,
                };
                let placed = schedule(&rules, &before.spec, &status, &scene).unwrap();
                assert_eq!(by_name(&placed.targets), by_name(&after.spec.clusters), "{}", history.name);
            }
            scheduled
        });
        assert!(judged > 0, "{}", history.name);
    }
}

/// The purge mode of the tasks that the taint manager of this release makes by default.
fn purge_mode(release: &str) -> Option<PurgeMode> {
    match release {
        release if release.starts_with("v1.5.") => None,
        release if release.starts_with("v1.13.") => Some(PurgeMode::Graciously),
        _ => Some(PurgeMode::Gracefully),
    }
}

#[test]
fn evictions_match_the_recorded_ones() {
    let mut judged = 0;
    for history in histories() {
        judged += history.changes::<ResourceBinding>("ResourceBinding", |before, after, clusters| {
            let new =
                leaving(&after.spec).into_iter().find(|cluster| !leaving(&before.spec).contains(cluster));
            let Some(cluster) = new else { return false };
            let mut spec = before.spec.clone();
            let task = taint_task(
                &ReferenceRules,
                &before.spec,
                EvictionTime::AtOnce,
                purge_mode(&history.release),
                None,
            )
            .unwrap();
            assert!(evict(&mut spec, cluster, task), "{}", history.name);
            assert_eq!(by_name(&spec.clusters), by_name(&after.spec.clusters), "{}", history.name);
            let (ours, theirs) =
                (spec.graceful_eviction_tasks.last(), after.spec.graceful_eviction_tasks.last());
            let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
            assert_eq!(
                (&ours.reason, &ours.producer, ours.purge_mode),
                (&theirs.reason, &theirs.producer, theirs.purge_mode),
                "{}",
                history.name
            );
            assert_eq!(ours.replicas, theirs.replicas, "{}", history.name);

            let applied =
                &before.metadata.annotations.as_ref().unwrap()["policy.karmada.io/applied-placement"];
            let placement: Placement = serde_json::from_str(applied).unwrap();
            let tainted = clusters.iter().find(|one| one.metadata.name.as_deref() == Some(cluster)).unwrap();
            let due = eviction_due(&tainted.spec.taints, &placement.cluster_tolerations);
            assert_ne!(due, EvictionTime::Never, "{}", history.name);
            true
        });
    }
    assert!(judged > 0);
}

#[test]
fn health_taints_come_and_go_as_recorded() {
    let mut judged = 0;
    for history in histories() {
        judged += history.changes::<Cluster>("Cluster", |before, after, _| {
            let (old, new) = (&before.spec.taints, &after.spec.taints);
            let changed = old
                .iter()
                .filter(|taint| !new.contains(taint))
                .chain(new.iter().filter(|taint| !old.contains(taint)));
            let mut changed = changed.peekable();
            let added = changed.peek().and_then(|taint| taint.time_added.clone());
            let by_health = changed.peek().is_some()
                && changed.all(|taint| [TAINT_NOT_READY, TAINT_UNREACHABLE].contains(&taint.key.as_str()));
            if by_health {
                let now = added.unwrap().0;
                let ready = before.ready_condition().map(|condition| condition.status.as_str());
                let explained = no_schedule_taints(ready, old, now) == *new
                    || no_execute_taints(ready, now, Duration::ZERO, old, now) == *new;
                assert!(explained, "{}: {old:?} to {new:?}", history.name);
            }
            by_health
        });
    }
    assert!(judged > 0);
}

#[test]
fn works_match_the_recorded_ones() {
    for history in histories() {
        let templates: Vec<&Value> = history.of("control-plane", "Deployment").collect();
        let bindings: Vec<ResourceBinding> =
            history.of("control-plane", "ResourceBinding").map(typed).collect();
        let mut judged = 0;
        for work in history.of("control-plane", "Work").map(typed::<Work>) {
            let recorded = Value::Object(work.spec.workload.manifests[0].tree().unwrap());
            let name = recorded["metadata"]["name"].as_str().unwrap();
            let cluster = cluster_of(work.metadata.namespace.as_deref().unwrap()).unwrap();
            let its = bindings.iter().filter(|binding| binding.spec.resource.name == name);
            let targets =
                its.flat_map(|binding| binding.spec.clusters.iter().map(move |target| (binding, target)));
            let mut candidates = targets.filter(|(_, target)| target.name == cluster).peekable();
            if candidates.peek().is_none() {
                continue;
            }
            let explained = candidates.any(|(binding, target)| {
                let (rules, id) = (
                    Release::of(&history.release),
                    |labels: &Option<BTreeMap<String, String>>, key: &str| {
                        labels.as_ref().and_then(|labels| labels.get(key).cloned()).unwrap_or_default()
                    },
                );
                let work_id = id(&work.metadata.labels, "work.karmada.io/permanent-id");
                let binding_id = id(&binding.metadata.labels, "resourcebinding.karmada.io/permanent-id");
                let conflicts = binding.spec.conflict_resolution;
                let binding = BindingRef {
                    namespace: binding.metadata.namespace.as_deref().unwrap(),
                    name: binding.metadata.name.as_deref().unwrap(),
                    id: &binding_id,
                };
                let (label, key) = rules.binding_mark(binding);
                assert_eq!(work.metadata.labels.as_ref().unwrap()[label], key, "{}", history.name);
                templates.iter().filter(|template| template["metadata"]["name"] == name).any(|template| {
                    let delivery = Delivery {
                        template,
                        binding: Some(binding),
                        work_id: &work_id,
                        cluster,
                        replicas: Some(target.replicas),
                        completions: None,
                        overriders: &[],
                        state: &BTreeMap::new(),
                        conflicts,
                    };
                    Value::Object(manifest(&rules, &delivery).unwrap()) == recorded
                })
            });
            assert!(explained, "{}: {recorded:#}", history.name);
            judged += 1;
        }
        assert!(judged > 0, "{}", history.name);
    }
}

#[test]
fn statuses_of_copies_are_reported_as_recorded() {
    for history in histories() {
        let only_reported = |status: Option<Value>| {
            let mut status = status.unwrap_or_default();
            if let Some(fields) = status.as_object_mut() {
                // These fields are reported as from 1.10 only.
                let since = ["generation", "observedGeneration"];
                fields.retain(|field, _| {
                    !history.release.starts_with("v1.5.") || !since.contains(&field.as_str())
                });
            }
            status
        };
        let mut judged = 0;
        for work in history.of("control-plane", "Work").map(typed::<Work>) {
            let cluster = cluster_of(work.metadata.namespace.as_deref().unwrap()).unwrap();
            for recorded in work.status.iter().flat_map(|status| &status.manifest_statuses) {
                let objects = history.of(cluster, &recorded.identifier.kind);
                let mut objects = objects
                    .filter(|object| object["metadata"]["name"] == recorded.identifier.name.as_str())
                    .peekable();
                if objects.peek().is_none() {
                    continue;
                }
                let wanted = only_reported(recorded.status.clone().map(Value::Object));
                let explained = objects.any(|object| {
                    let ours = reflected_status(Behaviour::default(), &recorded.identifier.kind, object)
                        .map(Value::Object);
                    only_reported(ours) == wanted && health(object) == recorded.health
                });
                assert!(explained, "{}: {recorded:?}", history.name);
                judged += 1;
            }
        }
        assert!(judged > 0, "{}", history.name);
    }
}

#[test]
fn statuses_of_works_are_aggregated_as_recorded() {
    for history in histories() {
        let mut works: BTreeMap<(String, String), Arc<Work>> = BTreeMap::new();
        let mut binding: Option<ResourceBinding> = None;
        for event in history.events.iter().filter(|event| event.on == "control-plane") {
            let key =
                |work: &Work| (work.metadata.namespace.clone().unwrap(), work.metadata.name.clone().unwrap());
            match event.object["kind"].as_str().unwrap() {
                "Work" => {
                    let work: Work = typed(&event.object);
                    let key = key(&work);
                    if event.deleted {
                        works.remove(&key)
                    } else {
                        works.insert(key, Arc::new(work))
                    };
                }
                "ResourceBinding" if !event.deleted => binding = Some(typed(&event.object)),
                _ => {}
            }
        }
        let binding = binding.unwrap();
        let name = binding.metadata.name.as_ref().unwrap();
        let its = |work: &&Arc<Work>| {
            let annotations = work.metadata.annotations.as_ref();
            annotations.and_then(|all| all.get("resourcebinding.karmada.io/name")) == Some(name)
        };
        let its: Vec<_> = works.values().filter(its).cloned().collect();
        // Release 1.18 goes on reporting on a Work that is being deleted.
        let clusters_with_work = clusters_with_work(Behaviour::default(), &binding.spec);
        let mut recorded = binding.status.clone().unwrap().aggregated_status;
        recorded.retain(|report| clusters_with_work.contains(report.cluster_name.as_str()));
        assert_eq!(aggregated_status(&its), recorded, "{}", history.name);
    }
}

#[test]
fn statuses_of_templates_match_the_recorded_ones() {
    for history in histories() {
        let mut bindings: BTreeMap<String, Vec<ResourceBinding>> = BTreeMap::new();
        let mut before: BTreeMap<String, Value> = BTreeMap::new();
        let mut judged = 0;
        for event in history.events.iter().filter(|event| event.on == "control-plane" && !event.deleted) {
            let object = &event.object;
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            if object["kind"] == "ResourceBinding" {
                let binding: ResourceBinding = typed(object);
                bindings.entry(binding.spec.resource.name.clone()).or_default().push(binding);
            }
            if object["kind"] != "Deployment" {
                continue;
            }
            let was = before.insert(name.clone(), object.clone());
            let changed = was.filter(|was| was["status"] != object["status"]);
            let (Some(was), Some(bindings)) = (changed, bindings.get(&name)) else { continue };
            let mut template = object.clone();
            template["status"] = was["status"].clone();
            let rules = Release::of(&history.release);
            let explained = bindings.iter().rev().take(4).any(|binding| {
                let reports = binding.status.clone().unwrap_or_default().aggregated_status;
                let ours = rules.template_status("Deployment", &template, &reports, Timestamp::UNIX_EPOCH);
                ours.map(Value::Object).as_ref() == Some(&object["status"])
            });
            assert!(explained, "{}: {:#}", history.name, object["status"]);
            judged += 1;
        }
        assert!(judged > 0, "{}", history.name);
    }
}
