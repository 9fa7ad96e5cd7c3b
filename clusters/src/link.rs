//! The simulated network link between the control plane and one member, with its faults.
//!
//! Faults are data ([`LinkFault`]) and are active as long as their guard lives. Several faults can be active at the
//! same time: black holes and delays add up, and a link that refuses connections does so regardless of other faults.
//! `link_body.rs` has the bodies of responses.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use capsize_clock::{Clock, Stream};
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use kube::client::retry::RetryPolicy;
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tower::{BoxError, Service, ServiceBuilder, retry::RetryLayer};

use crate::fault_effect::FaultEffect;
use crate::link_body::LinkBody;

/// The packets that a black hole drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// Packets in both directions.
    Both,
    /// Packets to the member, which never receives requests.
    ToMember,
    /// Packets from the member. It executes requests, but the responses are lost.
    FromMember,
}

/// A fault of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LinkFault {
    /// New connections are refused and open ones are reset.
    /// Requests fail at once, and watches end with an error.
    Refuse,
    /// Packets are dropped.
    /// Requests hang until the client gives up or the fault ends, and watches are silent. Packets in flight arrive
    /// after the end of the fault, because TCP sends them again.
    BlackHole {
        /// The dropped packets.
        direction: Direction,
    },
    /// Each request, response and watch event is delayed by this time.
    Delay(Duration),
    /// Each request, response and watch event is delayed by a random time up to this one.
    /// The order is kept.
    Jitter(Duration),
    /// Each connection or response transfers at most this many bytes per second in each direction.
    Bandwidth(NonZeroU32),
    /// Open connections are reset when the fault begins. It has no other effect.
    Reset,
    /// This percentage of new connections is reset. In this process each request counts as a connection.
    Lose(u8),
    /// New connections are refused, and open ones stay. In this process requests use the open ones.
    RefuseNew,
    /// New connections get no answer, and open ones stay. In this process requests use the open ones.
    DropNew,
    /// Connections that are open when the fault begins lose one end silently.
    /// No data passes on these connections, and the connections do not close. At the end of the fault, the connections
    /// are reset. Later connections work. In this process a watch stays open, and each request opens a new connection.
    HalfOpen,
}

/// The reason why a request did not pass the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The connection was refused.
    #[error("connection refused")]
    Refused,
    /// An open connection was reset.
    #[error("connection reset by peer")]
    Reset,
}

/// The combined effect of all active faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Condition {
    refused: bool,
    swallows_to_member: bool,
    swallows_from_member: bool,
    delay: Duration,
    jitter: Duration,
    bandwidth: Option<NonZeroU32>,
    loses: u8,
    refuses_new: bool,
    drops_new: bool,
    half_open: bool,
    counters: ConnectionCounters,
}

/// Counters of events that broke open connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ConnectionCounters {
    /// The number of resets of open connections.
    resets: u64,
    /// The number of times that open connections lost an end silently.
    lost_ends: u64,
}

/// The counters at the time when a connection was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpeningCounters(ConnectionCounters);

impl Condition {
    /// Returns true if a connection that was opened at `opening` is broken.
    fn has_broken(self, opening: OpeningCounters) -> bool {
        self.refused
            || self.counters.resets != opening.0.resets
            || (self.has_lost_an_end(opening) && !self.half_open)
    }

    /// Returns true if a connection that was opened at `opening` has lost its other end silently.
    fn has_lost_an_end(self, opening: OpeningCounters) -> bool {
        self.counters.lost_ends != opening.0.lost_ends
    }

    /// Returns true if a connection that was opened at `opening` has no delay and no loss.
    fn is_clear(self, opening: OpeningCounters) -> bool {
        let Self { swallows_to_member, swallows_from_member, delay, jitter, bandwidth, .. } = self;
        let is_late = !(delay + jitter).is_zero() || bandwidth.is_some();
        !(swallows_to_member || swallows_from_member || is_late || self.has_lost_an_end(opening))
    }

    /// A connection needs packets in both directions before it is established.
    fn new_connections(self) -> NewConnections {
        if self.refused || self.refuses_new {
            NewConnections::Refused
        } else if self.drops_new || self.swallows_to_member || self.swallows_from_member {
            NewConnections::Unanswered
        } else {
            NewConnections::Accepted
        }
    }

    fn swallows(self, to: End) -> bool {
        match to {
            End::Member => self.swallows_to_member,
            End::ControlPlane => self.swallows_from_member,
        }
    }
}

/// The way in which a link treats new connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewConnections {
    Accepted,
    Refused,
    /// Their packets are dropped.
    Unanswered,
}

/// An end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Member,
    ControlPlane,
}

impl End {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Member => Self::ControlPlane,
            Self::ControlPlane => Self::Member,
        }
    }
}

/// The link to one member. Clones are the same link.
#[derive(Clone, Debug)]
pub struct Link {
    clock: Clock,
    shared: Arc<SharedState>,
}

#[derive(Debug)]
struct SharedState {
    chance: Mutex<Stream>,
    faults: Mutex<Faults>,
    /// The notification of waiters about a change of the faults.
    /// A `Notify` is used because a `watch` channel wakes its waiters in an order that depends on a counter of the
    /// process.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Faults {
    next: u64,
    in_force: BTreeMap<u64, InForce>,
    condition: Condition,
    /// Programs outside of this process use the link by sockets, so that their requests cannot be counted.
    carries_bytes: bool,
}

/// An active fault, and what it has done so far.
#[derive(Debug)]
struct InForce {
    fault: LinkFault,
    effect: FaultEffect,
}

impl SharedState {
    /// Changes the active faults, and wakes all waiters for their combined effect.
    fn change(&self, change: impl FnOnce(&mut Faults)) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut faults);
        let counters = faults.condition.counters;
        faults.condition = Condition { counters, ..sum(faults.in_force.values().map(|each| &each.fault)) };
        drop(faults);
        self.changed.notify_waiters();
    }

    /// Counts a request, a message or a watch for each active fault that `hits` selects.
    fn count(&self, hits: impl Fn(&LinkFault) -> bool, count: impl Fn(&mut FaultEffect)) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults
            .in_force
            .values_mut()
            .filter(|each| hits(&each.fault))
            .for_each(|each| count(&mut each.effect));
    }

    fn condition(&self) -> Condition {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).condition
    }

    /// Waits until `holds` is true for the combined effect, and returns the effect.
    async fn wait_for(&self, holds: impl Fn(&Condition) -> bool) -> Condition {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let now = self.condition();
            if holds(&now) {
                return now;
            }
            changed.await;
        }
    }
}

fn breaks_connections(fault: &LinkFault) -> bool {
    matches!(fault, LinkFault::Refuse | LinkFault::Reset)
}

fn delays(fault: &LinkFault) -> bool {
    matches!(fault, LinkFault::Delay(_) | LinkFault::Jitter(_) | LinkFault::Bandwidth(_))
}

fn holds_back(fault: &LinkFault) -> bool {
    matches!(fault, LinkFault::BlackHole { .. } | LinkFault::HalfOpen)
}

fn sum<'a>(faults: impl Iterator<Item = &'a LinkFault>) -> Condition {
    let mut sum = Condition::default();
    for fault in faults {
        match *fault {
            LinkFault::Refuse => sum.refused = true,
            LinkFault::BlackHole { direction } => {
                sum.swallows_to_member |= direction != Direction::FromMember;
                sum.swallows_from_member |= direction != Direction::ToMember;
            }
            LinkFault::Delay(more) => sum.delay += more,
            LinkFault::Jitter(more) => sum.jitter += more,
            LinkFault::Bandwidth(rate) => {
                sum.bandwidth = Some(sum.bandwidth.map_or(rate, |narrower| narrower.min(rate)));
            }
            LinkFault::Reset => {}
            LinkFault::Lose(percent) => sum.loses = sum.loses.max(percent),
            LinkFault::RefuseNew => sum.refuses_new = true,
            LinkFault::DropNew => sum.drops_new = true,
            LinkFault::HalfOpen => sum.half_open = true,
        }
    }
    sum
}

impl Link {
    /// A link without faults. Random effects of faults are drawn from `chance`.
    #[must_use]
    pub fn new(clock: Clock, chance: Stream) -> Self {
        let (faults, changed) = (Mutex::default(), Notify::new());
        Self { clock, shared: Arc::new(SharedState { chance: Mutex::new(chance), faults, changed }) }
    }

    /// Applies `fault` to the link until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: LinkFault) -> LinkGuard {
        let mut id = 0;
        self.shared.change(|faults| {
            id = faults.next;
            faults.next += 1;
            faults.in_force.insert(id, InForce { fault, effect: FaultEffect::default() });
            faults.condition.counters.resets += u64::from(fault == LinkFault::Reset);
            faults.condition.counters.lost_ends += u64::from(fault == LinkFault::HalfOpen);
        });
        LinkGuard { shared: Arc::clone(&self.shared), id }
    }

    /// Puts the link in front of a service of the member, for requests of the control plane.
    #[must_use]
    pub fn wrap<S>(&self, service: S) -> LinkService<S> {
        LinkService { link: self.clone(), at: End::Member, inner: service }
    }

    /// Puts the link in front of a service of the control plane, for requests of the member.
    #[must_use]
    pub fn wrap_back<S>(&self, service: S) -> LinkService<S> {
        LinkService { link: self.clone(), at: End::ControlPlane, inner: service }
    }

    /// Waits until a request has arrived. Fails if the connection breaks in the meantime.
    async fn carry_request(&self, to: End, opening: OpeningCounters) -> Result<(), LinkError> {
        if self.is_refused() {
            self.shared.count(|fault| *fault == LinkFault::Refuse, |effect| effect.requests += 1);
            return Err(LinkError::Refused);
        }
        if self.loses() {
            self.shared.count(|fault| matches!(fault, LinkFault::Lose(_)), |effect| effect.requests += 1);
            return Err(LinkError::Reset);
        }
        self.carry_part(to, opening, 0).await
    }

    /// As [`Self::carry_request`], for the response on an open connection.
    async fn carry_answer(&self, to: End, opening: OpeningCounters, bytes: u64) -> Result<(), LinkError> {
        self.carry_part(to, opening, bytes).await
    }

    /// Carries a request or its response.
    /// A connection that breaks in the meantime counts for the fault that broke it.
    async fn carry_part(&self, to: End, opening: OpeningCounters, bytes: u64) -> Result<(), LinkError> {
        let carried = self.carry(bytes, opening, |condition| condition.swallows(to)).await;
        if carried.is_err() {
            self.shared.count(breaks_connections, |effect| effect.requests += 1);
        }
        carried
    }

    /// Counts a watch that broke.
    pub(crate) fn count_broken_watch(&self) {
        self.shared.count(breaks_connections, |effect| effect.watches += 1);
    }

    /// Notes that programs outside of this process use the link by sockets.
    pub(crate) fn carries_bytes(&self) {
        self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner).carries_bytes = true;
    }

    /// Waits until a message on an open stream has arrived.
    /// TCP needs both directions for this, because the sender stops without acknowledgements.
    pub(crate) async fn carry_event(&self, opening: OpeningCounters, bytes: u64) -> Result<(), LinkError> {
        let swallows = |condition: &Condition| condition.swallows_from_member || condition.swallows_to_member;
        self.carry(bytes, opening, swallows).await
    }

    async fn carry(
        &self,
        bytes: u64,
        opening: OpeningCounters,
        swallows: impl Fn(&Condition) -> bool,
    ) -> Result<(), LinkError> {
        let delay = self.delay() + self.takes(bytes);
        if !delay.is_zero() {
            self.shared.count(delays, |effect| effect.messages += 1);
            self.clock.sleep(delay).await;
        }
        let passes = |now: &Condition| !swallows(now) && !now.has_lost_an_end(opening);
        if !passes(&self.shared.condition()) {
            self.shared.count(holds_back, |effect| effect.messages += 1);
        }
        let passable = self.shared.wait_for(|now| now.has_broken(opening) || passes(now)).await;
        if passable.has_broken(opening) { Err(LinkError::Reset) } else { Ok(()) }
    }

    /// Returns true if connections are currently refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.shared.condition().refused
    }

    /// Returns true if a new connection is currently accepted.
    pub(crate) fn lets_in(&self) -> bool {
        let condition = self.shared.condition();
        !condition.refused && !condition.refuses_new && !self.loses()
    }

    /// Draws whether a new connection is lost.
    fn loses(&self) -> bool {
        let percent = self.shared.condition().loses;
        percent > 0 && self.chance(|chance| chance.random_range(0..100)) < percent
    }

    /// Draws the delay of a message that is sent now.
    pub(crate) fn delay(&self) -> Duration {
        let Condition { delay, jitter, .. } = self.shared.condition();
        if jitter.is_zero() {
            return delay;
        }
        delay + self.chance(|chance| chance.random_range(Duration::ZERO..=jitter))
    }

    /// The transfer time of `bytes` at the current bandwidth.
    pub(crate) fn takes(&self, bytes: u64) -> Duration {
        let Some(rate) = self.shared.condition().bandwidth else { return Duration::ZERO };
        Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / u64::from(rate.get()))
    }

    fn chance<T>(&self, draw: impl FnOnce(&mut Stream) -> T) -> T {
        draw(&mut self.shared.chance.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The state of the link for a connection that is opened now.
    pub(crate) fn opening(&self) -> OpeningCounters {
        OpeningCounters(self.shared.condition().counters)
    }

    /// Waits until the close of a connection reaches its other end.
    pub(crate) async fn reports_close(&self, opening: OpeningCounters) {
        self.shared.wait_for(|now| !now.has_lost_an_end(opening)).await;
    }

    /// Waits until messages to the end `to` pass.
    pub(crate) async fn passable(&self, to: End, opening: OpeningCounters) {
        self.shared.wait_for(|now| !now.swallows(to) && !now.has_lost_an_end(opening)).await;
    }

    /// Waits until messages pass without delay or loss.
    pub(crate) async fn clear(&self, opening: OpeningCounters) {
        self.shared.wait_for(|now| now.is_clear(opening)).await;
    }

    /// Waits until messages no longer pass without delay or loss.
    pub(crate) async fn hindered(&self, opening: OpeningCounters) {
        self.shared.wait_for(|now| !now.is_clear(opening)).await;
    }

    /// The clock of the run.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Waits until the link no longer treats new connections in this way, and returns the new way.
    pub(crate) async fn new_connections_are_not(&self, before: NewConnections) -> NewConnections {
        self.shared.wait_for(|now| now.new_connections() != before).await.new_connections()
    }

    /// Waits until a connection that was opened at `opening` is broken.
    pub(crate) async fn broken(&self, opening: OpeningCounters) {
        self.shared.wait_for(|now| now.has_broken(opening)).await;
    }
}

/// An active fault. Dropping the guard ends it.
#[derive(Debug)]
#[must_use = "the fault ends when the guard is dropped"]
pub struct LinkGuard {
    shared: Arc<SharedState>,
    id: u64,
}

impl LinkGuard {
    /// The counts so far; `None` if nobody can count, because programs use the link by sockets.
    #[must_use]
    pub fn effect(&self) -> Option<FaultEffect> {
        let faults = self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.in_force.get(&self.id).filter(|_| !faults.carries_bytes).map(|each| each.effect)
    }
}

impl Drop for LinkGuard {
    fn drop(&mut self) {
        self.shared.change(|faults| {
            faults.in_force.remove(&self.id);
        });
    }
}

/// The tower service that sends requests and responses over a link.
#[derive(Clone, Debug)]
pub struct LinkService<S> {
    link: Link,
    /// The end of the link at which the service is located.
    at: End,
    inner: S,
}

impl<S> LinkService<S> {
    /// A client whose requests pass the link, with the retries that `kube::Client` has by default.
    #[must_use]
    pub fn client<B>(self) -> kube::Client
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
            .service(self);
        kube::Client::new(service, "default")
    }
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
        let (link, at) = (self.link.clone(), self.at);
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            let opening = link.opening();
            link.carry_request(at, opening).await?;
            let response = match inner.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let bytes = response.body().size_hint().exact().unwrap_or_default();
            link.carry_answer(at.other(), opening, bytes).await?;
            Ok(response.map(|body| LinkBody::new(link, opening, body)))
        })
    }
}
