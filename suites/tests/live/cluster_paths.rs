//! Clusters behind paths of one server, as in Rancher: every request has the path of the server URL.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use capsize_apiserver::Authority;
use capsize_clock::{Seed, Simulation, live};
use capsize_clusters::{Fleet, FleetSpec, MemberSpec};
use http::{Request, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::Service;

use crate::command::{capsize, printed};
use crate::existing::write_target;
use crate::processes::MOVES;

/// A server with a cluster behind each of the paths `/k8s/clusters/m1` and `/k8s/clusters/m2`.
/// Another cluster is behind all other paths.
struct Paths {
    fleet: Fleet,
    url: String,
    authority: String,
    /// The number of requests to the other cluster.
    misrouted: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Paths {
    async fn start(run: Simulation) -> Self {
        let members = ["m1", "m2", "other"].map(MemberSpec::named).to_vec();
        let fleet = Fleet::embedded(run, &FleetSpec { members }, None);
        let authority = Authority::new("paths").unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(authority.server(vec!["127.0.0.1".into()]).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let misrouted = Arc::new(AtomicUsize::new(0));
        let services = ["m1", "m2", "other"].map(|name| fleet.member(name).unwrap().api().unwrap().service());
        let route = {
            let misrouted = Arc::clone(&misrouted);
            move |mut request: Request<Incoming>| {
                let (cluster, path) = routed(request.uri());
                *request.uri_mut() = path;
                misrouted.fetch_add(usize::from(cluster == 2), Ordering::SeqCst);
                let mut service = services[cluster].clone();
                async move { service.call(request).await }
            }
        };
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, route) = (acceptor.clone(), route.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let protocols = auto::Builder::new(TokioExecutor::new());
                    drop(protocols.serve_connection(TokioIo::new(stream), service_fn(route)).await);
                });
            }
        });
        Self { fleet, url, authority: authority.pem(), misrouted, _task: task }
    }

    /// A kubeconfig with these paths for the first members.
    fn kubeconfig(&self, paths: &[&str]) -> Value {
        use base64::Engine as _;
        let authority = base64::engine::general_purpose::STANDARD.encode(&self.authority);
        let names = ["m1", "m2"].into_iter().zip(paths);
        let clusters = names.clone().map(|(name, path)| {
            let cluster =
                json!({"server": format!("{}{path}", self.url), "certificate-authority-data": authority});
            json!({"name": name, "cluster": cluster})
        });
        let contexts =
            names.map(|(name, _)| json!({"name": name, "context": {"cluster": name, "user": "u"}}));
        json!({"apiVersion": "v1", "kind": "Config", "clusters": clusters.collect::<Value>(),
            "contexts": contexts.collect::<Value>(), "users": [{"name": "u", "user": {"token": "t"}}]})
    }

    async fn uid(&self, member: &str) -> String {
        let namespaces: Api<Namespace> = Api::all(self.fleet.member(member).unwrap().client());
        namespaces.get("kube-system").await.unwrap().metadata.uid.unwrap()
    }

    async fn deployments(&self, member: &str) -> usize {
        let deployments: Api<Deployment> = Api::all(self.fleet.member(member).unwrap().client());
        deployments.list(&ListParams::default()).await.unwrap().items.len()
    }
}

/// The cluster of a request, and the path in that cluster.
fn routed(uri: &Uri) -> (usize, Uri) {
    let all = uri.path_and_query().map_or("/", |path| path.as_str());
    for (cluster, prefix) in ["/k8s/clusters/m1", "/k8s/clusters/m2"].into_iter().enumerate() {
        if let Some(rest) = all.strip_prefix(prefix).filter(|rest| rest.starts_with('/')) {
            return (cluster, rest.parse().unwrap());
        }
    }
    (2, all.parse().unwrap())
}

/// Runs a case on both clusters, while this thread serves them.
async fn run(folder: &Path, case: &str, allow: [String; 2]) -> Output {
    let path = |name: &str| folder.join(name);
    write_target(&path("target.yaml"));
    fs::write(path("case.yaml"), format!("scenario: paths\nabout: A try.\n{case}")).unwrap();
    let mut command = capsize();
    command.env("CAPSIZE_STATE", path("state")).args(["run", "--provider", "kubeconfig", "--max-down", "2"]);
    command.arg("--kubeconfig").arg(path("kubeconfig")).arg("--target").arg(path("target.yaml"));
    for allow in allow {
        command.args(["--allow", &allow]);
    }
    command.arg(path("case.yaml"));
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// A workload that is placed on two members with faults of their API servers.
/// The API server of m1 fails every third request, and that of m2 is slow to list.
const GATED: &str = "
fleet: {members: 2}
given:
  - disturb: {cluster: m1, by: {fail: {with: ServiceUnavailable, every: 3}}}
  - disturb: {cluster: m2, by: {slow: {by: 100ms, verb: list}}}
  - workload: {name: web, replicas: 2, policy: {scheduling: Duplicated}}
then:
  - wait: 4s
  - heal: m1
  - heal: m2
  - settled: web
";

#[test]
fn all_requests_go_to_the_path_of_the_server_url() {
    live(Seed(1), 1.0, |simulation| async move {
        let paths = Paths::start(simulation).await;
        let allow = [format!("m1={}", paths.uid("m1").await), format!("m2={}", paths.uid("m2").await)];
        // A slash at the end makes no difference.
        let kubeconfig = paths.kubeconfig(&["/k8s/clusters/m1", "/k8s/clusters/m2/"]);
        for case in [MOVES, GATED] {
            let folder = TempDir::new().unwrap();
            fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
            let ran = run(folder.path(), case, allow.clone()).await;
            let printed = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
            assert_eq!(ran.status.code(), Some(0), "{printed}");
            assert!(printed.contains("/k8s/clusters/m1, kube-system"), "the plan names the path: {printed}");
            for member in ["m1", "m2", "other"] {
                assert_eq!(paths.deployments(member).await, 0, "{member}");
            }
            assert_eq!(paths.misrouted.load(Ordering::SeqCst), 0, "{case}");
        }
    })
    .unwrap();
}

#[test]
fn a_path_to_another_cluster_is_refused_before_anything_is_done() {
    live(Seed(1), 1.0, |simulation| async move {
        let paths = Paths::start(simulation).await;
        let allow = [format!("m1={}", paths.uid("m1").await), format!("m2={}", paths.uid("m2").await)];
        let folder = TempDir::new().unwrap();
        let kubeconfig = paths.kubeconfig(&["/k8s/clusters/m1", ""]);
        fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let ran = run(folder.path(), MOVES, allow).await;
        let printed = printed(&ran);
        assert_eq!(ran.status.code(), Some(3), "{printed}");
        assert!(printed.contains("m2 is not allowed"), "{printed}");
        for member in ["m1", "m2", "other"] {
            assert_eq!(paths.deployments(member).await, 0, "{member}");
        }
    })
    .unwrap();
}
