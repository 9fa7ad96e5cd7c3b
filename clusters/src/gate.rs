//! The gate of the control plane's API server: where it is in trouble, as its controllers see it.
//!
//! Faults are data ([`ServerFault`]) and hold as long as their guard lives. Whoever looks without the gate (the recorder,
//! people) sees what is there. How the body of a watch passes is in `gate_body.rs`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::{ApiBody, ApiService};
use capsize_clock::Clock;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use tower::{BoxError, Service};

use crate::gate_body::GateBody;

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
    /// Every request takes this much longer.
    Slow(Duration),
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
    /// Who makes this many writes dies of the last: see [`Gate::struck`].
    Crash {
        /// Which write, from 1.
        write: u32,
        /// Whether it is done first.
        done: bool,
    },
}

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
pub struct Gate {
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
    /// Each with how often it was met.
    in_force: BTreeMap<u64, (ServerFault, u32)>,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    late: Duration,
    refused: Option<StatusCode>,
    /// It is the last that its sender does, and whether it is done.
    last: Option<bool>,
}

impl Gate {
    /// A gate that lets everything pass.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, shared: Arc::default() }
    }

    /// Lets the server be in trouble by `fault` until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: ServerFault) -> GateGuard {
        let mut faults = self.faults();
        let id = faults.next;
        faults.next += 1;
        faults.in_force.insert(id, (fault, 0));
        self.shared.troubled.store(true, Ordering::Relaxed);
        GateGuard { gate: self.clone(), id }
    }

    /// Ends when somebody has died of a write.
    pub async fn struck(&self) {
        self.shared.struck.notified().await;
    }

    /// The API server as those see it who come through the gate.
    #[must_use]
    pub fn wrap(&self, service: ApiService) -> GateService {
        GateService { gate: self.clone(), inner: service }
    }

    fn faults(&self) -> std::sync::MutexGuard<'_, Faults> {
        self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_troubled(&self) -> bool {
        self.shared.troubled.load(Ordering::Relaxed)
    }

    /// How late events come now.
    pub(crate) fn lag(&self) -> Duration {
        if !self.is_troubled() {
            return Duration::ZERO;
        }
        let lag = |(fault, _): &(ServerFault, u32)| match fault {
            ServerFault::Lag(by) => *by,
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

    fn fate(&self, method: &Method, query: &str) -> Fate {
        let mut faults = self.faults();
        let writes = !matches!(*method, Method::GET | Method::HEAD);
        let resumes = query.contains("watch=") && query.contains("resourceVersion=");
        let cut = |fault: &ServerFault| matches!(fault, ServerFault::Cut { .. });
        let slow = |(fault, _): &(ServerFault, u32)| match fault {
            ServerFault::Slow(by) => *by,
            _ => Duration::ZERO,
        };
        let mut fate = Fate { late: faults.in_force.values().map(slow).sum(), ..Fate::default() };
        if resumes && faults.in_force.values().any(|(fault, _)| cut(fault)) {
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
        for (fault, count) in self.in_force.values_mut().filter(|(fault, _)| concerns(fault)) {
            *count += 1;
            let now = match *fault {
                ServerFault::Fail { every, .. }
                | ServerFault::Conflict { every }
                | ServerFault::Cut { every }
                | ServerFault::Repeat { every } => count.is_multiple_of(every.max(1)),
                ServerFault::Crash { write, .. } => *count == write,
                ServerFault::Slow(_) | ServerFault::Lag(_) => false,
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
pub struct GateGuard {
    gate: Gate,
    id: u64,
}

impl Drop for GateGuard {
    fn drop(&mut self) {
        let mut faults = self.gate.faults();
        faults.in_force.remove(&self.id);
        self.gate.shared.troubled.store(!faults.in_force.is_empty(), Ordering::Relaxed);
    }
}

/// The tower service of what comes through a gate.
#[derive(Clone, Debug)]
pub struct GateService {
    gate: Gate,
    inner: ApiService,
}

impl<B> Service<Request<B>> for GateService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<GateBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (gate, mut inner) = (self.gate.clone(), self.inner.clone());
        Box::pin(async move {
            let fate = match gate.is_troubled() {
                true => gate.fate(request.method(), request.uri().query().unwrap_or_default()),
                false => Fate::default(),
            };
            if !fate.late.is_zero() {
                gate.clock.sleep(fate.late).await;
            }
            let response = match fate {
                Fate { last: Some(false), .. } => return gate.strike().await,
                Fate { refused: Some(status), last: None, .. } => refusal(status),
                _ => inner.call(request).await?,
            };
            if fate.last.is_some() {
                return gate.strike().await;
            }
            Ok(response.map(|body| GateBody::new(gate, body)))
        })
    }
}

impl Gate {
    /// Tells that somebody has died, and never answers.
    async fn strike<T>(&self) -> T {
        self.shared.struck.notify_one();
        pending().await
    }
}

fn refusal(status: StatusCode) -> Response<ApiBody> {
    let reason = match status {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::GONE => "Expired",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "InternalError",
    };
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the server is in trouble", "reason": reason, "code": status.as_u16()});
    let mut response = Response::new(ApiBody::Whole(Some(body.to_string().into_bytes().into())));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
