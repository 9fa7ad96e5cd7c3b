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

use super::member::parameter;

/// The longest pause between two gapless watches. An API server that is restored is away for longer.
const AT_ONCE: Duration = Duration::from_millis(100);

/// The longest time without a check of the version, however the watches end: limits the time of a wrong conclusion.
const TRUSTED: Duration = Duration::from_secs(300);

/// The watches of one member, by their paths. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Unbroken(Arc<Mutex<BTreeMap<String, Watched>>>);

#[derive(Clone, Copy)]
struct Watched {
    /// When the version of the member was last checked.
    checked: Instant,
    /// When the last watch ended, if it lasted its full time: an API server that is restored ends watches before.
    ended: Option<Instant>,
}

impl Unbroken {
    /// Whether a watch at `uri` starts right after a watch that lasted its full time.
    pub(super) fn holds(&self, uri: &Uri) -> bool {
        let now = Instant::now();
        self.watched().get(uri.path()).is_some_and(|watched| {
            let at_once = watched.ended.is_some_and(|ended| now.duration_since(ended) <= AT_ONCE);
            at_once && now.duration_since(watched.checked) < TRUSTED
        })
    }

    /// The member has reached the version from which the watch at `uri` starts.
    pub(super) fn checked(&self, uri: &Uri) {
        let checked = Watched { checked: Instant::now(), ended: None };
        self.watched().insert(uri.path().to_owned(), checked);
    }

    /// The body of a watch at `uri`, whose end is recorded.
    pub(super) fn follow(&self, uri: &Uri, body: Body) -> Followed {
        let path = uri.path().to_owned();
        if let Some(watched) = self.watched().get_mut(&path) {
            watched.ended = None;
        }
        let lasts = parameter(uri, "timeoutSeconds=").map(Duration::from_secs);
        let ends = lasts.map(|lasts| End { due: Instant::now() + lasts, path, watches: self.clone() });
        Followed { body, ends }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of an answer; for a watch, whether it lasted its full time is recorded.
pub(super) struct Followed {
    pub body: Body,
    pub ends: Option<End>,
}

/// The expected end of a watch.
pub(super) struct End {
    due: Instant,
    path: String,
    watches: Unbroken,
}

impl http_body::Body for Followed {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, kube::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none()
            && let Some(End { due, path, watches }) = self.ends.take()
            && let Some(watched) = watches.watched().get_mut(&path)
        {
            let now = Instant::now();
            watched.ended = (now >= due).then_some(now);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.ends.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
