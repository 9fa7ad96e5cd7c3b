//! Listens on an address. When the server stops, open requests have a limited time to end.
//!
//! The module has the builder of such a server, its handle with kubeconfigs and clients, and its errors.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capsize_clock::{Clock, Stream};
use kube::config::Kubeconfig;
use rand::SeedableRng;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::authority::{Authority, Identity};
use super::kubeconfig::{AdminCredentials, Entry, Keys};
use super::{Limits, connection, kubeconfig};
use crate::http::service::ApiService;
use crate::state::ApiServer;

/// The pause after a connection could not be accepted.
/// One cause is that the machine has no file descriptors left.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The reason why a server, a certificate or a client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken, or does not belong to this machine.
    #[error("cannot listen: {0}")]
    Address(#[from] io::Error),
    /// No certificate can be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The certificate is not one for TLS.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// No client can be created for the server's address.
    #[error("cannot make a client: {0}")]
    Client(#[from] kube::Error),
}

/// The settings of a server that will listen on a socket.
#[derive(Clone, Debug)]
#[must_use = "nothing listens before `bind`"]
pub struct ListenerBuilder {
    api: ApiServer,
    plain: bool,
    limits: Limits,
    speed: f64,
    keys: Option<Keys>,
    identity: Option<Identity>,
    client_authorities: Vec<String>,
    names: Vec<String>,
}

/// The state that all connections of a listener share.
pub(super) struct ListenerState {
    pub service: ApiService,
    pub tls: Option<TlsAcceptor>,
    pub limits: Limits,
    /// The server's clock. Every response carries its time.
    pub clock: Clock,
    /// The speed of the clock in relation to real time; `None` if the speed is 1.
    pub speed: Option<f64>,
    /// One permit for each watch that may still be opened.
    pub watches: Arc<Semaphore>,
    /// The random stream for the audit ids of requests.
    pub chance: Mutex<Stream>,
    pub stop: CancellationToken,
}

impl ListenerBuilder {
    /// Uses plain HTTP instead of HTTPS: no certificates, no credentials.
    pub fn plain_http(self) -> Self {
        Self { plain: true, ..self }
    }

    /// Uses these limits instead of [`Limits::default`].
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Declares that the runtime's clock runs `speed` times as fast as real time.
    /// Call this after [`Self::limits`].
    /// The limits then hold in real time, and every response has the header `Capsize-Clock-Speed`. Responses do not have
    /// the header if `speed` is 1.
    pub fn at_speed(self, speed: f64) -> Self {
        Self { limits: self.limits.at_speed(speed), speed, ..self }
    }

    /// Uses these keys instead of new ones.
    /// Clients of an earlier server with these keys also trust this server.
    pub fn keys(self, keys: Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Uses this certificate instead of one that the server's authority signs.
    pub fn identity(self, identity: Identity) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// Accepts clients with certificates of this authority, too.
    /// `pem` has one certificate or more. As `--client-ca-file` of a real server.
    pub fn client_authority(mut self, pem: impl Into<String>) -> Self {
        self.client_authorities.push(pem.into());
        self
    }

    /// Makes the certificate valid for these additional host names and addresses.
    /// The names have no effect on a certificate from [`Self::identity`].
    pub fn names(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Listens on `address`; port 0 means any free port.
    /// Needs a tokio runtime with I/O and with a clock that does not jump, so it cannot be used in a simulation.
    ///
    /// # Errors
    /// If the address is not available, if no certificate can be made, or if TLS cannot be set up.
    pub async fn bind(self, address: impl ToSocketAddrs) -> Result<RunningServer, ServeError> {
        self.serve(TcpListener::bind(address).await?)
    }

    /// Serves on `socket`.
    /// The code of connections is compiled in this crate, because this function is neither generic nor asynchronous.
    fn serve(self, socket: TcpListener) -> Result<RunningServer, ServeError> {
        let address = socket.local_addr()?;
        let scheme = if self.plain { "http" } else { "https" };
        let url = format!("{scheme}://{}", reachable(address));
        let name = self.api.name();
        let access = if self.plain { None } else { Some(AdminCredentials::of(name, self.keys.as_ref())?) };
        let tls = match &access {
            Some(access) => {
                let identity = match self.identity {
                    Some(identity) => identity,
                    None => access.authority.server_identity(names(address, self.names))?,
                };
                let config = access.authority.server_with(&identity, &self.client_authorities)?;
                Some(TlsAcceptor::from(Arc::new(config)))
            }
            None => None,
        };
        if let Some(access) = &access {
            self.api.set_admin_access(&access.authority.pem(), &access.token());
        }
        let stop = CancellationToken::new();
        let shared = ListenerState {
            service: self.api.service().for_socket(),
            tls,
            limits: self.limits,
            clock: self.api.inner.clock,
            speed: ((self.speed - 1.0).abs() > f64::EPSILON).then_some(self.speed),
            watches: Arc::new(Semaphore::new(self.limits.watches)),
            chance: Mutex::new(Stream::from_rng(&mut self.api.inner.state().chance)),
            stop: stop.clone(),
        };
        let name = name.to_owned();
        let task = AbortOnDropHandle::new(tokio::spawn(accept(socket, Arc::new(shared))));
        Ok(RunningServer { name, address, url, access, stop, task })
    }
}

impl ApiServer {
    /// Sets up a listener for this server, with HTTPS by default.
    pub fn listener(&self) -> ListenerBuilder {
        ListenerBuilder {
            api: self.clone(),
            plain: false,
            limits: Limits::default(),
            speed: 1.0,
            keys: None,
            identity: None,
            client_authorities: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Listens on `address` with HTTPS; port 0 means any free port. As [`ListenerBuilder::bind`].
    ///
    /// # Errors
    /// As [`ListenerBuilder::bind`].
    pub async fn listen(&self, address: impl ToSocketAddrs) -> Result<RunningServer, ServeError> {
        self.listener().bind(address).await
    }
}

/// A server that listens on a socket. Dropping it closes all connections.
#[derive(Debug)]
#[must_use = "the server stops listening when it is dropped"]
pub struct RunningServer {
    name: String,
    address: SocketAddr,
    url: String,
    access: Option<AdminCredentials>,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl RunningServer {
    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of the server, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The authority that signs the certificates of clients and of the server; `None` with plain HTTP.
    #[must_use]
    pub fn authority(&self) -> Option<&Authority> {
        self.access.as_ref().map(|access| &access.authority)
    }

    /// The administrator's bearer token, which is a secret; `None` with plain HTTP.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        self.access.as_ref().map(AdminCredentials::token)
    }

    /// The keys of the server, which are secrets; `None` with plain HTTP.
    #[must_use]
    pub fn keys(&self) -> Option<Keys> {
        self.access.as_ref().map(AdminCredentials::keys)
    }

    /// A kubeconfig (YAML) of an administrator, with the server's name as cluster and context.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        Self::kubeconfig_of([self])
    }

    /// As [`Self::kubeconfig`], for a client that reaches the server at `address`, such as that of a proxy.
    #[must_use]
    pub fn kubeconfig_at(&self, address: SocketAddr) -> String {
        let scheme = if self.access.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        kubeconfig::yaml(&kubeconfig::of(&[Entry { url: &url, ..self.entry() }]))
    }

    /// A kubeconfig (YAML) of an administrator of all `servers`, whose names are unique.
    /// The context of the first server is the current context.
    #[must_use]
    pub fn kubeconfig_of<'a>(servers: impl IntoIterator<Item = &'a Self>) -> String {
        let entries: Vec<Entry<'_>> = servers.into_iter().map(Self::entry).collect();
        kubeconfig::yaml(&kubeconfig::of(&entries))
    }

    fn entry(&self) -> Entry<'_> {
        Entry { name: &self.name, url: &self.url, access: self.access.as_ref() }
    }

    /// A client that connects over the socket as an administrator. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the client cannot be set up.
    pub async fn client(&self) -> Result<kube::Client, ServeError> {
        let config = kubeconfig::of(&[self.entry()]);
        let config: Kubeconfig =
            serde_json::from_value(config).expect("written in the shape of a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
        let config = config.map_err(kube::Error::InferKubeconfig)?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Stops the server.
    /// The server accepts no more connections, and watches end. Open requests get their responses for at most
    /// [`Limits::grace`].
    pub async fn stop(self) {
        self.stop.cancel();
        // The task does not panic, and nothing else aborts it.
        let _ = self.task.await;
    }
}

/// Accepts connections until the server stops, and then waits for the open connections.
async fn accept(socket: TcpListener, shared: Arc<ListenerState>) {
    let mut connections = JoinSet::new();
    loop {
        let full = connections.len() >= shared.limits.connections;
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => break,
            _ = connections.join_next(), if !connections.is_empty() => {}
            accepted = socket.accept(), if !full => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection::run(stream, Arc::clone(&shared)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_PAUSE).await,
            }
        }
    }
    drop(socket);
    let ended = async { while connections.join_next().await.is_some() {} };
    // Dropping `connections` closes those that take longer.
    let _ = tokio::time::timeout(shared.limits.grace, ended).await;
}

/// The address by which a client on this machine reaches `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The names of a server on `address` in its certificate, including `more`.
fn names(address: SocketAddr, more: Vec<String>) -> Vec<String> {
    let known = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut names = known.map(str::to_owned).to_vec();
    for name in std::iter::once(address.ip().to_string()).chain(more) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
