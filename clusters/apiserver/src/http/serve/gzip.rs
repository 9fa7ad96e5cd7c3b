//! Compression of large responses, for clients that accept it.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::Body;
use http_body_util::BodyExt;

use crate::http::respond::ApiBody;

/// The size in bytes up to which responses are sent uncompressed.
const THRESHOLD: u64 = 128 * 1024;

/// The fastest level, as in a real server.
const LEVEL: Compression = Compression::new(1);

/// Returns true if the client accepts gzip.
/// An entry with parameters (`gzip;q=1`) does not count, as in a real server.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|encoding| encoding.trim() == "gzip")
}

/// Compresses the response if it is large.
pub(super) async fn compress(response: Response<ApiBody>) -> Response<ApiBody> {
    let large = response.body().size_hint().exact().is_some_and(|bytes| bytes > THRESHOLD);
    if !large || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(plain) = body.collect().await;
    let plain = plain.to_bytes();
    let original = plain.clone();
    // Compression of megabytes takes long, so it runs outside the runtime's worker threads.
    let compressed = tokio::task::spawn_blocking(move || pack(&plain)).await;
    let Ok(Ok(compressed)) = compressed else {
        return Response::from_parts(head, ApiBody::Whole(Some(original)));
    };
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, ApiBody::Whole(Some(compressed)))
}

fn pack(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), LEVEL);
    encoder.write_all(plain)?;
    encoder.finish().map(Bytes::from)
}
