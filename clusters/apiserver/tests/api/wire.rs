//! Replays the request shapes of real Karmada, and compares the status and the form of the responses.
//!
//! Each example runs on its own server with the objects that it needs. The recordings of the API compare the contents
//! of objects; this test compares the kind, the fields and their types.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use http::Request;
use serde_json::{Value, json};

use crate::support;
use crate::support::compare;

/// Karmada's own resources: group, version, plural, kind, whether they are namespaced.
const CUSTOM: &[(&str, &str, &str, &str, bool)] = &[
    ("apps.karmada.io", "v1alpha1", "workloadrebalancers", "WorkloadRebalancer", false),
    ("autoscaling.karmada.io", "v1alpha1", "cronfederatedhpas", "CronFederatedHPA", true),
    ("autoscaling.karmada.io", "v1alpha1", "federatedhpas", "FederatedHPA", true),
    ("cluster.karmada.io", "v1alpha1", "clusters", "Cluster", false),
    (
        "config.karmada.io",
        "v1alpha1",
        "resourceinterpretercustomizations",
        "ResourceInterpreterCustomization",
        false,
    ),
    (
        "config.karmada.io",
        "v1alpha1",
        "resourceinterpreterwebhookconfigurations",
        "ResourceInterpreterWebhookConfiguration",
        false,
    ),
    ("multicluster.x-k8s.io", "v1alpha1", "serviceexports", "ServiceExport", true),
    ("multicluster.x-k8s.io", "v1alpha1", "serviceimports", "ServiceImport", true),
    ("networking.karmada.io", "v1alpha1", "multiclusteringresses", "MultiClusterIngress", true),
    ("networking.karmada.io", "v1alpha1", "multiclusterservices", "MultiClusterService", true),
    ("policy.karmada.io", "v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy", false),
    ("policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", false),
    ("policy.karmada.io", "v1alpha1", "clustertaintpolicies", "ClusterTaintPolicy", false),
    ("policy.karmada.io", "v1alpha1", "federatedresourcequotas", "FederatedResourceQuota", true),
    ("policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy", true),
    ("policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy", true),
    ("remedy.karmada.io", "v1alpha1", "remedies", "Remedy", false),
    ("work.karmada.io", "v1alpha1", "works", "Work", true),
    ("work.karmada.io", "v1alpha2", "clusterresourcebindings", "ClusterResourceBinding", false),
    ("work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding", true),
];

fn definitions() -> Vec<Value> {
    let definition = |(group, version, plural, kind, namespaced): &(&str, &str, &str, &str, bool)| {
        let scope = if *namespaced { "Namespaced" } else { "Cluster" };
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let versions = json!([{"name": version, "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema}}]);
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": versions}})
    };
    CUSTOM.iter().map(definition).collect()
}

fn shapes() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../suites/recordings/wire-karmada-1.18.2.json");
    serde_json::from_str(&fs::read_to_string(Path::new(path)).unwrap()).unwrap()
}

/// The resource of a path.
/// The resource has a collection and a namespace, and the name of the object if the path has one.
struct Place<'a> {
    collection: String,
    namespace: &'a str,
    name: Option<&'a str>,
}

fn place(path: &str) -> Option<Place<'_>> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let version = match *parts.first()? {
        "api" => 2,
        "apis" => 3,
        _ => return None,
    };
    let rest = parts.get(version..).filter(|rest| !rest.is_empty())?;
    let (namespace, rest, taken) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest, version + 3),
        _ => ("", rest, version + 1),
    };
    Some(Place {
        collection: format!("/{}", parts[..taken].join("/")),
        namespace,
        name: rest.get(1).copied(),
    })
}

struct Replay {
    server: ApiServer,
}

impl Replay {
    async fn send(&self, method: &str, path: &str, shape: &Value, body: Bytes) -> support::Answer {
        let accept = shape["accept"].as_str().unwrap_or("application/json");
        let request = Request::builder().method(method).uri(path).header("accept", accept);
        let request = match shape["content_type"].as_str() {
            Some(media) => request.header("content-type", media),
            None => request,
        };
        support::send(&self.server, request.body(body).unwrap()).await
    }

    async fn plain(&self, method: &str, path: &str, body: &Value) -> Value {
        support::ask(&self.server, method, path, body).await.body
    }

    /// Creates the object of an example, with its status, and returns the stored object.
    async fn make(&self, at: &Place<'_>, object: &Value) -> Value {
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        for field in [
            "resourceVersion",
            "uid",
            "managedFields",
            "creationTimestamp",
            "generation",
            "deletionTimestamp",
        ] {
            metadata.remove(field);
        }
        self.plain("POST", &at.collection, &object).await
    }

    /// Creates the objects that must exist before the request, and returns its body.
    async fn prepare(&self, shape: &Value) -> Bytes {
        let example = &shape["example"];
        let path = example["path"].as_str().unwrap();
        let mut body = example["body"].clone();
        if let Some(text) = body["$base64"].as_str() {
            return STANDARD.decode(text).unwrap().into();
        }
        let Some(at) = place(path) else { return Bytes::new() };
        if !at.namespace.is_empty() && !path.contains("/namespaces/default/") {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": at.namespace}});
            self.plain("POST", "/api/v1/namespaces", &namespace).await;
        }
        let status = example["status"].as_u64().unwrap_or_default();
        let taken = shape["method"] == "POST" && status == 409;
        let Some(name) =
            at.name.filter(|_| status != 404).or_else(|| body["metadata"]["name"].as_str().filter(|_| taken))
        else {
            return if body.is_null() { Bytes::new() } else { body.to_string().into() };
        };
        let mut object = self.object_of(shape, &at, name);
        let leaving = body["metadata"]["deletionTimestamp"].is_string();
        if leaving {
            object["metadata"]["finalizers"] = json!(["a.b/c"]);
        }
        let mut stored = self.make(&at, &object).await;
        if leaving {
            stored = self.plain("DELETE", &format!("{}/{name}", at.collection), &Value::Null).await;
        }
        assert_eq!(stored["metadata"]["name"], name, "{path}: {stored}");
        // A conflict needs an older version; all other requests send the current version.
        let version = if status == 409 { json!("1") } else { stored["metadata"]["resourceVersion"].clone() };
        for part in ["metadata", "preconditions"] {
            for (field, value) in [("resourceVersion", &version), ("uid", &stored["metadata"]["uid"])] {
                if body[part][field].is_string() {
                    body[part][field] = value.clone();
                }
            }
        }
        if body.is_null() { Bytes::new() } else { body.to_string().into() }
    }

    /// The object of an example: as sent or answered, otherwise an object with only its name.
    fn object_of(&self, shape: &Value, at: &Place<'_>, name: &str) -> Value {
        let example = &shape["example"];
        for known in [&example["answer"], &example["body"]] {
            if known["metadata"]["name"] == name && known["kind"] != "PartialObjectMetadata" {
                return known.clone();
            }
        }
        let plural = at.collection.rsplit('/').next().unwrap();
        let custom = CUSTOM.iter().find(|row| row.2 == plural);
        let finalizers = if shape["method"] == "DELETE" && example["answer"]["status"] != "Success" {
            json!(["a.b/c"])
        } else {
            json!([])
        };
        let metadata = json!({"name": name, "finalizers": finalizers});
        if let Some((group, version, _, kind, _)) = custom {
            return json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": metadata, "spec": {}});
        }
        let labels = json!({"app": "a"});
        let containers = json!([{"name": "c", "image": "i"}]);
        match plural {
            "deployments" => json!({"metadata": metadata, "spec": {"selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}}),
            "events" => json!({"metadata": {"name": name, "namespace": at.namespace},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": at.namespace}, "reason": "R", "type": "Normal"}),
            _ => json!({"metadata": metadata}),
        }
    }
}

/// The word after a key in text that was truncated.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(&format!("\"{key}\": \""))?.1.split('"').next()
}

/// The differences in the form of a response: its kind and its fields. A Status is compared completely.
fn form_differs(recorded: &Value, answered: &Value) -> Vec<String> {
    if let Some(text) = recorded["$cut"].as_str() {
        let same = |key: &&str| after(text, key) == answered[*key].as_str();
        return ["kind", "apiVersion"]
            .into_iter()
            .filter(|key| !same(key))
            .map(|key| format!("another {key}"))
            .collect();
    }
    if let Some(text) = recorded["$text"].as_str() {
        return if answered == text {
            Vec::new()
        } else {
            vec![format!("recorded {text}, answered {answered}")]
        };
    }
    if recorded["kind"] == "Status" {
        return compare::differences(recorded, answered);
    }
    let missing = |at: &str| {
        let fields =
            |value: &Value| value.pointer(at).and_then(Value::as_object).cloned().unwrap_or_default();
        let answered = fields(answered);
        // Karmada's webhooks add labels.
        let absent = fields(recorded)
            .into_iter()
            .filter(move |(name, _)| name != "labels" && !answered.contains_key(name));
        absent.map(|(name, _)| format!("no {at}/{name}")).collect::<Vec<_>>()
    };
    let mut found: Vec<String> = ["kind", "apiVersion"]
        .into_iter()
        .filter(|key| recorded[*key] != answered[*key])
        .map(|key| format!("{key}: recorded {}, answered {}", recorded[key], answered[key]))
        .collect();
    found.extend(missing(""));
    // The description of a resource is compared field by field, except the storage hash.
    if recorded["metadata"].is_object() {
        found.extend(missing("/metadata"));
    }
    found
}

/// The differences between the events of watches: types of events, and their kinds.
fn compare_events(recorded: &[Value], answered: &Value) -> Vec<String> {
    let text = answered.as_str().map_or_else(|| answered.to_string(), str::to_owned);
    let answered: Vec<Value> =
        serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect();
    let shown = |event: &Value| {
        (event["type"].clone(), event["object"]["kind"].clone(), event["object"]["apiVersion"].clone())
    };
    // Later events were caused by other writers.
    let first = recorded.iter().filter(|event| event["type"] == "ADDED" || event["type"] == "BOOKMARK");
    let wanted = first.filter(|event| event["object"]["kind"].is_string()).map(shown);
    wanted
        .filter(|event| !answered.iter().any(|other| shown(other) == *event))
        .map(|event| format!("no event {event:?}"))
        .collect()
}

impl Replay {
    async fn differences(&self, shape: &Value) -> Vec<String> {
        let example = &shape["example"];
        let none = Vec::new();
        let events = example["events"].as_array().unwrap_or(&none);
        for event in
            events.iter().filter(|event| event["type"] == "ADDED" && event["object"]["metadata"].is_object())
        {
            let path = example["path"].as_str().unwrap().split('?').next().unwrap();
            let namespace = event["object"]["metadata"]["namespace"].as_str().unwrap_or_default();
            self.add(path, namespace, &event["object"]).await;
        }
        let body = self.prepare(shape).await;
        let path = self.current(example["path"].as_str().unwrap()).await;
        let answer = self.send(shape["method"].as_str().unwrap(), &path, shape, body).await;
        if example["status"] != answer.status.as_u16() {
            return vec![format!(
                "recorded {}, answered {}: {}",
                example["status"], answer.status, answer.body
            )];
        }
        let media =
            answer.headers.get("content-type").and_then(|media| media.to_str().ok()).unwrap_or_default();
        if answer.body.is_object() && !media.starts_with("application/json") {
            return vec![format!("the answer is {media}")];
        }
        let mut found = if events.is_empty() { Vec::new() } else { compare_events(events, &answer.body) };
        if !example["answer"].is_null() {
            found.extend(form_differs(&example["answer"], &answer.body));
        }
        found
    }

    /// The path with the current revision of the store instead of the recorded one.
    async fn current(&self, path: &str) -> String {
        let Some((before, after)) = path.split_once("&resourceVersion=") else { return path.to_owned() };
        let list = self.plain("GET", "/api/v1/namespaces", &Value::Null).await;
        let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
        format!(
            "{before}&resourceVersion={revision}{}",
            after.trim_start_matches(|c: char| c.is_ascii_digit())
        )
    }

    /// Creates an object that a watch finds.
    async fn add(&self, collection: &str, namespace: &str, object: &Value) {
        let (root, plural) = collection.rsplit_once('/').unwrap();
        let collection = match namespace {
            "" => collection.to_owned(),
            namespace => {
                let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                self.plain("POST", "/api/v1/namespaces", &made).await;
                format!("{root}/namespaces/{namespace}/{plural}")
            }
        };
        let place = Place { collection, namespace, name: None };
        self.make(&place, object).await;
    }
}

/// Returns true if an example has no useful response: the server did not answer, or was still starting.
fn is_left_out(shape: &Value) -> bool {
    let example = &shape["example"];
    example["error"].is_string() || example["answer"]["message"] == "storage is (re)initializing"
}

#[test]
fn every_request_of_karmada_is_answered_in_the_recorded_form() {
    let shapes = shapes();
    assert!(shapes.len() > 200, "the recording is not where it should be");
    let mut wrong = Vec::new();
    for shape in shapes.iter().filter(|shape| !is_left_out(shape)) {
        let title = format!("{} {}", shape["method"].as_str().unwrap(), shape["path"].as_str().unwrap());
        let found = simulate(Seed(1), |run| async move {
            let server = ApiServer::builder(run.clock, run.seed.stream("api"))
                .garbage_collector(false)
                .namespace_controller(false)
                .track_updates(true)
                .build();
            server.install(definitions()).unwrap();
            Replay { server }.differences(shape).await
        });
        if !found.is_empty() {
            wrong.push(format!("{title}:\n  {}", found.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), shapes.len(), wrong.join("\n"));
}
