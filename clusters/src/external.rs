//! Members that run outside this process: the providers that start them, and the connections to them.
//!
//! Connections between the control plane and such a member use a TCP proxy on the link. The recorder and fault
//! injection connect directly.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capsize_clock::{Clock, Simulation};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, Config};
use serde_json::json;
use tokio::task::JoinSet;

use crate::api_fault_proxy::ApiFaultProxy;
use crate::api_faults::ApiFaults;
use crate::deployments::{StartUp, StartUpSetting};
use crate::fleet::{MemberSpec, run_workloads};
use crate::link::{Direction, Link};
use crate::namespaces::run_namespaces;
use crate::tcp_link_proxy::TcpLinkProxy;

/// The reason why a member cannot be provided, or why an action on it fails.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProviderError(pub String);

/// A source of members that do not run in this process.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Starts a member for each of `specs`, in their order, and waits until all of them answer.
    ///
    /// # Errors
    /// If a member does not start. The other members are removed in this case.
    async fn start(
        &self,
        run: Simulation,
        specs: &[MemberSpec],
    ) -> Result<Vec<ExternalMember>, ProviderError>;

    /// Returns true if the members are created for the run, so that every fault is allowed.
    /// In existing clusters only the workloads of the implementation are created, and faults are applied to the links.
    fn makes_members(&self) -> bool {
        true
    }

    /// Returns true if the members are bare API servers.
    /// The workloads of such members are simulated in this process.
    fn are_bare(&self) -> bool {
        false
    }

    /// The missing requirement for a breakdown, if the machines do not support it.
    fn spares(&self, _how: Breakdown) -> Option<&'static str> {
        None
    }

    /// Ends the run, with its result. Returns the place of the logs, if there are any.
    fn ended(&self, _well: bool) -> Option<String> {
        None
    }

    /// Returns true if workloads in the members are simulated.
    /// Scenarios can then set the start-up time of replicas.
    fn simulates(&self) -> bool {
        true
    }

    /// Asks for permission to apply faults to all of `members` at the same time.
    ///
    /// # Errors
    /// If the provider refuses.
    async fn strike(&self, _members: &BTreeSet<String>) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// A member that runs outside this process.
/// Dropping it removes the member, if it was created for the run.
pub struct ExternalMember {
    /// The address of its API server.
    pub address: SocketAddr,
    /// The path of the server URL, which is the prefix of every request: `/k8s/clusters/c-1`, or empty.
    /// One server may serve several clusters, so a request without the path reaches another cluster.
    pub path: String,
    /// The certificate (PEM) of the authority that signed the server's certificate.
    pub authority: String,
    /// An administrator's token.
    pub token: String,
    /// The machine of the member.
    pub machine: Box<dyn Machine>,
}

/// A way in which the machine of a member breaks down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakdown {
    /// All programs on the machine are paused, and continue afterwards.
    Pause,
    /// The machine is disconnected from its network.
    Disconnect,
    /// The machine is shut down cleanly. The contents of memory are lost.
    Stop,
    /// The machine loses power. The contents of memory are lost.
    Crash,
    /// Only the API server is shut down cleanly.
    ApiServer,
    /// Only the kubelets of the nodes are shut down cleanly.
    Kubelet,
    /// Only the etcd is shut down cleanly.
    Etcd,
    /// Packets between the machine and other machines are dropped.
    Vanish(Direction),
    /// This percentage of the packets that the machine sends is lost.
    LosePackets(u8),
    /// The packets that the machine sends are delayed by this time.
    LatePackets(Duration),
}

impl Breakdown {
    /// The name of the breakdown in histories and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Disconnect => "disconnect",
            Self::Stop => "stop",
            Self::Crash => "crash",
            Self::ApiServer => "api-server",
            Self::Kubelet => "kubelet",
            Self::Etcd => "etcd",
            Self::Vanish(_) => "black-hole",
            Self::LosePackets(_) => "lose-packets",
            Self::LatePackets(_) => "late-packets",
        }
    }
}

/// The machine of a member.
#[async_trait]
pub trait Machine: Send + Sync {
    /// Breaks the machine down.
    ///
    /// # Errors
    /// If the machine does not support the breakdown, or does not allow it.
    async fn break_down(&self, how: Breakdown) -> Result<(), ProviderError>;

    /// Ends a breakdown.
    ///
    /// # Errors
    /// If the machine does not recover.
    async fn mend(&self, how: Breakdown) -> Result<(), ProviderError>;
}

/// An external member with the connections to it.
pub(crate) struct RemoteMember {
    member: ExternalMember,
    link_proxy: TcpLinkProxy,
    /// The proxy between the link and the server that injects API faults, if they can be injected.
    proxy: Option<ApiFaultProxy>,
    direct: Client,
    remote: Client,
    _tasks: JoinSet<()>,
}

/// The place where the workloads of a member are simulated, with the start-up time of replicas.
pub(crate) enum Workloads<'a> {
    /// In the member, or the workloads are real.
    Remote(StartUpSetting),
    /// In this process, because the member is a bare API server.
    Local(Simulation, &'a MemberSpec, StartUpSetting),
}

/// Waits until all Nodes of the member exist.
/// A scheduler that observes the member earlier finds no capacity.
async fn has_nodes(client: &Client, clock: Clock, spec: &MemberSpec) -> Result<(), ProviderError> {
    let (nodes, since) = (Api::<Node>::all(client.clone()), clock.elapsed());
    loop {
        let listed = nodes.list_metadata(&ListParams::default()).await;
        let there = listed.as_ref().map_or(0, |listed| listed.items.len());
        if there >= spec.nodes {
            return Ok(());
        }
        if clock.elapsed().saturating_sub(since) > TIMEOUT {
            let why = listed.err().map(|error| format!(": {error}")).unwrap_or_default();
            let (name, wanted, seconds) = (&spec.name, spec.nodes, TIMEOUT.as_secs());
            return Err(ProviderError(format!(
                "{name} has {there} of {wanted} nodes after {seconds} s{why}"
            )));
        }
        clock.sleep(LOOK).await;
    }
}

impl RemoteMember {
    /// Opens the connections to a member.
    pub(crate) async fn reach(
        member: ExternalMember,
        link: &Link,
        api_faults: Option<&ApiFaults>,
        workloads: Workloads<'_>,
    ) -> Result<Self, ProviderError> {
        let failed = |error: &dyn std::error::Error| {
            ProviderError(format!("no proxy on the link can be opened: {error}"))
        };
        let server = (member.address, &*member.path);
        let proxy = ApiFaultProxy::of(api_faults, server, &member.authority).await;
        let proxy = proxy.map_err(|error| failed(&error))?;
        let behind = proxy.as_ref().map_or(member.address, ApiFaultProxy::address);
        let link_proxy = TcpLinkProxy::open(link.clone(), behind).await.map_err(|error| failed(&error))?;
        let direct = member.client(member.address).await?;
        let authority = proxy.as_ref().map_or(&*member.authority, ApiFaultProxy::authority);
        let remote = member.client_by(link_proxy.address(), authority).await?;
        let name = format!("{}{}", member.address, member.path);
        let identity = identity_of(&remote).await.map_err(|error| {
            let why =
                "the certificate of its API server has to be valid for 127.0.0.1, where the link listens";
            ProviderError(format!("{name} is not reached through the link ({why}): {error}"))
        })?;
        let true_identity = identity_of(&direct).await;
        let true_identity =
            true_identity.map_err(|error| ProviderError(format!("{name} does not answer: {error}")))?;
        if identity.is_some() && identity != true_identity {
            return Err(ProviderError(format!(
                "{name} leads to another cluster when the host in the URL is 127.0.0.1, where the link listens: nothing is \
                 done to either"
            )));
        }
        let tasks = match workloads {
            Workloads::Remote(setting) => {
                let mut tasks = JoinSet::new();
                tasks.spawn(publish(direct.clone(), setting));
                tasks
            }
            Workloads::Local(run, spec, setting) => {
                let mut tasks = run_workloads(run, spec, &direct, setting);
                tasks.spawn(run_namespaces(direct.clone()));
                has_nodes(&direct, run.clock, spec).await?;
                tasks
            }
        };
        Ok(Self { member, link_proxy, proxy, direct, remote, _tasks: tasks })
    }

    pub(crate) fn client(&self) -> Client {
        self.direct.clone()
    }

    pub(crate) fn remote_client(&self) -> Client {
        self.remote.clone()
    }

    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.member.machine
    }

    /// The URL by which the control plane reaches the member, through the link.
    pub(crate) fn endpoint(&self) -> String {
        format!("https://{}{}", self.link_proxy.address(), self.member.path)
    }

    /// The certificate of the authority of the server behind the link, and an administrator's token.
    pub(crate) fn credentials(&self) -> (String, String) {
        let authority = self.proxy.as_ref().map_or(&*self.member.authority, ApiFaultProxy::authority);
        (authority.to_owned(), self.member.token.clone())
    }
}

impl ExternalMember {
    /// A client that reaches the API server of the member at `address`.
    ///
    /// # Errors
    /// If the certificate or the token is malformed.
    pub async fn client(&self, address: SocketAddr) -> Result<Client, ProviderError> {
        administrator((address, &self.path), &self.authority, &self.token).await
    }

    /// The client of the implementation, for the proxy at `address`.
    /// The certificate of the proxy is signed by `authority`. The client returns each error at once, because the
    /// implementation has its own rules for what is tried again. The retries of kube would hide faults of the API server.
    async fn client_by(&self, address: SocketAddr, authority: &str) -> Result<Client, ProviderError> {
        client_of((address, &self.path), authority, &self.token, false).await
    }
}

/// Returns the UID of the namespace kube-system, which identifies a cluster.
/// The result is `None` if the namespace does not exist yet.
async fn identity_of(client: &Client) -> kube::Result<Option<String>> {
    let namespace = Api::<Namespace>::all(client.clone()).get_metadata_opt("kube-system").await?;
    Ok(namespace.and_then(|namespace| namespace.metadata.uid))
}

/// Returns a client of the API server at `https://address/path`.
/// The client trusts `authority` (PEM) and sends a bearer token. The client connects directly, without the proxies of
/// the environment.
///
/// # Errors
/// If the certificate or the token is malformed.
pub async fn administrator(
    (address, path): (SocketAddr, &str),
    authority: &str,
    token: &str,
) -> Result<Client, ProviderError> {
    client_of((address, path), authority, token, true).await
}

/// The client of [`administrator`].
/// With `retries`, the client repeats requests that are answered with 429, 503 or 504.
async fn client_of(
    (address, path): (SocketAddr, &str),
    authority: &str,
    token: &str,
    retries: bool,
) -> Result<Client, ProviderError> {
    let wrong =
        |error: &dyn std::error::Error| ProviderError(format!("no client of {address}{path}: {error}"));
    let cluster = json!({
        "server": format!("https://{address}{path}"),
        "certificate-authority-data": STANDARD.encode(authority),
    });
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "member", "cluster": cluster}],
        "users": [{"name": "member", "user": {"token": token}}],
        "contexts": [{"name": "member", "context": {"cluster": "member", "user": "member"}}],
        "current-context": "member",
    });
    let kubeconfig = serde_json::from_value(kubeconfig).map_err(|error| wrong(&error))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    let mut config = config.map_err(|error| wrong(&error))?;
    config.proxy_url = None;
    config.default_retry = retries;
    Client::try_from(config).map_err(|error| wrong(&error))
}

/// The namespace whose annotation sets the start-up time of replicas in a member.
pub(crate) const SETTINGS: &str = "kube-system";

/// The name of the annotation.
pub(crate) const START_UP: &str = "capsize/start-up";

/// The time limit for the Nodes of a member to exist, and the pause between two checks.
const TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// The pause between two attempts to write a setting.
const PAUSE: Duration = Duration::from_millis(500);

/// Writes each change of the setting to the member, and repeats failed writes. Never returns.
async fn publish(client: Client, setting: StartUpSetting) {
    loop {
        setting.changed().await;
        while write_start_up(&client, setting.get()).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Sets the start-up time of replicas in a member that simulates its own workloads.
///
/// # Errors
/// If the member refuses the write, or does not answer.
pub async fn write_start_up(client: &Client, takes: StartUp) -> kube::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let patch = json!({"metadata": {"annotations": {START_UP: takes.to_string()}}});
    namespaces.patch(SETTINGS, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use capsize_apiserver::Server;
    use capsize_clock::{Seed, live};
    use futures::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};

    use super::*;
    use crate::api_faults::{ErrorStatus, ServerFault};
    use crate::verb::Verb;

    struct Idle;

    #[async_trait]
    impl Machine for Idle {
        async fn break_down(&self, _how: Breakdown) -> Result<(), ProviderError> {
            Ok(())
        }

        async fn mend(&self, _how: Breakdown) -> Result<(), ProviderError> {
            Ok(())
        }
    }

    async fn create(maps: &Api<ConfigMap>, name: &str) -> Result<(), u16> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        match maps.create(&PostParams::default(), &map).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err(status.code),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn api_faults_of_an_external_member_concern_the_control_plane_alone() {
        live(Seed(1), 1.0, |run| async move {
            let server = Server::builder().authentication(true).build().listen("127.0.0.1:0").await.unwrap();
            let (authority, token) = (server.authority().unwrap().pem(), server.token().unwrap());
            let member = ExternalMember { address: server.address(), path: String::new(), authority, token, machine: Box::new(Idle) };
            let (link, api_faults) = (Link::new(run.clock, run.seed.stream("link")), ApiFaults::new(run.clock));
            let start_up = StartUpSetting::new(StartUp::Never);
            let external = RemoteMember::reach(member, &link, Some(&api_faults), Workloads::Remote(start_up)).await.unwrap();
            let direct: Api<ConfigMap> = Api::default_namespaced(external.client());
            let remote: Api<ConfigMap> = Api::default_namespaced(external.remote_client());

            let mut events = Box::pin(remote.watch(&WatchParams::default(), "0").await.unwrap());
            create(&remote, "a").await.unwrap();
            let is_of = |event: &kube::Result<WatchEvent<ConfigMap>>, name: &str| {
                matches!(event, Ok(WatchEvent::Added(map)) if map.metadata.name.as_deref() == Some(name))
            };
            while !is_of(&events.next().await.unwrap(), "a") {}

            let fault = api_faults.apply(ServerFault::Fail { status: ErrorStatus::InternalError, every: 1, verb: None });
            assert_eq!(create(&remote, "b").await, Err(500));
            assert_eq!(create(&direct, "b").await, Ok(()));
            assert!(is_of(&events.next().await.unwrap(), "b"), "open watches continue");
            drop(fault);

            let by = Duration::from_millis(300);
            let fault = api_faults.apply(ServerFault::Slow { by, verb: Some(Verb::List) });
            let before = run.clock.elapsed();
            assert!(remote.list(&ListParams::default()).await.unwrap().items.len() >= 2);
            assert!(run.clock.elapsed() - before >= by);
            drop(fault);

            let _fault = api_faults.apply(ServerFault::Cut { every: 1 });
            create(&direct, "c").await.unwrap();
            assert!(!events.next().await.is_some_and(|event| is_of(&event, "c")));
        })
        .unwrap();
    }
}
