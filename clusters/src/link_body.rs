//! Carries the body of a response over a link: as a whole, or event by event for a watch.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, BodyStream};
use tower::BoxError;

use crate::link::{Link, LinkError, OpeningCounters};

/// The maximum number of events in flight; the sender then has to wait.
const EVENTS_UNDER_WAY: usize = 1024;

/// The body of a response that passes a link.
pub struct LinkBody(ResponseBody);

enum ResponseBody {
    /// A body of known length, which arrived together with the head of the response.
    Whole(Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>),
    /// A watch: each event passes the link separately, in order.
    Events(BoxStream<'static, Result<Frame<Bytes>, BoxError>>),
}

impl LinkBody {
    pub(crate) fn new<B>(link: Link, opening: OpeningCounters, body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if body.size_hint().exact().is_some() {
            return Self(ResponseBody::Whole(Box::pin(body.map_err(Into::into))));
        }
        Self(ResponseBody::Events(events(link, opening, body)))
    }
}

/// The frames of `body` at their arrival times. A reset ends them with an error.
fn events<B>(
    link: Link,
    opening: OpeningCounters,
    body: B,
) -> BoxStream<'static, Result<Frame<Bytes>, BoxError>>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let watched = link.clone();
    let reset = async move {
        watched.broken(opening).await;
        watched.count_broken_watch();
        Err(LinkError::Reset.into())
    };
    let frames = BodyStream::new(body).map(move |frame| {
        let link = link.clone();
        let frame = frame.map_err(Into::into);
        let bytes = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
        async move {
            link.carry_event(opening, bytes as u64).await?;
            frame
        }
    });
    // Events travel concurrently and arrive in order, so the delays of a burst do not add up.
    let frames = frames.buffered(EVENTS_UNDER_WAY);
    let state = Some((Box::pin(frames), Box::pin(reset)));
    let passing = futures::stream::unfold(state, |state| async move {
        let (mut frames, mut reset) = state?;
        let next = tokio::select! {
            biased;
            error = &mut reset => Some(error),
            frame = frames.next() => frame,
        };
        let next = next?;
        let rest = next.is_ok().then_some((frames, reset));
        Some((next, rest))
    });
    passing.boxed()
}

impl Body for LinkBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            ResponseBody::Whole(body) => body.as_mut().poll_frame(context),
            ResponseBody::Events(events) => events.poll_next_unpin(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            ResponseBody::Whole(body) => body.is_end_stream(),
            ResponseBody::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            ResponseBody::Whole(body) => body.size_hint(),
            ResponseBody::Events(_) => SizeHint::default(),
        }
    }
}
