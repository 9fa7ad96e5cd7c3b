//! The link between the control plane and one member: where the network is broken.
//!
//! Faults are data ([`LinkFault`]) and hold as long as their guard lives. Several may hold at once: a refused
//! link refuses whatever else is wrong with it, black holes add up, delays too. How a response's body passes is
//! in `body.rs`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use capsize_clock::Clock;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use kube::client::retry::RetryPolicy;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tower::{BoxError, Service, ServiceBuilder, retry::RetryLayer};

use crate::body::LinkBody;

/// Which packets a black hole swallows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// Nothing passes either way.
    Both,
    /// Requests vanish on their way to the member: it never sees them.
    ToMember,
    /// Answers vanish on their way back: the member does what it is asked, and nobody hears of it.
    FromMember,
}

/// What can be wrong with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LinkFault {
    /// Connections are refused and open ones reset: requests fail at once, and watches end with an error.
    Refuse,
    /// Packets vanish: requests hang until the client gives up or the link heals, and watches go silent. What
    /// was under way arrives after the heal, as TCP sends it again.
    BlackHole {
        /// Which packets.
        direction: Direction,
    },
    /// Every request, answer and watch event takes this much longer.
    Delay(Duration),
}

/// Why a request did not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The connection was refused.
    #[error("connection refused")]
    Refused,
    /// The connection was open, and was reset.
    #[error("connection reset by peer")]
    Reset,
}

/// What the faults in force add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Condition {
    refused: bool,
    swallows_requests: bool,
    swallows_answers: bool,
    delay: Duration,
}

/// The link to one member. Clones are the same link.
#[derive(Clone, Debug)]
pub struct Link {
    clock: Clock,
    faults: Arc<Mutex<Faults>>,
    condition: watch::Receiver<Condition>,
}

#[derive(Debug)]
struct Faults {
    next: u64,
    in_force: BTreeMap<u64, LinkFault>,
    condition: watch::Sender<Condition>,
}

impl Faults {
    fn publish(&self) {
        let mut now = Condition::default();
        for fault in self.in_force.values() {
            match *fault {
                LinkFault::Refuse => now.refused = true,
                LinkFault::BlackHole { direction } => {
                    now.swallows_requests |= direction != Direction::FromMember;
                    now.swallows_answers |= direction != Direction::ToMember;
                }
                LinkFault::Delay(more) => now.delay += more,
            }
        }
        self.condition.send_replace(now);
    }
}

impl Link {
    /// A link with nothing wrong with it.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let (sender, condition) = watch::channel(Condition::default());
        let faults = Faults { next: 0, in_force: BTreeMap::new(), condition: sender };
        Self { clock, faults: Arc::new(Mutex::new(faults)), condition }
    }

    /// Breaks the link by `fault` until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: LinkFault) -> LinkGuard {
        let mut faults = lock(&self.faults);
        let id = faults.next;
        faults.next += 1;
        faults.in_force.insert(id, fault);
        faults.publish();
        LinkGuard { faults: Arc::clone(&self.faults), id }
    }

    /// `service` as it is reached through this link.
    #[must_use]
    pub fn wrap<S>(&self, service: S) -> LinkService<S> {
        LinkService { link: self.clone(), inner: service }
    }

    /// A client whose requests to `service` pass this link, with the retries that `kube::Client` has by default.
    #[must_use]
    pub fn client<S, B>(&self, service: S) -> kube::Client
    where
        S: Service<Request<kube::client::Body>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = ServiceBuilder::new()
            .layer(RetryLayer::new(RetryPolicy::server_retry()))
            .map_err(BoxError::from)
            .service(self.wrap(service));
        kube::Client::new(service, "default")
    }

    /// Ends when a message has come over to the member, or with an error when the connection broke under it.
    async fn carry_request(&mut self) -> Result<(), LinkError> {
        if self.condition.borrow().refused {
            return Err(LinkError::Refused);
        }
        self.carry(|condition| condition.swallows_requests).await
    }

    /// As [`Self::carry_request`], the other way.
    pub(crate) async fn carry_answer(&mut self) -> Result<(), LinkError> {
        self.carry(|condition| condition.swallows_answers).await
    }

    /// Ends when a message on an open stream has come over. TCP needs both ways for that: without the
    /// acknowledgements the sender stops.
    pub(crate) async fn carry_event(&mut self) -> Result<(), LinkError> {
        self.carry(|condition| condition.swallows_answers || condition.swallows_requests).await
    }

    async fn carry(&mut self, swallows: impl Fn(&Condition) -> bool) -> Result<(), LinkError> {
        let delay = self.condition.borrow().delay;
        if !delay.is_zero() {
            self.clock.sleep(delay).await;
        }
        // The sender lives as long as any link of these clones, so waiting cannot fail.
        let passable = self.condition.wait_for(|now| now.refused || !swallows(now)).await;
        if passable.map_or(true, |now| now.refused) { Err(LinkError::Reset) } else { Ok(()) }
    }

    /// Ends when connections are refused.
    pub(crate) async fn refused(&mut self) {
        if self.condition.wait_for(|now| now.refused).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A fault in force; dropping it heals the link of it.
#[derive(Debug)]
#[must_use = "the fault ends when the guard is dropped"]
pub struct LinkGuard {
    faults: Arc<Mutex<Faults>>,
    id: u64,
}

impl Drop for LinkGuard {
    fn drop(&mut self) {
        let mut faults = lock(&self.faults);
        faults.in_force.remove(&self.id);
        faults.publish();
    }
}

fn lock(faults: &Mutex<Faults>) -> std::sync::MutexGuard<'_, Faults> {
    faults.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tower service that lets requests and answers pass a link.
#[derive(Clone, Debug)]
pub struct LinkService<S> {
    link: Link,
    inner: S,
}

impl<S, R, B> Service<Request<R>> for LinkService<S>
where
    R: Send + 'static,
    S: Service<Request<R>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<LinkBody>;
    type Error = LinkError;
    type Future = BoxFuture<'static, Result<Self::Response, LinkError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.inner.poll_ready(context).map_err(|never| match never {})
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let mut link = self.link.clone();
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            link.carry_request().await?;
            let response = match inner.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            link.carry_answer().await?;
            Ok(response.map(|body| LinkBody::new(link, body)))
        })
    }
}
