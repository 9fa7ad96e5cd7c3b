//! Observes one cluster through watches and lists, and measures how exactly it observes.
//! When a watch has missed events, a new list finds the changes. They are recorded with the longest latency that they
//! may have.

use std::pin::pin;
use std::time::Duration;

use futures::stream::{self, BoxStream, SelectAll, Stream, StreamExt};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::exactness::{Exactness, Probe, differs};
use super::known::{KnownObjects, WatchEvent};
use super::pace::Pace;
use super::path::Resource;
use capsize_history::{LONGEST, Observer};

/// A cluster to be recorded.
pub struct Source {
    /// The name in the history: `control-plane`, or the name of a member.
    pub name: String,
    /// The client for the cluster.
    pub client: Client,
    /// The resources that are recorded.
    pub resources: Vec<Resource>,
}

/// A message about an observed cluster.
pub(crate) enum ClusterMessage {
    /// An object was written or deleted.
    Event(WatchEvent),
    /// The exactness of the following events.
    Exactness(Observer),
    /// All objects have been listed, and are watched.
    RunningServer,
    /// The cluster does not answer, or a watch failed.
    Unreachable(String),
}

/// The time between two requests for the clock of the cluster.
/// It is not a multiple of a second, so that the requests fall on different fractions of a second.
const BETWEEN: Duration = Duration::from_millis(4_870);

/// The first requests, and the time between them. Together they cover one second.
const AT_FIRST: usize = 12;
const BETWEEN_AT_FIRST: Duration = Duration::from_millis(91);

/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(3);

/// After this many failures in a row the watches are opened again: their connections may be dead.
const FAILURES: u32 = 3;

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Observes one cluster.
pub(crate) struct Follower {
    clock: Pace,
    source: Source,
    place: usize,
    to: Sender<(usize, ClusterMessage)>,
    exactness: Exactness,
    known: Vec<KnownObjects>,
    /// The time since the start at which the cluster last answered.
    answered: Option<Duration>,
    recorded: Option<Observer>,
}

/// Why the observation ended.
enum ObservationEnd {
    /// The receiver is gone.
    ReceiverGone,
    /// The cluster does not answer.
    Unreachable(String),
}

type IndexedWatchEvent = (usize, Result<watcher::Event<DynamicObject>, watcher::Error>);

impl Follower {
    /// Sends messages about the cluster at `place` to `to`.
    pub(crate) fn new(
        clock: impl Into<Pace>,
        source: Source,
        place: usize,
        to: Sender<(usize, ClusterMessage)>,
    ) -> Self {
        let clock = clock.into();
        let known = source.resources.iter().map(|_| KnownObjects::default()).collect();
        let exactness = Exactness::default();
        Self { clock, source, place, to, exactness, known, answered: None, recorded: None }
    }

    /// Observes the cluster until the receiver is gone.
    pub(crate) async fn follow(mut self) {
        loop {
            let Err(end) = self.listen().await;
            let ObservationEnd::Unreachable(why) = end else { return };
            if self.report_unreachable().await.is_err()
                || self.send(ClusterMessage::Unreachable(why)).await.is_err()
            {
                return;
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    /// Observes the cluster until a failure.
    async fn listen(&mut self) -> Result<std::convert::Infallible, ObservationEnd> {
        for _ in 0..AT_FIRST {
            let probe = probe(self.clock, &self.source.client).await.map_err(ObservationEnd::Unreachable)?;
            self.exactness.take(probe);
            self.clock.sleep(BETWEEN_AT_FIRST).await;
        }
        // A change that is found now may have happened at any time since the cluster last answered.
        let silent =
            self.answered.map_or(Duration::ZERO, |answered| self.clock.elapsed().saturating_sub(answered));
        self.observe(self.exactness.observer_after(&self.source.name, silent)).await?;
        let mut unlisted = self.source.resources.len();
        let mut failures = 0;
        let mut watches = self.watches();
        let mut probes = pin!(probes(self.clock, self.source.client.clone()));
        loop {
            tokio::select! {
                biased;
                Some((place, event)) = watches.next() => {
                    let event = event.map_err(|error| ObservationEnd::Unreachable(chain(&error)))?;
                    let listed = matches!(event, watcher::Event::InitDone);
                    self.take(place, event).await?;
                    unlisted -= usize::from(listed && unlisted > 0);
                    if listed && unlisted == 0 {
                        self.send(ClusterMessage::RunningServer).await?;
                        self.record_answer().await?;
                    }
                }
                Some(answer) = probes.next() => match answer {
                    Ok(probe) => {
                        failures = 0;
                        self.exactness.take(probe);
                        if unlisted == 0 {
                            self.record_answer().await?;
                        }
                    }
                    Err(why) => {
                        failures += 1;
                        // The responses to earlier requests may be as late.
                        self.exactness.late(self.clock.scaled(TIMEOUT));
                        if failures >= FAILURES {
                            return Err(ObservationEnd::Unreachable(why));
                        }
                        self.report_unreachable().await?;
                    }
                },
            }
        }
    }

    fn watches(&self) -> SelectAll<BoxStream<'static, IndexedWatchEvent>> {
        let watch = |(place, resource): (usize, &Resource)| {
            let client = self.source.client.clone();
            let api: Api<DynamicObject> = match &resource.namespace {
                Some(namespace) => Api::namespaced_with(client, namespace, &resource.kind),
                None => Api::all_with(client, &resource.kind),
            };
            watcher(api, watcher::Config::default()).map(move |event| (place, event)).boxed()
        };
        stream::select_all(self.source.resources.iter().enumerate().map(watch))
    }

    /// Processes the event of a watch.
    async fn take(
        &mut self,
        place: usize,
        event: watcher::Event<DynamicObject>,
    ) -> Result<(), ObservationEnd> {
        let resource = &self.source.resources[place].kind;
        let kind = (resource.api_version.as_str(), resource.kind.as_str());
        let known = &mut self.known[place];
        let events = match event {
            watcher::Event::Init => {
                known.begin();
                Vec::new()
            }
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
                known.there(kind, object).into_iter().collect()
            }
            watcher::Event::Delete(object) => vec![known.gone(kind, object)],
            watcher::Event::InitDone => known.end(),
        };
        for event in events {
            self.send(ClusterMessage::Event(event)).await?;
        }
        Ok(())
    }

    /// Records that the cluster answers, and that all lists are complete.
    async fn record_answer(&mut self) -> Result<(), ObservationEnd> {
        self.answered = Some(self.clock.elapsed());
        self.observe(self.exactness.observer(&self.source.name)).await
    }

    /// Records that the cluster does not answer. The times of later changes are unknown.
    async fn report_unreachable(&mut self) -> Result<(), ObservationEnd> {
        self.observe(self.exactness.observer_after(&self.source.name, LONGEST)).await
    }

    /// Sends the exactness of the observation, if it has changed.
    async fn observe(&mut self, observer: Observer) -> Result<(), ObservationEnd> {
        if self.recorded.as_ref().is_some_and(|recorded| !differs(recorded, &observer)) {
            return Ok(());
        }
        self.recorded = Some(observer.clone());
        self.send(ClusterMessage::Exactness(observer)).await
    }

    async fn send(&self, message: ClusterMessage) -> Result<(), ObservationEnd> {
        self.to.send((self.place, message)).await.map_err(|_| ObservationEnd::ReceiverGone)
    }
}

/// Requests the clock of the cluster repeatedly.
fn probes(clock: Pace, client: Client) -> impl Stream<Item = Result<Probe, String>> {
    stream::repeat(()).then(move |()| {
        let client = client.clone();
        async move {
            clock.sleep(BETWEEN).await;
            probe(clock, &client).await
        }
    })
}

/// Requests the clock of the cluster once.
async fn probe(clock: Pace, client: &Client) -> Result<Probe, String> {
    let sent = clock.now();
    let Time { date, .. } = time_of(client).await?;
    Ok(Probe { sent, received: clock.now(), date })
}

/// The clock of a cluster, as the cluster reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// The date of the cluster, in whole seconds.
    pub date: Option<Timestamp>,
    /// The seconds of the cluster's clock that pass in one second.
    /// A simulated cluster may have a speed other than one.
    pub speed: f64,
}

/// The header in which a simulated cluster reports the seconds of its clock that pass in one second.
const SPEED: &str = "capsize-clock-speed";

/// Requests the clock of a cluster.
///
/// # Errors
/// The reason why there is no answer.
pub async fn time_of(client: &Client) -> Result<Time, String> {
    let request = http::Request::get("/version").body(kube::client::Body::empty());
    let request = request.map_err(|error| error.to_string())?;
    let answer = timeout(TIMEOUT, client.send(request)).await;
    let answer = answer.map_err(|_| format!("no answer in {} s", TIMEOUT.as_secs()))?;
    let answer = answer.map_err(|error| chain(&error))?;
    let date = answer.headers().get(http::header::DATE).and_then(|date| date_of(date.as_bytes()));
    let speed = answer.headers().get(SPEED).and_then(|speed| speed.to_str().ok()?.parse().ok());
    let speed = speed.filter(|speed: &f64| speed.is_finite() && *speed > 0.0).unwrap_or(1.0);
    Ok(Time { date, speed })
}

/// Parses a date such as `Sun, 22 Nov 2026 07:00:00 GMT`.
fn date_of(text: &[u8]) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// An error with its causes, in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    // The clients of kube put this before every error below HTTP.
    text.replace("ServiceError: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_is_read() {
        let date = date_of(b"Sun, 22 Nov 2026 07:00:05 GMT").unwrap();
        assert_eq!(date.to_string(), "2026-11-22T07:00:05Z");
        assert_eq!(date_of(b"yesterday"), None);
    }
}
