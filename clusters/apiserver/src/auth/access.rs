//! Checks the access of requests: authentication, impersonation, authorization. Sets the credentials.
//!
//! If the server does not require authentication, only impersonation headers are read.

use http::header::{AUTHORIZATION, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::account::holder;
use super::attributes::Attributes;
use super::certificate;
use super::grants::Decision;
use super::grants_cache::grants;
use super::impersonate;
use super::settings::locked;
use super::user::User;
use crate::builder::Builder;
use crate::http::client_certificate::ClientCertificate;
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::state::{ApiServer, Inner, State};

impl Builder {
    /// Accepts `token` as the bearer token of `user`, and turns authentication on.
    /// Requests [from outside](crate::ApiService::from_outside) without known credentials are answered with 401.
    pub fn token(mut self, token: impl Into<String>, user: User) -> Self {
        self.access.authenticates = true;
        self.access.tokens.insert(token.into(), user.authenticated());
        self
    }

    /// Sets whether requests need credentials.
    /// Credentials are a bearer token, the token of a service account, or a client certificate. The default is off, and
    /// every client is then an administrator.
    pub fn authentication(mut self, on: bool) -> Self {
        self.access.authenticates = on;
        self
    }

    /// Sets whether requests without credentials are accepted as `system:anonymous`.
    /// As in a real server, the default is on with RBAC, and off without RBAC.
    pub fn anonymous(mut self, on: bool) -> Self {
        self.access.anonymous = Some(on);
        self
    }

    /// Sets whether the roles and bindings of `rbac.authorization.k8s.io` decide about requests.
    /// RBAC turns authentication on, and the server starts with the default roles of every cluster. The default is off.
    pub fn rbac(mut self, on: bool) -> Self {
        self.access.rbac = on;
        self.access.authenticates |= on;
        self
    }

    /// Sets the issuer of the tokens of service accounts, which is also their audience.
    /// The issuer is a URL that begins with `https://`.
    pub fn issuer(mut self, url: impl Into<String>) -> Self {
        self.access.issuer = Some(url.into());
        self
    }

    /// Sets whether the server does the work of the controllers of service accounts.
    /// Each namespace then gets a `ServiceAccount` called `default` and a `ConfigMap` called `kube-root-ca.crt`. Each
    /// Secret for a service account gets its token. In a real cluster controllers do this. The default is off.
    pub fn service_account_controllers(mut self, on: bool) -> Self {
        self.access.service_accounts = on;
        self
    }

    /// Sets the certificate, as PEM, by which clients inside the cluster trust the server.
    pub fn certificate_authority(mut self, pem: impl Into<String>) -> Self {
        self.access.certificate_authority = pem.into();
        self
    }
}

impl ApiServer {
    /// Accepts `token` as an administrator's token, and publishes the CA certificate.
    /// The CA certificate `authority` is PEM. The signing key of tokens then depends on `token`, so that the seed alone is
    /// not enough to forge a token.
    pub(crate) fn set_admin_access(&self, authority: &str, token: &str) {
        let access = &self.inner.access;
        locked(&access.tokens).insert(token.to_owned(), User::admin());
        access.issuer.key_from(token);
        authority.clone_into(&mut locked(&access.certificate_authority));
        self.distribute_authority();
    }
}

/// Checks the access of a request, and records the user in the extensions of the request.
///
/// # Errors
/// Unauthorized, forbidden, or a bad request if the impersonated user is missing.
pub(crate) fn check_access(server: &ApiServer, parts: &mut Parts, outside: bool) -> Result<(), Failure> {
    let inner = &*server.inner;
    let impersonates = impersonate::is_requested(&parts.headers);
    if !inner.access.authenticates && !impersonates {
        return Ok(());
    }
    let mut user =
        if inner.access.authenticates { authenticate(inner, parts, outside)? } else { User::admin() };
    if impersonates {
        let (other, wanted) = impersonate::read(&parts.headers)?;
        for asked in wanted {
            authorize(inner, &user, &asked)?;
        }
        if !other.name.is_empty() {
            user = other;
        }
    }
    if inner.access.rbac {
        authorize(inner, &user, &Attributes::of_request(parts))?;
    }
    parts.extensions.insert(user);
    Ok(())
}

/// The response to a request without access.
/// The message repeats parts of the request, so browsers must not guess that the response is HTML.
pub(crate) fn refusal(failure: &Failure) -> Response<ApiBody> {
    let mut answer = respond::failure(failure);
    if failure.code == StatusCode::FORBIDDEN {
        answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    answer
}

/// The user of a request with access.
pub(crate) fn user_of(parts: &Parts) -> User {
    parts.extensions.get::<User>().cloned().unwrap_or_else(User::admin)
}

/// Determines the user of a request.
/// A certificate has precedence over a token. Inside the process, a request without credentials is a request of the
/// administrator.
fn authenticate(inner: &Inner, parts: &Parts, outside: bool) -> Result<User, Failure> {
    let certificate = parts.extensions.get::<ClientCertificate>();
    if let Some(user) = certificate.and_then(certificate::user) {
        return Ok(user.authenticated());
    }
    match bearer(&parts.headers) {
        Some(token) => {
            let audiences = [inner.access.issuer.url.clone()];
            let holder = authenticate_token(inner, token, &audiences);
            holder.map(|(user, _)| user).map_err(|_| Failure::unauthorized())
        }
        None if !outside => Ok(User::admin()),
        None if inner.access.anonymous.unwrap_or(inner.access.rbac) => Ok(User::anonymous()),
        None => Err(Failure::unauthorized()),
    }
}

/// The bearer token of a request, if it has one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    // Text after the token is ignored, and two spaces before the token make it invalid.
    let mut parts = value.split(' ');
    let (scheme, token) = (parts.next()?, parts.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The user of a token, and the subset of `audiences` for which the token is valid.
///
/// # Errors
/// The reason why the token is invalid.
pub(crate) fn authenticate_token(
    inner: &Inner,
    token: &str,
    audiences: &[String],
) -> Result<(User, Vec<String>), String> {
    let own = &inner.access.issuer.url;
    let known = locked(&inner.access.tokens).get(token).cloned();
    if let Some(user) = known.filter(|_| audiences.contains(own)) {
        return Ok((user, vec![own.clone()]));
    }
    match holder(inner, &inner.state(), token, audiences) {
        Ok(Some(holder)) => Ok((holder.user.authenticated(), holder.audiences)),
        Ok(None) => Err("invalid bearer token".into()),
        Err(why) => Err(format!("[invalid bearer token, {why}]")),
    }
}

fn authorize(inner: &Inner, user: &User, asked: &Attributes) -> Result<(), Failure> {
    let decision = decide(inner, &mut inner.state(), user, asked);
    if decision.allowed { Ok(()) } else { Err(asked.forbidden(user, &decision.reason)) }
}

/// Decides whether a user is allowed to make a request.
pub(crate) fn decide(inner: &Inner, state: &mut State, user: &User, asked: &Attributes) -> Decision {
    if !inner.access.rbac || user.is_master() {
        return Decision { allowed: true, reason: String::new() };
    }
    grants(state).decide(user, asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_the_word_after_bearer() {
        let table = [
            ("Bearer t", Some("t")),
            ("bEARER t", Some("t")),
            ("Bearer t more", Some("t")),
            ("Bearer  t", None),
            ("Bearer", None),
            ("Basic t", None),
        ];
        for (value, expected) in table {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
            assert_eq!(bearer(&headers), expected, "{value:?}");
        }
    }
}
