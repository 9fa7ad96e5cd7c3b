//! The sockets by which programs outside this process reach a control plane and its members.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use capsize_apiserver::{RunningServer, ServeError};

use crate::api_fault_proxy::ApiFaultProxy;
use crate::fleet::{Fleet, Member, SyncMode};
use crate::tcp_link_proxy::TcpLinkProxy;

/// The sockets of a fleet. Dropping them closes all connections.
pub struct Sockets {
    control_plane: RunningServer,
    members: BTreeMap<String, MemberAccess>,
    agents: BTreeMap<String, AgentSockets>,
}

/// The sockets of the agent that runs in an embedded Pull member.
struct AgentSockets {
    /// The way to the control plane, over the link.
    control_plane: TcpLinkProxy,
    /// A kubeconfig of the member, without the link, because the agent is in the member.
    member_kubeconfig: String,
    /// The way to the member.
    _own: TcpLinkProxy,
}

/// The kubeconfigs (YAML) of an agent. They contain secret keys.
pub struct AgentKubeconfigs<'a> {
    /// The control plane, over the link of the member.
    pub control_plane: String,
    /// The member in which the agent runs.
    pub member: &'a str,
}

/// The connection data of a member, and its credentials.
pub struct MemberAccess {
    endpoint: String,
    authority: String,
    token: String,
    /// The server and the proxies of an embedded member.
    open: Option<(RunningServer, Option<ApiFaultProxy>, TcpLinkProxy)>,
}

impl Sockets {
    /// Opens the sockets on free ports of this machine's loopback.
    /// Needs a tokio runtime with I/O, so it cannot run in a simulation.
    ///
    /// # Errors
    /// If there is no free port, or no certificate can be created.
    pub async fn open(fleet: &Fleet) -> Result<Self, ServeError> {
        let control_plane = fleet.control_plane().listen((Ipv4Addr::LOCALHOST, 0)).await?;
        let (mut members, mut agents) = (BTreeMap::new(), BTreeMap::new());
        for member in fleet.members() {
            let reached = MemberAccess::open(member).await?;
            if let Some((server, ..)) = reached.open.as_ref().filter(|_| member.spec().sync == SyncMode::Pull)
            {
                let way = TcpLinkProxy::open_back(member.link().clone(), control_plane.address()).await?;
                let own = TcpLinkProxy::open(member.own_link().clone(), server.address()).await?;
                let member_kubeconfig = server.kubeconfig_at(own.address());
                let agent = AgentSockets { control_plane: way, member_kubeconfig, _own: own };
                agents.insert(member.name().to_owned(), agent);
            }
            members.insert(member.name().to_owned(), reached);
        }
        Ok(Self { control_plane, members, agents })
    }

    /// A kubeconfig (YAML) of an administrator of the control plane. It contains secret keys.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.control_plane.kubeconfig()
    }

    /// The kubeconfigs of the agent in the embedded Pull member called `name`.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<AgentKubeconfigs<'_>> {
        let agent = self.agents.get(name)?;
        let control_plane = self.control_plane.kubeconfig_at(agent.control_plane.address());
        Some(AgentKubeconfigs { control_plane, member: &agent.member_kubeconfig })
    }

    /// The connection data of the member called `name`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberAccess> {
        self.members.get(name)
    }
}

impl MemberAccess {
    async fn open(member: &Member) -> Result<Self, ServeError> {
        let Some(api) = member.api() else {
            let external = member.external().expect("a member is in this process, or it is not");
            let (authority, token) = external.credentials();
            return Ok(Self { endpoint: external.endpoint(), authority, token, open: None });
        };
        let server = api.listen((Ipv4Addr::LOCALHOST, 0)).await?;
        let authority = server.authority().map(capsize_apiserver::Authority::pem).unwrap_or_default();
        let api_faults = member.spec().has_api_faults.then_some(member.api_faults());
        let proxy = ApiFaultProxy::of(api_faults, (server.address(), ""), &authority).await?;
        let behind = proxy.as_ref().map_or(server.address(), ApiFaultProxy::address);
        let link_proxy = TcpLinkProxy::open(member.link().clone(), behind).await?;
        let authority = proxy.as_ref().map_or(authority, |proxy| proxy.authority().to_owned());
        let token = server.token().unwrap_or_default();
        let endpoint = format!("https://{}", link_proxy.address());
        Ok(Self { endpoint, authority, token, open: Some((server, proxy, link_proxy)) })
    }

    /// The URL of the member's API server, through the link.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The certificate (PEM) of the authority that signed the server's certificate.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// An administrator's token. It is a secret.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }
}
