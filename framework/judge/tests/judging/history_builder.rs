//! Builds small histories of a workload on m1 and m2, with m3 as a spare member.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;

use capsize_history::facts::Fact;
use capsize_history::{Entry, EventType};
use capsize_judge::guarantee::Verdict;
use capsize_judge::judge::{Judge, Judgement};
use capsize_judge::profile::Profile;
use serde_json::{Map, Value, json};

pub(crate) const PROFILE: &str = include_str!("history_builder.yaml");

/// A history that is built step by step; each step writes the object that it changes.
pub(crate) struct HistoryBuilder {
    now: f64,
    judge: Judge,
    facts: Vec<Fact>,
    version: u64,
    members: BTreeMap<String, Member>,
    assigned: BTreeMap<String, u64>,
    tasks: BTreeMap<String, Option<f64>>,
    health: BTreeMap<String, &'static str>,
    tolerations: Value,
    replica_scheduling: Value,
    placement: Value,
    replicas: u64,
    /// Whether the kind of the workload has replicas.
    has_replicas: bool,
    /// Fields of the binding's status.
    status: Value,
    repeated: Option<String>,
    /// Fields of the binding's spec, which override all others.
    spec: Value,
    /// Annotations of the binding.
    marks: Value,
}

#[derive(Default)]
struct Member {
    /// Fields of the object's metadata, spec and status in addition to those below.
    metadata: Value,
    spec: Value,
    status: Value,
    ready: &'static str,
    pulls: bool,
    taints: Vec<(&'static str, &'static str, f64)>,
}

impl HistoryBuilder {
    /// A history without faults until 10 s.
    pub(crate) fn new() -> Self {
        Self::by(PROFILE)
    }

    /// The same, for an implementation that lacks these features.
    pub(crate) fn lacking(features: &[&str]) -> Self {
        let lacks = |line: &&str| !features.iter().any(|feature| line.ends_with(&format!("- {feature}")));
        Self::by(&PROFILE.lines().filter(lacks).collect::<Vec<_>>().join("\n"))
    }

    /// The same, for an implementation with this profile.
    pub(crate) fn by(profile: &str) -> Self {
        Self::begun(profile, json!({"history": "v1", "scenario": "history"}))
    }

    /// The same, with a history that marks no faults.
    pub(crate) fn unmarked() -> Self {
        Self::begun(PROFILE, json!({"history": "v1"}))
    }

    fn begun(profile: &str, header: Value) -> Self {
        let lasts = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let mut history = Self {
            now: 0.0,
            judge: Judge::new(Profile::parse("test.yaml", profile).unwrap()),
            facts: Vec::new(),
            version: 0,
            members: BTreeMap::new(),
            assigned: BTreeMap::new(),
            tasks: BTreeMap::new(),
            health: BTreeMap::new(),
            tolerations: json!([
                lasts("cluster.karmada.io/not-ready"),
                lasts("cluster.karmada.io/unreachable")
            ]),
            replica_scheduling: json!({"replicaSchedulingType": "Duplicated"}),
            placement: json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]}),
            replicas: 2,
            has_replicas: true,
            status: json!({"conditions": [{"type": "Scheduled", "status": "True"}]}),
            repeated: None,
            spec: json!({}),
            marks: json!({}),
        };
        // A history without a scenario does not show which faults there were.
        history = history.mark(header);
        for name in ["m1", "m2", "m3"] {
            history = history.ready(name, "True");
        }
        let history = history
            .at(0.5)
            .binding()
            .at(1.0)
            .assign(&["m1", "m2"])
            .runs("m1", 2)
            .runs("m2", 2)
            .healthy("m1")
            .healthy("m2")
            .at(10.0);
        Self { facts: Vec::new(), ..history }
    }

    pub(crate) fn at(mut self, now: f64) -> Self {
        self.now = now;
        self
    }

    /// From the next version on, taints are tolerated for ever.
    pub(crate) fn patient(mut self) -> Self {
        self.tolerations = json!([{"operator": "Exists"}]);
        self
    }

    /// From the next version on, replicas are divided by equal weights.
    pub(crate) fn divided(mut self) -> Self {
        self.replica_scheduling =
            json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"});
        self
    }

    /// From the next version on, the policy has this placement, and this number of replicas.
    pub(crate) fn policy(mut self, placement: Value, replicas: u64) -> Self {
        (self.placement, self.replicas) = (placement, replicas);
        self
    }

    /// From the next version on, this number of replicas is wanted.
    pub(crate) fn policy_replicas(mut self, replicas: u64) -> Self {
        self.replicas = replicas;
        self
    }

    /// The assignment lists this member twice, in one version.
    pub(crate) fn twice(mut self, member: &str) -> Self {
        self.repeated = Some(member.to_owned());
        let history = self.binding();
        Self { repeated: None, ..history }
    }

    /// From the next version on, the kind of the workload has no replicas.
    pub(crate) fn without_replicas(mut self) -> Self {
        (self.replicas, self.has_replicas) = (0, false);
        self
    }

    /// From now on, the binding's spec has these fields, which override all others.
    pub(crate) fn spec(mut self, spec: &Value) -> Self {
        merge(&mut self.spec, spec);
        self.binding()
    }

    /// The control plane reports this health of the workload in a member.
    pub(crate) fn health(mut self, member: &str, health: &'static str) -> Self {
        self.health.insert(member.into(), health);
        self.binding()
    }

    /// A member joins whose agent has not reported yet.
    pub(crate) fn joins(mut self, name: &str) -> Self {
        self.members.insert(name.into(), Member { pulls: true, ..Member::default() });
        self.cluster(name)
    }

    /// A member is deleted.
    pub(crate) fn leaves(self, name: &str) -> Self {
        let object = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}});
        self.event("control-plane", EventType::Deleted, object)
    }

    /// The record belongs to the policy with this name.
    pub(crate) fn belongs_to(mut self, policy: &str) -> Self {
        self.marks = json!({
            "propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": policy,
        });
        self.binding()
    }

    /// The binding loses the marks of its policy.
    pub(crate) fn belongs_to_none(mut self) -> Self {
        self.marks = json!({});
        self.binding()
    }

    /// An object of a member is written.
    pub(crate) fn in_member(self, member: &str, object: Value) -> Self {
        self.event(member, EventType::Modified, object)
    }

    /// An object of the control plane is written.
    pub(crate) fn object(self, object: Value) -> Self {
        self.event("control-plane", EventType::Modified, object)
    }

    /// An object of the control plane is deleted.
    pub(crate) fn object_gone(self, object: Value) -> Self {
        self.event("control-plane", EventType::Deleted, object)
    }

    /// The manifest for a member is written, with these fields of its object.
    pub(crate) fn work(self, member: &str, fields: &Value) -> Self {
        self.manifest(member, EventType::Modified, fields)
    }

    /// The manifest for a member is deleted.
    pub(crate) fn work_gone(self, member: &str) -> Self {
        self.manifest(
            member,
            EventType::Deleted,
            &json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}),
        )
    }

    fn manifest(self, member: &str, event: EventType, fields: &Value) -> Self {
        let manifest = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2},
        });
        let mut object = json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {
                "name": "web-1", "namespace": format!("karmada-es-{member}"),
                "annotations": {"resourcebinding.karmada.io/name": "web-deployment"},
            },
            "spec": {"workload": {"manifests": [manifest]}},
        });
        merge(&mut object, fields);
        self.event("control-plane", event, object)
    }

    /// The copy in a member has two replicas, and all are ready.
    pub(crate) fn copy(self, member: &str) -> Self {
        self.copied(member, EventType::Modified, 2)
    }

    /// The copy in a member has no ready replicas.
    pub(crate) fn sick(self, member: &str) -> Self {
        self.copied(member, EventType::Modified, 0)
    }

    /// The copy in a member is deleted.
    pub(crate) fn copy_gone(self, member: &str) -> Self {
        self.copied(member, EventType::Deleted, 0)
    }

    fn copied(self, member: &str, event: EventType, ready: u64) -> Self {
        let mut object = running(ready);
        object["metadata"]["annotations"] = json!({"work.karmada.io/name": "web-1"});
        self.event(member, event, object)
    }

    /// From the next version on, the status also has these fields.
    pub(crate) fn reports(mut self, status: &Value) -> Self {
        merge(&mut self.status, status);
        self
    }

    /// The member serves Deployments.
    pub(crate) fn serving(self, names: &[&str]) -> Self {
        let kinds =
            json!({"apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]});
        names.iter().fold(self, |history, name| history.member(name, json!({"status": kinds})))
    }

    /// The member has room for this number of pods.
    pub(crate) fn room(self, name: &str, pods: u64) -> Self {
        self.member(name, json!({"status": {"resourceSummary": {"allocatable": {"pods": pods.to_string()}}}}))
    }

    /// The member has these fields of its metadata, spec and status from now on.
    pub(crate) fn member(mut self, name: &str, fields: Value) -> Self {
        let member = self.members.entry(name.into()).or_default();
        merge(&mut member.metadata, &fields["metadata"]);
        merge(&mut member.spec, &fields["spec"]);
        merge(&mut member.status, &fields["status"]);
        self.cluster(name)
    }

    /// The same, from the next version of the member on.
    pub(crate) fn also(mut self, name: &str, fields: Value) -> Self {
        let member = self.members.get_mut(name).unwrap();
        merge(&mut member.status, &fields["status"]);
        self
    }

    /// The scheduler assigns these replicas.
    pub(crate) fn divide(mut self, shares: &[(&str, u64)]) -> Self {
        self.assigned = shares.iter().map(|(member, replicas)| ((*member).to_owned(), *replicas)).collect();
        self.binding()
    }

    pub(crate) fn mark(mut self, mark: Value) -> Self {
        let Value::Object(mark) = mark else { panic!("a mark is an object") };
        let entry = Entry::mark(Duration::from_secs_f64(self.now), mark);
        self.facts.extend(self.judge.push(&entry));
        self
    }

    pub(crate) fn fault(self, fault: &str, member: &str, state: &str) -> Self {
        self.mark(json!({"fault": fault, "cluster": member, "state": state}))
    }

    /// The condition `Ready` of a member.
    pub(crate) fn ready(mut self, name: &str, status: &'static str) -> Self {
        self.members.entry(name.into()).or_default().ready = status;
        self.cluster(name)
    }

    /// From now on, an agent reports for the member.
    pub(crate) fn pulls(mut self, name: &str) -> Self {
        self.members.get_mut(name).unwrap().pulls = true;
        self.cluster(name)
    }

    pub(crate) fn taint(mut self, name: &str, key: &'static str, effect: &'static str) -> Self {
        self.members.get_mut(name).unwrap().taints.push((key, effect, self.now));
        self.cluster(name)
    }

    pub(crate) fn untaint(mut self, name: &str, effect: &str) -> Self {
        self.members.get_mut(name).unwrap().taints.retain(|(_, other, _)| *other != effect);
        self.cluster(name)
    }

    /// The taints with this key are removed.
    pub(crate) fn untaint_key(mut self, name: &str, key: &str) -> Self {
        self.members.get_mut(name).unwrap().taints.retain(|(other, ..)| *other != key);
        self.cluster(name)
    }

    fn cluster(self, name: &str) -> Self {
        let member = &self.members[name];
        let taint = |(key, effect, added): &(&str, &str, f64)| json!({"key": format!("cluster.karmada.io/{key}"), "effect": effect, "timeAdded": stamp(*added)});
        let mut object = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": if member.pulls { "Pull" } else { "Push" }, "taints": member.taints.iter().map(taint).collect::<Vec<_>>()},
            "status": {"conditions": [
                {"type": "Ready", "status": member.ready, "lastTransitionTime": stamp(self.now)},
            ]},
        });
        if member.ready.is_empty() {
            object["status"]["conditions"] = json!([]);
        }
        merge(
            &mut object,
            &json!({"metadata": member.metadata, "spec": member.spec, "status": member.status}),
        );
        self.event("control-plane", EventType::Modified, object)
    }

    /// The scheduler assigns all replicas to each of the members.
    pub(crate) fn assign(mut self, members: &[&str]) -> Self {
        self.assigned = members.iter().map(|member| ((*member).to_owned(), 2)).collect();
        self.binding()
    }

    /// An eviction: the member is dropped and a task begins, in one version.
    pub(crate) fn evict(mut self, member: &str) -> Self {
        self.assigned.remove(member);
        self.task(member)
    }

    /// A task begins.
    pub(crate) fn task(mut self, member: &str) -> Self {
        self.tasks.insert(member.into(), None);
        self.binding()
    }

    pub(crate) fn stamp(self, member: &str) -> Self {
        let now = self.now;
        self.stamp_with(member, now)
    }

    /// A task gets a stamp of this time.
    pub(crate) fn stamp_with(mut self, member: &str, time: f64) -> Self {
        self.tasks.insert(member.into(), Some(time));
        self.binding()
    }

    /// A task ends.
    pub(crate) fn end(mut self, member: &str) -> Self {
        self.tasks.remove(member);
        self.binding()
    }

    pub(crate) fn healthy(mut self, member: &str) -> Self {
        self.health.insert(member.into(), "Healthy");
        self.binding()
    }

    /// The status of the copy in a member is removed.
    pub(crate) fn forget(mut self, member: &str) -> Self {
        self.health.remove(member);
        self.binding()
    }

    pub(crate) fn binding(self) -> Self {
        let clusters: Vec<_> = self
            .assigned
            .iter()
            .chain(self.repeated.iter().map(|name| (name, &2)))
            .map(|(name, replicas)| json!({"name": name, "replicas": replicas}))
            .collect();
        let task = |(member, created): (&String, &Option<f64>)| {
            let mut task =
                json!({"fromCluster": member, "producer": "TaintManager", "reason": "TaintUntolerated"});
            if let Some(created) = created {
                task["creationTimestamp"] = stamp(*created);
            }
            task
        };
        let status = |(name, health): (&String, &&str)| json!({"clusterName": name, "applied": true, "health": health});
        let mut placement =
            json!({"clusterTolerations": self.tolerations, "replicaScheduling": self.replica_scheduling});
        merge(&mut placement, &self.placement);
        let mut object = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {
                "name": "web-deployment", "namespace": "default", "generation": 1,
                "annotations": {"policy.karmada.io/applied-placement": placement.to_string()},
            },
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
                "replicas": self.replicas,
                "clusters": clusters,
                "gracefulEvictionTasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
                "placement": placement,
            },
            "status": {
                "schedulerObservedGeneration": 1,
                "aggregatedStatus": self.health.iter().map(status).collect::<Vec<_>>(),
            },
        });
        merge(&mut object["spec"], &self.spec);
        merge(&mut object["metadata"]["annotations"], &self.marks);
        if self.has_replicas {
            object["spec"]["replicaRequirements"] = json!({});
        }
        merge(&mut object["status"], &self.status);
        self.event("control-plane", EventType::Modified, object)
    }

    /// The member itself reports that this many of two replicas are ready.
    pub(crate) fn runs(self, member: &str, ready: u64) -> Self {
        self.event(member, EventType::Modified, running(ready))
    }

    /// The member itself reports that the workload is deleted.
    pub(crate) fn vanishes(self, member: &str) -> Self {
        let metadata = json!({"name": "web", "namespace": "default", "generation": 1});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata});
        self.event(member, EventType::Deleted, object)
    }

    /// The deletion of the manifest for a member begins.
    pub(crate) fn recall(self, member: &str) -> Self {
        let object = json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {
                "name": "web-1", "namespace": format!("karmada-es-{member}"), "deletionTimestamp": stamp(self.now),
            },
            "spec": {"workload": {"manifests": [
                {"kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 2}},
            ]}},
        });
        self.event("control-plane", EventType::Modified, object)
    }

    fn event(mut self, on: &str, event: EventType, mut object: Value) -> Self {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let entry = Entry::event(Duration::from_secs_f64(self.now), on, event, object.into());
        self.facts.extend(self.judge.push(&entry));
        self
    }

    /// Ends the history at `now`, and returns its outcome.
    pub(crate) fn until(mut self, now: f64) -> BuiltHistoryVerdicts {
        let facts = std::mem::take(&mut self.facts);
        BuiltHistoryVerdicts { facts, verdicts: self.judged(now).verdicts }
    }

    /// Ends the history at `now`, and returns the whole judgement.
    pub(crate) fn judged(self, now: f64) -> Judgement {
        let end = Map::from_iter([("step".into(), json!("final"))]);
        self.at(now).mark(Value::Object(end)).judge.finish()
    }
}

/// The outcome of a history.
pub(crate) struct BuiltHistoryVerdicts {
    /// The facts from 10 s on.
    pub(crate) facts: Vec<Fact>,
    verdicts: Vec<Verdict>,
}

impl Deref for BuiltHistoryVerdicts {
    type Target = [Verdict];

    fn deref(&self) -> &[Verdict] {
        &self.verdicts
    }
}

/// Merges the fields of `other` into those of `value`.
fn merge(value: &mut Value, other: &Value) {
    match (value, other) {
        (_, Value::Null) => {}
        (Value::Object(fields), Value::Object(others)) => {
            for (key, other) in others.iter().filter(|(_, other)| !other.is_null()) {
                merge(fields.entry(key.clone()).or_insert(Value::Null), other);
            }
        }
        (value, other) => *value = other.clone(),
    }
}

/// A time of the history as a time stamp.
fn stamp(at: f64) -> Value {
    let start: jiff::Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let now = start + Duration::from_secs_f64(at);
    json!(capsize_clock::whole_seconds(now).to_string())
}

/// The record of a `ConfigMap` that m1 and m2 need, and its health in m1.
pub(crate) fn needed(health: &str) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "conf-configmap", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "conf"},
            "requiredBy": [{"namespace": "default", "name": "web-deployment", "clusters": [{"name": "m1"}, {"name": "m2"}]}],
        },
        "status": {"aggregatedStatus": [{"clusterName": "m1", "applied": true, "health": health}]},
    })
}

/// A Deployment in a member with this many of two replicas ready.
fn running(ready: u64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "generation": 1},
        "spec": {"replicas": 2},
        "status": {
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": ready, "availableReplicas": ready,
        },
    })
}
