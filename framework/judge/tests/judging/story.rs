//! Small hand-made histories: a workload of two replicas on m1 and m2, with m3 to spare, and what happens to it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;

use capsize_history::facts::Fact;
use capsize_history::{Entry, EventType};
use capsize_judge::guarantee::Verdict;
use capsize_judge::judge::{Judge, Judgement};
use capsize_judge::profile::Profile;
use serde_json::{Map, Value, json};

pub(crate) const PROFILE: &str = include_str!("story.yaml");

/// Told step by step; each step writes the object that it changes.
pub(crate) struct Story {
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
    /// Whether the workload is of a kind that has replicas.
    has_replicas: bool,
    /// Fields of the binding's status.
    status: Value,
    repeated: Option<String>,
    /// Fields of the binding's spec, over all others.
    spec: Value,
    /// Annotations of the binding.
    marks: Value,
}

#[derive(Default)]
struct Member {
    /// Fields of the object's metadata, spec and status beside those below.
    metadata: Value,
    spec: Value,
    status: Value,
    ready: &'static str,
    pulls: bool,
    taints: Vec<(&'static str, &'static str, f64)>,
}

impl Story {
    /// All is well until 10 s.
    pub(crate) fn new() -> Self {
        Self::by(PROFILE)
    }

    /// The same, of an implementation that lacks these features.
    pub(crate) fn lacking(features: &[&str]) -> Self {
        let lacks = |line: &&str| !features.iter().any(|feature| line.ends_with(&format!("- {feature}")));
        Self::by(&PROFILE.lines().filter(lacks).collect::<Vec<_>>().join("\n"))
    }

    /// The same, of an implementation with this profile.
    pub(crate) fn by(profile: &str) -> Self {
        Self::begun(profile, json!({"history": "v1", "scenario": "story"}))
    }

    /// The same, of a history that marks no faults.
    pub(crate) fn unmarked() -> Self {
        Self::begun(PROFILE, json!({"history": "v1"}))
    }

    fn begun(profile: &str, header: Value) -> Self {
        let lasts = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let mut story = Self {
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
        // Of a history without a scenario nobody knows what was broken.
        story = story.mark(header);
        for name in ["m1", "m2", "m3"] {
            story = story.ready(name, "True");
        }
        let story = story
            .at(0.5)
            .binding()
            .at(1.0)
            .assign(&["m1", "m2"])
            .runs("m1", 2)
            .runs("m2", 2)
            .healthy("m1")
            .healthy("m2")
            .at(10.0);
        Self { facts: Vec::new(), ..story }
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

    /// From the next version on, the policy asks for this placement instead, and for so many replicas.
    pub(crate) fn policy(mut self, placement: Value, replicas: u64) -> Self {
        (self.placement, self.replicas) = (placement, replicas);
        self
    }

    /// From the next version on, so many replicas are wanted.
    pub(crate) fn policy_replicas(mut self, replicas: u64) -> Self {
        self.replicas = replicas;
        self
    }

    /// The assignment names this member twice, in one version.
    pub(crate) fn twice(mut self, member: &str) -> Self {
        self.repeated = Some(member.to_owned());
        let story = self.binding();
        Self { repeated: None, ..story }
    }

    /// From the next version on, the workload is of a kind without replicas.
    pub(crate) fn without_replicas(mut self) -> Self {
        (self.replicas, self.has_replicas) = (0, false);
        self
    }

    /// From now on, the binding's spec says this, whatever else is told.
    pub(crate) fn spec(mut self, spec: &Value) -> Self {
        merge(&mut self.spec, spec);
        self.binding()
    }

    /// What the control plane says of the workload's health in a member.
    pub(crate) fn health(mut self, member: &str, health: &'static str) -> Self {
        self.health.insert(member.into(), health);
        self.binding()
    }

    /// A member joins whose agent has not reported yet.
    pub(crate) fn joins(mut self, name: &str) -> Self {
        self.members.insert(name.into(), Member { pulls: true, ..Member::default() });
        self.cluster(name)
    }

    /// A member is gone.
    pub(crate) fn leaves(self, name: &str) -> Self {
        let object = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}});
        self.event("control-plane", EventType::Deleted, object)
    }

    /// The record belongs to the policy of this name.
    pub(crate) fn belongs_to(mut self, policy: &str) -> Self {
        self.marks = json!({
            "propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": policy,
        });
        self.binding()
    }

    /// An object of a member.
    pub(crate) fn in_member(self, member: &str, object: Value) -> Self {
        self.event(member, EventType::Modified, object)
    }

    /// An object of the control plane.
    pub(crate) fn object(self, object: Value) -> Self {
        self.event("control-plane", EventType::Modified, object)
    }

    /// An object of the control plane is gone.
    pub(crate) fn object_gone(self, object: Value) -> Self {
        self.event("control-plane", EventType::Deleted, object)
    }

    /// The manifest for a member, with these fields of its object.
    pub(crate) fn work(self, member: &str, fields: &Value) -> Self {
        self.manifest(member, EventType::Modified, fields)
    }

    /// The manifest for a member is gone.
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

    /// The copy that a member was given: two replicas, all ready.
    pub(crate) fn copy(self, member: &str) -> Self {
        self.copied(member, EventType::Modified, 2)
    }

    /// The copy that a member was given, of which no replica is ready.
    pub(crate) fn sick(self, member: &str) -> Self {
        self.copied(member, EventType::Modified, 0)
    }

    /// The copy that a member was given is gone.
    pub(crate) fn copy_gone(self, member: &str) -> Self {
        self.copied(member, EventType::Deleted, 0)
    }

    fn copied(self, member: &str, event: EventType, ready: u64) -> Self {
        let mut object = running(ready);
        object["metadata"]["annotations"] = json!({"work.karmada.io/name": "web-1"});
        self.event(member, event, object)
    }

    /// From the next version on, the status says this too.
    pub(crate) fn reports(mut self, status: &Value) -> Self {
        merge(&mut self.status, status);
        self
    }

    /// The member serves Deployments.
    pub(crate) fn serving(self, names: &[&str]) -> Self {
        let kinds =
            json!({"apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]});
        names.iter().fold(self, |story, name| story.member(name, json!({"status": kinds})))
    }

    /// The member has room for so many pods.
    pub(crate) fn room(self, name: &str, pods: u64) -> Self {
        self.member(name, json!({"status": {"resourceSummary": {"allocatable": {"pods": pods.to_string()}}}}))
    }

    /// Fields of a member's metadata, spec and status that it has from now on.
    pub(crate) fn member(mut self, name: &str, fields: Value) -> Self {
        let member = self.members.entry(name.into()).or_default();
        merge(&mut member.metadata, &fields["metadata"]);
        merge(&mut member.spec, &fields["spec"]);
        merge(&mut member.status, &fields["status"]);
        self.cluster(name)
    }

    /// The same, but not before the next version of the member.
    pub(crate) fn also(mut self, name: &str, fields: Value) -> Self {
        let member = self.members.get_mut(name).unwrap();
        merge(&mut member.status, &fields["status"]);
        self
    }

    /// The scheduler's word, with replicas.
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

    /// From now on, an agent speaks for the member.
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

    /// The taints with this key are gone.
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

    /// The scheduler's word: all of the replicas on each.
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

    /// A task gets a stamp of that time.
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

    /// Nothing is reported of the copy in a member any more.
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
        let status = |(name, health): (&String, &&str)| json!({"clusterName": name, "health": health});
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

    /// The member's own word: so many of two replicas are ready.
    pub(crate) fn runs(self, member: &str, ready: u64) -> Self {
        self.event(member, EventType::Modified, running(ready))
    }

    /// The member's own word: it has the workload no more.
    pub(crate) fn vanishes(self, member: &str) -> Self {
        let metadata = json!({"name": "web", "namespace": "default", "generation": 1});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata});
        self.event(member, EventType::Deleted, object)
    }

    /// The deletion of the copy for a member begins.
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

    /// Nothing more until `now`.
    pub(crate) fn until(mut self, now: f64) -> StoryOutcome {
        let facts = std::mem::take(&mut self.facts);
        StoryOutcome { facts, verdicts: self.judged(now).verdicts }
    }

    /// The same, with all that the judge says.
    pub(crate) fn judged(self, now: f64) -> Judgement {
        let end = Map::from_iter([("step".into(), json!("final"))]);
        self.at(now).mark(Value::Object(end)).judge.finish()
    }
}

/// What came of a story.
pub(crate) struct StoryOutcome {
    /// From 10 s on.
    pub(crate) facts: Vec<Fact>,
    verdicts: Vec<Verdict>,
}

impl Deref for StoryOutcome {
    type Target = [Verdict];

    fn deref(&self) -> &[Verdict] {
        &self.verdicts
    }
}

/// Lays the fields of `other` over those of `value`.
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

/// A time of the story as objects have it.
fn stamp(at: f64) -> Value {
    let start: jiff::Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let now = start + Duration::from_secs_f64(at);
    json!(capsize_clock::whole_seconds(now).to_string())
}

/// The record of a config map that m1 and m2 need, and its health in m1.
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

/// A Deployment in a member, of whose two replicas this many are ready.
fn running(ready: u64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "generation": 1},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": ready},
    })
}
