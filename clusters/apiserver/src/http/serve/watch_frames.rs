//! Sends the events of a watch to a socket, and ends a watch that nobody reads.
//!
//! A connection asks for a frame when it has room for one. HTTP/2 may have room for all streams but one, whose reader
//! has gone to sleep: so it is the single watch that is timed, not the connection.

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

/// The client has not read what there was for it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the client does not read")]
pub(super) struct Stalled;

/// The frames of a watch as a connection takes them.
pub(super) struct Pumped {
    frames: mpsc::Receiver<Frame<Bytes>>,
    stalled: Arc<AtomicBool>,
}

impl Pumped {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Stalled>>> {
        self.frames.poll_recv(context).map(|frame| match frame {
            Some(frame) => Some(Ok(frame)),
            None if self.stalled.load(Ordering::Acquire) => Some(Err(Stalled)),
            None => None,
        })
    }
}

/// Starts to move the frames of `body`, until it ends, the connection goes away, the server stops, or the reader has
/// taken none for `limit`.
pub(super) fn start(
    mut body: ApiBody,
    permit: OwnedSemaphorePermit,
    limit: Duration,
    stop: CancellationToken,
) -> Pumped {
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
    Pumped { frames, stalled }
}
