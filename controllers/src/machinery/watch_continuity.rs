//! Detects gapless watches of a member: they show that its versions have not gone back.
//!
//! The version of the member then need not be checked before each watch.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body::{Frame, SizeHint};
use kube::client::Body;
use tokio::time::Instant;

use super::member_client::parameter;

/// The longest pause between two gapless watches. An API server that is restored is away for longer.
const LONGEST_GAP: Duration = Duration::from_millis(100);

/// The longest time without a check of the version, however the watches end: limits the time of a wrong conclusion.
const CHECK_INTERVAL: Duration = Duration::from_secs(300);

/// The watches of one member, by their paths. Clones share them.
#[derive(Clone, Default)]
pub(super) struct WatchContinuity(Arc<Mutex<BTreeMap<String, WatchState>>>);

#[derive(Clone, Copy)]
struct WatchState {
    /// When the version of the member was last checked.
    checked: Instant,
    /// When the last watch ended, if it lasted its full time: an API server that is restored ends watches before.
    ended: Option<Instant>,
}

impl WatchContinuity {
    /// Whether a watch at `uri` starts right after a watch that lasted its full time.
    pub(super) fn is_gapless(&self, uri: &Uri) -> bool {
        let now = Instant::now();
        self.states().get(uri.path()).is_some_and(|watched| {
            let gapless = watched.ended.is_some_and(|ended| now.duration_since(ended) <= LONGEST_GAP);
            gapless && now.duration_since(watched.checked) < CHECK_INTERVAL
        })
    }

    /// Records that the member has reached the version from which the watch at `uri` starts.
    pub(super) fn record_check(&self, uri: &Uri) {
        let checked = WatchState { checked: Instant::now(), ended: None };
        self.states().insert(uri.path().to_owned(), checked);
    }

    /// The body of a watch at `uri`, whose end is recorded.
    pub(super) fn track(&self, uri: &Uri, body: Body) -> TrackedBody {
        let path = uri.path().to_owned();
        if let Some(watched) = self.states().get_mut(&path) {
            watched.ended = None;
        }
        let lasts = parameter(uri, "timeoutSeconds=").map(Duration::from_secs);
        let end = lasts.map(|lasts| ExpectedEnd { due: Instant::now() + lasts, path, watches: self.clone() });
        TrackedBody { body, end }
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<String, WatchState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of an answer; for a watch, whether it lasted its full time is recorded.
pub(super) struct TrackedBody {
    pub body: Body,
    pub end: Option<ExpectedEnd>,
}

/// The expected end of a watch.
pub(super) struct ExpectedEnd {
    due: Instant,
    path: String,
    watches: WatchContinuity,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, kube::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none()
            && let Some(ExpectedEnd { due, path, watches }) = self.end.take()
            && let Some(watched) = watches.states().get_mut(&path)
        {
            let now = Instant::now();
            watched.ended = (now >= due).then_some(now);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.end.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
