//! Remembers how the watches of a member went, which shows whether its versions may have gone back.
//!
//! After a gapless watch they have not, so the version of the member need not be checked. After a watch that could not
//! begin or ended early they may have, and then even a check may not show it: the member may have reached the version
//! again.

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

/// The longest time by which a watch that lasted its full time may seem to end early.
/// The server counts the time from the request, and the client counts the time from the answer.
const LONGEST_EARLY_END: Duration = Duration::from_millis(100);

/// The longest time without a check of the version, however the watches end.
/// The constant limits the time of a wrong conclusion.
const CHECK_INTERVAL: Duration = Duration::from_secs(300);

/// The watches of one member, by their paths. Clones share them.
#[derive(Clone, Default)]
pub(super) struct WatchContinuity(Arc<Mutex<BTreeMap<String, WatchState>>>);

#[derive(Clone, Copy)]
enum WatchState {
    /// The last watch could not begin, or ended early.
    Broken,
    /// The last watch has begun, or is about to.
    Begun {
        /// When the version of the member was last checked.
        checked: Instant,
        /// When the watch ended after its full time: an API server that is restored ends watches before.
        ended: Option<Instant>,
    },
}

impl WatchContinuity {
    /// Whether a watch at `uri` starts right after a watch that lasted its full time.
    pub(super) fn is_gapless(&self, uri: &Uri) -> bool {
        let now = Instant::now();
        let Some(WatchState::Begun { checked, ended: Some(ended) }) = self.states().get(uri.path()).copied()
        else {
            return false;
        };
        now.duration_since(ended) <= LONGEST_GAP && now.duration_since(checked) < CHECK_INTERVAL
    }

    /// Records that the watch at `uri` could not begin.
    pub(super) fn record_refusal(&self, uri: &Uri) {
        self.record_break(uri.path());
    }

    fn record_break(&self, path: &str) {
        self.states().insert(path.to_owned(), WatchState::Broken);
    }

    /// Whether the last watch at `uri` could not begin, or ended early. The next watch may begin then.
    pub(super) fn take_break(&self, uri: &Uri) -> bool {
        let mut states = self.states();
        let broken = matches!(states.get(uri.path()), Some(WatchState::Broken));
        if broken {
            states.remove(uri.path());
        }
        broken
    }

    /// Records that the member has reached the version from which the watch at `uri` starts.
    pub(super) fn record_check(&self, uri: &Uri) {
        let begun = WatchState::Begun { checked: Instant::now(), ended: None };
        self.states().insert(uri.path().to_owned(), begun);
    }

    /// The body of a watch at `uri`, whose end is recorded.
    pub(super) fn track(&self, uri: &Uri, body: Body) -> TrackedBody {
        let path = uri.path().to_owned();
        if let Some(WatchState::Begun { ended, .. }) = self.states().get_mut(&path) {
            *ended = None;
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

impl TrackedBody {
    /// Records whether the watch lasted its full time, unless that is already recorded.
    fn record_end(&mut self) {
        let Some(ExpectedEnd { due, path, watches }) = self.end.take() else { return };
        let now = Instant::now();
        if now >= due {
            if let Some(WatchState::Begun { ended, .. }) = watches.states().get_mut(&path) {
                *ended = Some(now);
            }
        } else if now + LONGEST_EARLY_END < due {
            watches.record_break(&path);
        }
        // A watch that ended a little early may have lasted its full time, and a check of the version is enough.
    }
}

impl Drop for TrackedBody {
    /// A watch that fails is dropped without an end.
    fn drop(&mut self) {
        self.record_end();
    }
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, kube::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            None => self.record_end(),
            // The watcher takes the end of a failed watch after its back-off only.
            Some(Err(_)) => {
                if let Some(ExpectedEnd { path, watches, .. }) = self.end.take() {
                    watches.record_break(&path);
                }
            }
            Some(Ok(_)) => {}
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
