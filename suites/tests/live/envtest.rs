//! Tests `capsize envtest`.
//! The programs run under their names, with the flags that envtest of controller-runtime passes.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use capsize_apiserver::{Authority, Identity};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::command::send;
use crate::fleet::{client, eventually};

/// A program that is killed when the test fails.
struct Program(Child);

impl Program {
    fn start(program: PathBuf, flags: &[String]) -> Self {
        Self(Command::new(program).args(flags).spawn().unwrap())
    }

    /// Stops it like envtest.
    fn stop(mut self) {
        send("-TERM", &self.0);
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder with the programs.
fn assets(folder: &Path) -> PathBuf {
    let assets = folder.join("assets");
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    let output = command.args(["envtest", "assets"]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, format!("export KUBEBUILDER_ASSETS='{}'\n", assets.display()));
    assets
}

/// As envtest finds one. The program listens there later.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The answer to a request for the health of etcd.
async fn health(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: etcd\r\n\r\n").await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// A client with this certificate.
async fn with_certificate(folder: &Path, port: u16, identity: &Identity) -> Client {
    let data = |pem: &str| BASE64_STANDARD.encode(pem);
    let server = format!("https://127.0.0.1:{port}");
    let user = json!({"client-certificate-data": data(&identity.certificate), "client-key-data": data(&identity.key)});
    let kubeconfig = json!({
        "clusters": [{"name": "it", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    });
    let file = folder.join("kubeconfig");
    fs::write(&file, kubeconfig.to_string()).unwrap();
    client(&file, "it").await
}

#[tokio::test]
async fn envtest_finds_a_healthy_etcd() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}");
    let flags = [
        format!("--advertise-client-urls={url}"),
        format!("--data-dir={}", folder.path().display()),
        format!("--listen-client-urls={url}"),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        "--unsafe-no-fsync=true".to_owned(),
    ];
    let etcd = Program::start(assets(folder.path()).join("etcd"), &flags);
    let answer = eventually("etcd answers", || health(port)).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(r#"{"health":"true"}"#), "{answer}");
    etcd.stop();
}

#[tokio::test]
async fn envtest_finds_a_server_that_knows_the_users_of_its_authority() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let users = Authority::new("users").unwrap();
    // Clients of this test do not check the certificate of the server.
    let own = users.client("kube-apiserver", None).unwrap();
    fs::write(folder.join("apiserver.crt"), &own.certificate).unwrap();
    fs::write(folder.join("apiserver.key"), &own.key).unwrap();
    fs::write(folder.join("client-cert-auth-ca.crt"), users.pem()).unwrap();
    let port = free_port();
    let at = |file: &str| folder.join(file).display().to_string();
    let flags = [
        "--allow-privileged=true".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", folder.display()),
        format!("--client-ca-file={}", at("client-cert-auth-ca.crt")),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--etcd-servers=http://127.0.0.1:2379".to_owned(),
        format!("--secure-port={port}"),
        format!("--service-account-issuer=https://127.0.0.1:{port}/"),
        format!("--service-account-key-file={}", at("sa-signer.crt")),
        format!("--service-account-signing-key-file={}", at("sa-signer.key")),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
    ];
    let server = Program::start(assets(folder).join("kube-apiserver"), &flags);

    let admin = users.client("default", Some("system:masters")).unwrap();
    let admin = with_certificate(folder, port, &admin).await;
    let maps: Api<ConfigMap> = Api::namespaced(admin, "default");
    eventually("the server answers", || async { maps.list(&ListParams::default()).await.ok() }).await;
    let mut map = ConfigMap::default();
    map.metadata.name = Some("colours".into());
    maps.create(&PostParams::default(), &map).await.unwrap();

    let nobody = with_certificate(folder, port, &users.client("nobody", None).unwrap()).await;
    let refused = Api::<ConfigMap>::namespaced(nobody, "default").get("colours").await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");
    assert!(refused.to_string().contains(r#"User "nobody" cannot get"#), "{refused}");
    server.stop();
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

#[test]
fn a_flag_that_would_have_no_effect_is_refused_by_its_name() {
    let folder = TempDir::new().unwrap();
    let server = assets(folder.path()).join("kube-apiserver");
    let output = run(&server, &["--enable-admission-plugins=PodSecurity"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--enable-admission-plugins"));
}

#[test]
fn envtest_reads_in_the_help_which_flags_a_program_has() {
    let folder = TempDir::new().unwrap();
    let assets = assets(folder.path());
    // It looks for lines that begin with a flag.
    let has = |program: &str, flag: &str| {
        let output = run(&assets.join(program), &["--help"]);
        assert!(output.status.success());
        let help = String::from_utf8(output.stdout).unwrap();
        help.lines().any(|line| line.trim_start().starts_with(flag))
    };
    assert!(has("etcd", "--unsafe-no-fsync"));
    assert!(!has("kube-apiserver", "--insecure-port"));
}
