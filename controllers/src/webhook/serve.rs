//! Serves the webhooks over HTTPS. The content of the answers is in `review`.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::identity::{Identity, IdentityError};
use super::review::review;
use crate::Settings;
use crate::rules::Rules;

/// The length of the longest review that is read, in bytes.
/// A review contains an old and a new object, each as long as an API server accepts.
const LONGEST_REVIEW: usize = 7 * 1024 * 1024;
/// How long a client may take for its TLS handshake, and for the head of a request.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a connection could not be accepted: the machine has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The webhooks, ready to be served.
#[derive(Clone)]
pub struct Webhooks {
    settings: Arc<Settings>,
    rules: Arc<dyn Rules>,
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Webhooks {
    /// Webhooks with these settings and rules.
    #[must_use]
    pub fn new(settings: Settings, rules: Arc<dyn Rules>) -> Self {
        Self { settings: Arc::new(settings), rules }
    }

    /// Serves on `socket` as `identity` until the returned tasks are dropped, which cuts all connections.
    /// Needs a tokio runtime with I/O.
    ///
    /// # Errors
    /// When the identity is not usable for TLS.
    pub fn serve(self, socket: TcpListener, identity: &Identity) -> Result<JoinSet<()>, IdentityError> {
        let acceptor = TlsAcceptor::from(Arc::new(identity.server()?));
        let mut tasks = JoinSet::new();
        tasks.spawn(self.accept(socket, acceptor));
        Ok(tasks)
    }

    async fn accept(self, socket: TcpListener, acceptor: TlsAcceptor) {
        let mut connections = JoinSet::new();
        loop {
            // Removes the results of connections that have ended.
            while connections.try_join_next().is_some() {}
            match socket.accept().await {
                Ok((stream, _)) => drop(connections.spawn(self.clone().connection(stream, acceptor.clone()))),
                Err(error) => {
                    tracing::debug!(%error, "a connection to the webhooks could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Serves a connection until it ends. Its errors concern only the client.
    async fn connection(self, stream: TcpStream, acceptor: TlsAcceptor) {
        let Ok(Ok(stream)) = timeout(CLIENT_TIMEOUT, acceptor.accept(stream)).await else { return };
        let service = service_fn(|request| {
            let webhooks = self.clone();
            async move { Ok::<_, Infallible>(webhooks.answer(request).await) }
        });
        let mut protocols = auto::Builder::new(TokioExecutor::new());
        protocols.http1().timer(TokioTimer::new()).header_read_timeout(CLIENT_TIMEOUT);
        protocols.http2().timer(TokioTimer::new());
        drop(protocols.serve_connection(TokioIo::new(stream), service).await);
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        if request.method() == Method::GET && matches!(path.as_str(), "/healthz" | "/readyz" | "/readyz/") {
            return respond(StatusCode::OK, "text/plain", Bytes::from_static(b"ok"));
        }
        let body = match Limited::new(request.into_body(), LONGEST_REVIEW).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return respond_with_error(StatusCode::PAYLOAD_TOO_LARGE, &error),
        };
        let asked = match serde_json::from_slice(&body) {
            Ok(asked) => asked,
            Err(error) => return respond_with_error(StatusCode::BAD_REQUEST, &error),
        };
        match review(&self.settings, &*self.rules, &path, &asked) {
            Some(answer) => respond(StatusCode::OK, "application/json", Bytes::from(answer.to_string())),
            None => respond_with_error(StatusCode::NOT_FOUND, &"404 page not found"),
        }
    }
}

fn respond_with_error(code: StatusCode, why: &impl ToString) -> Response<Full<Bytes>> {
    respond(code, "text/plain", Bytes::from(why.to_string()))
}

fn respond(code: StatusCode, content: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content));
    response
}
