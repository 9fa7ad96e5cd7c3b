//! Completes new objects of built-in kinds after their defaults: admission plugins and strategies.

use serde_json::{Value, json};

use crate::http::failure::{Cause, Failure};
use crate::kind::defaults::{default, quality_of_service, tolerate_lost_nodes};
use crate::kind::kinds::Kind;
use crate::kind::object::{child, meta, time};
use crate::write::writer::Writer;

/// The priority classes that exist in every cluster.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

impl Writer<'_> {
    /// Makes the changes of default admission plugins.
    /// These changes are the tolerations and the priority of a pod, and the taint of a new node.
    ///
    /// # Errors
    /// Forbidden if a pod names a priority class that does not exist.
    pub(crate) fn default_admission(&self, kind: &Kind, object: &mut Value) -> Result<(), Failure> {
        match (&*kind.group, &*kind.plural) {
            ("", "pods") => {
                self.prioritize(kind, object)?;
                tolerate_lost_nodes(object, self.server.default_tolerations);
            }
            ("", "nodes") => {
                // A new node accepts no pods until it is known to be ready.
                let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
                let mut taints = object["spec"]["taints"].as_array().cloned().unwrap_or_default();
                let same =
                    |present: &Value| present["key"] == taint["key"] && present["effect"] == taint["effect"];
                if !taints.iter().any(same) {
                    taints.push(taint);
                }
                object["spec"]["taints"] = Value::Array(taints);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets the priority of a pod from its priority class.
    fn prioritize(&self, kind: &Kind, pod: &mut Value) -> Result<(), Failure> {
        let named = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
        let found = if named.is_empty() { self.default_class() } else { self.class(&named) };
        let (priority, policy) = match found {
            Some((name, priority, policy)) => {
                default(child(pod, "spec"), "priorityClassName", || name.into());
                (priority, policy)
            }
            None if named.is_empty() => (0, "PreemptLowerPriority".into()),
            None => {
                let why = format!("no PriorityClass with name {named} was found");
                return Err(Failure::forbidden(kind, meta(pod, "name"), &why));
            }
        };
        let given = pod["spec"]["priority"].as_i64();
        if let Some(given) = given.filter(|given| *given != priority) {
            let why = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
                 controller computed {priority} from the given PriorityClass name"
            );
            return Err(Failure::forbidden(kind, meta(pod, "name"), &why));
        }
        let spec = child(pod, "spec");
        default(spec, "priority", || priority.into());
        default(spec, "preemptionPolicy", || policy.into());
        Ok(())
    }

    /// The name, the value and the preemption policy of a priority class.
    fn class(&self, name: &str) -> Option<(String, i64, String)> {
        let kind = crate::kind::builtin::builtin("scheduling.k8s.io", "v1", "priorityclasses");
        if let Some(stored) = self.stored(kind, "", name) {
            return Some(facts(&stored.object()));
        }
        let (_, value) = SYSTEM_CLASSES.iter().find(|(system, _)| *system == name)?;
        Some((name.to_owned(), *value, "PreemptLowerPriority".into()))
    }

    /// The default class for pods without a class; of several, the class with the lowest value.
    fn default_class(&self) -> Option<(String, i64, String)> {
        let kind = crate::kind::builtin::builtin("scheduling.k8s.io", "v1", "priorityclasses");
        let classes = self.state.store.objects(&kind.storage);
        classes
            .map(|version| version.object())
            .filter(|class| class["globalDefault"] == true)
            .map(|class| facts(&class))
            .min_by_key(|(_, value, _)| *value)
    }

    /// Sets the fields that the strategy of a kind sets in a new object after it has its uid.
    ///
    /// # Errors
    /// Invalid if the object requests an unavailable address or port.
    pub(crate) fn prepare_create(&mut self, kind: &Kind, object: &mut Value) -> Result<(), Failure> {
        match (&*kind.group, &*kind.plural) {
            ("", "namespaces") => {
                let spec = child(object, "spec");
                let mut listed = spec["finalizers"].as_array().cloned().unwrap_or_default();
                if !listed.iter().any(|finalizer| finalizer == "kubernetes") {
                    listed.push("kubernetes".into());
                }
                spec["finalizers"] = Value::Array(listed);
                object["status"] = json!({"phase": "Active"});
            }
            ("", "pods") => self.prepare_pod(object),
            ("", "services") => return self.allocate(kind, object, None),
            ("batch", "jobs") => select_own_pods(object),
            ("apiextensions.k8s.io", _) => {
                let versions = object["spec"]["versions"].as_array().into_iter().flatten();
                let stored = versions
                    .filter(|version| version["storage"] == true)
                    .map(|version| version["name"].clone());
                object["status"] = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""},
                    "storedVersions": stored.collect::<Vec<_>>()});
            }
            ("", "persistentvolumeclaims" | "persistentvolumes") => {
                object["status"] = json!({"phase": "Pending"});
            }
            _ => {}
        }
        Ok(())
    }

    fn prepare_pod(&self, pod: &mut Value) {
        let quality = quality_of_service(&pod["spec"]);
        pod["status"] = json!({"phase": "Pending", "qosClass": quality});
        if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False",
                "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null, "lastTransitionTime": time(self.server.clock.now())}]);
        }
    }

    /// Allocates the addresses and ports that a service needs and does not name.
    /// `old` is the replaced service.
    ///
    /// # Errors
    /// Invalid if the service names an address or port that is taken or out of range.
    pub(crate) fn allocate(
        &mut self,
        kind: &Kind,
        service: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        let allocated = self.state.allocated.assign(service, old, &mut self.state.chance);
        allocated.map_err(|cause: Cause| Failure::invalid(kind, meta(service, "name"), &[cause]))
    }
}

fn facts(class: &Value) -> (String, i64, String) {
    let policy = class["preemptionPolicy"].as_str().unwrap_or("PreemptLowerPriority").to_owned();
    (meta(class, "name").to_owned(), class["value"].as_i64().unwrap_or(0), policy)
}

/// Adds the labels by which a job selects its pods, unless the job has a manual selector.
fn select_own_pods(job: &mut Value) {
    const PREFIX: &str = "batch.kubernetes.io/";
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (name, uid) = (meta(job, "name").to_owned(), meta(job, "uid").to_owned());
    let spec = child(job, "spec");
    let labels = child(child(child(spec, "template"), "metadata"), "labels");
    for prefix in ["", PREFIX] {
        default(labels, &format!("{prefix}job-name"), || name.as_str().into());
        default(labels, &format!("{prefix}controller-uid"), || uid.as_str().into());
    }
    let all = labels.clone();
    let wanted = child(child(spec, "selector"), "matchLabels");
    default(wanted, &format!("{PREFIX}controller-uid"), || uid.into());
    let own = child(child(job, "metadata"), "labels");
    if own.as_object().is_none_or(serde_json::Map::is_empty) {
        *own = all;
    }
}
