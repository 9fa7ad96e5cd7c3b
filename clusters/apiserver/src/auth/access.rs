//! Lets requests in: authentication, then impersonation, then authorization.
//!
//! Where nothing is asked, a request costs a look at the names of its headers.

use http::header::{AUTHORIZATION, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::account::holder;
use super::attributes::Attributes;
use super::certificate;
use super::granted::grants;
use super::grants::Decision;
use super::impersonate;
use super::settings::locked;
use super::user::User;
use crate::builder::Builder;
use crate::http::client_certificate::ClientCertificate;
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::state::{ApiServer, Inner, State};

impl Builder {
    /// Takes `token` as the bearer token of `user`, and turns authentication on: requests without credentials that the
    /// server knows are answered with 401, where they come [from outside](crate::ApiService::from_outside).
    pub fn token(mut self, token: impl Into<String>, user: User) -> Self {
        self.access.authenticates = true;
        self.access.tokens.insert(token.into(), user.authenticated());
        self
    }

    /// Whether requests have to say who they are from: by a bearer token, the token of a service account, or a client
    /// certificate. Off unless said otherwise; without it everybody is an administrator.
    pub fn authentication(mut self, on: bool) -> Self {
        self.access.authenticates = on;
        self
    }

    /// Whether requests without credentials are let in as `system:anonymous`. As in a real server, they are with RBAC and
    /// are not without it unless said otherwise.
    pub fn anonymous(mut self, on: bool) -> Self {
        self.access.anonymous = Some(on);
        self
    }

    /// Whether the roles and bindings of `rbac.authorization.k8s.io` decide who may do what. It turns authentication on,
    /// and the server starts with the roles that every cluster has. Off unless said otherwise.
    pub fn rbac(mut self, on: bool) -> Self {
        self.access.rbac = on;
        self.access.authenticates |= on;
        self
    }

    /// The issuer of the tokens of service accounts, which is also their audience: an address that begins with `https://`.
    pub fn issuer(mut self, url: impl Into<String>) -> Self {
        self.access.issuer = Some(url.into());
        self
    }

    /// Whether each namespace gets a `ServiceAccount` called `default` and a `ConfigMap` called `kube-root-ca.crt`, and each
    /// Secret for a service account its token: what controllers do in a real cluster. Off unless said otherwise.
    pub fn service_account_controllers(mut self, on: bool) -> Self {
        self.access.service_accounts = on;
        self
    }

    /// The certificate, as PEM, that those inside the cluster are to trust the server by.
    pub fn certificate_authority(mut self, pem: impl Into<String>) -> Self {
        self.access.certificate_authority = pem.into();
        self
    }
}

impl ApiServer {
    /// Takes `token` as an administrator's, and `authority` (PEM) as what the server is trusted by. Tokens that are
    /// signed from now on cannot be made by who only knows the seed.
    pub(crate) fn trust(&self, authority: &str, token: &str) {
        let access = &self.inner.access;
        locked(&access.tokens).insert(token.to_owned(), User::admin());
        access.issuer.key_from(token);
        authority.clone_into(&mut locked(&access.certificate_authority));
        self.distribute_authority();
    }
}

/// Lets a request in, and notes in it who it is from.
///
/// # Errors
/// Unauthorized, forbidden, or a bad request where it cannot be told who it is from.
pub(crate) fn let_in(server: &ApiServer, parts: &mut Parts, outside: bool) -> Result<(), Failure> {
    let inner = &*server.inner;
    let impersonates = impersonate::is_asked(&parts.headers);
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

/// The answer to a request that is not let in. What is refused is shown back: nobody is to guess that it is HTML.
pub(crate) fn refusal(failure: &Failure) -> Response<ApiBody> {
    let mut answer = respond::failure(failure);
    if failure.code == StatusCode::FORBIDDEN {
        answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    answer
}

/// Who a request is from, as was found out when it was let in.
pub(crate) fn user_of(parts: &Parts) -> User {
    parts.extensions.get::<User>().cloned().unwrap_or_else(User::admin)
}

/// Finds out who a request is from. A certificate goes before a token; without either, who is inside the process is
/// its administrator.
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

/// The token of a request, if it has one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    // What follows the token is not looked at, and a token behind two spaces is none.
    let mut parts = value.split(' ');
    let (scheme, token) = (parts.next()?, parts.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whose token it is, and which of `audiences` it is for.
///
/// # Errors
/// Why it is nobody's.
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

/// Whether a user may do that.
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
