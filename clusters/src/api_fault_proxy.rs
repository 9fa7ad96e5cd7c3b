//! A TLS proxy that injects API faults into the HTTP requests to a member.
//!
//! The proxy terminates the TLS of clients. Each client connection has its own server connection, and both end
//! together. Credentials in headers are forwarded, but client certificates are not. Requests that upgrade the
//! connection (exec) are refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use capsize_apiserver::{Authority, ServeError};
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use tower::Service;

use crate::api_faults::{ApiFaults, refusal};

/// The idle time after which a server is pinged.
/// The time limit for its answer follows. Both times are as in client-go.
const IDLE: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(15);

/// The pause after a connection could not be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// The protocol name of HTTP/2 in the TLS handshake.
const HTTP_2: &[u8] = b"h2";

/// A listening proxy. Dropping it closes its connections.
#[derive(Debug)]
#[must_use = "the proxy stops when it is dropped"]
pub struct ApiFaultProxy {
    address: SocketAddr,
    authority: String,
    _task: JoinSet<()>,
}

/// The state that all connections share.
struct ProxyState {
    api_faults: ApiFaults,
    server: SocketAddr,
    /// The path of the server URL.
    /// Faults apply to requests without the path, as the API server behind it receives them.
    path: Arc<str>,
    roots: Arc<RootCertStore>,
    acceptor: TlsAcceptor,
}

impl ApiFaultProxy {
    /// As [`Self::open`], if there are faults to inject.
    pub(crate) async fn of(
        api_faults: Option<&ApiFaults>,
        server: (SocketAddr, &str),
        authority: &str,
    ) -> Result<Option<Self>, ServeError> {
        let Some(api_faults) = api_faults else { return Ok(None) };
        Self::open(api_faults.clone(), server, authority).await.map(Some)
    }

    /// Opens a proxy on a free port of this machine's loopback.
    /// `server` is the address and the path of the API server, whose certificate is signed by `authority` (PEM).
    /// Requests without the path are refused, because they would reach another cluster. Needs a tokio runtime with I/O,
    /// so it cannot run in a simulation.
    ///
    /// # Errors
    /// If there is no free port, or `authority` is malformed.
    pub async fn open(
        api_faults: ApiFaults,
        (server, path): (SocketAddr, &str),
        authority: &str,
    ) -> Result<Self, ServeError> {
        let own = Authority::new("api-faults")?;
        let acceptor = TlsAcceptor::from(Arc::new(own.server(names())?));
        let roots = trusting(authority)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let shared = ProxyState { api_faults, server, path: path.into(), roots, acceptor };
        Self::start(listener, &own, shared)
    }

    /// Accepts connections in a task.
    /// The code of connections is compiled in this crate, because this function is not asynchronous.
    fn start(listener: TcpListener, own: &Authority, shared: ProxyState) -> Result<Self, ServeError> {
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(accept(listener, Arc::new(shared)));
        Ok(Self { address, authority: own.pem(), _task: task })
    }

    /// The address of the proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate (PEM) of the authority that signed the certificate of the proxy.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

/// The trusted roots: the authorities in a text (PEM).
fn trusting(authority: &str) -> Result<Arc<RootCertStore>, ServeError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        let bad = |error: pem::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        roots.add(certificate.map_err(bad)?)?;
    }
    Ok(Arc::new(roots))
}

/// The names in the certificate of the proxy.
fn names() -> Vec<String> {
    ["localhost", "127.0.0.1"].map(str::to_owned).to_vec()
}

async fn accept(listener: TcpListener, shared: Arc<ProxyState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let shared = Arc::clone(&shared);
                    // Both ends notice an error of their connection, so it is not reported.
                    connections.spawn(async move { drop(shared.pass(client).await) });
                }
                Err(_) => shared.api_faults.clock().sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

impl ProxyState {
    /// Serves one connection until either end closes it.
    async fn pass(&self, client: TcpStream) -> io::Result<()> {
        // A server that is down looks as without the proxy: the connection is reset before the first byte.
        let server = match TcpStream::connect(self.server).await {
            Ok(server) => server,
            Err(error) => return client.set_zero_linger().and(Err(error)),
        };
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let client = self.acceptor.accept(client).await?;
        let protocol = client.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        let is_two = protocol.as_deref() == Some(HTTP_2);
        let server = self.connect(server, protocol).await?;
        let io = TokioIo::new(server);
        if is_two {
            let mut protocol = http2::Builder::new(TokioExecutor::new());
            protocol.timer(TokioTimer::new()).keep_alive_interval(IDLE).keep_alive_timeout(ANSWER);
            let (sender, connection) =
                protocol.keep_alive_while_idle(true).handshake(io).await.map_err(io::Error::other)?;
            self.serve(client, Connection::Two(sender), Box::pin(connection)).await;
        } else {
            let (sender, connection) = http1::handshake(io).await.map_err(io::Error::other)?;
            self.serve(client, Connection::One(Arc::new(Mutex::new(sender))), Box::pin(connection)).await;
        }
        Ok(())
    }

    /// Opens TLS to the server, with the HTTP version of the client.
    async fn connect(
        &self,
        stream: TcpStream,
        protocol: Option<Vec<u8>>,
    ) -> io::Result<client::TlsStream<TcpStream>> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let mut config = config.with_root_certificates(Arc::clone(&self.roots)).with_no_client_auth();
        let wanted = protocol.clone();
        config.alpn_protocols = protocol.into_iter().collect();
        let name = ServerName::from(self.server.ip());
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        match stream.get_ref().1.alpn_protocol() == wanted.as_deref() {
            true => Ok(stream),
            false => Err(io::Error::other("the server does not support the HTTP version of its client")),
        }
    }

    /// Serves the requests of `client` with API faults, and forwards them by `sender`.
    /// The function also drives `connection`, which is the connection of `sender`.
    async fn serve(
        &self,
        client: server::TlsStream<TcpStream>,
        sender: Connection,
        connection: BoxFuture<'_, hyper::Result<()>>,
    ) {
        let faulty = self.api_faults.wrap(Sender { path: Arc::clone(&self.path), connection: sender });
        let service = service_fn(|mut request: Request<Incoming>| {
            let (mut faulty, path) = (faulty.clone(), Arc::clone(&self.path));
            async move {
                if is_upgrade(&request) {
                    return Ok(refusal(StatusCode::NOT_IMPLEMENTED));
                }
                match without(&path, request.uri()) {
                    Some(uri) => *request.uri_mut() = uri,
                    None => return Ok(refusal(StatusCode::NOT_FOUND)),
                }
                faulty.call(request).await
            }
        });
        let protocols = auto::Builder::new(TokioExecutor::new());
        let mut served = pin!(protocols.serve_connection(TokioIo::new(client), service));
        tokio::select! {
            biased;
            _ = connection => {}
            _ = served.as_mut() => return,
        }
        // Responses that have arrived from the server are still delivered.
        served.as_mut().graceful_shutdown();
        drop(served.await);
    }
}

/// Returns true if the request upgrades the connection: exec, attach, port-forward.
fn is_upgrade(request: &Request<Incoming>) -> bool {
    request.headers().contains_key(header::UPGRADE) || *request.method() == Method::CONNECT
}

/// The URL without `path` at the start of its path; `None` if the path is missing.
fn without(path: &str, uri: &Uri) -> Option<Uri> {
    if path.is_empty() {
        return Some(uri.clone());
    }
    let rest = uri.path_and_query()?.as_str().strip_prefix(path)?;
    let rest = if rest.is_empty() || rest.starts_with('?') { format!("/{rest}") } else { rest.to_owned() };
    rest.starts_with('/').then(|| with_path_and_query(uri, &rest)).flatten()
}

/// The URL with `path` at the start of its path.
fn within(path: &str, uri: &Uri) -> Option<Uri> {
    let rest = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    with_path_and_query(uri, &format!("{path}{rest}"))
}

fn with_path_and_query(uri: &Uri, text: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(text.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Sends requests on one connection, to the path of the server URL.
#[derive(Clone)]
struct Sender {
    path: Arc<str>,
    connection: Connection,
}

/// A connection to the server.
#[derive(Clone)]
enum Connection {
    /// HTTP/1.1: one request after another, as the client sends them.
    One(Arc<Mutex<http1::SendRequest<Incoming>>>),
    Two(http2::SendRequest<Incoming>),
}

impl Service<Request<Incoming>> for Sender {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, hyper::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let connection = self.connection.clone();
        if !self.path.is_empty()
            && let Some(uri) = within(&self.path, request.uri())
        {
            *request.uri_mut() = uri;
        }
        Box::pin(async move {
            match connection {
                Connection::One(sender) => {
                    let mut sender = sender.lock().await;
                    sender.ready().await?;
                    sender.send_request(request).await
                }
                Connection::Two(mut sender) => {
                    sender.ready().await?;
                    sender.send_request(request).await
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use capsize_apiserver::Server;
    use capsize_clock::{Seed, live};
    use http_body_util::{BodyExt, Empty};

    use super::*;
    use crate::api_faults::{ErrorStatus, ServerFault};

    #[test]
    fn requests_outside_the_path_of_the_server_url_are_refused() {
        let uri = |text: &str| -> Uri { text.parse().unwrap() };
        for (path, asked, behind) in [
            ("", "/api/v1/pods?limit=1", Some("/api/v1/pods?limit=1")),
            ("/k8s/c-1", "/k8s/c-1/api/v1/pods?watch=1", Some("/api/v1/pods?watch=1")),
            ("/k8s/c-1", "https://h:1/k8s/c-1/readyz", Some("https://h:1/readyz")),
            ("/k8s/c-1", "/k8s/c-1", Some("/")),
            ("/k8s/c-1", "/k8s/c-1?verbose", Some("/?verbose")),
            ("/k8s/c-1", "/k8s/c-10/api", None),
            ("/k8s/c-1", "/api/v1/pods", None),
            ("/k8s/c-1", "/", None),
        ] {
            assert_eq!(without(path, &uri(asked)), behind.map(uri), "{path} {asked}");
        }
        assert_eq!(within("/k8s/c-1", &uri("https://h/api?a=b")), Some(uri("https://h/k8s/c-1/api?a=b")));
        assert_eq!(within("/k8s/c-1", &uri("/readyz")), Some(uri("/k8s/c-1/readyz")));
    }

    /// Sends requests to a server, and returns the status codes of the responses.
    async fn ask(protocol: &[u8], shared: &ProxyState, asked: &[(&str, bool)]) -> Vec<u16> {
        let stream = TcpStream::connect(shared.server).await.unwrap();
        let stream = TokioIo::new(shared.connect(stream, Some(protocol.to_vec())).await.unwrap());
        let request = |path: &str, upgrade: bool| {
            let request = Request::get(format!("https://localhost{path}"));
            let request = if upgrade { request.header(header::UPGRADE, "SPDY/3.1") } else { request };
            request.body(Empty::<bytes::Bytes>::new()).unwrap()
        };
        let (mut codes, mut connection) = (Vec::new(), JoinSet::new());
        if protocol == HTTP_2 {
            let (mut sender, ended) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            connection.spawn(ended);
            for (path, upgrade) in asked {
                let answer = sender.send_request(request(path, *upgrade)).await.unwrap();
                codes.push(answer.status().as_u16());
                answer.into_body().collect().await.unwrap();
            }
        } else {
            let (mut sender, ended) = http1::handshake(stream).await.unwrap();
            connection.spawn(ended);
            for (path, upgrade) in asked {
                sender.ready().await.unwrap();
                let answer = sender.send_request(request(path, *upgrade)).await.unwrap();
                codes.push(answer.status().as_u16());
                answer.into_body().collect().await.unwrap();
            }
        }
        codes
    }

    #[test]
    fn both_http_versions_pass_and_upgrades_do_not() {
        live(Seed(1), 1.0, |run| async move {
            let server = Server::builder().build().listen("127.0.0.1:0").await.unwrap();
            let api_faults = ApiFaults::new(run.clock);
            let authority = server.authority().unwrap().pem();
            let proxy =
                ApiFaultProxy::open(api_faults.clone(), (server.address(), ""), &authority).await.unwrap();
            let behind = ProxyState {
                api_faults: ApiFaults::new(run.clock),
                server: proxy.address(),
                path: "".into(),
                roots: trusting(proxy.authority()).unwrap(),
                acceptor: TlsAcceptor::from(Arc::new(
                    Authority::new("test").unwrap().server(names()).unwrap(),
                )),
            };
            for (protocol, upgrade) in [(HTTP_2, false), (b"http/1.1", true)] {
                let asked = [("/readyz", false), ("/nowhere", upgrade), ("/version", false)];
                let expected = if upgrade { [200, 501, 200] } else { [200, 404, 200] };
                assert_eq!(ask(protocol, &behind, &asked).await, expected);
                let _fault = api_faults.apply(ServerFault::Fail {
                    status: ErrorStatus::TooManyRequests,
                    every: 2,
                    verb: None,
                });
                assert_eq!(ask(protocol, &behind, &[("/readyz", false); 3]).await, [200, 429, 200]);
            }
        })
        .unwrap();
    }
}
