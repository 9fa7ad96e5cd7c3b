//! Clients for members, with a time limit on each request whatever happens to the member.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube::core::ListMeta;
use kube::runtime::watcher;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep_until;
use tower::{BoxError, service_fn};

use super::pace::{Pace, Turns};
use super::unbroken::{Followed, Unbroken};

/// `client` with a time limit on each request, so that a member that never answers stalls nobody, and with a rate
/// limit. A watch has to begin within the time limit; later, kube's watcher notices silence.
///
/// The version from which a watch starts may be newer than the member, for example after its etcd was restored from a
/// snapshot. Such a watch is told to begin with a new list. It would otherwise be silent until the member reaches that
/// version again.
pub fn bounded(client: Client, timeout: Duration, pace: Option<Pace>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (turns, unbroken) = (pace.map(|pace| Arc::new(Turns::new(pace))), Unbroken::default());
    let service = service_fn(move |request: Request<Body>| {
        let (client, turns, unbroken) = (client.clone(), turns.clone(), unbroken.clone());
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let watched = is_watch.then(|| request.uri().clone());
            let answer = async {
                if let Some(uri) = &watched
                    && !unbroken.holds(uri)
                {
                    wait_for(turns.as_deref()).await;
                    if is_ahead(&client, uri).await? {
                        return Ok(begin_anew());
                    }
                    unbroken.checked(uri);
                }
                wait_for(turns.as_deref()).await;
                let response = client.send(request).await?;
                if let Some(uri) = &watched {
                    return Ok(response.map(|body| unbroken.follow(uri, body)));
                }
                let (head, body) = response.into_parts();
                let body = Body::from(body.collect().await?.to_bytes());
                Ok::<_, BoxError>(Response::from_parts(head, Followed { body, ends: None }))
            };
            tokio::time::timeout(timeout, answer).await?
        }
    });
    Client::new(service, namespace)
}

async fn wait_for(turns: Option<&Turns>) {
    if let Some(turn) = turns.and_then(Turns::next) {
        sleep_until(turn).await;
    }
}

/// Whether the version from which the watch at `uri` starts is newer than the member, as a list shows. A list that must
/// not be older than that version would be refused only after a while, and then be retried.
async fn is_ahead(client: &Client, uri: &Uri) -> Result<bool, BoxError> {
    let version = parameter(uri, "resourceVersion=").unwrap_or_default();
    if version == 0 {
        return Ok(false);
    }
    let list = Request::get(format!("{}?limit=1", uri.path())).body(Body::empty())?;
    let text = client.send(list).await?.into_body().collect().await?.to_bytes();
    let list: List = serde_json::from_slice(&text).unwrap_or_default();
    let present = list.metadata.resource_version.and_then(|present| present.parse::<u64>().ok());
    Ok(present.is_some_and(|present| present < version))
}

/// The number that a request gives for a parameter.
pub(super) fn parameter(uri: &Uri, name: &str) -> Option<u64> {
    let value = uri.query()?.split('&').find_map(|each| each.strip_prefix(name))?;
    value.parse().ok()
}

/// Whether a watch was told to begin with a new list. That needs no back-off: the watch has waited for the rate limit.
pub(super) fn begins_anew(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410 && status.message == AHEAD)
}

/// The fields of a list that are read.
#[derive(Default, Deserialize)]
struct List {
    metadata: ListMeta,
}

/// The message for a watch that has to begin with a new list.
const AHEAD: &str = "the version from which to go on is not there any more";

/// The answer that makes a watch begin with a new list.
fn begin_anew() -> Response<Followed> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
        "code": 410, "message": AHEAD});
    let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
    Response::new(Followed { body: Body::from(line.into_bytes()), ends: None })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use kube::core::WatchEvent;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_never_answered_ends_at_the_timeout() {
        let silent =
            service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, BoxError>>());
        let client = bounded(Client::new(silent, "default"), Duration::from_secs(32), None);
        let start = tokio::time::Instant::now();
        assert!(client.apiserver_version().await.is_err());
        assert_eq!(start.elapsed(), Duration::from_secs(32));
    }

    /// The requests that reach a member at version 7 when these URIs are requested, and the answers.
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
        let client = bounded(Client::new(member, "default"), Duration::from_secs(32), None);
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

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_has_lasted_its_time_is_gone_on_with_unasked() {
        const SECOND: Duration = Duration::from_secs(1);
        let lists = Arc::new(Mutex::new(0));
        let (heard, lasts) = (Arc::clone(&lists), Arc::new(Mutex::new(30 * SECOND)));
        let length = Arc::clone(&lasts);
        let member = service_fn(move |request: Request<Body>| {
            let is_list = request.uri().query() == Some("limit=1");
            *heard.lock().unwrap() += usize::from(is_list);
            let lasts = if is_list { Duration::ZERO } else { *length.lock().unwrap() };
            let list = json!({"metadata": {"resourceVersion": "7"}, "items": []}).to_string();
            let body = http_body_util::StreamBody::new(futures::stream::once(async move {
                tokio::time::sleep(lasts).await;
                Ok::<_, BoxError>(http_body::Frame::data(bytes::Bytes::from(list)))
            }));
            std::future::ready(Ok::<_, BoxError>(Response::new(body)))
        });
        let client = bounded(Client::new(member, "default"), 32 * SECOND, None);
        let watch = async |pause: Duration| {
            let uri = "/api/v1/nodes?watch=true&timeoutSeconds=30&resourceVersion=7";
            tokio::time::sleep(pause).await;
            let response = client.send(Request::get(uri).body(Body::empty()).unwrap()).await.unwrap();
            response.into_body().collect().await.unwrap();
            *lists.lock().unwrap()
        };
        let unbroken =
            [watch(Duration::ZERO).await, watch(Duration::ZERO).await, watch(Duration::ZERO).await];
        assert_eq!(unbroken, [1, 1, 1]);
        // The member may have been restored during a pause.
        assert_eq!(watch(SECOND).await, 2);
        // The watch ended before its time.
        *lasts.lock().unwrap() = 29 * SECOND;
        assert_eq!([watch(Duration::ZERO).await, watch(Duration::ZERO).await], [2, 3]);
        // Even if its watches are gapless, the version of the member is checked from time to time.
        *lasts.lock().unwrap() = 30 * SECOND;
        let mut asked = 0;
        for _ in 0..11 {
            asked = watch(Duration::ZERO).await;
        }
        assert_eq!(asked, 5);
    }
}
