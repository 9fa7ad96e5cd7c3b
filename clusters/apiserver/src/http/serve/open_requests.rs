//! Counts the open requests of one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// Counts the requests of a connection.
#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    requests: AtomicUsize,
    changed: Notify,
}

impl OpenRequests {
    /// Counts a request until the guard is dropped.
    pub(super) fn request(self: &Arc<Self>) -> OpenRequest {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
        OpenRequest(Arc::clone(self))
    }

    /// Returns once the connection has had no request for `limit`.
    pub(super) async fn idle_for(&self, limit: Duration) {
        loop {
            let idle = self.requests.load(Ordering::Relaxed) == 0;
            if !idle {
                self.changed.notified().await;
            } else if timeout(limit, self.changed.notified()).await.is_err() {
                return;
            }
        }
    }
}

/// The guard of an open request; it lives until the body of the response is dropped.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<OpenRequests>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_one();
    }
}
