//! The promised figures of the embedded API server, measured through its service, without a socket.
//!
//! Machines are noisy, so each figure is the best of several rounds.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use capsize_apiserver::{ApiServer, ApiService};
use capsize_clock::{Seed, Simulation, simulate};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::task::{LocalSet, spawn_local, yield_now};
use tower::Service;

use super::command::{Row, now, resident_kib, row, row_alone};
use crate::exit::CommandError;

const ROUNDS: usize = 5;
/// How many requests are measured together.
const REQUESTS: usize = 10_000;
const PODS: usize = 10_000;
const SMALL: usize = 100_000;
const WATCHERS: usize = 1000;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const POD_PATH: &str = "/api/v1/namespaces/default/pods";

/// The figures of the API server.
pub(crate) const ROWS: [Row; 7] = [
    row("gets of a small object", "at least 100000/s", gets),
    row("creates of a small object", "at least 40000/s", creates),
    row("a create at 100 000 objects, of one at 1 000", "at most 1.5 x", growth),
    row("a list of 10 000 pods", "at most 15 ms", list),
    row("one write, until 1 000 watchers have it", "at most 5 ms", fan_out),
    row_alone("memory of a pod, of its JSON", "at most 3 x", || Ok(memory(POD_PATH, PODS, pod))),
    row_alone("memory of a small config map, of its JSON", "at most 3 x", || {
        Ok(memory(CONFIG_MAPS, SMALL, config_map))
    }),
];

fn api(run: &Simulation) -> ApiService {
    ApiServer::builder(run.clock, run.seed.stream("api")).build().service()
}

/// Sends a request and reads the whole answer.
async fn send(service: &mut ApiService, method: &str, path: &str, body: Bytes) -> Bytes {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(Full::new(body)).expect("the paths are constants");
    let answer = service.call(request).await.expect("the service never fails");
    assert!(answer.status().is_success(), "{method} {path}: {}", answer.status());
    answer.into_body().collect().await.expect("a body never fails").to_bytes()
}

/// Reads a list as a socket would, piece by piece; its length in bytes.
async fn read(service: &mut ApiService, path: &str) -> usize {
    let request = Request::get(path).body(Full::<Bytes>::default()).expect("the paths are constants");
    let mut body = service.call(request).await.expect("the service never fails").into_body();
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await {
        length += frame.data_ref().map_or(0, Bytes::len);
    }
    length
}

fn config_map(number: usize) -> Bytes {
    let object = json!({"metadata": {"name": format!("small-{number}")}, "data": {"key": "value"}});
    Bytes::from(object.to_string())
}

/// A pod of about the size that they have: some 3 KiB.
fn pod(number: usize) -> Bytes {
    let variables: Vec<Value> = (0..12)
        .map(|at| json!({"name": format!("SETTING_{at}"), "value": format!("a value of some length, number {at}")}))
        .collect();
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10});
    let container = |name: &str| {
        json!({"name": name, "image": format!("registry.example.com/team/{name}:v1.2.3"), "env": variables,
            "ports": [{"containerPort": 8080, "name": "http"}], "livenessProbe": probe, "readinessProbe": probe,
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": true}]})
    };
    let object = json!({
        "metadata": {"name": format!("web-{number:05}"), "labels": {"app": "web", "tier": "front", "number": number.to_string()},
            "annotations": {"example.com/checksum": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}},
        "spec": {"containers": [container("web"), container("sidecar")], "serviceAccountName": "web", "nodeName": "n1",
            "volumes": [{"name": "config", "configMap": {"name": "web-config"}}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]}});
    Bytes::from(object.to_string())
}

async fn fill(
    service: &mut ApiService,
    path: &str,
    numbers: std::ops::Range<usize>,
    object: fn(usize) -> Bytes,
) {
    for number in numbers {
        send(service, "POST", path, object(number)).await;
    }
}

/// How much resident memory an object takes, as a multiple of its JSON.
fn memory(path: &'static str, count: usize, object: fn(usize) -> Bytes) -> String {
    simulate(Seed(1), |run| async move {
        let mut service = api(&run);
        fill(&mut service, path, 0..100, object).await;
        let before = resident_kib();
        fill(&mut service, path, 100..count, object).await;
        let after = resident_kib();
        let text = read(&mut service, path).await * (count - 100) / count;
        let taken = after.zip(before).map(|(after, before)| after.saturating_sub(before) * 1024);
        taken.map_or("not measured".into(), |taken| format!("{:.2} x", taken as f64 / text as f64))
    })
}

fn best(times: impl IntoIterator<Item = Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

fn rate(time: Duration) -> String {
    format!("{:.0}/s", REQUESTS as f64 / time.as_secs_f64())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

fn gets() -> Result<String, CommandError> {
    let time = simulate(Seed(1), |run| async move {
        let mut service = api(&run);
        send(&mut service, "POST", CONFIG_MAPS, config_map(0)).await;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = now();
            for _ in 0..REQUESTS {
                send(&mut service, "GET", "/api/v1/namespaces/default/configmaps/small-0", Bytes::new())
                    .await;
            }
            times.push(start.elapsed());
        }
        best(times)
    });
    Ok(rate(time))
}

/// The time that it takes to create the objects with these numbers.
async fn create_time(service: &mut ApiService, numbers: std::ops::Range<usize>) -> Duration {
    let bodies: Vec<_> = numbers.map(config_map).collect();
    let start = now();
    for body in bodies {
        send(service, "POST", CONFIG_MAPS, body).await;
    }
    start.elapsed()
}

fn creates() -> Result<String, CommandError> {
    let time = simulate(Seed(1), |run| async move {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            times.push(create_time(&mut api(&run), 0..REQUESTS).await);
        }
        best(times)
    });
    Ok(rate(time))
}

/// The cost of a create beside many objects, compared with its cost beside few.
fn growth() -> Result<String, CommandError> {
    const FEW: usize = 1000;
    const MEASURED: usize = 2000;
    let (few, many) = simulate(Seed(1), |run| async move {
        let mut few = Vec::new();
        for _ in 0..ROUNDS {
            let mut service = api(&run);
            fill(&mut service, CONFIG_MAPS, 0..FEW, config_map).await;
            few.push(create_time(&mut service, FEW..FEW + MEASURED).await);
        }
        let mut service = api(&run);
        fill(&mut service, CONFIG_MAPS, 0..SMALL, config_map).await;
        let mut many = Vec::new();
        for round in 0..ROUNDS {
            let first = SMALL + round * MEASURED;
            many.push(create_time(&mut service, first..first + MEASURED).await);
        }
        (best(few), best(many))
    });
    Ok(format!("{:.2} x", many.as_secs_f64() / few.as_secs_f64()))
}

fn list() -> Result<String, CommandError> {
    let time = simulate(Seed(1), |run| async move {
        let mut service = api(&run);
        fill(&mut service, POD_PATH, 0..PODS, pod).await;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = now();
            read(&mut service, POD_PATH).await;
            times.push(start.elapsed());
        }
        best(times)
    });
    Ok(milliseconds(time))
}

/// The time from a write until all watchers have what it wrote.
fn fan_out() -> Result<String, CommandError> {
    let time = simulate(Seed(1), |run| async move { LocalSet::new().run_until(watched_writes(&run)).await });
    Ok(milliseconds(time))
}

async fn watched_writes(run: &Simulation) -> Duration {
    let mut service = api(run);
    send(&mut service, "POST", POD_PATH, pod(0)).await;
    let sent = Rc::new(Cell::new(0));
    for _ in 0..WATCHERS {
        let request = Request::get(format!("{POD_PATH}?watch=1&resourceVersion=0")).body(Full::default());
        let answer = service.call(request.expect("the path is a constant")).await.expect("it never fails");
        let (mut body, sent) = (answer.into_body(), sent.clone());
        spawn_local(async move {
            while let Some(Ok(_)) = body.frame().await {
                sent.set(sent.get() + 1);
            }
        });
    }
    let mut times = Vec::new();
    for round in 1..=ROUNDS * 4 {
        while sent.get() < round * WATCHERS {
            yield_now().await;
        }
        let change = json!({"status": {"phase": "Running", "message": round.to_string()}}).to_string();
        let path = format!("{POD_PATH}/web-00000/status");
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        let request = request.body(Full::from(change)).expect("the path is a constant");
        let start: Instant = now();
        let answer = service.call(request).await.expect("it never fails");
        assert!(answer.status().is_success(), "{}", answer.status());
        while sent.get() < (round + 1) * WATCHERS {
            yield_now().await;
        }
        times.push(start.elapsed());
    }
    best(times)
}
