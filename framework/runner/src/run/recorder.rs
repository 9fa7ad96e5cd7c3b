//! Watches the control plane and every member by a path that no fault touches, and logs what it sees. Members outside of this
//! process are followed through gaps, as in recordings.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_clock::Clock;
use capsize_clusters::{Fleet, Member, RESTORED};
use futures::FutureExt;
use futures::io::AsyncBufReadExt;
use futures::stream::{self, BoxStream, SelectAll, StreamExt};
use kube::Client;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinSet;

use super::log::Log;
use super::watch_lines::WatchLine;
use crate::objects::{karmada as objects, nodes as node_objects};
use crate::record::{Follower, Heard, Source, chain, served};
use capsize_history::dialect::Speaks;
use capsize_history::{Kind, Observer};

/// So much of what is heard may wait to be logged.
const CHANNEL_CAPACITY: usize = 4096;

/// Records until it is dropped.
pub(super) struct Recorder {
    _tasks: JoinSet<()>,
}

impl Recorder {
    /// Starts to record `fleet` into `log`; the watches are open when this returns.
    ///
    /// # Errors
    /// When a watch is refused, or a member outside cannot be heard.
    pub(super) async fn start(fleet: &Fleet, clock: Clock, speaks: Speaks, log: Log) -> Result<Self, String> {
        let told = |error: kube::Error| error.to_string();
        let mut tasks = JoinSet::new();
        let mut foreign = Vec::new();
        let mut sources: Vec<Arc<str>> = vec!["control-plane".into()];
        let mut streams = SelectAll::new();
        let watched: &[&str] = match speaks {
            Speaks::Karmada => &objects::WATCHED_IN_CONTROL_PLANE,
            Speaks::Nodes => &node_objects::WATCHED,
        };
        for path in watched {
            streams
                .extend(watch(fleet.control_plane().client(), path, (0, &sources[0])).await.map_err(told)?);
        }
        for member in fleet.members() {
            if member.machine().is_some() {
                foreign.push(source_of(member).await?);
                continue;
            }
            let (place, name) = (sources.len(), member.name().into());
            for path in objects::WATCHED_IN_MEMBERS {
                streams.extend(watch(member.onlooker(), path, (place, &name)).await.map_err(told)?);
            }
            sources.push(name);
        }
        // Of a member that never has a copy of anything nothing else says that it is watched.
        sources.iter().for_each(|on| log.mark(Observer::exact(on).mark()));
        if !foreign.is_empty() {
            let followed = RemoteMembers::start(clock, foreign, &mut tasks, log.clone()).await?;
            tasks.spawn(followed.log());
        }
        tasks.spawn(record(streams, log));
        Ok(Self { _tasks: tasks })
    }
}

/// What is recorded of a member outside of this process.
async fn source_of(member: &Member) -> Result<Source, String> {
    let (name, client) = (member.name().to_owned(), member.client());
    let resources = served(&client, &objects::WATCHED_IN_MEMBERS).await;
    let resources = resources.map_err(|error| format!("{name} does not answer: {}", chain(&error)))?;
    Ok(Source { name, client, resources })
}

/// Members outside of this process that are followed.
struct RemoteMembers {
    names: Vec<Arc<str>>,
    heard: Receiver<(usize, Heard)>,
    log: Log,
}

impl RemoteMembers {
    /// Follows all of `sources` in `tasks`; everything that there is has been listed when this returns.
    async fn start(
        clock: Clock,
        sources: Vec<Source>,
        tasks: &mut JoinSet<()>,
        log: Log,
    ) -> Result<Self, String> {
        let names: Vec<Arc<str>> = sources.iter().map(|source| source.name.as_str().into()).collect();
        let (to, heard) = mpsc::channel(CHANNEL_CAPACITY);
        let mut followed = Self { heard, log, names };
        let mut awaited: BTreeSet<usize> = (0..sources.len()).collect();
        for (place, source) in sources.into_iter().enumerate() {
            tasks.spawn(Follower::new(clock, source, place, to.clone()).follow());
        }
        while !awaited.is_empty() {
            match followed.heard.recv().await {
                Some((place, Heard::Listening)) => drop(awaited.remove(&place)),
                Some((place, Heard::Deaf(why))) => {
                    return Err(format!("{} cannot be recorded: {why}", followed.names[place]));
                }
                Some((place, heard)) => followed.take(place, heard),
                None => return Err("those who follow the members have ended".into()),
            }
        }
        Ok(followed)
    }

    /// Logs what is heard. That a member is not heard for a while is said by how exactly it is observed.
    async fn log(mut self) {
        while let Some((place, heard)) = self.heard.recv().await {
            self.take(place, heard);
        }
    }

    fn take(&mut self, place: usize, heard: Heard) {
        match heard {
            Heard::Event((event, object)) => {
                self.log.entry(Kind::Event { on: Arc::clone(&self.names[place]), event, object });
            }
            Heard::Exactness(observer) => self.log.mark(observer.mark()),
            Heard::Listening | Heard::Deaf(_) => {}
        }
    }
}

type Watch = BoxStream<'static, Result<WatchLine, String>>;

/// Longer than any run: a watch that ends before the run does has lost something.
const WATCH_S: u32 = 30 * 86_400;

/// Opens a watch of everything at `path`, from the beginning. `None`: no such kind is served there, as not every
/// implementation has all.
async fn watch(
    client: Client,
    path: &str,
    (source, on): (usize, &Arc<str>),
) -> Result<Option<Watch>, kube::Error> {
    let request = http::Request::get(format!("{path}?watch=true&resourceVersion=0&timeoutSeconds={WATCH_S}"));
    let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
    let lines = match client.request_stream(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        body => body?.lines(),
    };
    let (failed, on) = (path.to_owned(), Arc::clone(on));
    let mut restores = 0;
    let lines = lines.map(move |line| match line {
        Ok(text) => {
            restores += u32::from(is_restored(&text));
            Ok(WatchLine { source, on: Arc::clone(&on), restores, text })
        }
        Err(error) => Err(format!("the watch of {failed} failed: {error}")),
    });
    let ended = format!("the watch of {path} ended");
    Ok(Some(lines.chain(stream::once(async move { Err(ended) })).boxed()))
}

/// Whether a line parts what was before an API server was restored from what is after that.
fn is_restored(text: &str) -> bool {
    text.starts_with(r#"{"type":"BOOKMARK""#) && text.contains(RESTORED)
}

/// Logs what the watches send, all that arrives at one instant together.
async fn record(mut streams: SelectAll<Watch>, log: Log) {
    while let Some(first) = streams.next().await {
        let mut lines = Vec::new();
        let mut take = |line| match line {
            Ok(line) => lines.push(line),
            Err(why) => log.break_off(why),
        };
        take(first);
        while let Some(Some(next)) = streams.next().now_or_never() {
            take(next);
        }
        log.lines(lines);
    }
}
