//! Answers one request from a socket: limits, audit id, date, compression, and panics of the handler.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use jiff::fmt::rfc2822::DateTimePrinter;
use tokio::time::timeout;
use tower::Service;

use super::listener::ListenerState;
use super::open_requests::OpenRequest;
use super::watch_frames::{StalledReader, WatchFrames};
use super::{gzip, watch_frames};
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::kind::object;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The speed of the server's clock in relation to real time; absent if the speed is 1.
const SPEED: HeaderName = HeaderName::from_static("capsize-clock-speed");

/// The body of a response on its way to a socket.
pub(super) struct SocketBody {
    body: AnswerBody,
    /// The guard that counts the request as open until the body is dropped.
    _open: OpenRequest,
}

enum AnswerBody {
    Direct(ApiBody),
    Watch(WatchFrames),
}

/// Answers a request, even if the handler panics or exceeds the time limit.
pub(super) async fn answer(
    shared: &Arc<ListenerState>,
    request: Request<Incoming>,
    open: OpenRequest,
) -> Response<SocketBody> {
    let audit_id = audit_id(shared, request.headers());
    let accepts_gzip = gzip::is_accepted(request.headers());
    let call = AssertUnwindSafe(shared.service.clone().call(request)).catch_unwind();
    let response = match timeout(shared.limits.request, call).await {
        Ok(Ok(Ok(response))) => response,
        Ok(Ok(Err(never))) => match never {},
        Ok(Err(_)) => respond::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "This request caused apiserver to panic. Look in the logs for details.\n",
        ),
        Err(_) => respond::failure(&Failure::timeout()),
    };
    let (mut head, body) = match is_watch(&response) {
        true => limit_watch(shared, response),
        false if accepts_gzip => gzip::compress(response).await.map(AnswerBody::Direct),
        false => response.map(AnswerBody::Direct),
    }
    .into_parts();
    head.headers.insert(AUDIT_ID, audit_id);
    set_time(shared, &mut head.headers);
    Response::from_parts(head, SocketBody { body, _open: open })
}

/// Sets the `Date` header from the clock that also writes timestamps into objects.
/// Clients can therefore compare timestamps with the header at every clock speed.
fn set_time(shared: &ListenerState, headers: &mut HeaderMap) {
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&shared.clock.now());
    headers.extend(date.ok().and_then(|date| Some((header::DATE, HeaderValue::try_from(date).ok()?))));
    let speed = shared.speed.and_then(|speed| HeaderValue::try_from(speed.to_string()).ok());
    headers.extend(speed.map(|speed| (SPEED, speed)));
}

fn is_watch(response: &Response<ApiBody>) -> bool {
    response.body().size_hint().exact().is_none()
}

/// Counts a watch, and limits the time for which its reader may stall.
/// The response is 429 if the limit of open watches is reached.
fn limit_watch(shared: &Arc<ListenerState>, response: Response<ApiBody>) -> Response<AnswerBody> {
    let Ok(permit) = Arc::clone(&shared.watches).try_acquire_owned() else {
        let mut refused =
            respond::text(StatusCode::TOO_MANY_REQUESTS, "Too many requests, please try again later.\n");
        refused.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(1));
        return refused.map(AnswerBody::Direct);
    };
    response.map(|body| {
        AnswerBody::Watch(watch_frames::start(body, permit, shared.limits.stalled, shared.stop.clone()))
    })
}

/// The audit id of the request: the client's own id, or a new one.
fn audit_id(shared: &ListenerState, headers: &HeaderMap) -> HeaderValue {
    if let Some(given) = headers.get(AUDIT_ID).filter(|given| !given.is_empty()) {
        return given.clone();
    }
    let mut chance = shared.chance.lock().unwrap_or_else(PoisonError::into_inner);
    HeaderValue::from_str(&object::uid(&mut chance)).expect("hexadecimal digits and dashes")
}

impl Body for SocketBody {
    type Data = Bytes;
    type Error = StalledReader;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StalledReader>>> {
        match &mut self.body {
            AnswerBody::Direct(body) => {
                let frame = Pin::new(body).poll_frame(context);
                frame.map(|frame| frame.map(|frame| frame.map_err(|never| match never {})))
            }
            AnswerBody::Watch(frames) => frames.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            AnswerBody::Direct(body) => body.is_end_stream(),
            AnswerBody::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            AnswerBody::Direct(body) => body.size_hint(),
            AnswerBody::Watch(_) => SizeHint::default(),
        }
    }
}
