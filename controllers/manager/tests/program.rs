//! Runs the program against a control plane over HTTPS, with a member that is known from a secret.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use capsize_apiserver::{RunningServer, Server};
use capsize_clock::{Seed, live};
use capsize_controllers::api::{self, Cluster};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

/// The time after which a condition that does not hold fails the test.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The running program. It is killed when the value is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

async fn create<K>(api: Api<K>, object: Value)
where
    K: kube::Resource + Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
    K::DynamicType: Default,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// The credentials for a server: its CA and the administrator's token.
fn credentials(server: &RunningServer) -> Value {
    let kubeconfig: Value =
        serde_json::to_value(Kubeconfig::from_yaml(&server.kubeconfig()).unwrap()).unwrap();
    let ca = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
    let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap();
    json!({"caBundle": ca, "token": base64(token)})
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

async fn client(server: &RunningServer) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: it\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Reads the metrics until they hold every line of `expected`.
async fn await_metrics(address: &str, expected: &[&str]) {
    loop {
        let address = address.to_owned();
        let numbers = tokio::task::spawn_blocking(move || get(&address, "/metrics")).await.unwrap();
        if expected.iter().all(|line| numbers.contains(line)) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_member_is_probed_with_its_secret_and_reported_and_the_lead_is_given_back() {
    live(Seed(1), 1.0, |_| async {
        let definitions =
            api::crds().iter().map(|definition| serde_json::to_value(definition).unwrap()).collect();
        let control_plane = Server::builder().name("control-plane").build();
        control_plane.install(definitions).unwrap();
        let control_plane = control_plane.listen("127.0.0.1:0").await.unwrap();
        let member = Server::builder().name("m1").build().listen("127.0.0.1:0").await.unwrap();
        let plane = client(&control_plane).await;
        for name in ["karmada-system", "karmada-cluster"] {
            create::<Namespace>(Api::all(plane.clone()), json!({"metadata": {"name": name}})).await;
        }
        let secret = json!({"metadata": {"name": "m1"}, "data": credentials(&member)});
        create::<Secret>(Api::namespaced(plane.clone(), "karmada-cluster"), secret).await;
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "apiEndpoint": member.url(),
                "secretRef": {"namespace": "karmada-cluster", "name": "m1"}}});
        create::<Cluster>(Api::all(plane.clone()), cluster).await;

        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, control_plane.kubeconfig()).unwrap();
        let (health, metrics) = (free_address(), free_address());
        let process = Command::new(env!("CARGO_BIN_EXE_capsize-controllers"))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--health-probe-bind-address={health}"))
            .arg(format!("--metrics-bind-address={metrics}"))
            .args(["--cluster-success-threshold=0s", "--cluster-status-update-frequency=1s"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut program = Program(process);
        let ready = |cluster: Option<&Cluster>| {
            let condition = cluster.and_then(Cluster::ready_condition);
            condition.is_some_and(|condition| condition.status == "True")
        };
        let awaited = await_condition(Api::<Cluster>::all(plane.clone()), "m1", ready);
        timeout(TIME_LIMIT, awaited).await.unwrap().unwrap();
        assert!(get(&health, "/healthz").ends_with("ok"));
        // The gauge has a watch of its own, so it may change a moment after the condition.
        let expected = [
            "cluster_ready_state{member_cluster=\"m1\",cluster_name=\"m1\"} 1",
            "cluster_sync_status_duration_seconds_count{member_cluster=\"m1\",cluster_name=\"m1\"} ",
            "leader_election_master_status{name=\"karmada-controller-manager\"} 1",
        ];
        let awaited = await_metrics(&metrics, &expected);
        timeout(TIME_LIMIT, awaited).await.unwrap();

        let pid = program.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let ended = tokio::task::spawn_blocking(move || program.0.wait().unwrap().code());
        assert_eq!(timeout(TIME_LIMIT, ended).await.unwrap().unwrap(), Some(0));
        let leases: Api<Lease> = Api::namespaced(plane, "karmada-system");
        let lease = leases.get("karmada-controller-manager").await.unwrap();
        assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some(""));
        control_plane.stop().await;
        member.stop().await;
    })
    .unwrap();
}

#[test]
fn bad_input_and_a_bad_environment_have_codes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (broken, silent) = (folder.path().join("broken"), folder.path().join("silent"));
    std::fs::write(&broken, "clusters: 5").unwrap();
    let unreachable = json!({
        "clusters": [{"name": "it", "cluster": {"server": format!("http://{}", free_address())}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "me"}}],
        "users": [{"name": "me", "user": {}}],
        "current-context": "it",
    });
    std::fs::write(&silent, unreachable.to_string()).unwrap();
    let (missing, broken, silent) = (folder.path().join("missing"), broken.display(), silent.display());
    let cases = [
        (vec!["--no-such-flag".to_owned()], 2),
        (vec!["--cluster-monitor-period=5".to_owned()], 2),
        (vec!["--controllers=nobody".to_owned()], 2),
        (vec![format!("--kubeconfig={}", missing.display())], 2),
        (vec![format!("--kubeconfig={broken}")], 2),
        (vec![format!("--kubeconfig={silent}"), "--context=other".to_owned()], 2),
        (vec![format!("--kubeconfig={silent}")], 3),
    ];
    for (arguments, code) in cases {
        let program = Command::new(env!("CARGO_BIN_EXE_capsize-controllers"));
        let ended = { program }.args(&arguments).stderr(Stdio::piped()).output().unwrap();
        let printed = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {printed}");
    }
}
