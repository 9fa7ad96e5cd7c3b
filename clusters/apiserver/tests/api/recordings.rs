//! Replays recorded exchanges with a real server, and compares the responses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::{ApiServer, User};
use capsize_clock::{Seed, Simulation, simulate};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support;
use crate::support::compare;
use crate::support::revisions;

/// The recorded cases with known differences, and the reasons.
const GAPS: &[(&str, &str)] =
    &[("crd-watch", "recorded while the real server was still starting: its list was refused with 429")];

/// Definitions that must exist before a case, although the case does not create them.
const DEFINITIONS: &[(&str, &str, &str, &str)] = &[
    ("crd-cluster-scope", "cluster.example.com", "Member", "Cluster"),
    ("crd-no-status", "nostatus.example.com", "Plain", "Namespaced"),
    ("crd-versions", "versions.example.com", "Two", "Namespaced"),
    ("crd-watch", "watch.example.com", "Goner", "Namespaced"),
    ("patch-media", "patchmedia.example.com", "Gadget", "Namespaced"),
];

fn definitions(case: &str) -> Vec<Value> {
    if case == "crd-schema" {
        // The definition is taken from another case, which creates it.
        let lifecycle = read_case(&directory().join("crd-lifecycle.json"));
        let text = lifecycle["steps"][0]["request"]["body"].to_string();
        return vec![serde_json::from_str(&text.replace("life.example.com", "schema.example.com")).unwrap()];
    }
    let rows = DEFINITIONS.iter().filter(|row| row.0 == case);
    rows.map(|(case, group, kind, scope)| {
        let plural = format!("{}s", kind.to_lowercase());
        let version = |name: &str, storage: bool| {
            json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
        };
        let versions =
            if *case == "crd-versions" { vec![version("v1", true), version("v1beta1", false)] } else { vec![version("v1", true)] };
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": versions}})
    })
    .collect()
}

/// The objects that the author of a recording had created before the case.
fn found(case: &str) -> Vec<Value> {
    let map = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"k": "v"}});
    match case {
        "list-labels" => vec![map("a", json!({"t": "x"})), map("b", json!({"t": "y"})), map("d", json!({}))],
        "delete-collection" => {
            vec![map("a", json!({"g": "1"})), map("b", json!({"g": "1"})), map("d", json!({"g": "2"}))]
        }
        _ => Vec::new(),
    }
}

/// The token of the author of the recordings.
const RECORDER: &str = "recorder";

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../suites/recordings/api"))
}

fn read_case(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A replay of one case, with saved values and differences of responses.
struct Replay {
    server: ApiServer,
    run: Simulation,
    variables: BTreeMap<String, String>,
    /// Pairs of corresponding revisions: recorded and answered.
    revisions: Vec<(u64, u64)>,
    differences: Vec<String>,
}

impl Replay {
    fn substitute(&self, text: &str) -> String {
        self.variables
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    fn request(&self, recorded: &Value) -> Request<Bytes> {
        let path = self.substitute(recorded["path"].as_str().unwrap()).replace(' ', "%20");
        let mut request = Request::builder().method(recorded["method"].as_str().unwrap_or("GET")).uri(path);
        request =
            request.header("user-agent", "recorder/1").header("accept", recorded["accept"].as_str().unwrap());
        if let Some(content_type) = recorded["content_type"].as_str() {
            request = request.header("content-type", content_type);
        }
        // By default the author was an administrator. An empty token means a request without credentials.
        match recorded["token"].as_str().unwrap_or(RECORDER) {
            "" => {}
            token => request = request.header("authorization", format!("Bearer {token}")),
        }
        for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
            request = request.header(name, self.substitute(value.as_str().unwrap()));
        }
        let body = match &recorded["body"] {
            Value::Null => String::new(),
            Value::String(text) => self.substitute(text),
            body => self.substitute(&body.to_string()),
        };
        request.body(Bytes::from(body)).unwrap()
    }

    async fn step(&mut self, name: &str, step: &Value) {
        if step["watch"].is_object() {
            return self.watch(name, step).await;
        }
        let answer = support::send(&self.server, self.request(&step["request"])).await;
        let recorded = &step["response"];
        let title = format!("{name} {} {}", step["request"]["method"], step["request"]["path"]);
        if recorded["status"] != answer.status.as_u16() {
            let found = format!(
                "{title}: recorded {}, answered {}: {}",
                recorded["status"], answer.status, answer.body
            );
            self.differences.push(found);
            return;
        }
        for (header, value) in recorded["headers"].as_object().unwrap() {
            let found = answer.headers.get(header).and_then(|value| value.to_str().ok()).unwrap_or_default();
            if value != found {
                self.differences
                    .push(format!("{title}: header {header}: recorded {value}, answered {found}"));
            }
        }
        for (variable, path) in step["save"].as_object().into_iter().flatten() {
            let path = format!("/{}", path.as_str().unwrap().replace('.', "/"));
            let value = answer.body.pointer(&path).and_then(Value::as_str).unwrap_or_default();
            self.variables.insert(variable.clone(), value.to_owned());
        }
        let expected = recorded["body"].get("$text").unwrap_or(&recorded["body"]);
        if recorded["headers"]["content-type"] == "application/yaml" {
            let read = |text: &Value| serde_saphyr::from_str::<Value>(text.as_str().unwrap()).unwrap();
            return self.compare(&title, &read(expected), &read(&answer.body));
        }
        self.compare(&title, expected, &answer.body);
    }

    async fn watch(&mut self, name: &str, step: &Value) {
        let response = support::open(&self.server, self.request(&step["watch"])).await;
        let title = format!("{name} WATCH {}", step["watch"]["path"]);
        if step["status"] != response.status().as_u16() {
            self.differences.push(format!(
                "{title}: recorded {}, answered {}",
                step["status"],
                response.status()
            ));
        }
        let reading = tokio::spawn(response.into_body().collect());
        self.run.clock.sleep(Duration::from_millis(100)).await;
        for (index, step) in step["while_open"].as_array().unwrap().iter().enumerate() {
            Box::pin(self.step(&format!("{name}.{index}"), step)).await;
        }
        let bytes = reading.await.unwrap().unwrap().to_bytes();
        let events: Vec<Value> =
            serde_json::Deserializer::from_slice(&bytes).into_iter().map(Result::unwrap).collect();
        self.compare(&title, &step["events"], &Value::Array(events));
    }

    fn compare(&mut self, title: &str, recorded: &Value, answered: &Value) {
        revisions::pair(recorded, answered, &mut self.revisions);
        let found = compare::differences(recorded, answered);
        self.differences.extend(found.into_iter().map(|difference| format!("{title}: {difference}")));
    }
}

/// The differences of one case.
fn replay(case: &Value) -> Vec<String> {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api"))
            .garbage_collector(false)
            .namespace_controller(false)
            .track_updates(true)
            .token(RECORDER, User::admin())
            .build();
        let namespace = case["namespace"].as_str().unwrap();
        let mut objects =
            vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})];
        objects.extend(definitions(case["case"].as_str().unwrap()));
        server.install(objects).unwrap();
        let variables = BTreeMap::from([("ns".to_owned(), namespace.to_owned())]);
        let mut replay = Replay { server, run, variables, revisions: Vec::new(), differences: Vec::new() };
        for object in found(case["case"].as_str().unwrap()) {
            let request = json!({"method": "POST", "path": "/api/v1/namespaces/{ns}/configmaps", "body": object,
                "accept": "application/json", "content_type": "application/json"});
            support::send(&replay.server, replay.request(&request)).await;
        }
        for (index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            replay.step(&index.to_string(), step).await;
        }
        replay.differences.extend(revisions::disorder(&replay.revisions));
        replay.differences
    })
}

#[test]
fn every_recorded_exchange_is_answered_alike() {
    let mut paths: Vec<_> = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 40, "the recordings are not where they should be");
    let mut wrong = Vec::new();
    for path in paths {
        let case = read_case(&path);
        let name = case["case"].as_str().unwrap();
        let gap = GAPS.iter().find(|(gap, _)| *gap == name);
        let differences = replay(&case);
        match gap {
            None if !differences.is_empty() => wrong.push(format!("{name}:\n  {}", differences.join("\n  "))),
            Some((_, reason)) if differences.is_empty() => {
                wrong.push(format!("{name} is answered alike now; take it off the list of gaps ({reason})"));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
