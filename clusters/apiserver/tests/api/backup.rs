//! Compares backups with a map.
//!
//! A restored server has the objects and the revision of the backup. Only restore observers observe the restore.

use std::collections::BTreeMap;
use std::time::Duration;

use capsize_apiserver::{ApiServer, Backup, RESTORED};
use capsize_clock::{Seed, Simulation, simulate};
use futures::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{self, DEFINITIONS, with_server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The values and revisions of the objects by name.
type Objects = BTreeMap<String, (String, u64)>;

#[derive(Clone, Debug)]
enum Operation {
    Put { name: u8, value: u8 },
    Delete { name: u8 },
    Save,
    Restore { which: u8 },
    Wipe,
    Read,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (0..5_u8, 0..9_u8).prop_map(|(name, value)| Operation::Put { name, value }),
        3 => (0..5_u8).prop_map(|name| Operation::Delete { name }),
        2 => Just(Operation::Save),
        2 => (0..4_u8).prop_map(|which| Operation::Restore { which }),
        1 => Just(Operation::Wipe),
        3 => Just(Operation::Read),
    ]
}

async fn ask(server: &ApiServer, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let answer = support::ask(server, method, path, body).await;
    (answer.status.as_u16(), answer.body)
}

async fn put(server: &ApiServer, name: &str, value: &str) {
    let map = json!({"metadata": {"name": name}, "data": {"v": value}});
    if ask(server, "POST", MAPS, &map).await.0 == 409 {
        assert_eq!(ask(server, "PUT", &format!("{MAPS}/{name}"), &map).await.0, 200);
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn revision_of(object: &Value) -> u64 {
    text(&object["metadata"]["resourceVersion"]).parse().unwrap()
}

fn known(object: &Value) -> (String, (String, u64)) {
    (text(&object["metadata"]["name"]), (text(&object["data"]["v"]), revision_of(object)))
}

/// The current objects and the revision.
async fn listed(server: &ApiServer) -> (Objects, u64) {
    let list = ask(server, "GET", MAPS, &Value::Null).await.1;
    (list["items"].as_array().unwrap().iter().map(known).collect(), revision_of(&list))
}

/// A watch, and the objects that result from its events.
struct RestoreObserver {
    body: Body,
    objects: Objects,
    restores: usize,
}

impl RestoreObserver {
    async fn of(client: kube::Client) -> Self {
        let request = Request::get(format!("{MAPS}?watch=true&timeoutSeconds=100000")).body(Body::empty());
        let body = client.send(request.unwrap()).await.unwrap().into_body();
        Self { body, objects: Objects::new(), restores: 0 }
    }

    /// Reads the available events. Returns false if the watch has ended.
    fn read(&mut self) -> bool {
        while let Some(frame) = self.body.frame().now_or_never() {
            let Some(frame) = frame else { return false };
            let bytes = frame.unwrap().into_data().unwrap();
            for event in serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>() {
                self.take(&event.unwrap());
            }
        }
        true
    }

    fn take(&mut self, event: &Value) {
        let object = &event["object"];
        let (name, value) = known(object);
        let before = match event["type"].as_str().unwrap() {
            "BOOKMARK" => {
                assert_eq!(object["metadata"]["annotations"][RESTORED], "true");
                self.restores += 1;
                return;
            }
            "DELETED" => self.objects.remove(&name).map(|_| "DELETED"),
            event_type => {
                self.objects.insert(name, value).map(|_| "MODIFIED").filter(|_| event_type == "MODIFIED")
            }
        };
        assert_eq!(before.unwrap_or("ADDED"), event["type"], "{event}");
    }
}

async fn compare(run: Simulation, operations: &[Operation]) {
    let server = support::server(run);
    let mut saved: Vec<(Backup, (Objects, u64))> = vec![(server.backup(), listed(&server).await)];
    let (mut observer, mut restores) = (RestoreObserver::of(server.restore_observer()).await, 0);
    for operation in operations {
        match operation {
            Operation::Put { name, value } => put(&server, &format!("o{name}"), &value.to_string()).await,
            Operation::Delete { name } => {
                ask(&server, "DELETE", &format!("{MAPS}/o{name}"), &Value::Null).await;
            }
            Operation::Save => saved.push((server.backup(), listed(&server).await)),
            Operation::Restore { which } => {
                let (backup, then) = &saved[usize::from(*which) % saved.len()];
                server.restore(backup);
                restores += 1;
                assert_eq!(&listed(&server).await, then);
            }
            Operation::Wipe => {
                server.wipe();
                restores += 1;
                assert_eq!(listed(&server).await, (Objects::new(), saved[0].1.1));
            }
            Operation::Read => {
                assert!(observer.read());
                assert_eq!((&observer.objects, observer.restores), (&listed(&server).await.0, restores));
            }
        }
    }
    assert!(observer.read());
    assert_eq!((observer.objects, observer.restores), (listed(&server).await.0, restores));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_restored_server_is_the_map_that_it_was(operations in prop::collection::vec(operation(), 1..40)) {
        simulate(Seed(1), |run| async move { compare(run, &operations).await });
    }
}

#[test]
fn a_watch_ends_when_its_server_is_restored_and_cannot_go_on_from_before() {
    with_server(|server, run| async move {
        let backup = server.backup();
        let mut watch = RestoreObserver::of(server.client()).await;
        put(&server, "a", "1").await;
        assert!(watch.read());
        let (_, later) = listed(&server).await;
        server.restore(&backup);
        assert!(!watch.read());
        assert_eq!((watch.restores, watch.objects.len()), (0, 1), "no further events");
        let began = run.clock.elapsed();
        let path = format!("{MAPS}?limit=1&resourceVersion={later}&resourceVersionMatch=NotOlderThan");
        let (status, answer) = ask(&server, "GET", &path, &Value::Null).await;
        assert_eq!((status, &answer["reason"]), (504, &json!("Timeout")), "{answer}");
        assert_eq!(answer["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
        assert_eq!(answer["details"]["retryAfterSeconds"], 1);
        assert_eq!(run.clock.elapsed() - began, Duration::from_secs(3));
    });
}

#[test]
fn a_server_that_is_wiped_is_a_new_one() {
    with_server(|server, _| async move {
        let system = async || ask(&server, "GET", "/api/v1/namespaces/kube-system", &Value::Null).await.1;
        let before = system().await;
        let thing = support::definition("things", "Thing", json!({"type": "object"}), json!({}));
        assert_eq!(ask(&server, "POST", DEFINITIONS, &thing).await.0, 201);
        let things = "/apis/example.com/v1/namespaces/default/things";
        assert_eq!(ask(&server, "GET", things, &Value::Null).await.0, 200);
        let backup = server.backup();
        server.wipe();
        assert_eq!(ask(&server, "GET", things, &Value::Null).await.0, 404);
        let after = system().await;
        assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
        assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
        server.restore(&backup);
        assert_eq!(ask(&server, "GET", things, &Value::Null).await.0, 200);
        assert_eq!(system().await, before);
    });
}

#[test]
fn restored_objects_depend_on_their_owners_as_before() {
    with_server(|server, _| async move {
        put(&server, "owner", "1").await;
        let owner = ask(&server, "GET", &format!("{MAPS}/owner"), &Value::Null).await.1;
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]});
        let owned = json!({"metadata": {"name": "owned", "ownerReferences": [reference]}});
        assert_eq!(ask(&server, "POST", MAPS, &owned).await.0, 201);
        let backup = server.backup();
        ask(&server, "DELETE", &format!("{MAPS}/owner"), &Value::Null).await;
        assert!(listed(&server).await.0.is_empty());
        server.restore(&backup);
        assert_eq!(listed(&server).await.0.len(), 2);
        ask(&server, "DELETE", &format!("{MAPS}/owner"), &Value::Null).await;
        assert!(listed(&server).await.0.is_empty());
    });
}
