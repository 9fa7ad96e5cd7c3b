//! Running servers, and clients for them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::{ApiServer, Limits, RunningServer, Server};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The time limit for every condition; the test fails after it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A new server, on a port of its own.
pub(crate) async fn https(limits: Limits) -> (ApiServer, RunningServer) {
    let server = Server::builder().build();
    let listening = server.listener().limits(limits).bind("127.0.0.1:0").await.unwrap();
    (server, listening)
}

/// A new server without TLS.
pub(crate) async fn http(limits: Limits) -> (ApiServer, RunningServer) {
    let server = Server::builder().build();
    let listening = server.listener().plain_http().limits(limits).bind("127.0.0.1:0").await.unwrap();
    (server, listening)
}

/// A TLS connection that offers `protocols`.
pub(crate) async fn tls(server: &RunningServer, protocols: &[&str]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(server.authority().unwrap().der().to_vec())).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let socket = TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from("kubernetes.default.svc").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap()
}

/// A connection with HTTP/2.
pub(crate) async fn http2<B>(server: &RunningServer) -> SendRequest<B>
where
    B: http_body::Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let io = TokioIo::new(tls(server, &["h2"]).await);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// Requests `path` over HTTP/2.
pub(crate) async fn get(sender: &SendRequest<Full<Bytes>>, path: &str) -> Response<Incoming> {
    let request = Request::get(format!("https://localhost{path}")).body(Full::default()).unwrap();
    sender.clone().send_request(request).await.unwrap()
}

/// Sends `bytes` unchanged, and reads until the server closes the connection.
pub(crate) async fn exchange(server: &RunningServer, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(TIMEOUT, socket.read_to_end(&mut answer)).await;
    // A server that has not read all bytes resets the connection after its response.
    let _ = read.expect("the server ends the connection");
    String::from_utf8(answer).unwrap()
}

/// Repeats `attempt` until it has a value.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(attempt: impl Fn() -> F) -> T {
    let tries = async {
        loop {
            if let Some(value) = attempt().await {
                return value;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, tries).await.expect("it comes true in time")
}

/// Creates config maps of about 900 KiB each.
pub(crate) async fn fill(server: &ApiServer, count: usize) {
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    for number in 0..count {
        let object =
            json!({"metadata": {"name": format!("large-{number}")}, "data": {"k": "x".repeat(900 << 10)}});
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
