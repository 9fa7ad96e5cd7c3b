//! The attributes of a request for authorization, and the message of a refusal.

use http::Method;
use http::request::Parts;

use super::user::User;
use crate::http::failure::Failure;
use crate::http::request::{Query, Target, parse_path};

/// The action that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// The verb of Kubernetes for a resource, or the method in lower case for any other path.
    pub verb: String,
    pub target: ActionTarget,
}

/// The target of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActionTarget {
    /// A path that is not a resource.
    Path(String),
    /// A resource. Absent parts are empty.
    Resource { group: String, resource: String, subresource: String, namespace: String, name: String },
}

impl Attributes {
    /// The action of a request.
    pub(super) fn of_request(parts: &Parts) -> Self {
        let path = match parse_path(parts.uri.path()) {
            Target::Resource(path) => path,
            Target::Other(_) => {
                let verb = parts.method.as_str().to_lowercase();
                return Self { verb, target: ActionTarget::Path(parts.uri.path().to_owned()) };
            }
        };
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let mut name = path.name;
        let verb = match parts.method {
            _ if path.watch => "watch",
            Method::GET | Method::HEAD if name.is_empty() => {
                name = exact_name(query.get("fieldSelector")).unwrap_or_default();
                if query.flag("watch") { "watch" } else { "list" }
            }
            Method::GET | Method::HEAD => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if name.is_empty() => "deletecollection",
            Method::DELETE => "delete",
            _ => "",
        };
        // The namespace of a Namespace object is its own name.
        let namespace = match path.plural.as_str() {
            "namespaces" if path.namespace.is_empty() => name.clone(),
            _ => path.namespace,
        };
        let subresource = path.subresource.split('/').next().unwrap_or_default().to_owned();
        let target =
            ActionTarget::Resource { group: path.group, resource: path.plural, subresource, namespace, name };
        Self { verb: verb.to_owned(), target }
    }

    /// The namespace of the action; empty for the whole cluster.
    pub(super) fn namespace(&self) -> &str {
        match &self.target {
            ActionTarget::Resource { namespace, .. } => namespace,
            ActionTarget::Path(_) => "",
        }
    }

    /// The refusal, with the reason if there is one.
    pub(super) fn forbidden(&self, user: &User, reason: &str) -> Failure {
        let Self { verb, target } = self;
        let (who, tail) = (&user.name, if reason.is_empty() { String::new() } else { format!(": {reason}") });
        match target {
            ActionTarget::Path(path) => {
                let why = format!("User {who:?} cannot {verb} path {path:?}");
                Failure::forbidden_access("", "", "", &format!("{}{tail}", without_markup(&why)))
            }
            ActionTarget::Resource { group, resource, subresource, namespace, name } => {
                let place = match namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let shown = match subresource.as_str() {
                    "" => resource.clone(),
                    subresource => format!("{resource}/{subresource}"),
                };
                let why =
                    format!("User {who:?} cannot {verb} resource {shown:?} in API group {group:?} {place}");
                Failure::forbidden_access(group, resource, name, &format!("{}{tail}", without_markup(&why)))
            }
        }
    }
}

/// The name that a field selector requires, if it requires one.
/// Lists and watches of one name are authorized by that name.
fn exact_name(selector: &str) -> Option<String> {
    let wanted = selector.split(',').find_map(|term| {
        let value = term.trim().strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value))
    })?;
    let is_segment = !matches!(wanted, "" | "." | "..") && !wanted.contains(['/', '%']);
    is_segment.then(|| wanted.to_owned())
}

/// Escapes text of the request in the message, so that it is not HTML.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(method: &str, uri: &str) -> String {
        let (parts, ()) = http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts();
        Attributes::of_request(&parts).forbidden(&User::new("eve", [""; 0]), "").message
    }

    #[test]
    fn a_refusal_names_the_verb_the_resource_and_the_place() {
        let table = [
            (
                "GET",
                "/api/v1/namespaces/a/pods/p",
                r#"pods "p" is forbidden: User "eve" cannot get resource "pods" in API group "" in the namespace "a""#,
            ),
            (
                "GET",
                "/api/v1/pods",
                r#"pods is forbidden: User "eve" cannot list resource "pods" in API group "" at the cluster scope"#,
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods?watch=1&fieldSelector=metadata.name%3Dp",
                r#"pods "p" is forbidden: User "eve" cannot watch resource "pods" in API group "" in the namespace "a""#,
            ),
            (
                "GET",
                "/api/v1/namespaces/a",
                r#"namespaces "a" is forbidden: User "eve" cannot get resource "namespaces" in API group "" in the namespace "a""#,
            ),
            (
                "PUT",
                "/apis/apps/v1/namespaces/a/deployments/d/scale",
                r#"deployments.apps "d" is forbidden: User "eve" cannot update resource "deployments/scale" in API group "apps" in the namespace "a""#,
            ),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/a/deployments",
                r#"deployments.apps is forbidden: User "eve" cannot deletecollection resource "deployments" in API group "apps" in the namespace "a""#,
            ),
            ("GET", "/metrics", r#"forbidden: User "eve" cannot get path "/metrics""#),
            ("POST", "/apis/apps/v1", r#"forbidden: User "eve" cannot post path "/apis/apps/v1""#),
        ];
        for (method, uri, expected) in table {
            assert_eq!(refusal(method, uri), expected, "{method} {uri}");
        }
    }
}
