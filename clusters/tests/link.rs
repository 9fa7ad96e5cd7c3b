//! The effects of link faults on requests and watches, observed from the control plane.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use capsize_clock::{Clock, Seed};
use capsize_clusters::{Direction, Link, LinkBody, LinkError, LinkFault};
use futures::channel::mpsc;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::time::{Instant, timeout};
use tower::{Service, ServiceExt, service_fn};

const BOTH: LinkFault = LinkFault::BlackHole { direction: Direction::Both };
const SECOND: Duration = Duration::from_secs(1);

fn link() -> Link {
    let clock = Clock::starting_at("2030-01-01T00:00:00Z".parse().unwrap());
    Link::new(clock, Seed(1).stream("link"))
}

/// Asks a member that counts the requests it has seen.
async fn ask(link: &Link, seen: &Arc<AtomicUsize>) -> Result<Bytes, LinkError> {
    ask_end(link, true, seen).await
}

/// Asks one end of the link from the other.
async fn ask_end(link: &Link, member: bool, seen: &Arc<AtomicUsize>) -> Result<Bytes, LinkError> {
    let seen = Arc::clone(seen);
    let end = service_fn(move |_: Request<()>| {
        seen.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("ok")))) }
    });
    let end = if member { link.wrap(end) } else { link.wrap_back(end) };
    let response = end.oneshot(Request::new(())).await?;
    Ok(response.into_body().collect().await.unwrap().to_bytes())
}

type Events = mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>;

/// Opens a watch over the link. Messages to the sender become its events.
async fn watch(link: &Link) -> (Events, LinkBody) {
    let (sender, receiver) = mpsc::unbounded();
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let member = link.wrap(service_fn(move |_: Request<()>| {
        let body = StreamBody::new(receiver.lock().unwrap().take().unwrap());
        async { Ok::<_, Infallible>(Response::new(body)) }
    }));
    let response = member.oneshot(Request::new(())).await.unwrap();
    (sender, response.into_body())
}

fn send(events: &Events, event: &'static str) {
    events.unbounded_send(Ok(Frame::data(Bytes::from(event)))).unwrap();
}

async fn next(body: &mut LinkBody) -> Option<Result<Bytes, String>> {
    let frame = body.frame().await?;
    Some(frame.map(|frame| frame.into_data().unwrap()).map_err(|error| error.to_string()))
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_fails_at_once_and_never_arrives() {
    let (link, seen) = (link(), Arc::default());
    let guard = link.apply(LinkFault::Refuse);
    assert_eq!(ask(&link, &seen).await, Err(LinkError::Refused));
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    drop(guard);
    assert_eq!(ask(&link, &seen).await, Ok(Bytes::from("ok")));
}

#[tokio::test(start_paused = true)]
async fn a_black_holed_request_hangs_until_the_link_heals() {
    let (link, seen) = (link(), Arc::default());
    let guard = link.apply(BOTH);
    tokio::spawn(async move {
        tokio::time::sleep(45 * SECOND).await;
        drop(guard);
    });
    let start = Instant::now();
    assert_eq!(ask(&link, &seen).await, Ok(Bytes::from("ok")));
    assert_eq!(start.elapsed(), 45 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn requests_arrive_although_their_answers_vanish() {
    let cases = [
        (Direction::FromMember, true, 1),
        (Direction::ToMember, true, 0),
        (Direction::FromMember, false, 0),
        (Direction::ToMember, false, 1),
    ];
    for (direction, member, arrived) in cases {
        let (link, seen) = (link(), Arc::default());
        let _guard = link.apply(LinkFault::BlackHole { direction });
        assert!(timeout(32 * SECOND, ask_end(&link, member, &seen)).await.is_err());
        assert_eq!(seen.load(Ordering::Relaxed), arrived, "{direction:?}, asking the member: {member}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_under_way_is_lost_when_connections_are_reset() {
    let link = link();
    let mut member = link.wrap(service_fn(|_: Request<()>| async {
        tokio::time::sleep(2 * SECOND).await;
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
    }));
    let _guard = {
        let answer = member.call(Request::new(()));
        let fault = async {
            tokio::time::sleep(SECOND).await;
            link.apply(LinkFault::Refuse)
        };
        let (answer, guard) = futures::join!(answer, fault);
        assert!(matches!(answer, Err(LinkError::Reset)));
        guard
    };
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_an_error_when_connections_are_reset() {
    let link = link();
    let (events, mut body) = watch(&link).await;
    send(&events, "one");
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("one"))));
    let _guard = link.apply(LinkFault::Refuse);
    assert_eq!(next(&mut body).await, Some(Err("connection reset by peer".into())));
    assert_eq!(next(&mut body).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_silent_in_a_black_hole_and_catches_up_in_order() {
    for direction in [Direction::Both, Direction::ToMember, Direction::FromMember] {
        let link = link();
        let (events, mut body) = watch(&link).await;
        let guard = link.apply(LinkFault::BlackHole { direction });
        for event in ["one", "two", "three"] {
            send(&events, event);
        }
        assert!(timeout(600 * SECOND, next(&mut body)).await.is_err(), "{direction:?}");
        drop(guard);
        for event in ["one", "two", "three"] {
            assert_eq!(next(&mut body).await, Some(Ok(Bytes::from(event))));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_counts_once_each_way_and_does_not_add_up_over_a_burst() {
    let (link, seen) = (link(), Arc::default());
    let _guard = link.apply(LinkFault::Delay(SECOND));
    let start = Instant::now();
    assert_eq!(ask(&link, &seen).await, Ok(Bytes::from("ok")));
    assert_eq!(start.elapsed(), 2 * SECOND);

    let (events, mut body) = watch(&link).await;
    for event in ["one", "two", "three"] {
        send(&events, event);
    }
    let start = Instant::now();
    for event in ["one", "two", "three"] {
        assert_eq!(next(&mut body).await, Some(Ok(Bytes::from(event))));
    }
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn healing_one_fault_leaves_the_others_in_force() {
    let (link, seen) = (link(), Arc::default());
    let refused = link.apply(LinkFault::Refuse);
    let hole = link.apply(BOTH);
    drop(refused);
    assert!(timeout(60 * SECOND, ask(&link, &seen)).await.is_err());
    drop(hole);
    assert_eq!(ask(&link, &seen).await, Ok(Bytes::from("ok")));
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_other_end_has_gone_is_silent_until_it_is_reset_and_new_requests_pass() {
    let (link, seen) = (link(), Arc::default());
    let (events, mut body) = watch(&link).await;
    let guard = link.apply(LinkFault::HalfOpen);
    send(&events, "one");
    assert!(timeout(600 * SECOND, next(&mut body)).await.is_err());
    assert_eq!(ask(&link, &seen).await, Ok(Bytes::from("ok")));
    let (new_events, mut new_body) = watch(&link).await;
    drop(guard);
    assert_eq!(next(&mut body).await, Some(Err("connection reset by peer".into())));
    send(&new_events, "two");
    assert_eq!(next(&mut new_body).await, Some(Ok(Bytes::from("two"))));
}
