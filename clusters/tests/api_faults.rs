//! The effects of API faults on requests, and their absence for direct requests.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use std::time::Duration;

use capsize_apiserver::ApiServer;
use capsize_clock::{Clock, Seed};
use capsize_clusters::{ApiFaults, ErrorStatus, STALE_AT_MOST, ServerFault, Verb};
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// The faults of a new server, a direct client, and a client with the faults.
fn server() -> (ApiFaults, Api<ConfigMap>, Api<ConfigMap>) {
    let clock = Clock::starting_at("2030-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::builder(clock, Seed(1).stream("test")).build();
    let api_faults = ApiFaults::new(clock);
    let through = Client::new(api_faults.wrap(server.service()), "default");
    (api_faults, Api::default_namespaced(server.client()), Api::default_namespaced(through))
}

async fn create(api: &Api<ConfigMap>, name: &str) -> Result<(), u16> {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    match api.create(&PostParams::default(), &map).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    api.list(&Default::default()).await.unwrap().into_iter().filter_map(|map| map.metadata.name).collect()
}

#[tokio::test(start_paused = true)]
async fn every_other_request_fails_and_is_not_done() {
    let (api_faults, inside, through) = server();
    let guard =
        api_faults.apply(ServerFault::Fail { status: ErrorStatus::ServiceUnavailable, every: 2, verb: None });
    let answers = [create(&through, "a").await, create(&through, "b").await, create(&through, "c").await];
    assert_eq!(answers, [Ok(()), Err(503), Ok(())]);
    assert_eq!(names(&inside).await, ["a", "c"], "a direct client observes the true state");
    drop(guard);
    assert_eq!([create(&through, "d").await, create(&through, "e").await], [Ok(()), Ok(())]);
}

#[tokio::test(start_paused = true)]
async fn writes_meet_others_and_reads_do_not() {
    let (api_faults, _, through) = server();
    let _guard = api_faults.apply(ServerFault::Conflict { every: 1 });
    assert_eq!(create(&through, "a").await, Err(409));
    assert_eq!(names(&through).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn requests_are_slow_and_events_late() {
    let (api_faults, inside, through) = server();
    let slow = api_faults.apply(ServerFault::Slow { by: SECOND, verb: None });
    let before = Instant::now();
    create(&through, "a").await.unwrap();
    assert_eq!(before.elapsed(), SECOND);
    drop(slow);
    let mut events = Box::pin(through.watch(&WatchParams::default(), "0").await.unwrap());
    let there = std::iter::from_fn(|| events.next().now_or_never()).count();
    assert!(there > 0, "what is there comes at once");
    let lag = api_faults.apply(ServerFault::Lag(3 * SECOND));
    let before = Instant::now();
    create(&inside, "b").await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert_eq!(before.elapsed(), 3 * SECOND);
    drop(lag);
    // Events that are on their way keep their order.
    tokio::time::sleep(3 * SECOND).await;
    while events.next().now_or_never().is_some() {}
    create(&inside, "c").await.unwrap();
    assert!(matches!(events.next().now_or_never(), Some(Some(Ok(WatchEvent::Added(_))))));
}

#[tokio::test(start_paused = true)]
async fn requests_with_one_verb_are_slow() {
    let (api_faults, _, through) = server();
    let _slow = api_faults.apply(ServerFault::Slow { by: SECOND, verb: Some(Verb::List) });
    let before = Instant::now();
    create(&through, "a").await.unwrap();
    through.get("a").await.unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(names(&through).await, ["a"]);
    assert_eq!(before.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn watches_break_off_and_have_to_begin_anew() {
    let (api_faults, inside, through) = server();
    let guard = api_faults.apply(ServerFault::Cut { every: 2 });
    let refused = through.watch(&WatchParams::default(), "1").await.map(drop);
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 410));
    drop(guard);
    let mut events = Box::pin(through.watch(&WatchParams::default(), "0").await.unwrap());
    let _guard = api_faults.apply(ServerFault::Cut { every: 2 });
    create(&inside, "a").await.unwrap();
    assert!(events.next().await.is_some());
    create(&inside, "b").await.unwrap();
    assert!(events.next().await.is_none(), "it ends in the place of the second");
}

#[tokio::test(start_paused = true)]
async fn events_come_twice() {
    let (api_faults, inside, through) = server();
    let mut events = Box::pin(through.watch(&WatchParams::default(), "0").await.unwrap());
    while events.next().now_or_never().is_some() {}
    let _guard = api_faults.apply(ServerFault::Repeat { every: 1 });
    create(&inside, "a").await.unwrap();
    for _ in 0..2 {
        let event = events.next().await.unwrap().unwrap();
        assert!(matches!(event, WatchEvent::Added(map) if map.metadata.name.as_deref() == Some("a")));
    }
    assert!(events.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn lists_show_an_old_past_from_which_watches_go_on() {
    let (api_faults, inside, through) = server();
    create(&inside, "a").await.unwrap();
    let seen = inside.list(&Default::default()).await.unwrap().metadata.resource_version.unwrap();
    let guard = api_faults.apply(ServerFault::Stale { revision: seen.parse().unwrap() });
    create(&inside, "b").await.unwrap();
    inside.delete("a", &Default::default()).await.unwrap();
    let old = through.list(&Default::default()).await.unwrap();
    assert_eq!(old.metadata.resource_version.as_deref(), Some(&*seen));
    assert_eq!(names(&through).await, ["a"]);
    assert!(through.get_opt("a").await.unwrap().is_none(), "a single object is not asked of the cache");
    let mut events = Box::pin(through.watch(&WatchParams::default(), &seen).await.unwrap());
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Deleted(_)))));
    tokio::time::sleep(STALE_AT_MOST).await;
    assert_eq!(names(&through).await, ["b"], "after a while the cache has caught up");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_crashes_at_a_write_gets_no_answer() {
    for done in [false, true] {
        let (api_faults, inside, through) = server();
        let guard = api_faults.apply(ServerFault::Crash { write: 2, done });
        create(&through, "a").await.unwrap();
        tokio::select! {
            answer = create(&through, "b") => panic!("{answer:?}"),
            () = api_faults.crashed() => {}
        }
        let expected: &[&str] = if done { &["a", "b"] } else { &["a"] };
        assert_eq!(names(&inside).await, expected);
        drop(guard);
        create(&through, "c").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_that_ends_while_its_write_is_slow_does_not_happen() {
    for done in [false, true] {
        let (api_faults, _, through) = server();
        let guard = api_faults.apply(ServerFault::Crash { write: 1, done });
        let _slow = api_faults.apply(ServerFault::Slow { by: 5 * SECOND, verb: None });
        let ended = async {
            tokio::time::sleep(SECOND).await;
            drop(guard);
        };
        let (answer, ()) = futures::join!(create(&through, "a"), ended);
        answer.unwrap();
        assert!(api_faults.crashed().now_or_never().is_none());
    }
}
