//! Replays the recorded requests of kubectl, and compares the responses with a real server.
//!
//! Discovery, OpenAPI and the version are left out, because the recordings have no responses for them.

use std::collections::BTreeMap;
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
use crate::support::revisions;

/// The recorded server's revision before the first command. Its origin is not part of the recording.
const BEFORE: u64 = 79;

/// Creates the objects that the first command found.
/// The objects are a namespace of the recording's author, and an event of the vendor.
async fn found(server: &ApiServer) {
    let event = "/api/v1/namespaces/default/events";
    let name = "openshift-kube-apiserver.18e9ea4dae999e3e";
    let written = [
        (
            "POST",
            "/api/v1/namespaces?fieldManager=kubectl-create".to_owned(),
            json!({"metadata": {"name": "viaproxy"}}),
        ),
        (
            "POST",
            event.to_owned(),
            json!({"metadata": {"name": name}, "reason": "KubeAPIReadyz", "type": "Warning", "message": "readyz=true",
                "involvedObject": {"kind": "Namespace", "name": "openshift-kube-apiserver"}, "count": 1,
                "source": {"component": "apiserver", "host": "vm"},
                "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"}),
        ),
        ("PATCH", format!("{event}/{name}"), json!({"metadata": {"managedFields": [{}]}})),
    ];
    for (method, path, body) in written {
        let answer = support::ask(server, method, &path, &body).await;
        assert!(answer.status.is_success(), "{}", answer.body);
    }
}

struct Replay {
    server: ApiServer,
    /// The uids of this server by those of the recording.
    /// The field `versions` has the revisions of this server by those of the recording. The field `revisions` has pairs
    /// of revisions, including those of lists.
    uids: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    revisions: Vec<(u64, u64)>,
}

impl Replay {
    /// Replaces the values that the recorded server chose by those of this server.
    fn translated(&self, text: &str) -> String {
        let text = self.uids.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
        // The places are the field itself and a patch of the field.
        let places = [r#""resourceVersion":"#, r#""path":"/metadata/resourceVersion","value":"#];
        self.versions.iter().fold(text, |text, (old, new)| {
            places.iter().fold(text, |text, place| {
                text.replace(&format!(r#"{place}"{old}""#), &format!(r#"{place}"{new}""#))
            })
        })
    }

    fn request(&self, recorded: &Value) -> Request<Bytes> {
        let path = recorded["path"].as_str().unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parameter = |part: &str| match part.strip_prefix("resourceVersion=") {
            Some(version) => {
                format!("resourceVersion={}", self.versions.get(version).map_or(version, String::as_str))
            }
            None => part.to_owned(),
        };
        let mut query = query.split('&').map(parameter).collect::<Vec<_>>().join("&");
        if recorded["events"].is_array() {
            query.push_str("&timeoutSeconds=1");
        }
        let request = Request::builder()
            .method(recorded["method"].as_str().unwrap())
            .uri(format!("{path}?{query}"))
            .header("user-agent", "kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd")
            .header("accept", recorded["accept"].as_str().unwrap_or("*/*"));
        let request = match recorded["content_type"].as_str() {
            Some(media) => request.header("content-type", media),
            None => request,
        };
        let body = match &recorded["body"] {
            Value::Null => Bytes::new(),
            Value::String(text) => self.translated(text).into(),
            body => match (body["$base64"].as_str(), body["$text"].as_str()) {
                (Some(text), _) => STANDARD.decode(text).unwrap().into(),
                (_, Some(text)) => self.translated(text).into(),
                _ => self.translated(&body.to_string()).into(),
            },
        };
        request.body(body).unwrap()
    }

    /// Records the uid and the revision that correspond to the recorded ones.
    fn pair(&mut self, recorded: &Value, answered: &Value) {
        for (field, pairs) in [("uid", &mut self.uids), ("resourceVersion", &mut self.versions)] {
            if let (Some(old), Some(new)) =
                (recorded["metadata"][field].as_str(), answered["metadata"][field].as_str())
            {
                pairs.insert(old.to_owned(), new.to_owned());
            }
        }
        for list in ["items", "rows"] {
            for old in recorded[list].as_array().into_iter().flatten() {
                let object = |row: &Value| row.get("object").unwrap_or(row).clone();
                let old = object(old);
                let same = |new: &&Value| object(new)["metadata"]["name"] == old["metadata"]["name"];
                if let Some(new) = answered[list].as_array().into_iter().flatten().find(same) {
                    self.pair(&old, &object(new));
                }
            }
        }
    }

    async fn exchange(&mut self, recorded: &Value) -> Vec<String> {
        let answer = support::send(&self.server, self.request(recorded)).await;
        if recorded["status"] != answer.status.as_u16() {
            return vec![format!(
                "recorded {}, answered {}: {}",
                recorded["status"], answer.status, answer.body
            )];
        }
        let media =
            answer.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if recorded["answer_type"] != media {
            return vec![format!("recorded {}, answered {media}", recorded["answer_type"])];
        }
        let (expected, answered) = if recorded["events"].is_array() {
            let text = match &answer.body {
                Value::String(text) => text.clone(),
                event => event.to_string(),
            };
            // The recording contains the events until the client closed the connection.
            let seen = recorded["events"].as_array().map_or(0, Vec::len);
            let events = serde_json::Deserializer::from_str(&text).into_iter::<Value>().take(seen);
            (recorded["events"].clone(), events.map(Result::unwrap).collect())
        } else {
            let expected = recorded["answer"].get("$text").unwrap_or(&recorded["answer"]);
            (expected.clone(), answer.body)
        };
        self.pair(&expected, &answered);
        revisions::pair(&expected, &answered, &mut self.revisions);
        compare::differences(&expected, &answered)
    }
}

/// Returns true if the responses of such exchanges were not recorded.
fn is_left_out(exchange: &Value) -> bool {
    let path = exchange["path"].as_str().unwrap();
    let path = path.split('?').next().unwrap();
    path == "/version"
        || path.starts_with("/openapi")
        || (exchange["answer"].is_null() && exchange["events"].is_null())
}

fn recordings() -> Vec<(String, Value)> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../suites/recordings/kubectl"));
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &Path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    paths.iter().map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(path))).collect()
}

/// The differences of each command.
fn replay() -> BTreeMap<String, Vec<String>> {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api"))
            .garbage_collector(false)
            .namespace_controller(false)
            .track_updates(true)
            .build();
        found(&server).await;
        let empty = (BTreeMap::new(), BTreeMap::new());
        let mut replay = Replay { server, uids: empty.0, versions: empty.1, revisions: Vec::new() };
        let mut all = BTreeMap::new();
        for (name, recording) in recordings() {
            let mut differences = Vec::new();
            for exchange in recording["exchanges"].as_array().unwrap() {
                if is_left_out(exchange) {
                    continue;
                }
                let title = format!(
                    "{} {}",
                    exchange["method"].as_str().unwrap(),
                    exchange["path"].as_str().unwrap()
                );
                let found = replay.exchange(exchange).await;
                differences.extend(found.into_iter().map(|difference| format!("{title}: {difference}")));
            }
            all.insert(name, differences);
        }
        replay.revisions.retain(|(recorded, _)| *recorded > BEFORE);
        all.insert("revisions".into(), revisions::disorder(&replay.revisions));
        all
    })
}

#[test]
fn kubectl_is_answered_as_by_a_real_server() {
    let all = replay();
    assert!(all.len() > 60, "the recordings are not where they should be");
    let wrong: Vec<String> = all
        .iter()
        .filter(|(_, differences)| !differences.is_empty())
        .map(|(name, differences)| format!("{name}:\n  {}", differences.join("\n  ")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
