//! The body of a response with injected API faults: unchanged, or event by event for a watch.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use tokio::time::{Instant, sleep_until};
use tower::BoxError;

use crate::api_faults::ApiFaults;

/// The body of a response, or an error that replaces it.
pub struct ApiFaultBody<B> {
    inner: Either<B, Full<Bytes>>,
    /// For a watch, the faults and the events on their way.
    watch: Option<Watch>,
}

struct Watch {
    api_faults: ApiFaults,
    late: VecDeque<(Instant, Frame<Bytes>)>,
    /// The timer of the first of these events.
    due: Option<BoxFuture<'static, ()>>,
    ended: bool,
}

impl<B> ApiFaultBody<B> {
    /// The body of a response; for a watch it is read event by event.
    pub(crate) fn new(watch: Option<ApiFaults>, inner: B) -> Self {
        let watch =
            watch.map(|api_faults| Watch { api_faults, late: VecDeque::new(), due: None, ended: false });
        Self { watch, inner: Either::Left(inner) }
    }

    pub(crate) fn refused(body: Full<Bytes>) -> Self {
        Self { watch: None, inner: Either::Right(body) }
    }
}

impl Watch {
    /// Reads the events that have arrived, and returns the next that is due.
    fn poll<B>(
        &mut self,
        inner: &mut B,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
    where
        B: Body<Data = Bytes, Error = BoxError> + Unpin,
    {
        while !self.ended {
            let Poll::Ready(next) = Pin::new(&mut *inner).poll_frame(context) else { break };
            let repeated = |frame| if self.api_faults.repeats() { last_twice(frame) } else { frame };
            match next.map(|frame| frame.map(repeated)) {
                Some(Ok(_)) if self.api_faults.cuts() => self.ended = true,
                Some(Ok(frame)) => {
                    let lag = self.api_faults.lag();
                    if self.late.is_empty() && lag.is_zero() {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    self.late.push_back((Instant::now() + lag, frame));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.ended = true,
            }
        }
        let Some((due, _)) = self.late.front() else {
            return if self.ended { Poll::Ready(None) } else { Poll::Pending };
        };
        let due = *due;
        if due > Instant::now() {
            ready!(self.due.get_or_insert_with(|| sleep_until(due).boxed()).poll_unpin(context));
        }
        self.due = None;
        Poll::Ready(self.late.pop_front().map(|(_, frame)| Ok(frame)))
    }
}

/// The same frame with its last event repeated.
fn last_twice(frame: Frame<Bytes>) -> Frame<Bytes> {
    frame.map_data(|lines| {
        let end = lines.len().saturating_sub(1);
        let last = lines[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
        [&lines[..], &lines[last..]].concat().into()
    })
}

impl<B> Body for ApiFaultBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { inner, watch } = &mut *self;
        match watch {
            Some(watch) => watch.poll(inner, context),
            None => Pin::new(inner).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.watch.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
