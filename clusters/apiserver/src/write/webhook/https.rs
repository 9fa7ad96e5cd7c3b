//! Calls webhooks over HTTPS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::transport::WebhookCall;
use super::trust;

/// The size limit of a response in bytes, equal to the limit of request bodies.
const MAX_RESPONSE: usize = 3 * 1024 * 1024;

/// Posts a review to a webhook on a new connection.
///
/// # Errors
/// The reason why there is no answer, with the message of Go's client where there is one.
pub(super) async fn post(call: WebhookCall) -> Result<Bytes, String> {
    let uri: Uri = call.url.parse().map_err(|error| format!("invalid URL: {error}"))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    if uri.scheme_str() != Some("https") {
        return Err("unsupported protocol scheme: it has to be https".into());
    }
    let stream = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|error| format!("dial tcp {host}:{port}: connect: {error}"))?;
    let named = if call.server_name.is_empty() { host.clone() } else { call.server_name };
    let named = ServerName::try_from(named).map_err(|error| format!("tls: {error}"))?;
    // A review is written in several pieces. Without this option, the last piece would wait for an acknowledgement.
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let stream = TlsConnector::from(Arc::new(trust::client(&call.ca_bundle)?))
        .connect(named, stream)
        .await
        .map_err(|error| format!("tls: failed to verify certificate: {error}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(AbruptClose(stream)))
        .await
        .map_err(|error| error.to_string())?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, format!("{host}:{port}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(call.body))
        .map_err(|error| error.to_string())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let code = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        if code == StatusCode::OK { Ok(body) } else { Err(refused(code, &body)) }
    };
    // The connection has to be polled during the exchange.
    tokio::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // The response may be complete even if the connection ends with an error.
        closed = connection => match (exchange.await, closed) {
            (Err(_), Err(error)) => Err(error.to_string()),
            (answer, _) => answer,
        },
    }
}

/// A connection that the peer may close without a TLS close notification.
/// Go's client accepts this end of a connection, too.
struct AbruptClose<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for AbruptClose<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.0).poll_read(context, buffer)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            read => Poll::Ready(read),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AbruptClose<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// The message of Go's client for a response that is not a success.
fn refused(code: StatusCode, body: &Bytes) -> String {
    match code {
        StatusCode::NOT_FOUND => "the server could not find the requested resource".into(),
        StatusCode::UNAUTHORIZED => "the server has asked for the client to provide credentials".into(),
        StatusCode::FORBIDDEN => "unknown".into(),
        code if code.is_server_error() => {
            let text: String = String::from_utf8_lossy(body).trim().chars().take(1024).collect();
            let text = if text.is_empty() { "unknown".to_owned() } else { text };
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        code => format!(
            "the server responded with the status code {} but did not return more information",
            code.as_u16()
        ),
    }
}
