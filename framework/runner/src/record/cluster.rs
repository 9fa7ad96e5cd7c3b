//! Follows one cluster: its watches, and how exactly it is observed. Through every gap: what a watch has missed is found
//! by a new list, and said to be as old as it may be.

use std::pin::pin;
use std::time::Duration;

use capsize_clock::Clock;
use futures::stream::{self, BoxStream, SelectAll, Stream, StreamExt};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::exactness::{Exactness, Probe, differs};
use super::known::{Known, Said};
use super::path::Resource;
use capsize_history::{LONGEST, Observer};

/// Who is followed, and for what.
pub struct Source {
    /// Its name in the history: `control-plane`, or that of a member.
    pub name: String,
    /// How it is reached.
    pub client: Client,
    /// What is recorded of it.
    pub resources: Vec<Resource>,
}

/// What comes of following a cluster.
pub(crate) enum Heard {
    /// Something was written.
    Event(Said),
    /// What comes next is known so exactly.
    Exactness(Observer),
    /// All that there is has been listed, and is watched.
    Listening,
    /// It does not answer, or a watch of it failed.
    Deaf(String),
}

/// Two requests that ask for the time are so far apart. No part of a second is asked about again and again.
const BETWEEN: Duration = Duration::from_millis(4_870);

/// So many at first, so close to one another that they cover a second.
const AT_FIRST: usize = 12;
const BETWEEN_AT_FIRST: Duration = Duration::from_millis(91);

/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(3);

/// After so many failures in a row the watches are given up as well: their connections may be dead.
const FAILURES: u32 = 3;

/// How long after a failure it is tried anew.
const PAUSE: Duration = Duration::from_secs(1);

/// A cluster being followed.
pub(crate) struct Follower {
    clock: Clock,
    source: Source,
    place: usize,
    to: Sender<(usize, Heard)>,
    exactness: Exactness,
    known: Vec<Known>,
    /// When it was last heard to be there, by the clock's time since its start.
    heard: Option<Duration>,
    told: Option<Observer>,
}

/// Why it is followed no more.
enum End {
    /// Nobody listens to us.
    Unheard,
    /// It cannot be heard.
    Deaf(String),
}

type Watched = (usize, Result<watcher::Event<DynamicObject>, watcher::Error>);

impl Follower {
    /// One that tells `to` what it hears, as the cluster at `place`.
    pub(crate) fn new(clock: Clock, source: Source, place: usize, to: Sender<(usize, Heard)>) -> Self {
        let known = source.resources.iter().map(|_| Known::default()).collect();
        let exactness = Exactness::default();
        Self { clock, source, place, to, exactness, known, heard: None, told: None }
    }

    /// Follows it until nobody listens.
    pub(crate) async fn follow(mut self) {
        loop {
            let Err(end) = self.listen().await;
            let End::Deaf(why) = end else { return };
            if self.deaf().await.is_err() || self.tell(Heard::Deaf(why)).await.is_err() {
                return;
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    /// Listens until that ends.
    async fn listen(&mut self) -> Result<std::convert::Infallible, End> {
        for _ in 0..AT_FIRST {
            let probe = probe(self.clock, &self.source.client).await.map_err(End::Deaf)?;
            self.exactness.take(probe);
            self.clock.sleep(BETWEEN_AT_FIRST).await;
        }
        // What is found now may have been written at any time since it was last heard.
        let silent = self.heard.map_or(Duration::ZERO, |heard| self.clock.elapsed().saturating_sub(heard));
        self.observe(self.exactness.observer_after(&self.source.name, silent)).await?;
        let mut unlisted = self.source.resources.len();
        let mut failures = 0;
        let mut watches = self.watches();
        let mut probes = pin!(probes(self.clock, self.source.client.clone()));
        loop {
            tokio::select! {
                biased;
                Some((place, event)) = watches.next() => {
                    let event = event.map_err(|error| End::Deaf(chain(&error)))?;
                    let listed = matches!(event, watcher::Event::InitDone);
                    self.take(place, event).await?;
                    unlisted -= usize::from(listed && unlisted > 0);
                    if listed && unlisted == 0 {
                        self.tell(Heard::Listening).await?;
                        self.hears().await?;
                    }
                }
                Some(answer) = probes.next() => match answer {
                    Ok(probe) => {
                        failures = 0;
                        self.exactness.take(probe);
                        if unlisted == 0 {
                            self.hears().await?;
                        }
                    }
                    Err(why) => {
                        failures += 1;
                        // Whatever comes of what was asked meanwhile may be as late.
                        self.exactness.late(PATIENCE);
                        if failures >= FAILURES {
                            return Err(End::Deaf(why));
                        }
                        self.deaf().await?;
                    }
                },
            }
        }
    }

    fn watches(&self) -> SelectAll<BoxStream<'static, Watched>> {
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

    /// Takes what a watch says.
    async fn take(&mut self, place: usize, event: watcher::Event<DynamicObject>) -> Result<(), End> {
        let resource = &self.source.resources[place].kind;
        let kind = (resource.api_version.as_str(), resource.kind.as_str());
        let known = &mut self.known[place];
        let said = match event {
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
        for said in said {
            self.tell(Heard::Event(said)).await?;
        }
        Ok(())
    }

    /// It answers, and nothing is outstanding.
    async fn hears(&mut self) -> Result<(), End> {
        self.heard = Some(self.clock.elapsed());
        self.observe(self.exactness.observer(&self.source.name)).await
    }

    /// It does not answer: whatever happens there from now on, nobody knows when.
    async fn deaf(&mut self) -> Result<(), End> {
        self.observe(self.exactness.observer_after(&self.source.name, LONGEST)).await
    }

    /// Tells how exactly it is observed, if that is not known.
    async fn observe(&mut self, observer: Observer) -> Result<(), End> {
        if self.told.as_ref().is_some_and(|told| !differs(told, &observer)) {
            return Ok(());
        }
        self.told = Some(observer.clone());
        self.tell(Heard::Exactness(observer)).await
    }

    async fn tell(&self, heard: Heard) -> Result<(), End> {
        self.to.send((self.place, heard)).await.map_err(|_| End::Unheard)
    }
}

/// Asks for the time, again and again.
fn probes(clock: Clock, client: Client) -> impl Stream<Item = Result<Probe, String>> {
    stream::repeat(()).then(move |()| {
        let client = client.clone();
        async move {
            clock.sleep(BETWEEN).await;
            probe(clock, &client).await
        }
    })
}

/// Asks for the time once.
async fn probe(clock: Clock, client: &Client) -> Result<Probe, String> {
    let request = http::Request::get("/version").body(kube::client::Body::empty());
    let request = request.map_err(|error| error.to_string())?;
    let sent = clock.now();
    let answer = timeout(PATIENCE, client.send(request)).await;
    let answer = answer.map_err(|_| format!("no answer in {} s", PATIENCE.as_secs()))?;
    let answer = answer.map_err(|error| chain(&error))?;
    let date = answer.headers().get(http::header::DATE).and_then(|date| date_of(date.as_bytes()));
    Ok(Probe { sent, received: clock.now(), date })
}

/// `Sun, 22 Nov 2026 07:00:00 GMT`.
fn date_of(text: &[u8]) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// An error with what caused it, in one line.
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
    // What kube's clients call everything that goes wrong below HTTP.
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
