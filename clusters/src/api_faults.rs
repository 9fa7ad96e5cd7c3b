//! Injects API server faults into the requests of clients.
//!
//! The clients of the control plane are its controllers, and the client of a member is the control plane.
//!
//! Faults are data ([`ServerFault`]) and are active as long as their guard lives. The recorder and users send their
//! requests without this layer, and observe the true state. `api_fault_body.rs` has the bodies of watches.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use capsize_clock::Clock;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use tower::{BoxError, Service};

use crate::api_fault_body::ApiFaultBody;
use crate::fault_effect::FaultEffect;
use crate::verb::Verb;

/// A fault of an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Every n-th request is answered with an error, and not executed.
    Fail {
        /// The error.
        status: ErrorStatus,
        /// The n.
        every: u32,
        /// The verb of the counted requests; all requests if there is none.
        verb: Option<Verb>,
    },
    /// Every n-th write is refused with a conflict.
    Conflict {
        /// The n.
        every: u32,
    },
    /// Requests are executed later.
    Slow {
        /// The delay.
        by: Duration,
        /// The verb of the delayed requests; all requests if there is none.
        verb: Option<Verb>,
    },
    /// Every event of a watch is delayed by this time, so that watch caches are stale.
    Lag(Duration),
    /// A watch ends instead of every n-th event. A watch that resumes from a version gets 410 Gone.
    Cut {
        /// The n.
        every: u32,
    },
    /// Every n-th event of a watch is sent twice.
    Repeat {
        /// The n.
        every: u32,
    },
    /// Lists show the state at this revision, as from a stale cache.
    /// A watch from this revision reports all later changes. The cache is up to date after [`STALE_AT_MOST`].
    Stale {
        /// The revision of the last change in the cache.
        revision: u64,
    },
    /// The sender of this many writes crashes at the last write; see [`ApiFaults::crashed`].
    Crash {
        /// The number of the write, from 1.
        write: u32,
        /// True if that write is executed before the crash.
        done: bool,
    },
}

/// The longest time for which lists are stale.
/// This time is slightly less than the time for which a server keeps old versions.
pub const STALE_AT_MOST: Duration = Duration::from_secs(240);

/// The status with which a failing API server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ErrorStatus {
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 409.
    Conflict,
    /// 422.
    Invalid,
    /// 429.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
}

/// The faults of one API server. Clones share them.
#[derive(Clone, Debug)]
pub struct ApiFaults {
    clock: Clock,
    shared: Arc<SharedState>,
}

#[derive(Debug, Default)]
struct SharedState {
    /// True while any fault is active; cheap to read.
    any_fault: AtomicBool,
    faults: Mutex<Faults>,
    crashed: Notify,
}

#[derive(Debug, Default)]
struct Faults {
    next: u64,
    in_force: BTreeMap<u64, InForce>,
}

#[derive(Debug)]
struct InForce {
    fault: ServerFault,
    /// The number of requests or events to which the fault applied.
    count: u32,
    since: Duration,
    effect: FaultEffect,
}

/// The effect of the faults on a request.
#[derive(Clone, Copy, Debug, Default)]
struct RequestEffect {
    late: Duration,
    refused: Option<StatusCode>,
    /// The sender crashes after this request; the value is true if the request is executed.
    last: Option<bool>,
    /// The revision whose state the response shows.
    as_of: Option<u64>,
}

impl ApiFaults {
    /// No faults.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, shared: Arc::default() }
    }

    /// Applies `fault` until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: ServerFault) -> ApiFaultGuard {
        let mut faults = self.faults();
        let id = faults.next;
        faults.next += 1;
        faults.in_force.insert(
            id,
            InForce { fault, count: 0, since: self.clock.elapsed(), effect: FaultEffect::default() },
        );
        self.shared.any_fault.store(true, Ordering::Relaxed);
        ApiFaultGuard { api_faults: self.clone(), id }
    }

    /// Waits until a sender has crashed at a write.
    pub async fn crashed(&self) {
        self.shared.crashed.notified().await;
    }

    /// Applies the faults to the requests of a service.
    #[must_use]
    pub fn wrap<S>(&self, service: S) -> ApiFaultLayer<S> {
        ApiFaultLayer { api_faults: self.clone(), inner: service }
    }

    fn faults(&self) -> std::sync::MutexGuard<'_, Faults> {
        self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock of the run.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    fn has_faults(&self) -> bool {
        self.shared.any_fault.load(Ordering::Relaxed)
    }

    /// The delay of the next event.
    pub(crate) fn lag(&self) -> Duration {
        if !self.has_faults() {
            return Duration::ZERO;
        }
        let lag = |each: &mut InForce| match each.fault {
            ServerFault::Lag(by) => {
                each.effect.messages += 1;
                by
            }
            _ => Duration::ZERO,
        };
        self.faults().in_force.values_mut().map(lag).sum()
    }

    /// Returns true if a watch ends instead of its next event.
    pub(crate) fn cuts(&self) -> bool {
        self.has_faults()
            && self.faults().count_event(|fault| matches!(fault, ServerFault::Cut { .. })).is_some()
    }

    /// Returns true if the next event of a watch is sent twice.
    pub(crate) fn repeats(&self) -> bool {
        self.has_faults()
            && self.faults().count_event(|fault| matches!(fault, ServerFault::Repeat { .. })).is_some()
    }

    /// Returns true if the crash at a write that was reached is in force.
    /// It may end while a slow request is under way.
    fn is_crash_in_force(&self) -> bool {
        self.faults().in_force.values().any(|each| match each.fault {
            ServerFault::Crash { write, .. } => each.count >= write,
            _ => false,
        })
    }

    fn effect(&self, verb: Verb, uri: &Uri) -> RequestEffect {
        let mut faults = self.faults();
        let query = uri.query().unwrap_or_default();
        let writes = verb.writes();
        let resumes = verb == Verb::Watch && query.contains("resourceVersion=");
        let cut = |fault: &ServerFault| matches!(fault, ServerFault::Cut { .. });
        let slow = |each: &mut InForce| match each.fault {
            ServerFault::Slow { by, verb: slow } if slow.is_none_or(|slow| slow.hits(verb)) => {
                each.effect.requests += 1;
                by
            }
            _ => Duration::ZERO,
        };
        let now = self.clock.elapsed();
        let stale = |each: &mut InForce| match each.fault {
            ServerFault::Stale { revision } if now.saturating_sub(each.since) < STALE_AT_MOST => {
                each.effect.requests += 1;
                Some(revision)
            }
            _ => None,
        };
        let mut effect =
            RequestEffect { late: faults.in_force.values_mut().map(slow).sum(), ..RequestEffect::default() };
        if verb == Verb::List && is_open(query) {
            effect.as_of = faults.in_force.values_mut().filter_map(stale).min();
        }
        if resumes {
            for each in faults.in_force.values_mut().filter(|each| cut(&each.fault)) {
                each.effect.requests += 1;
                effect.refused = Some(StatusCode::GONE);
            }
        }
        if let Some(ServerFault::Fail { status, .. }) = faults.count_event(|fault| match fault {
            ServerFault::Fail { verb: fails, .. } => fails.is_none_or(|fails| fails.hits(verb)),
            _ => false,
        }) {
            effect.refused = Some(status.code());
        }
        if writes && faults.count_event(|fault| matches!(fault, ServerFault::Conflict { .. })).is_some() {
            effect.refused = Some(StatusCode::CONFLICT);
        }
        if writes
            && let Some(ServerFault::Crash { done, .. }) =
                faults.count_event(|fault| matches!(fault, ServerFault::Crash { .. }))
        {
            effect.last = Some(done);
        }
        effect
    }
}

impl Faults {
    /// Counts an event for each fault that `concerns` selects.
    /// Returns the first fault that applies to this event.
    fn count_event(&mut self, concerns: impl Fn(&ServerFault) -> bool) -> Option<ServerFault> {
        let mut strikes = None;
        for InForce { fault, count, effect, .. } in
            self.in_force.values_mut().filter(|each| concerns(&each.fault))
        {
            *count += 1;
            let now = match *fault {
                ServerFault::Fail { every, .. }
                | ServerFault::Conflict { every }
                | ServerFault::Cut { every }
                | ServerFault::Repeat { every } => count.is_multiple_of(every.max(1)),
                ServerFault::Crash { write, .. } => *count == write,
                ServerFault::Slow { .. } | ServerFault::Lag(_) | ServerFault::Stale { .. } => false,
            };
            if now {
                match fault {
                    ServerFault::Cut { .. } => effect.watches += 1,
                    ServerFault::Repeat { .. } => effect.messages += 1,
                    _ => effect.requests += 1,
                }
            }
            strikes = strikes.or(now.then_some(*fault));
        }
        strikes
    }
}

impl ErrorStatus {
    fn code(self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// An active fault. Dropping the guard ends it.
#[derive(Debug)]
#[must_use = "the fault ends when the guard is dropped"]
pub struct ApiFaultGuard {
    api_faults: ApiFaults,
    id: u64,
}

impl ApiFaultGuard {
    /// The counts so far.
    #[must_use]
    pub fn effect(&self) -> Option<FaultEffect> {
        self.api_faults.faults().in_force.get(&self.id).map(|each| each.effect)
    }
}

impl Drop for ApiFaultGuard {
    fn drop(&mut self) {
        let mut faults = self.api_faults.faults();
        faults.in_force.remove(&self.id);
        self.api_faults.shared.any_fault.store(!faults.in_force.is_empty(), Ordering::Relaxed);
    }
}

/// The tower service that injects faults into requests.
#[derive(Clone, Debug)]
pub struct ApiFaultLayer<S> {
    api_faults: ApiFaults,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for ApiFaultLayer<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Send + 'static,
    R: http_body::Body<Data = Bytes> + Send + Unpin,
    R::Error: Into<BoxError>,
{
    type Response = Response<ApiFaultBody<R>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let (api_faults, clone) = (self.api_faults.clone(), self.inner.clone());
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            let verb = Verb::of(request.method(), request.uri());
            let effect = match api_faults.has_faults() {
                true => api_faults.effect(verb, request.uri()),
                false => RequestEffect::default(),
            };
            if let Some(uri) = effect.as_of.and_then(|revision| as_of(request.uri(), revision)) {
                *request.uri_mut() = uri;
            }
            if !effect.late.is_zero() {
                api_faults.clock.sleep(effect.late).await;
            }
            match (effect.last.filter(|_| api_faults.is_crash_in_force()), effect.refused) {
                (Some(false), _) => return api_faults.crash().await,
                (None, Some(status)) => return Ok(refusal(status)),
                _ => {}
            }
            let response = inner.call(request).await?;
            if effect.last.is_some() && api_faults.is_crash_in_force() {
                return api_faults.crash().await;
            }
            let watch = (verb == Verb::Watch && response.status().is_success()).then_some(api_faults);
            Ok(response.map(|body| ApiFaultBody::new(watch, body)))
        })
    }
}

impl ApiFaults {
    /// Reports that the sender has crashed, and never returns.
    async fn crash<T>(&self) -> T {
        self.shared.crashed.notify_one();
        pending().await
    }
}

/// Returns true if a list request starts a new list and names no version.
fn is_open(query: &str) -> bool {
    ["continue=", "resourceVersion="].iter().all(|given| !query.contains(given))
}

/// The same list request for the state at `revision`.
fn as_of(uri: &Uri, revision: u64) -> Option<Uri> {
    let query = uri.query().map(|query| format!("{query}&")).unwrap_or_default();
    format!("{}?{query}resourceVersion={revision}&resourceVersionMatch=Exact", uri.path()).parse().ok()
}

/// The response of an API server that does not execute a request.
pub(crate) fn refusal<B>(status: StatusCode) -> Response<ApiFaultBody<B>> {
    let reason = match status {
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::GONE => "Expired",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        StatusCode::NOT_IMPLEMENTED => "NotImplemented",
        _ => "InternalError",
    };
    let message = match status {
        StatusCode::NOT_IMPLEMENTED => "protocol upgrades are not supported while API faults can be injected",
        _ => "the API server fails because a fault is injected",
    };
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status.as_u16()});
    let mut response = Response::new(ApiFaultBody::refused(Full::from(body.to_string())));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
