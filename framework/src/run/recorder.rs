//! Watches the control plane and every member by a path that no fault touches, and logs what it sees.

use std::sync::Arc;

use capsize_clusters::Fleet;
use futures::FutureExt;
use futures::io::AsyncBufReadExt;
use futures::stream::{self, BoxStream, SelectAll, StreamExt};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::task::JoinSet;

use super::log::Log;
use crate::dialect::{Speaks, node_objects, objects};
use crate::history::{EventType, Field, Kind, Object, Observer, Recall};

/// One line of one watch.
struct Line {
    source: usize,
    text: String,
}

/// Records until it is dropped.
pub(super) struct Recorder {
    _tasks: JoinSet<()>,
}

impl Recorder {
    /// Starts to record `fleet` into `log`; the watches are open when this returns.
    ///
    /// # Errors
    /// When a watch is refused.
    pub(super) async fn start(fleet: &Fleet, speaks: Speaks, log: Log) -> Result<Self, kube::Error> {
        let mut sources: Vec<Arc<str>> = vec!["control-plane".into()];
        let mut streams = SelectAll::new();
        let watched: &[&str] = match speaks {
            Speaks::Karmada => &objects::WATCHED_IN_CONTROL_PLANE,
            Speaks::Nodes => &node_objects::WATCHED,
        };
        for path in watched {
            streams.extend(watch(fleet.control_plane().client(), path, 0).await?);
        }
        for member in fleet.members() {
            for path in objects::WATCHED_IN_MEMBERS {
                streams.extend(watch(member.api().client(), path, sources.len()).await?);
            }
            sources.push(member.name().into());
        }
        // Of a member that never has a copy of anything nothing else says that it is watched.
        sources.iter().for_each(|on| log.mark(Observer::exact(on).mark()));
        let mut tasks = JoinSet::new();
        tasks.spawn(record(streams, sources, log));
        Ok(Self { _tasks: tasks })
    }
}

type Watch = BoxStream<'static, Result<Line, String>>;

/// Longer than any run: a watch that ends before the run does has lost something.
const WATCH_S: u32 = 30 * 86_400;

/// Opens a watch of everything at `path`, from the beginning. `None`: no such kind is served there, as not every
/// implementation has all.
async fn watch(client: Client, path: &str, source: usize) -> Result<Option<Watch>, kube::Error> {
    let request = http::Request::get(format!("{path}?watch=true&resourceVersion=0&timeoutSeconds={WATCH_S}"));
    let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
    let lines = match client.request_stream(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        body => body?.lines(),
    };
    let failed = path.to_owned();
    let lines = lines.map(move |line| match line {
        Ok(text) => Ok(Line { source, text }),
        Err(error) => Err(format!("the watch of {failed} failed: {error}")),
    });
    let ended = format!("the watch of {path} ended");
    Ok(Some(lines.chain(stream::once(async move { Err(ended) })).boxed()))
}

/// What a line says; nothing, where it tells of no object.
fn read(recall: &mut Recall, on: &str, text: &str) -> Result<Option<(EventType, Object)>, String> {
    if let Some(usual) = recall.read_watched(on, text) {
        return Ok(Some(usual));
    }
    let event: WatchEvent<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(match event {
        WatchEvent::Added(object) => Some((EventType::Added, object.into())),
        WatchEvent::Modified(object) => Some((EventType::Modified, object.into())),
        WatchEvent::Deleted(object) => Some((EventType::Deleted, object.into())),
        WatchEvent::Bookmark(_) => None,
        WatchEvent::Error(status) => return Err(status.to_string()),
    })
}

/// Logs what the watches send. What arrives at one instant is put into the order in which it was written, which
/// the separate watches of one API server do not keep.
async fn record(mut streams: SelectAll<Watch>, sources: Vec<Arc<str>>, log: Log) {
    let mut recall = Recall::default();
    while let Some(first) = streams.next().await {
        let mut batch = vec![first];
        while let Some(Some(next)) = streams.next().now_or_never() {
            batch.push(next);
        }
        let mut seen = Vec::with_capacity(batch.len());
        for line in batch {
            let told = line.and_then(|Line { source, text }| {
                Ok(read(&mut recall, &sources[source], &text)?.map(|told| (source, told)))
            });
            match told {
                Ok(Some((source, (event, object)))) => {
                    let version = object.field("metadata", "resourceVersion").and_then(Field::text);
                    let version: u64 = version.and_then(|version| version.parse().ok()).unwrap_or_default();
                    seen.push((source, version, event, object));
                }
                Ok(None) => {}
                Err(why) => log.break_off(why),
            }
        }
        seen.sort_by_key(|(source, version, ..)| (*source, *version));
        for (source, _, event, object) in seen {
            log.push(Kind::Event { on: Arc::clone(&sources[source]), event, object });
        }
    }
}
