//! Clients for members whose requests end in time, whatever becomes of the member.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use tower::{BoxError, service_fn};

/// `client` with a bound on each request, so that a member that never answers stalls nobody. A watch has to begin
/// within it; from then on it is kube's watcher that notices silence.
pub fn bounded(client: Client, timeout: Duration) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let answer = async {
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

#[cfg(test)]
mod tests {
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
}
