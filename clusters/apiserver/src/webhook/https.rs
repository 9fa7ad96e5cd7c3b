//! The transport of webhooks outside of simulations: HTTPS, checked against the bundle of the webhook alone.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::transport::WebhookCall;

/// The longest answer that is read, in bytes: what an API server reads of any request.
const LONGEST: usize = 3 * 1024 * 1024;

/// Posts a review to a webhook, on a connection of its own.
///
/// # Errors
/// Why there is no answer, in the words of Go's client where it has some.
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
    let stream = connector(&call.ca_bundle)?
        .connect(named, stream)
        .await
        .map_err(|error| format!("tls: failed to verify certificate: {error}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
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
        let body = Limited::new(response.into_body(), LONGEST).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        if code == StatusCode::OK { Ok(body) } else { Err(refused(code, &body)) }
    };
    // The connection does its work for as long as the exchange lasts.
    tokio::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        closed = connection => match closed {
            Ok(()) => exchange.await,
            Err(error) => Err(error.to_string()),
        },
    }
}

fn connector(bundle: &[u8]) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        let certificate =
            certificate.map_err(|error| format!("unable to load root certificates: {error}"))?;
        roots.add(certificate).map_err(|error| format!("unable to load root certificates: {error}"))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// How Go's client tells an answer that is none.
fn refused(code: StatusCode, body: &Bytes) -> String {
    match code {
        StatusCode::NOT_FOUND => "the server could not find the requested resource".into(),
        StatusCode::UNAUTHORIZED => "the server has asked for the client to provide credentials".into(),
        StatusCode::FORBIDDEN => "unknown".into(),
        code if code.is_server_error() => {
            let told: String = String::from_utf8_lossy(body).trim().chars().take(1024).collect();
            let told = if told.is_empty() { "unknown".to_owned() } else { told };
            format!("an error on the server ({told:?}) has prevented the request from succeeding")
        }
        code => format!(
            "the server responded with the status code {} but did not return more information",
            code.as_u16()
        ),
    }
}
