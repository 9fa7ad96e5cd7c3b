//! Answers: how objects become JSON text, and the body types that a client reads.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use futures::Stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::kinds::Kind;
use crate::negotiate::{Form, Media};
use crate::store::{Encoded, Version};

/// The body of an answer: whole, or a watch that goes on until it is cut or times out.
pub enum ApiBody {
    /// All of the body at once; `None` once it has been read.
    Whole(Option<Bytes>),
    /// The events of a watch, one or more whole lines a frame.
    Watch(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl std::fmt::Debug for ApiBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Self::Watch(_) => f.write_str("Watch"),
        }
    }
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Watch(events) => events.as_mut().poll_next(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

fn whole(code: StatusCode, content_type: HeaderValue, bytes: Bytes) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::Whole(Some(bytes)));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// JSON text as the whole answer.
pub(crate) fn json_bytes(code: StatusCode, bytes: Bytes) -> Response<ApiBody> {
    whole(code, JSON, bytes)
}

/// An object as the whole answer.
pub(crate) fn json(code: StatusCode, object: &Value) -> Response<ApiBody> {
    json_bytes(code, encode(object).bytes)
}

/// One version of an object as the whole answer.
pub(crate) fn version(code: StatusCode, kind: &Kind, version: &Version) -> Response<ApiBody> {
    let encoded = kind.encoded(version);
    if kind.is_stored_version() {
        return json_bytes(code, encoded.bytes.clone());
    }
    let mut text = BytesMut::with_capacity(encoded.bytes.len() + 64);
    let api_version = kind.api_version();
    append(&mut text, &encoded, &TypeFields::Rewritten { kind: &kind.kind, api_version: &api_version });
    json_bytes(code, text.freeze())
}

/// An answer that also warns the client.
pub(crate) fn with_warnings(mut response: Response<ApiBody>, warnings: &[String]) -> Response<ApiBody> {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

/// An answer in the media type that the client wants; watches are always JSON.
pub(crate) fn in_media(response: Response<ApiBody>, form: Form) -> Response<ApiBody> {
    if form.media == Media::Json && !form.pretty {
        return response;
    }
    let is_json = response.headers().get(header::CONTENT_TYPE) == Some(&JSON);
    let (mut parts, body) = response.into_parts();
    let body = match body {
        ApiBody::Whole(Some(bytes)) if is_json => {
            let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let text = if form.media == Media::Yaml {
                parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
                serde_saphyr::to_string(&value).unwrap_or_default()
            } else {
                format!("{value:#}\n")
            };
            ApiBody::Whole(Some(Bytes::from(text)))
        }
        body => body,
    };
    Response::from_parts(parts, body)
}

/// An answer that clients may keep until it changes; where they have it already, only that they do.
pub(crate) fn cacheable(request: &HeaderMap, response: Response<ApiBody>) -> Response<ApiBody> {
    let (mut parts, body) = response.into_parts();
    let tag = match &body {
        ApiBody::Whole(Some(bytes)) => HeaderValue::from_str(&format!("\"{}\"", hash(bytes))).ok(),
        _ => None,
    };
    let known = tag.is_some() && tag.as_ref() == request.get(header::IF_NONE_MATCH);
    if let Some(tag) = tag {
        parts.headers.insert(header::ETAG, tag);
    }
    parts.headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    parts.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    if known {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_TYPE);
    }
    Response::from_parts(parts, if known { ApiBody::Whole(None) } else { body })
}

/// What tells one document from another: its SHA-512 in capital hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha512::digest(bytes).iter().fold(String::with_capacity(128), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Plain text as the whole answer.
pub(crate) fn text(code: StatusCode, text: impl Into<String>) -> Response<ApiBody> {
    whole(code, TEXT, Bytes::from(text.into()))
}

/// A watch as the answer.
pub(crate) fn stream(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::Watch(Box::pin(events)));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// The answer to a request that failed.
pub(crate) fn failure(failure: &Failure) -> Response<ApiBody> {
    let mut response = json(failure.code, &failure.status());
    if let Some(seconds) = failure.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// What is not an API path is answered as plain text.
pub(crate) fn page_not_found() -> Response<ApiBody> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// The fields of an object with `kind` and `apiVersion` in front, as API servers write it.
struct TypeFirst<'a>(&'a serde_json::Map<String, Value>);

impl Serialize for TypeFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_type = |key: &str| matches!(key, "kind" | "apiVersion");
        let mut map = serializer.serialize_map(None)?;
        for key in ["kind", "apiVersion"] {
            if let Some(value) = self.0.get(key) {
                map.serialize_entry(key, value)?;
            }
        }
        self.0.iter().filter(|(key, _)| !is_type(key)).try_for_each(|(k, v)| map.serialize_entry(k, v))?;
        map.end()
    }
}

/// The JSON text of `object`, `kind` and `apiVersion` first.
pub(crate) fn encode(object: &Value) -> Encoded {
    let Some(fields) = object.as_object() else {
        return Encoded { bytes: Bytes::from(object.to_string()), type_fields: 0 };
    };
    let mut text = Vec::with_capacity(512);
    serde_json::to_writer(&mut text, &TypeFirst(fields)).expect("JSON values have string keys");
    let quoted = |key: &str| match fields.get(key) {
        Some(Value::String(value)) => key.len() + value.len() + r#""":"","#.len(),
        _ => 0,
    };
    Encoded { bytes: Bytes::from(text), type_fields: quoted("kind") + quoted("apiVersion") }
}

/// Where the type fields of an object go when it is written into a list or for another version of its kind.
pub(crate) enum TypeFields<'a> {
    /// As they are stored.
    Stored,
    /// Left out, as in the lists of built-in kinds.
    Omitted,
    /// These.
    Rewritten { kind: &'a str, api_version: &'a str },
}

/// Appends an object that is JSON text already, without parsing it again.
pub(crate) fn append(buffer: &mut BytesMut, object: &Encoded, types: &TypeFields<'_>) {
    match types {
        TypeFields::Stored => buffer.put_slice(&object.bytes),
        TypeFields::Omitted => {
            buffer.put_u8(b'{');
            buffer.put_slice(&object.bytes[1 + object.type_fields..]);
        }
        TypeFields::Rewritten { kind, api_version } => {
            buffer.put_slice(format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","#).as_bytes());
            buffer.put_slice(&object.bytes[1 + object.type_fields..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn type_fields_come_first_and_can_be_left_out_or_rewritten() {
        let encoded = encode(&json!({"apiVersion": "v1", "data": {}, "kind": "ConfigMap", "metadata": {}}));
        let written = |types| {
            let mut buffer = BytesMut::new();
            append(&mut buffer, &encoded, &types);
            String::from_utf8(buffer.to_vec()).unwrap()
        };
        let stored = r#"{"kind":"ConfigMap","apiVersion":"v1","data":{},"metadata":{}}"#;
        assert_eq!(written(TypeFields::Stored), stored);
        assert_eq!(written(TypeFields::Omitted), r#"{"data":{},"metadata":{}}"#);
        let other = TypeFields::Rewritten { kind: "Other", api_version: "a/v2" };
        assert_eq!(written(other), r#"{"kind":"Other","apiVersion":"a/v2","data":{},"metadata":{}}"#);
    }
}
