//! Runs the program for nodes in real time, with the flags of the kube-controller-manager profile.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use capsize::run::implementation;
use capsize::targets;
use capsize_apiserver::Server;
use capsize_clock::{Seed, live};
use capsize_judge::profile::{Profile, Start};
use capsize_report::Status;
use capsize_runner::run::{Target, run_case};
use capsize_runner::scenario::Case;
use http::Request;
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use serde_json::json;
use tokio::time::timeout;

const PROGRAM: &str = env!("CARGO_BIN_EXE_capsize-node-controllers");

/// The time after which a condition that does not hold fails the test.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The profile of the real program, with the reference program in its place.
fn profile_with_reference() -> Profile {
    let mut profile = targets::find("kube-controller-manager-1.36").unwrap();
    let Start::Processes(programs) = &mut profile.start else { panic!("it is started as a program") };
    PROGRAM.clone_into(&mut programs[0].command[0]);
    profile
}

fn runs(scenario: &str) {
    let case = Case::from_text("live", "case.yaml", scenario).unwrap();
    let profile = profile_with_reference();
    let Ok(implementation) = implementation(&profile) else { panic!("it cannot be started") };
    let outcome =
        run_case(&case, Target { profile: &profile, implementation: &*implementation }, Seed(1), false);
    assert_eq!(outcome.broken, None);
    assert_eq!(
        outcome.case.status,
        Status::Passed,
        "{:?} {:?}",
        outcome.case.failures,
        outcome.case.judgement
    );
}

#[test]
fn a_node_that_falls_silent_loses_its_pods_to_a_program_that_has_the_real_flags() {
    runs(
        r"
scenario: silence
about: A node falls silent; what ran on it moves, and the node is well again once it is back.
timings: {statusUpdateFrequency: 1s, monitorPeriod: 1s, monitorGracePeriod: 5s}
cluster: {zones: {a: 2, b: 2}, flags: {nodeEvictionRate: 1}}
given:
  - pods: {name: web, kind: Deployment, replicas: 4, tolerations: [{key: unreachable, effect: NoExecute, seconds: 2}]}
  - settled: web
when:
  - silence: {node: a1}
then:
  - health: {node: a1, is: Unknown, within: 20s}
  - tainted: {node: a1, key: unreachable, effect: NoSchedule, within: 5s}
  - tainted: {node: a1, key: unreachable, effect: NoExecute, within: 10s}
  - evicted: {workload: web, from: a1, within: 10s}
  - heal: a1
  - untainted: {node: a1, key: unreachable, effect: NoExecute, within: 15s}
",
    );
}

#[test]
fn a_program_for_nodes_is_killed_and_goes_on_where_it_was() {
    runs(
        r"
scenario: restart
about: The program is killed while a node is silent; after its restart it taints the node and mirrors a label.
timings: {statusUpdateFrequency: 1s, monitorPeriod: 1s, monitorGracePeriod: 5s}
cluster: {zones: {a: 1, b: 2}, flags: {nodeEvictionRate: 1}}
when:
  - kill: controllers
  - silence: {node: a1}
  - apply: {to: controlPlane, object: {apiVersion: v1, kind: Node, metadata: {name: b1, labels: {kubernetes.io/os: plan9}}}}
  - wait: 2s
  - start: controllers
then:
  - tainted: {node: a1, key: unreachable, effect: NoExecute, within: 30s}
  - seen:
      in: controlPlane
      object: {apiVersion: v1, kind: Node, metadata: {name: b1, labels: {beta.kubernetes.io/os: plan9}}}
      within: 5s
",
    );
}

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
