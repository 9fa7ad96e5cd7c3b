//! A webhook over HTTPS, as outside of simulations.

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
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto, pki_types::PrivateKeyDer};

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

/// Serves `allow` for ever; gives back the port and the certificate, in PEM.
async fn serve() -> (u16, String) {
    let certified = rcgen::generate_simple_self_signed(["hook.tools.svc".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate hangs up.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let connection = hyper::server::conn::http1::Builder::new();
                drop(connection.serve_connection(TokioIo::new(stream), service_fn(allow)).await);
            });
        }
    });
    (port, certified.cert.pem())
}

#[tokio::test]
async fn a_webhook_is_called_over_https_and_has_to_show_a_certificate_of_its_bundle() {
    let (port, certificate) = serve().await;
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::builder(clock, Seed(1).stream("api"))
        .webhook_service("tools/hook", format!("https://127.0.0.1:{port}"))
        .build();
    let send = |method: &'static str, path: &'static str, body: Value| {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(Bytes::from(body.to_string())).unwrap();
        let server = server.clone();
        async move { support::send(&server, request).await }
    };
    let configuration = |bundle: &str| {
        json!({"metadata": {"name": "v"}, "webhooks": [{"name": "v.example.com",
            "clientConfig": {"service": {"namespace": "tools", "name": "hook", "path": "/admit"},
                "caBundle": STANDARD.encode(bundle)},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"]}]})
    };
    let maps = "/api/v1/namespaces/default/configmaps";
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    assert_eq!(send("POST", configurations, configuration(&certificate)).await.status, 201);
    let answer = send("POST", maps, json!({"metadata": {"name": "a"}})).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.headers["warning"], "299 - \"over TLS\"");

    let other = rcgen::generate_simple_self_signed(["hook.tools.svc".to_owned()]).unwrap();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";
    assert_eq!(send("DELETE", path, Value::Null).await.status, 200);
    assert_eq!(send("POST", configurations, configuration(&other.cert.pem())).await.status, 201);
    let answer = send("POST", maps, json!({"metadata": {"name": "b"}})).await;
    assert_eq!(answer.status, 500);
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains("tls: failed to verify certificate"), "{message}");
}
