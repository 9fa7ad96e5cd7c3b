//! A bound on how many requests a second a client makes, as client-go keeps one.

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::{Quota, RateLimiter};
use http::Request;
use kube::client::Body;
use kube::{Client, Config};
use tower::service_fn;

/// Requests a second, and how many may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub qps: NonZeroU32,
    pub burst: NonZeroU32,
}

/// A client that keeps the pace.
///
/// # Errors
/// Where the configuration is none of a client.
pub(crate) fn client(config: Config, pace: Pace) -> Result<Client, kube::Error> {
    let limiter = Arc::new(RateLimiter::direct(Quota::per_second(pace.qps).allow_burst(pace.burst)));
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config)?;
    let service = service_fn(move |request: Request<Body>| {
        let (limiter, client) = (Arc::clone(&limiter), client.clone());
        async move {
            limiter.until_ready().await;
            client.send(request).await
        }
    });
    Ok(Client::new(service, namespace))
}
