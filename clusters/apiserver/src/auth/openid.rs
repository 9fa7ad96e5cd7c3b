//! The endpoints of `OpenID` Connect, with which other programs verify tokens of service accounts.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};

use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::state::ApiServer;

/// Answers a request for the discovery document or for the keys; `None` for any other path.
pub(crate) fn openid(
    server: &ApiServer,
    method: &Method,
    path: &[String],
) -> Option<Result<Response<ApiBody>, Failure>> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let issuer = &server.inner.access.issuer;
    let (document, content_type) = match words.as_slice() {
        [".well-known", "openid-configuration"] => (issuer.configuration(), "application/json"),
        ["openid", "v1", "jwks"] => (issuer.key_set(), "application/jwk-set+json"),
        _ => return None,
    };
    if method != Method::GET {
        return Some(Err(Failure::method_not_allowed()));
    }
    let mut answer = respond::json(StatusCode::OK, &document);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Some(Ok(answer))
}
