//! Runs the program for nodes in real time, and checks its health, its metrics and its exit codes.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use capsize_apiserver::Server;
use capsize_clock::{Seed, live};
use http::Request;
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use serde_json::json;
use tokio::time::timeout;

const PROGRAM: &str = env!("CARGO_BIN_EXE_capsize-node-controllers");

/// The time after which a condition that does not hold fails the test.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The running program. It is killed when the value is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Requests `path` until the answer contains every line of `expected`.
async fn await_answer(port: u16, path: &str, expected: &[&str]) {
    let address = format!("https://127.0.0.1:{port}").parse().unwrap();
    let mut config = Config::new(address);
    config.accept_invalid_certs = true;
    let client = Client::try_from(config).unwrap();
    loop {
        let request = Request::get(path).body(Vec::new()).unwrap();
        let text = client.request_text(request).await.unwrap_or_default();
        if expected.iter().all(|line| text.contains(line)) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn health_and_metrics_are_served_over_https_by_their_real_names() {
    live(Seed(1), 1.0, |_| async {
        let cluster = Server::builder().name("it").build().listen("127.0.0.1:0").await.unwrap();
        let nodes: Api<Node> = Api::all(cluster.client().await.unwrap());
        for (name, ready) in [("n1", "True"), ("n2", "False")] {
            let node = json!({
                "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "a"}},
                "status": {"conditions": [{"type": "Ready", "status": ready, "reason": "r", "message": "m"}]},
            });
            nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, cluster.kubeconfig()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(PROGRAM)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--secure-port={port}"))
            .args(["--bind-address=127.0.0.1", "--node-monitor-period=100ms"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _program = Program(process);
        timeout(TIME_LIMIT, await_answer(port, "/healthz", &["ok"])).await.unwrap();
        let expected = [
            "node_collector_zone_size{zone=\":\0:a\"} 2",
            "node_collector_zone_health{zone=\":\0:a\"} 50",
            "node_collector_unhealthy_nodes_in_zone{zone=\":\0:a\"} 1",
            "node_collector_evictions_total{zone=\":\0:a\"} 1",
        ];
        timeout(TIME_LIMIT, await_answer(port, "/metrics", &expected)).await.unwrap();
        cluster.stop().await;
    })
    .unwrap();
}

#[test]
fn bad_input_and_a_bad_environment_have_codes_of_their_own() {
    let cases = [
        (vec!["--no-such-flag"], 2),
        (vec!["--controllers=nodelifecycle"], 2),
        (vec!["--kubeconfig=/nowhere/at/all"], 2),
    ];
    for (arguments, code) in cases {
        let ended = Command::new(PROGRAM).args(&arguments).stderr(Stdio::null()).status().unwrap();
        assert_eq!(ended.code(), Some(code), "{arguments:?}");
    }
}
