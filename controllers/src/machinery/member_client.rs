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

use super::rate_limit::{RateLimit, TokenBucket};
use super::watch_continuity::{TrackedBody, WatchContinuity};

/// Returns `client` with a time limit on each request and with a rate limit.
/// Because of the time limit, a member that never answers does not stall other work. A watch has to begin within the
/// time limit; later, kube's watcher notices silence.
///
/// The version from which a watch starts may be newer than the member, for example after its etcd was restored from a
/// snapshot. Such a watch has to begin with a new list. It would otherwise be silent until the member reaches that
/// version again. After a watch that could not begin or ended early, the member may have been restored and have reached
/// that version again meanwhile, so the next watch begins with a new list as well.
pub fn with_time_limit(client: Client, timeout: Duration, rate_limit: Option<RateLimit>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (bucket, continuity) =
        (rate_limit.map(|rate_limit| Arc::new(TokenBucket::new(rate_limit))), WatchContinuity::default());
    let service = service_fn(move |request: Request<Body>| {
        let (client, bucket, continuity) = (client.clone(), bucket.clone(), continuity.clone());
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let watched = is_watch.then(|| request.uri().clone());
            let answer = async {
                if let Some(uri) = &watched
                    && !continuity.is_gapless(uri)
                {
                    wait_for(bucket.as_deref()).await;
                    let broken = continuity.take_break(uri);
                    if version_of(uri) > 0 && (broken || is_ahead(&client, uri).await?) {
                        return Ok(answer_to_relist());
                    }
                    continuity.record_check(uri);
                }
                wait_for(bucket.as_deref()).await;
                let response = client.send(request).await?;
                if let Some(uri) = &watched
                    && !response.status().is_server_error()
                {
                    return Ok(response.map(|body| continuity.track(uri, body)));
                }
                let (head, body) = response.into_parts();
                let body = Body::from(body.collect().await?.to_bytes());
                Ok::<_, BoxError>(Response::from_parts(head, TrackedBody { body, end: None }))
            };
            let answer = tokio::time::timeout(timeout, answer).await.map_err(BoxError::from).flatten();
            let begins = answer.as_ref().is_ok_and(|answer| !answer.status().is_server_error());
            if let (Some(uri), false) = (&watched, begins) {
                continuity.record_refusal(uri);
            }
            answer
        }
    });
    Client::new(service, namespace)
}

async fn wait_for(bucket: Option<&TokenBucket>) {
    if let Some(send_at) = bucket.and_then(TokenBucket::next) {
        sleep_until(send_at).await;
    }
}

/// Whether the version from which the watch at `uri` starts is newer than the member, as a list shows.
/// A list that must not be older than that version would be refused only after a while, and then be retried.
async fn is_ahead(client: &Client, uri: &Uri) -> Result<bool, BoxError> {
    let list = Request::get(format!("{}?limit=1", uri.path())).body(Body::empty())?;
    let text = client.send(list).await?.into_body().collect().await?.to_bytes();
    let list: List = serde_json::from_slice(&text).unwrap_or_default();
    let present = list.metadata.resource_version.and_then(|present| present.parse::<u64>().ok());
    Ok(present.is_some_and(|present| present < version_of(uri)))
}

/// The version from which the watch at `uri` starts; zero for any version.
fn version_of(uri: &Uri) -> u64 {
    parameter(uri, "resourceVersion=").unwrap_or_default()
}

/// The number that a request gives for a parameter.
pub(super) fn parameter(uri: &Uri, name: &str) -> Option<u64> {
    let value = uri.query()?.split('&').find_map(|each| each.strip_prefix(name))?;
    value.parse().ok()
}

/// Whether an error makes a watch begin with a new list.
/// No back-off is needed, because the watch has waited for the rate limit.
pub(super) fn must_relist(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410 && status.message == RELIST_MESSAGE)
}

/// The fields of a list that are read.
#[derive(Default, Deserialize)]
struct List {
    metadata: ListMeta,
}

/// The message for a watch that has to begin with a new list.
const RELIST_MESSAGE: &str = "the version from which to go on is not there any more";

/// The answer that makes a watch begin with a new list.
fn answer_to_relist() -> Response<TrackedBody> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
        "code": 410, "message": RELIST_MESSAGE});
    let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
    Response::new(TrackedBody { body: Body::from(line.into_bytes()), end: None })
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
        let client = with_time_limit(Client::new(silent, "default"), Duration::from_secs(32), None);
        let start = tokio::time::Instant::now();
        assert!(client.apiserver_version().await.is_err());
        assert_eq!(start.elapsed(), Duration::from_secs(32));
    }

    /// The requests that reach a member at version 7 when these URIs are requested, and the answers.
    async fn requests_and_answers(uris: &[&str]) -> (Vec<String>, Vec<String>) {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        let member = service_fn(move |request: Request<Body>| {
            recorded.lock().unwrap().push(request.uri().to_string());
            let list = json!({"metadata": {"resourceVersion": "7"}, "items": []}).to_string();
            let is_list = request.uri().query() == Some("limit=1");
            let body = if is_list { list.into_bytes() } else { Vec::new() };
            std::future::ready(Ok::<_, BoxError>(Response::new(Body::from(body))))
        });
        let client = with_time_limit(Client::new(member, "default"), Duration::from_secs(32), None);
        let mut answers = Vec::new();
        for uri in uris {
            let response = client.send(Request::get(*uri).body(Body::empty()).unwrap()).await.unwrap();
            let text = response.into_body().collect().await.unwrap().to_bytes();
            answers.push(String::from_utf8(text.to_vec()).unwrap());
        }
        let requests = requests.lock().unwrap().clone();
        (requests, answers)
    }

    #[tokio::test]
    async fn a_watch_from_a_version_newer_than_the_member_begins_with_a_list() {
        let watch = "/api/v1/nodes?&watch=true&resourceVersion=8&allowWatchBookmarks=true";
        let (requests, answers) = requests_and_answers(&[watch]).await;
        assert_eq!(requests, ["/api/v1/nodes?limit=1"]);
        let event: WatchEvent<kube::core::DynamicObject> = serde_json::from_str(&answers[0]).unwrap();
        let WatchEvent::Error(status) = event else { panic!("{answers:?}") };
        assert!(must_relist(&watcher::Error::WatchError(status)));
    }

    #[tokio::test]
    async fn the_watch_after_one_that_could_not_begin_begins_with_a_list() {
        let outcomes = Mutex::new(vec![200, 503].into_iter());
        let member = service_fn(move |request: Request<Body>| {
            let is_list = request.uri().query() == Some("limit=1");
            let status = if is_list { Some(200) } else { outcomes.lock().unwrap().next_back() };
            let answer = status.map(|status| {
                let body = Body::from(br#"{"metadata": {"resourceVersion": "7"}}"#.to_vec());
                Response::builder().status(status).body(body).unwrap()
            });
            std::future::ready(answer.ok_or_else(|| BoxError::from("connection refused")))
        });
        let client = with_time_limit(Client::new(member, "default"), Duration::from_secs(32), None);
        let mut begins = Vec::new();
        for path in ["pods", "pods", "pods", "nodes", "nodes"] {
            let uri = format!("/api/v1/{path}?watch=true&resourceVersion=7");
            let answer = client.send(Request::get(uri).body(Body::empty()).unwrap()).await;
            begins.push(match answer {
                Err(_) => "no answer",
                Ok(answer) if answer.status() == 503 => "503",
                Ok(answer) => {
                    let text = answer.into_body().collect().await.unwrap().to_bytes();
                    if text.starts_with(br#"{"metadata""#) { "watches" } else { "lists" }
                }
            });
        }
        assert_eq!(begins, ["503", "lists", "watches", "no answer", "lists"]);
    }

    #[tokio::test]
    async fn a_watch_from_a_version_that_the_member_has_goes_on() {
        let watch = |version: &str| format!("/api/v1/nodes?watch=true&resourceVersion={version}");
        let (from, first) = (watch("7"), watch("0"));
        let (requests, answers) = requests_and_answers(&[&from, &first]).await;
        assert_eq!(requests, ["/api/v1/nodes?limit=1", &from, &first]);
        assert_eq!(answers, ["", ""]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_version_is_not_checked_between_gapless_watches() {
        const SECOND: Duration = Duration::from_secs(1);
        let lists = Arc::new(Mutex::new(0));
        let (recorded, lasts) = (Arc::clone(&lists), Arc::new(Mutex::new(30 * SECOND)));
        let length = Arc::clone(&lasts);
        let member = service_fn(move |request: Request<Body>| {
            let is_list = request.uri().query() == Some("limit=1");
            *recorded.lock().unwrap() += usize::from(is_list);
            let lasts = if is_list { Duration::ZERO } else { *length.lock().unwrap() };
            let list = json!({"metadata": {"resourceVersion": "7"}, "items": []}).to_string();
            let body = http_body_util::StreamBody::new(futures::stream::once(async move {
                tokio::time::sleep(lasts).await;
                Ok::<_, BoxError>(http_body::Frame::data(bytes::Bytes::from(list)))
            }));
            std::future::ready(Ok::<_, BoxError>(Response::new(body)))
        });
        let client = with_time_limit(Client::new(member, "default"), 32 * SECOND, None);
        let watch = async |pause: Duration| {
            let uri = "/api/v1/nodes?watch=true&timeoutSeconds=30&resourceVersion=7";
            tokio::time::sleep(pause).await;
            let response = client.send(Request::get(uri).body(Body::empty()).unwrap()).await.unwrap();
            response.into_body().collect().await.unwrap();
            *lists.lock().unwrap()
        };
        let checks = [watch(Duration::ZERO).await, watch(Duration::ZERO).await, watch(Duration::ZERO).await];
        assert_eq!(checks, [1, 1, 1]);
        // The member may have been restored during a pause.
        assert_eq!(watch(SECOND).await, 2);
        // After a watch that ended before its time, the watcher is asked for a new list, and the watch after that is checked.
        *lasts.lock().unwrap() = 29 * SECOND;
        let checks = [watch(Duration::ZERO).await, watch(Duration::ZERO).await, watch(Duration::ZERO).await];
        assert_eq!(checks, [2, 2, 3]);
        // Even if its watches are gapless, the version of the member is checked from time to time.
        *lasts.lock().unwrap() = 30 * SECOND;
        let mut asked = 0;
        for _ in 0..12 {
            asked = watch(Duration::ZERO).await;
        }
        assert_eq!(asked, 5);
    }
}
