//! Calls of webhooks over HTTPS, as outside of simulations.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::{Clock, Seed};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::support;

async fn allow(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().to_string();
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let allowed = path == "/admit?timeout=10s";
    let answer = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "response": {"uid": review["request"]["uid"], "allowed": allowed, "warnings": ["over TLS"]}});
    Ok(Response::new(Full::new(Bytes::from(answer.to_string()))))
}

/// A certificate of a server for `hook.tools.svc`, with its chain and its key.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

impl Identity {
    /// A certificate that is signed by its own key.
    fn self_signed(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { chain: vec![params.self_signed(&key).unwrap().der().clone()], key }
    }

    /// The first certificate of the chain, in PEM.
    fn pem(&self) -> String {
        pem(&self.chain[0])
    }

    fn acceptor(self) -> TlsAcceptor {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain, key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der))
}

/// The parameters of the server's certificate.
fn params(name: &str, is_authority: bool) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    if is_authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params
}

/// Serves `allow` without end; returns the port.
async fn serve(identity: Identity) -> u16 {
    let acceptor = identity.acceptor();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate closes the connection.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let connection = hyper::server::conn::http1::Builder::new();
                drop(connection.serve_connection(TokioIo::new(stream), service_fn(allow)).await);
            });
        }
    });
    port
}

/// Serves responses that allow everything, and closes each connection without a TLS close notification.
async fn serve_abruptly(identity: Identity, with_length: bool) -> u16 {
    let acceptor = identity.acceptor();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            let mut request = Vec::new();
            let review: Value = loop {
                stream.read_buf(&mut request).await.unwrap();
                let text = String::from_utf8_lossy(&request);
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
                if let Some(review) = body.and_then(|body| serde_json::from_str(&body).ok()) {
                    break review;
                }
            };
            let answer = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                "response": {"uid": review["request"]["uid"], "allowed": true}})
            .to_string();
            let length =
                if with_length { format!("Content-Length: {}\r\n", answer.len()) } else { String::new() };
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{length}\r\n");
            stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    port
}

/// The response of a server to a create that calls a webhook at this port, with this bundle.
async fn answer(port: u16, bundle: &str) -> support::Answer {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::builder(clock, Seed(1).stream("api"))
        .webhook_service("tools/hook", format!("https://127.0.0.1:{port}"))
        .build();
    let configuration = json!({"metadata": {"name": "v"}, "webhooks": [{"name": "v.example.com",
        "clientConfig": {"service": {"namespace": "tools", "name": "hook", "path": "/admit"},
            "caBundle": STANDARD.encode(bundle)},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "sideEffects": "None", "admissionReviewVersions": ["v1"]}]});
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    assert_eq!(support::ask(&server, "POST", configurations, &configuration).await.status, 201);
    let map = json!({"metadata": {"name": "a"}});
    support::ask(&server, "POST", "/api/v1/namespaces/default/configmaps", &map).await
}

const NAME: &str = "hook.tools.svc";

#[tokio::test]
async fn a_webhook_is_called_over_https_and_has_to_show_a_certificate_of_its_bundle() {
    let (one, other) =
        (Identity::self_signed(&params(NAME, false)), Identity::self_signed(&params(NAME, false)));
    let (bundle, other) = (one.pem(), other.pem());
    let port = serve(one).await;
    let allowed = answer(port, &bundle).await;
    assert_eq!(allowed.status, 201, "{}", allowed.body);
    assert_eq!(allowed.headers["warning"], "299 - \"over TLS\"");
    let refused = answer(port, &other).await;
    assert_eq!(refused.status, 500);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains("tls: failed to verify certificate"), "{message}");
}

#[tokio::test]
async fn a_webhook_whose_certificate_is_its_own_authority_is_trusted_as_in_go() {
    let own = Identity::self_signed(&params(NAME, true));
    let bundle = own.pem();
    let allowed = answer(serve(own).await, &bundle).await;
    assert_eq!(allowed.status, 201, "{}", allowed.body);

    // A certificate that is an authority itself, signed by an authority through an intermediate one.
    let chain = || {
        let named = |name: &str| {
            let mut params = params(name, true);
            params.distinguished_name.push(DnType::CommonName, name);
            params
        };
        let root = CertifiedIssuer::self_signed(named("root"), KeyPair::generate().unwrap()).unwrap();
        let middle =
            CertifiedIssuer::signed_by(named("middle"), KeyPair::generate().unwrap(), &root).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = params(NAME, true).signed_by(&key, &middle).unwrap();
        (Identity { chain: vec![leaf.der().clone(), middle.der().clone()], key }, root.pem())
    };
    let (leaf, root) = chain();
    let allowed = answer(serve(leaf).await, &root).await;
    assert_eq!(allowed.status, 201, "{}", allowed.body);
    let ((leaf, _), (_, other_root)) = (chain(), chain());
    assert_eq!(answer(serve(leaf).await, &other_root).await.status, 500);
}

#[tokio::test]
async fn an_authority_is_not_trusted_for_other_names_times_and_purposes() {
    let mut late = params(NAME, true);
    (late.not_before, late.not_after) = (rcgen::date_time_ymd(2001, 1, 1), rcgen::date_time_ymd(2002, 1, 1));
    let mut client = params(NAME, true);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    for params in [params("other.tools.svc", true), late, client] {
        let identity = Identity::self_signed(&params);
        let bundle = identity.pem();
        let refused = answer(serve(identity).await, &bundle).await;
        assert_eq!(refused.status, 500, "{}", refused.body);
    }
    // A certificate with the same name and another key.
    let (one, other) =
        (Identity::self_signed(&params(NAME, true)), Identity::self_signed(&params(NAME, true)));
    let bundle = other.pem();
    assert_eq!(answer(serve(one).await, &bundle).await.status, 500);
}

#[tokio::test]
async fn a_response_is_valid_if_the_webhook_closes_the_connection_abruptly() {
    for with_length in [true, false] {
        let identity = Identity::self_signed(&params(NAME, false));
        let bundle = identity.pem();
        let allowed = answer(serve_abruptly(identity, with_length).await, &bundle).await;
        assert_eq!(allowed.status, 201, "{with_length}: {}", allowed.body);
    }
}
