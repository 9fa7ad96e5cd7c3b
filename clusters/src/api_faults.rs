//! The gate of an API server: where it is in trouble, as those see it who come through the gate. That of the control plane is
//! passed by its controllers, that of a member by the control plane.
//!
//! Faults are data ([`ServerFault`]) and hold as long as their guard lives. Whoever looks without the gate (the recorder,
//! people) sees what is there. How the body of a watch passes is in `gate_body.rs`.

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
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use tower::{BoxError, Service};

use crate::api_fault_body::ApiFaultBody;
use crate::verb::Verb;

/// What can be wrong with an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Every so many requests one is answered with an error and not done.
    Fail {
        /// The error.
        status: ErrorStatus,
        /// Every how many requests.
        every: u32,
    },
    /// Every so many writes one is refused as if the object had changed meanwhile.
    Conflict {
        /// Every how many writes.
        every: u32,
    },
    /// Requests take longer.
    Slow {
        /// How much.
        by: Duration,
        /// Those with this verb; all where nothing is said.
        verb: Option<Verb>,
    },
    /// Every event of a watch comes this much later: who watches sees an old past.
    Lag(Duration),
    /// Watches end instead of telling every so many events; and one that goes on from where it was is told that this is
    /// too long ago.
    Cut {
        /// Every how many events.
        every: u32,
    },
    /// Every so many events of a watch come twice.
    Repeat {
        /// Every how many events.
        every: u32,
    },
    /// Lists show what there was at this revision: they come from a cache that is behind. What a watch tells from there on is
    /// what has happened since. After [`STALE_AT_MOST`] the cache is as good as new.
    Stale {
        /// The sequence number of the last change that the cache has seen.
        revision: u64,
    },
    /// Who makes this many writes dies of the last: see [`Gate::struck`].
    Crash {
        /// Which write, from 1.
        write: u32,
        /// Whether it is done first.
        done: bool,
    },
}

/// For so long lists may be stale: a little less than a server keeps what there was.
pub const STALE_AT_MOST: Duration = Duration::from_secs(240);

/// With what an API server in trouble answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorStatus {
    /// 429.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
}

/// The gate of one API server. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct ApiFaults {
    clock: Clock,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether any fault is in force, to be asked at no cost.
    troubled: AtomicBool,
    faults: Mutex<Faults>,
    struck: Notify,
}

#[derive(Debug, Default)]
struct Faults {
    next: u64,
    in_force: BTreeMap<u64, InForce>,
}

#[derive(Debug)]
struct InForce {
    fault: ServerFault,
    /// How often it was met.
    met: u32,
    since: Duration,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    late: Duration,
    refused: Option<StatusCode>,
    /// It is the last that its sender does, and whether it is done.
    last: Option<bool>,
    /// It is answered with what there was at this revision.
    as_of: Option<u64>,
}

impl ApiFaults {
    /// A gate that lets everything pass.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, shared: Arc::default() }
    }

    /// Lets the server be in trouble by `fault` until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: ServerFault) -> ApiFaultGuard {
        let mut faults = self.faults();
        let id = faults.next;
        faults.next += 1;
        faults.in_force.insert(id, InForce { fault, met: 0, since: self.clock.elapsed() });
        self.shared.troubled.store(true, Ordering::Relaxed);
        ApiFaultGuard { api_faults: self.clone(), id }
    }

    /// Ends when somebody has died of a write.
    pub async fn struck(&self) {
        self.shared.struck.notified().await;
    }

    /// The API server as those see it who come through the gate.
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

    fn is_troubled(&self) -> bool {
        self.shared.troubled.load(Ordering::Relaxed)
    }

    /// How late events come now.
    pub(crate) fn lag(&self) -> Duration {
        if !self.is_troubled() {
            return Duration::ZERO;
        }
        let lag = |each: &InForce| match each.fault {
            ServerFault::Lag(by) => by,
            _ => Duration::ZERO,
        };
        self.faults().in_force.values().map(lag).sum()
    }

    /// Whether a watch ends in the place of its next event.
    pub(crate) fn cuts(&self) -> bool {
        self.is_troubled() && self.faults().meet(|fault| matches!(fault, ServerFault::Cut { .. })).is_some()
    }

    /// Whether the next event of a watch comes twice.
    pub(crate) fn repeats(&self) -> bool {
        self.is_troubled()
            && self.faults().meet(|fault| matches!(fault, ServerFault::Repeat { .. })).is_some()
    }

    fn fate(&self, verb: Verb, uri: &Uri) -> Fate {
        let mut faults = self.faults();
        let query = uri.query().unwrap_or_default();
        let writes = verb.writes();
        let resumes = verb == Verb::Watch && query.contains("resourceVersion=");
        let cut = |fault: &ServerFault| matches!(fault, ServerFault::Cut { .. });
        let slow = |each: &InForce| match each.fault {
            ServerFault::Slow { by, verb: slow } if slow.is_none_or(|slow| slow == verb) => by,
            _ => Duration::ZERO,
        };
        let now = self.clock.elapsed();
        let stale = |each: &InForce| match each.fault {
            ServerFault::Stale { revision } if now.saturating_sub(each.since) < STALE_AT_MOST => {
                Some(revision)
            }
            _ => None,
        };
        let mut fate = Fate { late: faults.in_force.values().map(slow).sum(), ..Fate::default() };
        if verb == Verb::List && is_open(query) {
            fate.as_of = faults.in_force.values().filter_map(stale).min();
        }
        if resumes && faults.in_force.values().any(|each| cut(&each.fault)) {
            fate.refused = Some(StatusCode::GONE);
        }
        if let Some(ServerFault::Fail { status, .. }) =
            faults.meet(|fault| matches!(fault, ServerFault::Fail { .. }))
        {
            fate.refused = Some(status.code());
        }
        if writes && faults.meet(|fault| matches!(fault, ServerFault::Conflict { .. })).is_some() {
            fate.refused = Some(StatusCode::CONFLICT);
        }
        if writes
            && let Some(ServerFault::Crash { done, .. }) =
                faults.meet(|fault| matches!(fault, ServerFault::Crash { .. }))
        {
            fate.last = Some(done);
        }
        fate
    }
}

impl Faults {
    /// Counts one more for each fault that `concerns`, and answers with the first that strikes now.
    fn meet(&mut self, concerns: impl Fn(&ServerFault) -> bool) -> Option<ServerFault> {
        let mut strikes = None;
        for InForce { fault, met, .. } in self.in_force.values_mut().filter(|each| concerns(&each.fault)) {
            *met += 1;
            let now = match *fault {
                ServerFault::Fail { every, .. }
                | ServerFault::Conflict { every }
                | ServerFault::Cut { every }
                | ServerFault::Repeat { every } => met.is_multiple_of(every.max(1)),
                ServerFault::Crash { write, .. } => *met == write,
                ServerFault::Slow { .. } | ServerFault::Lag(_) | ServerFault::Stale { .. } => false,
            };
            strikes = strikes.or(now.then_some(*fault));
        }
        strikes
    }
}

impl ErrorStatus {
    fn code(self) -> StatusCode {
        match self {
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// A fault in force; dropping it ends it.
#[derive(Debug)]
#[must_use = "the fault ends when the guard is dropped"]
pub struct ApiFaultGuard {
    api_faults: ApiFaults,
    id: u64,
}

impl Drop for ApiFaultGuard {
    fn drop(&mut self) {
        let mut faults = self.api_faults.faults();
        faults.in_force.remove(&self.id);
        self.api_faults.shared.troubled.store(!faults.in_force.is_empty(), Ordering::Relaxed);
    }
}

/// The tower service of what comes through a gate.
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
            let fate = match api_faults.is_troubled() {
                true => api_faults.fate(verb, request.uri()),
                false => Fate::default(),
            };
            if let Some(uri) = fate.as_of.and_then(|revision| as_of(request.uri(), revision)) {
                *request.uri_mut() = uri;
            }
            if !fate.late.is_zero() {
                api_faults.clock.sleep(fate.late).await;
            }
            match fate {
                Fate { last: Some(false), .. } => return api_faults.strike().await,
                Fate { refused: Some(status), last: None, .. } => return Ok(refusal(status)),
                _ => {}
            }
            let response = inner.call(request).await?;
            if fate.last.is_some() {
                return api_faults.strike().await;
            }
            let watch = (verb == Verb::Watch && response.status().is_success()).then_some(api_faults);
            Ok(response.map(|body| ApiFaultBody::new(watch, body)))
        })
    }
}

impl ApiFaults {
    /// Tells that somebody has died, and never answers.
    async fn strike<T>(&self) -> T {
        self.shared.struck.notify_one();
        pending().await
    }
}

/// Whether a list is asked for from its beginning, and it is left open of which state.
fn is_open(query: &str) -> bool {
    ["continue=", "resourceVersion="].iter().all(|given| !query.contains(given))
}

/// The same list, as it was at `revision`.
fn as_of(uri: &Uri, revision: u64) -> Option<Uri> {
    let query = uri.query().map(|query| format!("{query}&")).unwrap_or_default();
    format!("{}?{query}resourceVersion={revision}&resourceVersionMatch=Exact", uri.path()).parse().ok()
}

/// The answer of an API server that does not do what it is asked.
pub(crate) fn refusal<B>(status: StatusCode) -> Response<ApiFaultBody<B>> {
    let reason = match status {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::GONE => "Expired",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        StatusCode::NOT_IMPLEMENTED => "NotImplemented",
        _ => "InternalError",
    };
    let message = match status {
        StatusCode::NOT_IMPLEMENTED => {
            "what turns a connection into another is not supported while API faults can be injected"
        }
        _ => "the server is in trouble",
    };
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status.as_u16()});
    let mut response = Response::new(ApiFaultBody::refused(Full::from(body.to_string())));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
