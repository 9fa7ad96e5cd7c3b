//! Records the control plane and all members through connections that no fault affects.
//! Members outside of this process are observed as in recordings: gaps in their watches are filled by lists.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_clock::Clock;
use capsize_clusters::{Fleet, Member, RESTORED};
use capsize_sorted::CollectSorted;
use futures::FutureExt;
use futures::io::AsyncBufReadExt;
use futures::stream::{self, BoxStream, SelectAll, StreamExt};
use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinSet;

use super::log::Log;
use super::watch_lines::WatchLine;
use crate::objects::{karmada as objects, nodes as node_objects};
use crate::record::{ClusterMessage, Follower, Source, chain, of_control_plane, of_members, redact, served};
use crate::run::api_error::error_text;
use capsize_history::dialect::DialectKind;
use capsize_history::{Kind, Observer};

/// How many observations may wait to be recorded.
const CHANNEL_CAPACITY: usize = 4096;

/// The path of the Secrets of an API server.
const SECRETS: &str = "/api/v1/secrets";

/// Records until it is dropped.
pub(super) struct Recorder {
    _tasks: JoinSet<()>,
}

impl Recorder {
    /// Starts to record `fleet` into `log`. The watches are open when this returns.
    ///
    /// # Errors
    /// If a watch is refused, or a member outside of this process does not answer.
    pub(super) async fn start(
        fleet: &Fleet,
        clock: Clock,
        dialect: &DialectKind,
        log: Log,
    ) -> Result<Self, String> {
        let text = |error: kube::Error| error_text(&error);
        let mut tasks = JoinSet::new();
        let mut foreign = Vec::new();
        let mut sources: Vec<Arc<str>> = vec!["control-plane".into()];
        let mut streams = SelectAll::new();
        for path in watched_in_control_plane(dialect) {
            streams
                .extend(watch(fleet.control_plane().client(), &path, (0, &sources[0])).await.map_err(text)?);
        }
        let in_members = watched_in_members(dialect);
        for member in fleet.members() {
            if member.machine().is_some() {
                foreign.push(source_of(member, &in_members).await?);
                continue;
            }
            let (place, name) = (sources.len(), member.name().into());
            for path in &in_members {
                streams.extend(watch(member.restore_observer(), path, (place, &name)).await.map_err(text)?);
            }
            sources.push(name);
        }
        // The mark shows that a member is watched, even if it never contains a copy.
        sources.iter().for_each(|on| log.mark(Observer::exact(on).mark()));
        if !foreign.is_empty() {
            let followed = RemoteMembers::start(clock, foreign, &mut tasks, log.clone()).await?;
            tasks.spawn(followed.log());
        }
        tasks.spawn(record(streams, log));
        Ok(Self { _tasks: tasks })
    }
}

/// The paths in the control plane that a run records.
fn watched_in_control_plane(dialect: &DialectKind) -> Vec<String> {
    let owned = |path: &&str| (*path).to_owned();
    match dialect {
        DialectKind::Karmada => {
            objects::WATCHED_IN_CONTROL_PLANE.iter().chain(&objects::WATCHED_EVENTS).map(owned).collect()
        }
        DialectKind::Nodes => node_objects::WATCHED.iter().map(owned).collect(),
        DialectKind::Data(_) => of_control_plane(dialect),
    }
}

/// The paths in a member that a run records.
fn watched_in_members(dialect: &DialectKind) -> Vec<String> {
    match dialect {
        DialectKind::Karmada | DialectKind::Nodes => objects::WATCHED_IN_MEMBERS.map(str::to_owned).to_vec(),
        DialectKind::Data(_) => of_members(dialect),
    }
}

/// The resources of a member outside of this process that are recorded.
async fn source_of(member: &Member, paths: &[String]) -> Result<Source, String> {
    let (name, client) = (member.name().to_owned(), member.client());
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let resources = served(&client, &paths).await;
    let resources = resources.map_err(|error| format!("{name} does not answer: {}", chain(&error)))?;
    Ok(Source { name, client, resources })
}

/// Members outside of this process that are being recorded.
struct RemoteMembers {
    names: Vec<Arc<str>>,
    messages: Receiver<(usize, ClusterMessage)>,
    log: Log,
}

impl RemoteMembers {
    /// Starts to observe all of `sources` in `tasks`. Every member has been listed when this returns.
    async fn start(
        clock: Clock,
        sources: Vec<Source>,
        tasks: &mut JoinSet<()>,
        log: Log,
    ) -> Result<Self, String> {
        let names: Vec<Arc<str>> = sources.iter().map(|source| source.name.as_str().into()).collect();
        let (to, messages) = mpsc::channel(CHANNEL_CAPACITY);
        let mut followed = Self { messages, log, names };
        let mut awaited: BTreeSet<usize> = (0..sources.len()).collect_sorted();
        for (place, source) in sources.into_iter().enumerate() {
            tasks.spawn(Follower::new(clock, source, place, to.clone()).follow());
        }
        while !awaited.is_empty() {
            match followed.messages.recv().await {
                Some((place, ClusterMessage::RunningServer)) => drop(awaited.remove(&place)),
                Some((place, ClusterMessage::Unreachable(why))) => {
                    return Err(format!("{} cannot be recorded: {why}", followed.names[place]));
                }
                Some((place, message)) => followed.take(place, message),
                None => return Err("those who follow the members have ended".into()),
            }
        }
        Ok(followed)
    }

    /// Records all observations.
    /// A member that does not answer for a while is recorded by its observation latency.
    async fn log(mut self) {
        while let Some((place, message)) = self.messages.recv().await {
            self.take(place, message);
        }
    }

    fn take(&mut self, place: usize, message: ClusterMessage) {
        match message {
            ClusterMessage::Event((event, object)) => {
                self.log.entry(Kind::Event { on: Arc::clone(&self.names[place]), event, object });
            }
            ClusterMessage::Exactness(observer) => self.log.mark(observer.mark()),
            ClusterMessage::RunningServer | ClusterMessage::Unreachable(_) => {}
        }
    }
}

type Watch = BoxStream<'static, Result<WatchLine, String>>;

/// Longer than any run: a watch that ends before the run does has lost events.
const WATCH_S: u32 = 30 * 86_400;

/// Opens a watch of everything at `path` from the beginning.
/// Returns `None` if the server has no such kind, because not every implementation has all kinds.
async fn watch(
    client: Client,
    path: &str,
    (source, on): (usize, &Arc<str>),
) -> Result<Option<Watch>, kube::Error> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let uri = format!("{path}{joint}watch=true&resourceVersion=0&timeoutSeconds={WATCH_S}");
    let request = http::Request::get(uri);
    let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
    let lines = match client.request_stream(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        body => body?.lines(),
    };
    let (failed, on) = (path.to_owned(), Arc::clone(on));
    let are_secrets = path == SECRETS;
    let mut restores = 0;
    let lines = lines.map(move |line| match line {
        Ok(text) => {
            restores += u32::from(is_restored(&text));
            let text = if are_secrets { without_credentials(text) } else { text };
            Ok(WatchLine { source, on: Arc::clone(&on), restores, text })
        }
        Err(error) => Err(format!("the watch of {failed} failed: {error}")),
    });
    let ended = format!("the watch of {path} ended");
    Ok(Some(lines.chain(stream::once(async move { Err(ended) })).boxed()))
}

/// Removes the credentials for members from an event about a Secret.
/// Other Secrets are part of the scenario.
fn without_credentials(text: String) -> String {
    match serde_json::from_str::<Value>(&text) {
        Ok(mut event) if event["object"]["metadata"]["namespace"] == objects::OF_MEMBERS => {
            redact(&mut event["object"]);
            event.to_string()
        }
        _ => text,
    }
}

/// Returns true if a line separates the events before a restored backup from those after it.
fn is_restored(text: &str) -> bool {
    text.starts_with(r#"{"type":"BOOKMARK""#) && text.contains(RESTORED)
}

/// Records the lines of all watches. Lines that arrive at one instant are recorded together.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_credentials_for_members_are_removed_from_a_history() {
        let event = |namespace: &str| {
            format!(
                r#"{{"type":"ADDED","object":{{"kind":"Secret","apiVersion":"v1","metadata":{{"name":"m1","namespace":"{namespace}"}},"data":{{"token":"c2VjcmV0"}}}}}}"#
            )
        };
        assert!(!without_credentials(event(objects::OF_MEMBERS)).contains("c2VjcmV0"));
        assert_eq!(without_credentials(event("default")), event("default"));
        assert_eq!(without_credentials("half of a line".into()), "half of a line");
    }
}
