//! Compression of large answers, for clients that take it.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::Body;
use http_body_util::BodyExt;

use crate::http::respond::ApiBody;

/// Smaller answers, in bytes, are sent as they are.
const WORTH_IT: u64 = 128 * 1024;

/// The fastest: what a real server uses.
const LEVEL: Compression = Compression::new(1);

/// Whether the client takes gzip. Only the bare word counts, as in a real server.
pub(super) fn is_taken(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|encoding| encoding.trim() == "gzip")
}

/// The answer, compressed if that is worth it.
pub(super) async fn compressed(response: Response<ApiBody>) -> Response<ApiBody> {
    let large = response.body().size_hint().exact().is_some_and(|bytes| bytes > WORTH_IT);
    if !large || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(plain) = body.collect().await;
    let plain = plain.to_bytes();
    let original = plain.clone();
    // Beside the runtime's threads: megabytes take a while.
    let packed = tokio::task::spawn_blocking(move || pack(&plain)).await;
    let Ok(Ok(packed)) = packed else {
        return Response::from_parts(head, ApiBody::Whole(Some(original)));
    };
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, ApiBody::Whole(Some(packed)))
}

fn pack(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), LEVEL);
    encoder.write_all(plain)?;
    encoder.finish().map(Bytes::from)
}
