//! Limits how many requests per second a client makes, as client-go does.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, sleep_until};
use tower::service_fn;

/// The rate of requests, and how many may be sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second.
    pub qps: NonZeroU32,
    /// Requests at once after a time without requests.
    pub burst: NonZeroU32,
}

/// `client` with a rate limit. Requests are sent in the order in which they come.
pub fn rate_limited(client: Client, rate_limit: RateLimit) -> Client {
    let namespace = client.default_namespace().to_owned();
    let bucket = Arc::new(TokenBucket::new(rate_limit));
    let service = service_fn(move |request: Request<Body>| {
        let (client, send_at) = (client.clone(), bucket.next());
        async move {
            if let Some(send_at) = send_at {
                sleep_until(send_at).await;
            }
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

/// A token bucket, represented by the time at which it is full again.
pub(super) struct TokenBucket {
    interval: Duration,
    /// The time in which an empty bucket gets all its tokens but one.
    slack: Duration,
    full: Mutex<Option<Instant>>,
}

impl TokenBucket {
    pub(super) fn new(rate_limit: RateLimit) -> Self {
        let interval = Duration::from_secs(1) / rate_limit.qps.get();
        Self { interval, slack: interval * (rate_limit.burst.get() - 1), full: Mutex::default() }
    }

    /// Takes a token. Returns when the request may be sent; `None` if at once.
    pub(super) fn next(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let from = full.map_or(now, |full| full.max(now));
        *full = Some(from + self.interval);
        (from - now).checked_sub(self.slack).filter(|wait| !wait.is_zero()).map(|wait| now + wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_sent_at_once_and_later_requests_at_the_rate() {
        let number = |number| NonZeroU32::new(number).unwrap();
        let bucket = TokenBucket::new(RateLimit { qps: number(10), burst: number(3) });
        let start = Instant::now();
        let waits = |count: u32| {
            let bucket =
                (0..count).map(|_| bucket.next().map_or(Duration::ZERO, |send_at| send_at - Instant::now()));
            bucket.map(|wait| wait.as_millis()).collect::<Vec<_>>()
        };
        assert_eq!(waits(5), [0, 0, 0, 100, 200]);
        tokio::time::advance(Duration::from_millis(150)).await;
        assert_eq!(waits(1), [150]);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(waits(4), [0, 0, 0, 100]);
        assert_eq!(start.elapsed(), Duration::from_millis(60_150));
    }
}
