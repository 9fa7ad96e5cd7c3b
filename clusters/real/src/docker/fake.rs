//! A Docker Engine for tests: lists and removes containers, networks and volumes with labels.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Its resources: kind (`containers`, `networks`, `volumes`) and name, with the labels.
type FakeResources = Arc<Mutex<BTreeMap<(String, String), Value>>>;

/// A listening engine. Dropping it stops it.
pub(crate) struct FakeDocker {
    pub(crate) address: String,
    things: FakeResources,
    _task: JoinSet<()>,
}

impl FakeDocker {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap());
        let things = FakeResources::default();
        let mut task = JoinSet::new();
        let shared = Arc::clone(&things);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(stream, Arc::clone(&shared)));
            }
        });
        Self { address, things, _task: task }
    }

    pub(crate) fn has(&self, kind: &str, name: &str, labels: &Value) {
        self.things.lock().unwrap().insert((kind.into(), name.into()), labels.clone());
    }

    /// The names of all resources.
    pub(crate) fn names(&self) -> Vec<String> {
        self.things.lock().unwrap().keys().map(|(_, name)| name.clone()).collect()
    }
}

/// Answers one request.
async fn answer(stream: TcpStream, things: FakeResources) {
    let mut stream = BufReader::new(stream);
    let (mut request, mut line) = (String::new(), String::new());
    stream.read_line(&mut request).await.unwrap();
    while stream.read_line(&mut line).await.unwrap() > 2 {
        line.clear();
    }
    let mut words = request.split_whitespace();
    let (method, url) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = url.split('?').next().unwrap_or_default();
    let mut path: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    if path.first().is_some_and(|word| word.starts_with("v1.")) {
        path.remove(0);
    }
    let (code, body) = reply(method, &path, &things);
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!("HTTP/1.1 {code} -\r\ncontent-type: application/json\r\nconnection: close\r\n");
    let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(text.as_bytes()).await;
}

fn reply(method: &str, path: &[&str], things: &FakeResources) -> (u16, Value) {
    let mut things = things.lock().unwrap();
    let missing = (404, json!({"message": "no such thing"}));
    let kind = path.first().copied().unwrap_or_default();
    let all = || things.iter().filter(|((of, _), _)| of == kind);
    match (method, path) {
        ("GET", ["version"]) => (200, json!({"Version": "28", "ApiVersion": "1.47"})),
        ("GET", ["containers", "json"]) => {
            let one = |((_, name), labels): (&(String, String), &Value)| json!({"Id": name, "Names": [format!("/{name}")], "Labels": labels});
            (200, all().map(one).collect())
        }
        ("GET", ["networks"]) => {
            let one = |((_, name), labels): (&(String, String), &Value)| json!({"Id": name, "Name": name, "Labels": labels});
            (200, all().map(one).collect())
        }
        ("GET", ["volumes"]) => {
            let volumes: Value = all().map(|((_, name), labels)| volume(name, labels)).collect();
            (200, json!({"Volumes": volumes}))
        }
        ("GET", [kind, name] | [kind, name, "json"]) => {
            let Some(labels) = things.get(&((*kind).into(), (*name).into())) else { return missing };
            match *kind {
                "containers" => (200, json!({"Id": name, "Config": {"Labels": labels}})),
                "networks" => (200, json!({"Id": name, "Name": name, "Labels": labels})),
                _ => (200, volume(name, labels)),
            }
        }
        ("DELETE", [kind, name]) => match things.remove(&((*kind).into(), (*name).into())) {
            Some(_) => (204, Value::Null),
            None => missing,
        },
        _ => (500, json!({"message": format!("{method} {path:?}")})),
    }
}

fn volume(name: &str, labels: &Value) -> Value {
    json!({"Name": name, "Driver": "local", "Mountpoint": "/", "Labels": labels, "Scope": "local", "Options": {}})
}
