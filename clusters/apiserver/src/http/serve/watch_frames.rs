//! Sends the events of a watch to a socket, and ends a watch that nobody reads.
//!
//! A connection asks for a frame if it has room for one. An HTTP/2 connection may have room for all streams except
//! one whose reader is stalled. Therefore the time limit applies to each watch, not to the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::http::respond::ApiBody;

/// The client has not read the data that was ready for it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the client does not read")]
pub(super) struct StalledReader;

/// The frames of a watch, for the connection.
pub(super) struct WatchFrames {
    frames: mpsc::Receiver<Frame<Bytes>>,
    stalled: Arc<AtomicBool>,
}

impl WatchFrames {
    /// Returns the next frame, or `None` at the end of the watch.
    ///
    /// # Errors
    /// If the watch has ended because the client did not read.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StalledReader>>> {
        self.frames.poll_recv(context).map(|frame| match frame {
            Some(frame) => Some(Ok(frame)),
            None if self.stalled.load(Ordering::Acquire) => Some(Err(StalledReader)),
            None => None,
        })
    }
}

/// Starts a task that sends the frames of `body` to the returned `WatchFrames`.
/// The task ends when the body ends, the connection closes, or the server stops. The task also ends when the reader has
/// taken no frame for `limit`.
pub(super) fn start(
    mut body: ApiBody,
    permit: OwnedSemaphorePermit,
    limit: Duration,
    stop: CancellationToken,
) -> WatchFrames {
    let (sender, frames) = mpsc::channel(1);
    let stalled = Arc::new(AtomicBool::new(false));
    let given_up = Arc::clone(&stalled);
    tokio::spawn(async move {
        let _permit = permit;
        loop {
            let frame = tokio::select! {
                biased;
                () = sender.closed() => return,
                () = stop.cancelled() => return,
                frame = body.frame() => frame,
            };
            let Some(Ok(frame)) = frame else { return };
            match timeout(limit, sender.send(frame)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => {
                    given_up.store(true, Ordering::Release);
                    return;
                }
            }
        }
    });
    WatchFrames { frames, stalled }
}
