//! Compares the server with a model: versions, conflicts, finalizers, and watch events.

use std::collections::BTreeMap;

use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use http::Request;
use http_body_util::BodyExt;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Clone, Debug)]
enum Operation {
    Create { name: usize, value: u8, held: bool },
    Put { name: usize, value: u8, version: SentVersion },
    Release { name: usize },
    Delete { name: usize },
}

/// The version that a writer sends.
#[derive(Clone, Copy, Debug)]
enum SentVersion {
    Present,
    Old,
    None,
}

/// The state of an object in the model.
#[derive(Clone, Debug, PartialEq)]
struct ObjectState {
    value: u8,
    held: bool,
    terminating: bool,
    revision: u64,
}

/// An event of a watch: its type, and the object's name, value and revision.
type WatchedEvent = (String, String, u8, u64);

/// A map and a log. The log has each object before and after a write.
#[derive(Default)]
struct Model {
    objects: BTreeMap<String, ObjectState>,
    log: Vec<(String, Option<ObjectState>, Option<ObjectState>, u64)>,
}

impl Model {
    fn write(&mut self, name: &str, after: Option<ObjectState>, revision: u64) {
        let before = self.objects.get(name).cloned();
        match &after {
            Some(known) => drop(self.objects.insert(name.to_owned(), known.clone())),
            None => drop(self.objects.remove(name)),
        }
        self.log.push((name.to_owned(), before, after, revision));
    }

    fn revision(&self) -> u64 {
        self.log.last().map_or(0, |entry| entry.3)
    }

    /// The events that a watch from `start` must send for the objects that fulfill `selected`.
    fn events(&self, start: u64, selected: impl Fn(&ObjectState) -> bool) -> Vec<WatchedEvent> {
        let mut events = Vec::new();
        for (name, before, after, revision) in self.log.iter().filter(|entry| entry.3 > start) {
            let was = before.as_ref().filter(|known| selected(known));
            let is = after.as_ref().filter(|known| selected(known));
            let (event_type, value) = match (was, is) {
                (None, Some(known)) => ("ADDED", known.value),
                (Some(_), Some(known)) => ("MODIFIED", known.value),
                (Some(known), None) => ("DELETED", known.value),
                (None, None) => continue,
            };
            events.push((event_type.to_owned(), name.clone(), value, *revision));
        }
        events
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let given = prop_oneof![Just(SentVersion::Present), Just(SentVersion::Old), Just(SentVersion::None)];
    prop_oneof![
        (0..3_usize, 0..3_u8, any::<bool>()).prop_map(|(name, value, held)| Operation::Create {
            name,
            value,
            held
        }),
        (0..3_usize, 0..3_u8, given).prop_map(|(name, value, version)| Operation::Put {
            name,
            value,
            version
        }),
        (0..3_usize).prop_map(|name| Operation::Release { name }),
        (0..3_usize).prop_map(|name| Operation::Delete { name }),
    ]
}

fn object(name: &str, known: &ObjectState, revision: Option<u64>) -> Value {
    let finalizers = if known.held { json!(["example.com/hold"]) } else { json!([]) };
    let value = known.value.to_string();
    let mut object = json!({"metadata": {"name": name, "finalizers": finalizers, "labels": {"v": value}},
        "data": {"v": value}});
    if let Some(revision) = revision {
        object["metadata"]["resourceVersion"] = revision.to_string().into();
    }
    object
}

async fn ask(server: &ApiServer, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let answer = support::ask(server, method, path, body).await;
    assert!(answer.headers.contains_key("content-type"));
    (answer.status.as_u16(), answer.body)
}

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// The store's revision, as reported by a list.
async fn latest(server: &ApiServer) -> u64 {
    revision_of(&ask(server, "GET", MAPS, &Value::Null).await.1)
}

/// Replaces an object on the server and in the model, and checks that the results agree.
async fn put(server: &ApiServer, model: &mut Model, name: &str, value: u8, version: &SentVersion) {
    let present = model.objects.get(name).cloned();
    let known =
        present.clone().unwrap_or(ObjectState { value: 0, held: false, terminating: false, revision: 1 });
    let changed = ObjectState { value, ..known.clone() };
    let given = match version {
        SentVersion::Present => Some(known.revision),
        SentVersion::Old => Some(known.revision - 1),
        SentVersion::None => None,
    };
    let (status, answer) =
        ask(server, "PUT", &format!("{MAPS}/{name}"), &object(name, &changed, given)).await;
    let expected = match (&present, version) {
        (None, _) => 404,
        (Some(_), SentVersion::Old) => 409,
        (Some(_), _) => 200,
    };
    assert_eq!(status, expected, "{answer}");
    if status == 200 && changed != known {
        let revision = revision_of(&answer);
        model.write(name, Some(ObjectState { revision, ..changed }), revision);
    }
}

/// Executes one operation on the server and the model, and checks that the results agree.
async fn step(server: &ApiServer, model: &mut Model, operation: &Operation) {
    let before = latest(server).await;
    match operation {
        Operation::Create { name, value, held } => {
            let name = format!("o{name}");
            let mut known = ObjectState { value: *value, held: *held, terminating: false, revision: 0 };
            let (status, answer) = ask(server, "POST", MAPS, &object(&name, &known, None)).await;
            let free = !model.objects.contains_key(&name);
            assert_eq!(status, if free { 201 } else { 409 });
            if free {
                known.revision = revision_of(&answer);
                let revision = known.revision;
                model.write(&name, Some(known), revision);
            }
        }
        Operation::Put { name, value, version } => {
            put(server, model, &format!("o{name}"), *value, version).await;
        }
        Operation::Release { name } => {
            let name = format!("o{name}");
            let patch = json!({"metadata": {"finalizers": null}});
            let (status, answer) = ask(server, "PATCH", &format!("{MAPS}/{name}"), &patch).await;
            let Some(known) = model.objects.get(&name).cloned() else { return assert_eq!(status, 404) };
            assert_eq!(status, 200);
            if known.terminating {
                model.write(&name, None, before + 1);
            } else if known.held {
                let revision = revision_of(&answer);
                model.write(&name, Some(ObjectState { held: false, revision, ..known }), revision);
            }
        }
        Operation::Delete { name } => {
            let name = format!("o{name}");
            let (status, answer) = ask(server, "DELETE", &format!("{MAPS}/{name}"), &Value::Null).await;
            let Some(known) = model.objects.get(&name).cloned() else { return assert_eq!(status, 404) };
            assert_eq!(status, 200);
            if !known.held {
                assert_eq!(answer["kind"], "Status");
                model.write(&name, None, before + 1);
            } else if !known.terminating {
                let revision = revision_of(&answer);
                model.write(&name, Some(ObjectState { terminating: true, revision, ..known }), revision);
            }
        }
    }
    // Every write has the next revision. An operation without a change does not write.
    let wrote = model.revision().max(before);
    assert_eq!(latest(server).await, wrote);
    assert!(wrote <= before + 1);
}

async fn watched(server: &ApiServer, start: u64, selector: &str) -> Vec<WatchedEvent> {
    let path = format!("{MAPS}?watch=true&timeoutSeconds=1&resourceVersion={start}&labelSelector={selector}");
    let response = support::open(server, Request::get(path).body(Bytes::new()).unwrap()).await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let events = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(Result::unwrap);
    events
        .map(|event| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let object = &event["object"];
            let value = text(&object["data"]["v"]).parse().unwrap();
            (text(&event["type"]), text(&object["metadata"]["name"]), value, revision_of(object))
        })
        .collect()
}

/// Executes all operations, and compares a list and watches from several revisions with the model.
async fn compare(server: &ApiServer, operations: &[Operation]) {
    let mut model = Model::default();
    let first = latest(server).await;
    for operation in operations {
        step(server, &mut model, operation).await;
    }
    let list = ask(server, "GET", MAPS, &Value::Null).await.1;
    let listed: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect();
    assert_eq!(listed, model.objects.keys().map(|name| json!(name)).collect::<Vec<_>>());
    for start in [first, u64::midpoint(first, model.revision().max(first)), latest(server).await] {
        assert_eq!(watched(server, start, "").await, model.events(start, |_| true), "from {start}");
        let selected = model.events(start, |known| known.value == 1);
        assert_eq!(watched(server, start, "v%3D1").await, selected, "v=1 from {start}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_server_is_a_map_and_a_log(operations in prop::collection::vec(operation(), 1..40)) {
        simulate(Seed(1), |run| async move {
            let server = ApiServer::builder(run.clock, run.seed.stream("api")).build();
            compare(&server, &operations).await;
        });
    }
}
