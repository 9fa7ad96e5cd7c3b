//! A member of two processes: their flags, the wait until they are ready, and their breakdowns.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use capsize_clock::Clock;
use capsize_clusters::{Breakdown, ExternalMember, Machine, MemberSpec, ProviderError, administrator};
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Config};
use rustix::process::Signal;
use tokio::sync::Mutex;

use super::assets::{Asset, Assets};
use super::files::Files;
use super::program::Program;
use super::provider::Starter;
use super::run_folder::RunFolder;
use crate::journal::{Journal, Resource};
use crate::ports::free_port;

/// The attempts to start a member: another process may take a port before the program listens there.
const ATTEMPTS: usize = 3;

/// The state that the members of one fleet share.
#[derive(Clone)]
pub(super) struct FleetState {
    pub(super) clock: Clock,
    pub(super) assets: Assets,
    pub(super) journal: Arc<Journal>,
    pub(super) logs: Arc<RunFolder>,
    pub(super) starter: Starter,
    /// The unique name of the fleet.
    pub(super) fleet: String,
}

/// Starts the member that `spec` describes.
pub(super) async fn start(shared: FleetState, spec: &MemberSpec) -> Result<ExternalMember, ProviderError> {
    let mut attempts = 1;
    loop {
        let (member, address, files) = Member::prepare(&shared, spec).await?;
        let mut pair = member.pair.lock().await;
        match pair.start(shared.clock).await {
            Ok(()) => {
                drop(pair);
                let Files { authority, token, .. } = files;
                let (path, machine) = (String::new(), Box::new(member));
                return Ok(ExternalMember { address, path, authority, token, machine });
            }
            Err(_) if attempts < ATTEMPTS && pair.found_a_port_taken() => attempts += 1,
            Err(error) => return Err(ProviderError(format!("{} does not start: {error}", spec.name))),
        }
    }
}

/// A running member. Dropping it ends its programs, and removes their folder.
struct Member {
    clock: Clock,
    pair: Mutex<Pair>,
    _mark: Mark,
    _home: RunFolder,
}

impl Member {
    async fn prepare(
        shared: &FleetState,
        spec: &MemberSpec,
    ) -> Result<(Self, SocketAddr, Files), ProviderError> {
        let name = &spec.name;
        let home = RunFolder::open(&shared.journal, "capsize-")?;
        let files = Files::write(home.path(), name)?;
        let [clients, peers, secure] = ports(name)?;
        let mark = Mark::make(&shared.journal, format!("{}-{name}", shared.fleet))?;
        let program = |asset: Asset, path: &Path, arguments: Vec<String>| Program {
            name: asset.name(),
            path: path.to_owned(),
            arguments,
            log: shared.logs.path().join(format!("{}-{}.log", mark.label, asset.name())),
            label: mark.label.clone(),
            journal: Arc::clone(&shared.journal),
            starter: Arc::clone(&shared.starter),
            child: None,
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, secure));
        let pair = Pair {
            server: program(
                Asset::KubeApiserver,
                &shared.assets.kube_apiserver,
                flags_of_kube_apiserver(&files, clients, address),
            ),
            etcd: program(Asset::Etcd, &shared.assets.etcd, flags_of_etcd(home.path(), clients, peers)),
            to_server: administrator((address, ""), &files.authority, &files.token).await?,
            to_etcd: plain(clients)?,
        };
        let member = Self { clock: shared.clock, pair: Mutex::new(pair), _mark: mark, _home: home };
        Ok((member, address, files))
    }
}

fn ports<const N: usize>(name: &str) -> Result<[u16; N], ProviderError> {
    let none = |error: io::Error| ProviderError(format!("127.0.0.1 has no free port for {name}: {error}"));
    let mut ports = [0; N];
    for port in &mut ports {
        *port = free_port().map_err(none)?;
    }
    Ok(ports)
}

/// The journal entry of the programs of a member. Dropping it strikes the entry out.
struct Mark {
    journal: Arc<Journal>,
    label: String,
}

impl Mark {
    fn make(journal: &Arc<Journal>, label: String) -> Result<Self, ProviderError> {
        let unwritten =
            |error: io::Error| ProviderError(format!("the journal of the run cannot be written: {error}"));
        journal.will(Resource::Programs(label.clone())).map_err(unwritten)?;
        Ok(Self { journal: Arc::clone(journal), label })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.journal.undone(&Resource::Programs(self.label.clone()));
    }
}

/// Flags as envtest has them.
fn flags_of_etcd(home: &Path, clients: u16, peers: u16) -> Vec<String> {
    let clients = format!("http://127.0.0.1:{clients}");
    vec![
        format!("--data-dir={}", home.join("etcd").display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
    ]
}

/// Returns flags as envtest has them, with one exception.
/// The administrator has a token, as control planes use, instead of a certificate.
fn flags_of_kube_apiserver(files: &Files, etcd: u16, address: SocketAddr) -> Vec<String> {
    let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--bind-address={}", address.ip()),
        format!("--secure-port={}", address.port()),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--allow-privileged=true".into(),
        "--authorization-mode=RBAC".into(),
        // No controller creates the service accounts that this plugin would require of pods.
        "--disable-admission-plugins=ServiceAccount".into(),
        format!("--service-account-issuer=https://{address}/"),
        file("service-account-key-file", &files.recognising),
        file("service-account-signing-key-file", &files.signing),
        file("tls-cert-file", &files.certificate),
        file("tls-private-key-file", &files.key),
        file("token-auth-file", &files.tokens),
    ]
}

/// A client for plain HTTP on this port of the loopback.
fn plain(port: u16) -> Result<Client, ProviderError> {
    let wrong = |error: &dyn std::error::Error| ProviderError(format!("no client of port {port}: {error}"));
    let address =
        format!("http://127.0.0.1:{port}").parse().map_err(|error: http::uri::InvalidUri| wrong(&error))?;
    Client::try_from(Config::new(address)).map_err(|error| wrong(&error))
}

/// Both programs, with clients for their health checks. They end in the order of the fields.
struct Pair {
    server: Program,
    etcd: Program,
    to_server: Client,
    to_etcd: Client,
}

impl Pair {
    async fn start(&mut self, clock: Clock) -> Result<(), ProviderError> {
        self.start_etcd(clock).await?;
        self.start_server(clock).await
    }

    async fn start_etcd(&mut self, clock: Clock) -> Result<(), ProviderError> {
        self.etcd.start()?;
        let client = &self.to_etcd;
        self.etcd.ready(clock, || is_well(client, "/health")).await
    }

    async fn start_server(&mut self, clock: Clock) -> Result<(), ProviderError> {
        self.server.start()?;
        let client = &self.to_server;
        self.server.ready(clock, || is_furnished(client)).await
    }

    fn found_a_port_taken(&mut self) -> bool {
        self.etcd.found_its_port_taken() || self.server.found_its_port_taken()
    }
}

async fn is_well(client: &Client, path: &str) -> bool {
    match Request::get(path).body(Vec::new()) {
        Ok(request) => client.request_text(request).await.is_ok(),
        Err(_) => false,
    }
}

/// The missing requirement for this breakdown, if a process cannot break down in this way.
pub(super) fn lacks(how: Breakdown) -> Option<&'static str> {
    match how {
        Breakdown::Disconnect
        | Breakdown::Vanish(_)
        | Breakdown::LosePackets(_)
        | Breakdown::LatePackets(_) => Some("machines with a network of their own"),
        Breakdown::Kubelet => Some("members with kubelets"),
        Breakdown::Pause | Breakdown::Stop | Breakdown::Crash | Breakdown::ApiServer | Breakdown::Etcd => {
            None
        }
    }
}

/// Whether the server is ready and has the usual namespaces, which it creates after it reports ready.
async fn is_furnished(client: &Client) -> bool {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    is_well(client, "/readyz").await && namespaces.get_metadata("default").await.is_ok()
}

#[async_trait]
impl Machine for Member {
    async fn break_down(&self, how: Breakdown) -> Result<(), ProviderError> {
        let mut pair = self.pair.lock().await;
        match how {
            Breakdown::Pause => {
                pair.server.signal(Signal::STOP);
                pair.etcd.signal(Signal::STOP);
            }
            Breakdown::Stop => {
                pair.server.stop(self.clock).await;
                pair.etcd.stop(self.clock).await;
            }
            Breakdown::Crash => {
                pair.server.kill();
                pair.etcd.kill();
            }
            Breakdown::ApiServer => pair.server.stop(self.clock).await,
            Breakdown::Etcd => pair.etcd.stop(self.clock).await,
            Breakdown::Disconnect
            | Breakdown::Kubelet
            | Breakdown::Vanish(_)
            | Breakdown::LosePackets(_)
            | Breakdown::LatePackets(_) => {
                let lacks = lacks(how).unwrap_or_default();
                return Err(ProviderError(format!("{} needs {lacks}, and this is a process", how.name())));
            }
        }
        Ok(())
    }

    async fn mend(&self, how: Breakdown) -> Result<(), ProviderError> {
        let mut pair = self.pair.lock().await;
        match how {
            Breakdown::Pause => {
                pair.etcd.signal(Signal::CONT);
                pair.server.signal(Signal::CONT);
                Ok(())
            }
            Breakdown::Stop | Breakdown::Crash => pair.start(self.clock).await,
            Breakdown::ApiServer => pair.start_server(self.clock).await,
            Breakdown::Etcd => pair.start_etcd(self.clock).await,
            // It cannot have broken down in this way.
            _ => Ok(()),
        }
    }
}
