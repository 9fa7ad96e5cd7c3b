//! The health endpoints `/healthz`, `/livez` and `/readyz`, their checks, and the texts of failures.

use http::{HeaderValue, Response, StatusCode, header};

use crate::http::request::Query;
use crate::http::respond::{self, ApiBody};

/// The checks of a real server, in its order. Here only the check [`READINESS`] can fail.
static CHECKS: &[&str] = &[
    "ping",
    "log",
    "informer-sync",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    READINESS,
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "shutdown",
];

/// The check that fails while the server is set to be not ready.
const READINESS: &str = "poststarthook/storage-readiness";

/// The checks of an endpoint: two checks belong to `/readyz` only.
fn checks(endpoint: &str) -> impl Iterator<Item = &'static str> {
    let all = endpoint == "readyz";
    CHECKS.iter().copied().filter(move |check| all || !matches!(*check, "informer-sync" | "shutdown"))
}

/// The paths of all health endpoints.
pub(crate) fn paths() -> Vec<String> {
    let of = |endpoint: &'static str| {
        let all = checks(endpoint).map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(all)
    };
    ["healthz", "livez", "readyz"].into_iter().flat_map(of).collect()
}

/// Answers a request for a health endpoint, or for one of its checks.
pub(crate) fn answer(ready: bool, path: &[&str], query: &Query) -> Response<ApiBody> {
    let passes = |check: &str| ready || check != READINESS;
    let (endpoint, check) = (path[0], path[1..].join("/"));
    let answer = if check.is_empty() {
        all(endpoint, &passes, query)
    } else if !checks(endpoint).any(|known| known == check) {
        return respond::page_not_found();
    } else if passes(&check) {
        respond::text(StatusCode::OK, "ok")
    } else {
        respond::text(StatusCode::INTERNAL_SERVER_ERROR, "internal server error: not ready\n")
    };
    let mut answer = answer;
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

fn all(endpoint: &str, passes: &dyn Fn(&str) -> bool, query: &Query) -> Response<ApiBody> {
    let mut excluded: Vec<&str> = query.all("exclude").collect();
    let is_verbose = query.all("verbose").next().is_some();
    if excluded.is_empty() && !is_verbose && checks(endpoint).all(passes) {
        return respond::text(StatusCode::OK, "ok");
    }
    let (mut report, mut failed) = (String::new(), false);
    for check in checks(endpoint) {
        let before = excluded.len();
        excluded.retain(|name| *name != check);
        if excluded.len() < before {
            report += &format!("[+]{check} excluded: ok\n");
        } else if passes(check) {
            report += &format!("[+]{check} ok\n");
        } else {
            report += &format!("[-]{check} failed: reason withheld\n");
            failed = true;
        }
    }
    excluded.sort_unstable();
    excluded.dedup();
    if !excluded.is_empty() {
        let names: Vec<_> = excluded.iter().map(|name| format!("{name:?}")).collect();
        report +=
            &format!("warn: some health checks cannot be excluded: no matches for {}\n", names.join(", "));
    }
    if failed {
        return respond::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("{report}{endpoint} check failed\n"),
        );
    }
    if !is_verbose {
        return respond::text(StatusCode::OK, "ok");
    }
    respond::text(StatusCode::OK, format!("{report}{endpoint} check passed\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(ready: bool, path: &str, query: &str) -> (u16, String) {
        let path: Vec<&str> = path.split('/').collect();
        let response = answer(ready, &path, &Query::parse(query));
        let code = response.status().as_u16();
        match response.into_body() {
            ApiBody::Whole(Some(bytes)) => (code, String::from_utf8(bytes.to_vec()).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_failed_check_fails_the_endpoint_unless_it_is_excluded() {
        let (code, report) = response(false, "readyz", "");
        assert_eq!(code, 500);
        assert!(report.starts_with("[+]ping ok\n"), "{report}");
        assert!(report.contains("[-]poststarthook/storage-readiness failed: reason withheld\n"), "{report}");
        assert!(report.ends_with("readyz check failed\n"), "{report}");
        assert_eq!(response(false, "readyz", &format!("exclude={READINESS}")), (200, "ok".to_owned()));
        assert_eq!(response(false, "livez/ping", ""), (200, "ok".to_owned()));
        assert_eq!(response(false, &format!("livez/{READINESS}"), "").0, 500);
    }

    #[test]
    fn a_check_that_cannot_be_excluded_causes_a_warning() {
        let (_, report) = response(true, "livez", "verbose&exclude=ping&exclude=nope");
        assert!(report.starts_with("[+]ping excluded: ok\n[+]log ok\n"), "{report}");
        let end =
            "warn: some health checks cannot be excluded: no matches for \"nope\"\nlivez check passed\n";
        assert!(report.ends_with(end), "{report}");
        assert_eq!(response(true, "livez/shutdown", "").0, 404);
    }
}
