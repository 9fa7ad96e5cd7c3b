//! Watches the control plane and every member by a path that no fault touches, and logs what it sees.

use std::sync::Arc;

use capsize_clusters::Fleet;
use futures::stream::{self, BoxStream, SelectAll, StreamExt};
use futures::{FutureExt, future};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::task::JoinSet;

use super::log::Log;
use crate::dialect::objects;
use crate::history::{EventType, Kind};

/// One event of one watch.
struct Seen {
    source: usize,
    version: u64,
    event: EventType,
    object: Value,
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
    pub(super) async fn start(fleet: &Fleet, log: Log) -> Result<Self, kube::Error> {
        let mut sources: Vec<Arc<str>> = vec!["control-plane".into()];
        let mut streams = SelectAll::new();
        for path in objects::WATCHED_IN_CONTROL_PLANE {
            streams.extend(watch(fleet.control_plane().client(), path, 0).await?);
        }
        for member in fleet.members() {
            for path in objects::WATCHED_IN_MEMBERS {
                streams.extend(watch(member.api().client(), path, sources.len()).await?);
            }
            sources.push(member.name().into());
        }
        let mut tasks = JoinSet::new();
        tasks.spawn(record(streams, sources, log));
        Ok(Self { _tasks: tasks })
    }
}

type Watch = BoxStream<'static, Result<Seen, String>>;

/// Longer than any run: a watch that ends before the run does has lost something.
const WATCH_S: u32 = 30 * 86_400;

/// Opens a watch of everything at `path`, from the beginning. `None`: no such kind is served there, as not every
/// implementation has all.
async fn watch(client: Client, path: &str, source: usize) -> Result<Option<Watch>, kube::Error> {
    let request = http::Request::get(format!("{path}?watch=true&resourceVersion=0&timeoutSeconds={WATCH_S}"));
    let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
    let events = match client.request_events::<Value>(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        events => events?,
    };
    let failed = path.to_owned();
    let seen = events.filter_map(move |event| {
        let seen = event.and_then(|event| read(event, source)).transpose();
        future::ready(seen.map(|seen| seen.map_err(|error| format!("the watch of {failed} failed: {error}"))))
    });
    let ended = format!("the watch of {path} ended");
    Ok(Some(seen.chain(stream::once(async move { Err(ended) })).boxed()))
}

fn read(event: WatchEvent<Value>, source: usize) -> Result<Option<Seen>, kube::Error> {
    let (event, object) = match event {
        WatchEvent::Added(object) => (EventType::Added, object),
        WatchEvent::Modified(object) => (EventType::Modified, object),
        WatchEvent::Deleted(object) => (EventType::Deleted, object),
        WatchEvent::Bookmark(_) => return Ok(None),
        WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
    };
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    let version = version.and_then(|version| version.parse().ok()).unwrap_or_default();
    Ok(Some(Seen { source, version, event, object }))
}

/// Logs what the watches send. What arrives at one instant is put into the order in which it was written, which
/// the separate watches of one API server do not keep.
async fn record(mut streams: SelectAll<Watch>, sources: Vec<Arc<str>>, log: Log) {
    while let Some(first) = streams.next().await {
        let mut batch = vec![first];
        while let Some(Some(next)) = streams.next().now_or_never() {
            batch.push(next);
        }
        let mut seen = Vec::with_capacity(batch.len());
        for event in batch {
            match event {
                Ok(event) => seen.push(event),
                Err(why) => log.break_off(why),
            }
        }
        seen.sort_by_key(|event| (event.source, event.version));
        for Seen { source, event, object, .. } in seen {
            log.push(Kind::Event { on: Arc::clone(&sources[source]), event, object: object.into() });
        }
    }
}
