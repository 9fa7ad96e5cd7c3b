//! The sockets by which programs outside this process reach a control plane and its members.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use capsize_apiserver::{ListenError, Listening};

use crate::api_fault_proxy::ApiFaultProxy;
use crate::fleet::{Fleet, Member};
use crate::tcp_link_proxy::TcpLinkProxy;

/// The sockets of a fleet. Dropping them closes all connections.
pub struct Sockets {
    control_plane: Listening,
    members: BTreeMap<String, Reached>,
}

/// The connection data of a member, and its credentials.
pub struct Reached {
    endpoint: String,
    authority: String,
    token: String,
    /// The server and the proxies of an embedded member.
    _open: Option<(Listening, Option<ApiFaultProxy>, TcpLinkProxy)>,
}

impl Sockets {
    /// Opens the sockets on free ports of this machine's loopback. Needs a tokio runtime with I/O, so it cannot run
    /// in a simulation.
    ///
    /// # Errors
    /// If there is no free port, or no certificate can be created.
    pub async fn open(fleet: &Fleet) -> Result<Self, ListenError> {
        let control_plane = fleet.control_plane().listen((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut members = BTreeMap::new();
        for member in fleet.members() {
            members.insert(member.name().to_owned(), Reached::open(member).await?);
        }
        Ok(Self { control_plane, members })
    }

    /// A kubeconfig (YAML) of an administrator of the control plane. It contains secret keys.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.control_plane.kubeconfig()
    }

    /// The connection data of the member called `name`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Reached> {
        self.members.get(name)
    }
}

impl Reached {
    async fn open(member: &Member) -> Result<Self, ListenError> {
        let Some(api) = member.api() else {
            let external = member.external().expect("a member is in this process, or it is not");
            let (authority, token) = external.credentials();
            return Ok(Self { endpoint: external.endpoint(), authority, token, _open: None });
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
        Ok(Self { endpoint, authority, token, _open: Some((server, proxy, link_proxy)) })
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
