//! Servers in simulations and plain requests to them, for tests of the wire format.

pub(crate) mod compare;
pub(crate) mod revisions;

use std::fmt::Debug;

use bytes::Bytes;
use capsize_apiserver::{ApiBody, ApiServer};
use capsize_clock::{Seed, Simulation, simulate};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use kube::core::Status;
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server with the default settings.
pub(crate) fn server(run: Simulation) -> ApiServer {
    ApiServer::builder(run.clock, run.seed.stream("api")).build()
}

/// Runs a test with such a server in a simulation.
pub(crate) fn with_server<F>(test: impl FnOnce(ApiServer, Simulation) -> F + Send) -> F::Output
where
    F: Future<Output: Send>,
{
    simulate(Seed(1), |run| test(server(run), run))
}

/// A definition of a namespaced kind of the group `example.com` with one version.
/// The version has this schema, and the fields of `more`.
pub(crate) fn definition(plural: &str, kind: &str, schema: Value, more: Value) -> Value {
    let mut version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json_patch::merge(&mut version, &more);
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [version]}})
}

/// The status with which a request was refused.
pub(crate) fn refusal<T: Debug>(outcome: kube::Result<T>) -> Box<Status> {
    match outcome.unwrap_err() {
        kube::Error::Api(status) => status,
        other => panic!("not an answer of the API: {other}"),
    }
}

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body as JSON, otherwise its text as a string.
    pub(crate) body: Value,
}

/// Sends a request, and returns the response without reading its body.
pub(crate) async fn open(server: &ApiServer, request: Request<Bytes>) -> Response<ApiBody> {
    server.service().for_socket().oneshot(request.map(Full::new)).await.unwrap()
}

/// Sends a request and reads the answer.
pub(crate) async fn send(server: &ApiServer, request: Request<Bytes>) -> Answer {
    let (parts, body) = open(server, request).await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
    Answer { status: parts.status, headers: parts.headers, body }
}

/// A request with this body in JSON and with further headers.
/// A patch is a merge patch, and `null` is no body.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Request<Bytes> {
    let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    request.body(body).unwrap()
}

/// Sends such a request without further headers.
pub(crate) async fn ask(server: &ApiServer, method: &str, path: &str, body: &Value) -> Answer {
    send(server, request(method, path, &[], body)).await
}

/// Sends a body of this media type.
pub(crate) async fn send_as(
    server: &ApiServer,
    method: &str,
    path: &str,
    media: &str,
    body: impl ToString,
) -> Answer {
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    send(server, request.body(Bytes::from(body.to_string())).unwrap()).await
}
