//! The verb of a request to an API server, as Kubernetes names it.

use http::{Method, Uri};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// Read one object, or another path such as discovery.
    /// As the verb of a fault, this verb also stands for reading the health of the server.
    Get,
    /// Read the health of the server.
    Health,
    /// Read all objects of a kind.
    List,
    /// Watch the changes of objects.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Patch an object.
    Patch,
    /// Delete one object or several.
    Delete,
}

impl Verb {
    /// The verb of a request with this method and URL.
    #[must_use]
    pub fn of(method: &Method, uri: &Uri) -> Self {
        match *method {
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ if watches(uri.query().unwrap_or_default()) => Self::Watch,
            _ if matches!(uri.path(), "/readyz" | "/healthz" | "/livez") => Self::Health,
            _ if is_of_all(uri.path()) => Self::List,
            _ => Self::Get,
        }
    }

    /// Returns true if the verb changes objects.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::Health | Self::List | Self::Watch)
    }

    /// Returns true if a fault of requests with this verb hits a request with the verb `request`.
    #[must_use]
    pub fn hits(self, request: Self) -> bool {
        self == request || self == Self::Get && request == Self::Health
    }
}

fn watches(query: &str) -> bool {
    query.split('&').any(|each| matches!(each, "watch=true" | "watch=1"))
}

/// Returns true if the path is that of all objects of a kind, or of those in a namespace.
fn is_of_all(path: &str) -> bool {
    let mut words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    let of_group = match words.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        _ => return false,
    };
    words.drain(..of_group.min(words.len()));
    let of_namespace = words.first() == Some(&"namespaces");
    if of_namespace && words.len() > 2 && !matches!(words[2], "status" | "finalize") {
        words.drain(..2);
    }
    words.len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_follows_from_method_path_and_query() {
        let cases = [
            ("GET", "/readyz", Verb::Health),
            ("GET", "/apis/apps/v1", Verb::Get),
            ("GET", "/api/v1/namespaces", Verb::List),
            ("GET", "/api/v1/namespaces/a", Verb::Get),
            ("GET", "/api/v1/namespaces/a/status", Verb::Get),
            ("GET", "/api/v1/namespaces/a/pods?limit=5", Verb::List),
            ("GET", "/api/v1/namespaces/a/pods/p", Verb::Get),
            ("GET", "/api/v1/namespaces/a/pods/p/status", Verb::Get),
            ("GET", "/apis/apps/v1/deployments?watch=false", Verb::List),
            ("GET", "/apis/apps/v1/deployments?limit=1&watch=true", Verb::Watch),
            ("POST", "/api/v1/namespaces/a/pods", Verb::Create),
            ("PUT", "/api/v1/namespaces/a/pods/p", Verb::Update),
            ("PATCH", "/api/v1/namespaces/a/pods/p", Verb::Patch),
            ("DELETE", "/api/v1/namespaces/a/pods", Verb::Delete),
        ];
        for (method, uri, verb) in cases {
            assert_eq!(Verb::of(&method.parse().unwrap(), &uri.parse().unwrap()), verb, "{method} {uri}");
        }
    }

    #[test]
    fn a_fault_of_reads_hits_the_health_too_and_one_of_the_health_nothing_else() {
        assert!(Verb::Get.hits(Verb::Health) && Verb::Get.hits(Verb::Get) && Verb::Health.hits(Verb::Health));
        assert!(!Verb::Health.hits(Verb::Get) && !Verb::List.hits(Verb::Health));
    }
}
