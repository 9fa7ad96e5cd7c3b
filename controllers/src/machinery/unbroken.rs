//! Whether the watches of a member have come one upon the other, so that nothing can have become of its versions in between.

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

/// An API server that comes back with what it held before is away for longer than that.
const AT_ONCE: Duration = Duration::from_millis(100);

/// So long a member is taken at its word, however its watches end: what is wrong about that is wrong for no longer.
const TRUSTED: Duration = Duration::from_secs(300);

/// The watches of one member, by their paths. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Unbroken(Arc<Mutex<BTreeMap<String, Watched>>>);

#[derive(Clone, Copy)]
struct Watched {
    /// When it was last asked which version it has come to.
    checked: Instant,
    /// When the last watch ended, if that was when it was to end: an API server that is restored ends watches before.
    ended: Option<Instant>,
}

impl Unbroken {
    /// Whether a watch at `uri` goes on where the one before has ended just now.
    pub(super) fn holds(&self, uri: &Uri) -> bool {
        let now = Instant::now();
        self.watched().get(uri.path()).is_some_and(|watched| {
            let at_once = watched.ended.is_some_and(|ended| now.duration_since(ended) <= AT_ONCE);
            at_once && now.duration_since(watched.checked) < TRUSTED
        })
    }

    /// The member has come to the version from which the watch at `uri` is to go on.
    pub(super) fn checked(&self, uri: &Uri) {
        let checked = Watched { checked: Instant::now(), ended: None };
        self.watched().insert(uri.path().to_owned(), checked);
    }

    /// What a watch at `uri` is told. Its end is noted.
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

/// A body, of whose end it is noted whether it came in time.
pub(super) struct Followed {
    pub body: Body,
    pub ends: Option<End>,
}

/// The end of a watch.
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
