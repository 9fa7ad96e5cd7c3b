//! Builds responses: their bodies, headers and entity tags, and the conversion into a media type.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;

use crate::http::failure::Failure;
use crate::http::long_list::LongList;
use crate::http::negotiate::{Form, Media};
use crate::kind::kinds::Kind;
use crate::store::Version;
pub(crate) use crate::store::encoded::{TypeFields, append, encode};

/// The body of a response: the whole body, a long list, or a watch.
pub enum ApiBody {
    /// The whole body; `None` once it has been read.
    Whole(Option<Bytes>),
    /// A long list. The text is made while the list is read.
    List(ListBody),
    /// The events of a watch. One frame has one or more whole lines.
    Watch(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl std::fmt::Debug for ApiBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Self::List(list) => f.debug_tuple("List").field(&list.0.left()).finish(),
            Self::Watch(_) => f.write_str("Watch"),
        }
    }
}

/// The rest of a long list's text, which has not been sent yet.
pub struct ListBody(LongList);

impl ApiBody {
    /// Collects a long list into one piece; other bodies stay as they are.
    pub(crate) fn gathered(self) -> Self {
        match self {
            Self::List(ListBody(list)) => Self::Whole(Some(list.collect::<Vec<_>>().concat().into())),
            body => body,
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
            Self::List(list) => Poll::Ready(list.0.next()),
            Self::Watch(events) => events.as_mut().poll_next(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::List(list) => list.0.left() == 0,
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::List(list) => SizeHint::with_exact(list.0.left()),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

fn whole(code: StatusCode, content_type: HeaderValue, bytes: Bytes) -> Response<ApiBody> {
    answer(code, content_type, ApiBody::Whole(Some(bytes)))
}

fn answer(code: StatusCode, content_type: HeaderValue, body: ApiBody) -> Response<ApiBody> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A response with JSON text.
pub(crate) fn json_bytes(code: StatusCode, bytes: Bytes) -> Response<ApiBody> {
    whole(code, JSON, bytes)
}

/// A response with a list.
pub(crate) fn list(mut list: LongList) -> Response<ApiBody> {
    let body = if list.is_short() { ApiBody::Whole(list.next()) } else { ApiBody::List(ListBody(list)) };
    answer(StatusCode::OK, JSON, body)
}

/// A response with an object.
pub(crate) fn json(code: StatusCode, object: &Value) -> Response<ApiBody> {
    json_bytes(code, encode(object).bytes)
}

/// A response with one version of an object.
pub(crate) fn version(code: StatusCode, kind: &Kind, version: &Version) -> Response<ApiBody> {
    let encoded = kind.encoded(version);
    if kind.is_stored_version() {
        return json_bytes(code, encoded.bytes.clone());
    }
    let mut text = BytesMut::with_capacity(encoded.bytes.len() + 64);
    append(&mut text, &encoded, &TypeFields::served(kind));
    json_bytes(code, text.freeze())
}

/// Adds warnings for the client to a response.
pub(crate) fn with_warnings(mut response: Response<ApiBody>, warnings: &[String]) -> Response<ApiBody> {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

/// Converts a response into the media type that the client wants; watches are always JSON.
pub(crate) fn in_media(response: Response<ApiBody>, form: Form) -> Response<ApiBody> {
    if form.media == Media::Json && !form.pretty {
        return response;
    }
    let is_json = response.headers().get(header::CONTENT_TYPE) == Some(&JSON);
    let (mut parts, body) = response.into_parts();
    let body = match body.gathered() {
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

/// Adds an entity tag to a response that clients may cache. A client that has this version gets 304.
pub(crate) fn cacheable(request: &HeaderMap, response: Response<ApiBody>, tag: &str) -> Response<ApiBody> {
    let mut response = tagged(request, response, tag);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}

/// Adds an entity tag to a response. A client that has this version gets 304.
pub(crate) fn tagged(request: &HeaderMap, mut response: Response<ApiBody>, tag: &str) -> Response<ApiBody> {
    let tag = HeaderValue::from_str(&format!("\"{tag}\"")).ok();
    if tag.is_some() && tag.as_ref() == request.get(header::IF_NONE_MATCH) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = ApiBody::Whole(None);
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    let headers = response.headers_mut();
    headers.extend(tag.map(|tag| (header::ETAG, tag)));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// The SHA-512 of a document in capital hexadecimal digits, which serves as its entity tag.
pub(crate) fn hash(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha512::digest(bytes).iter().fold(String::with_capacity(128), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// A response with plain text.
pub(crate) fn text(code: StatusCode, text: impl Into<String>) -> Response<ApiBody> {
    whole(code, TEXT, Bytes::from(text.into()))
}

/// A response with a watch.
pub(crate) fn stream(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::Watch(Box::pin(events)));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// The response to a request that failed.
pub(crate) fn failure(failure: &Failure) -> Response<ApiBody> {
    let mut response = json(failure.code, &failure.status());
    if let Some(seconds) = failure.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The response for a path that is not an API path: plain text.
pub(crate) fn page_not_found() -> Response<ApiBody> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}
