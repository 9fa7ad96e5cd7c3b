//! Relays one direction of a TCP connection, with the faults of a link.
//!
//! While the link has no fault, bytes are copied directly (on Linux, large transfers stay in the kernel:
//! `splice.rs`). While it has a fault, each chunk gets an earliest time of arrival.

use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use capsize_clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use crate::link::{End, Link, OpeningCounters};
#[cfg(target_os = "linux")]
use crate::splice;

/// The maximum number of bytes of one read.
const CHUNK: usize = 64 * 1024;

/// The maximum number of chunks in flight while the link has a fault.
const UNDER_WAY: usize = 64;

/// One direction of a connection.
pub(crate) struct Relay<'a> {
    pub link: &'a Link,
    /// The state of the link when the connection was opened.
    pub opening: OpeningCounters,
    pub from: ReadHalf<'a>,
    pub to: WriteHalf<'a>,
    /// The end of the link at which `to` is.
    pub end: End,
}

/// The reason why direct copying stopped.
pub(crate) enum StopReason {
    /// The sender has closed its side.
    Ended,
    /// The link has a fault now. The bytes were read, but not written yet.
    Hindered(Bytes),
}

/// A chunk with the earliest time of its arrival, relative to the start of the clock.
type TimedChunk = (Duration, Bytes);

impl Relay<'_> {
    /// Relays until the sender closes its side.
    pub(crate) async fn run(mut self) -> io::Result<()> {
        while let StopReason::Hindered(left) = self.straight().await? {
            if self.delayed(left).await? {
                break;
            }
        }
        self.link.passable(self.end, self.opening).await;
        self.to.shutdown().await
    }

    /// Copies while the link has no fault.
    async fn straight(&mut self) -> io::Result<StopReason> {
        let link = self.link;
        let mut hindered = pin!(link.hindered(self.opening));
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = tokio::select! {
                biased;
                () = hindered.as_mut() => return Ok(StopReason::Hindered(Bytes::new())),
                read = self.from.read(&mut buffer) => read?,
            };
            if read == 0 {
                return Ok(StopReason::Ended);
            }
            let mut left = &buffer[..read];
            while !left.is_empty() {
                tokio::select! {
                    biased;
                    () = hindered.as_mut() => return Ok(StopReason::Hindered(Bytes::copy_from_slice(left))),
                    written = self.to.write(left) => left = &left[written?..],
                }
            }
            if read == CHUNK
                && let Some(stopped) = self.spliced(hindered.as_mut()).await?
            {
                return Ok(stopped);
            }
        }
    }

    #[cfg(target_os = "linux")]
    async fn spliced(&self, hindered: Pin<&mut impl Future<Output = ()>>) -> io::Result<Option<StopReason>> {
        splice::carry(self.from.as_ref(), self.to.as_ref(), hindered).await
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_async, reason = "as on Linux")]
    async fn spliced(&self, _hindered: Pin<&mut impl Future<Output = ()>>) -> io::Result<Option<StopReason>> {
        Ok(None)
    }

    /// Relays `left` and the following bytes while the link has a fault.
    /// Returns true if the sender has closed its side.
    async fn delayed(&mut self, left: Bytes) -> io::Result<bool> {
        let (under_way, arriving) = mpsc::channel(UNDER_WAY);
        let (link, opening) = (self.link, self.opening);
        let take = take((link, opening), (left, &mut self.from), under_way);
        let hand_over = hand_over((link, opening), arriving, (&mut self.to, self.end));
        tokio::try_join!(take, hand_over).map(|(ended, ())| ended)
    }
}

async fn take(
    (link, opening): (&Link, OpeningCounters),
    (left, from): (Bytes, &mut ReadHalf<'_>),
    under_way: mpsc::Sender<TimedChunk>,
) -> io::Result<bool> {
    let mut clear = pin!(link.clear(opening));
    let mut piece = left;
    loop {
        if !piece.is_empty() {
            let parcel = (link.clock().elapsed() + link.delay(), piece);
            if under_way.send(parcel).await.is_err() {
                return Ok(true);
            }
        }
        let mut chunk = BytesMut::with_capacity(CHUNK);
        let read = tokio::select! {
            biased;
            () = clear.as_mut() => return Ok(false),
            read = from.read_buf(&mut chunk) => read,
        };
        if !matches!(read, Ok(1..)) {
            link.reports_close(opening).await;
            return read.map(|_| true);
        }
        piece = chunk.freeze();
    }
}

async fn hand_over(
    (link, opening): (&Link, OpeningCounters),
    mut arriving: mpsc::Receiver<TimedChunk>,
    (to, end): (&mut WriteHalf<'_>, End),
) -> io::Result<()> {
    // The time at which the previous chunk has passed.
    let mut free = Duration::ZERO;
    while let Some((due, chunk)) = arriving.recv().await {
        free = due.max(free) + link.takes(chunk.len() as u64);
        wait_until(link.clock(), free).await;
        link.passable(end, opening).await;
        to.write_all(&chunk).await?;
    }
    Ok(())
}

async fn wait_until(clock: Clock, due: Duration) {
    let left = due.saturating_sub(clock.elapsed());
    if !left.is_zero() {
        clock.sleep(left).await;
    }
}
