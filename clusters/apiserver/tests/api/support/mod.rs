//! Plain requests to a server, for tests of the wire format.

pub(crate) mod compare;
pub(crate) mod revisions;

use bytes::Bytes;
use capsize_apiserver::{ApiBody, ApiServer};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

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
    server.service().from_outside().oneshot(request.map(Full::new)).await.unwrap()
}

/// Sends a request and reads the answer.
pub(crate) async fn send(server: &ApiServer, request: Request<Bytes>) -> Answer {
    let (parts, body) = open(server, request).await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
    Answer { status: parts.status, headers: parts.headers, body }
}
