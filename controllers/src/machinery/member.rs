//! Clients for members whose requests end in time, whatever becomes of the member.

use std::time::Duration;

use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube::core::ListMeta;
use kube::runtime::watcher;
use serde::Deserialize;
use serde_json::json;
use tower::{BoxError, service_fn};

/// `client` with a bound on each request, so that a member that never answers stalls nobody. A watch has to begin
/// within it; from then on it is kube's watcher that notices silence. One that would go on from a version that the member
/// has not come to, as it does whose etcd was restored from a snapshot, is told to begin from the beginning: else it would
/// be silent until the member has come to that version again.
pub fn bounded(client: Client, timeout: Duration) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let answer = async {
                if is_watch && is_ahead(&client, request.uri()).await? {
                    return Ok(begin_anew());
                }
                let response = client.send(request).await?;
                if is_watch {
                    return Ok(response);
                }
                let (head, body) = response.into_parts();
                Ok::<_, BoxError>(Response::from_parts(head, Body::from(body.collect().await?.to_bytes())))
            };
            tokio::time::timeout(timeout, answer).await?
        }
    });
    Client::new(service, namespace)
}

/// Whether the watch at `uri` would go on from a version that is yet to come, by what a list says. One that must not be older
/// than that would be refused only after a while, and then be tried again.
async fn is_ahead(client: &Client, uri: &Uri) -> Result<bool, BoxError> {
    let query = uri.query().unwrap_or_default();
    let version = query.split('&').find_map(|each| each.strip_prefix("resourceVersion="));
    let version = version.and_then(|version| version.parse::<u64>().ok()).unwrap_or_default();
    if version == 0 {
        return Ok(false);
    }
    let list = Request::get(format!("{}?limit=1", uri.path())).body(Body::empty())?;
    let text = client.send(list).await?.into_body().collect().await?.to_bytes();
    let list: List = serde_json::from_slice(&text).unwrap_or_default();
    let present = list.metadata.resource_version.and_then(|present| present.parse::<u64>().ok());
    Ok(present.is_some_and(|present| present < version))
}

/// Whether a watch was told to begin from the beginning. That is no failure after which to wait: it has waited already.
pub(super) fn begins_anew(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410 && status.message == AHEAD)
}

/// What matters of a list.
#[derive(Default, Deserialize)]
struct List {
    metadata: ListMeta,
}

/// What a watch is told that is to begin from the beginning.
const AHEAD: &str = "the version from which to go on is not there any more";

/// What tells a watch to begin from the beginning.
fn begin_anew() -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
        "code": 410, "message": AHEAD});
    let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
    Response::new(Body::from(line.into_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use kube::core::WatchEvent;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_never_answered_ends_at_the_timeout() {
        let silent =
            service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, BoxError>>());
        let client = bounded(Client::new(silent, "default"), Duration::from_secs(32));
        let start = tokio::time::Instant::now();
        assert!(client.apiserver_version().await.is_err());
        assert_eq!(start.elapsed(), Duration::from_secs(32));
    }

    /// What a member that has come to version 7 is asked for where somebody asks for these, and what that one is told.
    async fn asked(uris: &[&str]) -> (Vec<String>, Vec<String>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        let member = service_fn(move |request: Request<Body>| {
            heard.lock().unwrap().push(request.uri().to_string());
            let list = json!({"metadata": {"resourceVersion": "7"}, "items": []}).to_string();
            let is_list = request.uri().query() == Some("limit=1");
            let body = if is_list { list.into_bytes() } else { Vec::new() };
            std::future::ready(Ok::<_, BoxError>(Response::new(Body::from(body))))
        });
        let client = bounded(Client::new(member, "default"), Duration::from_secs(32));
        let mut told = Vec::new();
        for uri in uris {
            let response = client.send(Request::get(*uri).body(Body::empty()).unwrap()).await.unwrap();
            let text = response.into_body().collect().await.unwrap().to_bytes();
            told.push(String::from_utf8(text.to_vec()).unwrap());
        }
        let asked = asked.lock().unwrap().clone();
        (asked, told)
    }

    #[tokio::test]
    async fn a_watch_from_a_version_that_is_yet_to_come_begins_anew() {
        let watch = "/api/v1/nodes?&watch=true&resourceVersion=8&allowWatchBookmarks=true";
        let (asked, told) = asked(&[watch]).await;
        assert_eq!(asked, ["/api/v1/nodes?limit=1"]);
        let event: WatchEvent<kube::core::DynamicObject> = serde_json::from_str(&told[0]).unwrap();
        let WatchEvent::Error(status) = event else { panic!("{told:?}") };
        assert!(begins_anew(&watcher::Error::WatchError(status)));
    }

    #[tokio::test]
    async fn a_watch_from_a_version_that_is_there_goes_on() {
        let watch = |version: &str| format!("/api/v1/nodes?watch=true&resourceVersion={version}");
        let (from, first) = (watch("7"), watch("0"));
        let (asked, told) = asked(&[&from, &first]).await;
        assert_eq!(asked, ["/api/v1/nodes?limit=1", &from, &first]);
        assert_eq!(told, ["", ""]);
    }
}
