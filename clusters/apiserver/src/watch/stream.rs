//! Watching: the events of a kind from a revision on, as the selector of the watcher sees them.
//!
//! A watch reads the table's log itself and only remembers how far it has come, so a slow one costs writers nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::Response;
use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::start::{Start, start};
use crate::failure::Failure;
use crate::kinds::Kind;
use crate::read::REVISION_PATIENCE;
use crate::respond::{self, ApiBody, TypeFields, append, encode};
use crate::selector::Selector;
use crate::server::{ApiServer, State};
use crate::service::Call;
use crate::store::{self, Event, Version};

/// How often a watch that asked for bookmarks gets one.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// How long before its end a watch that asked for bookmarks gets the last one.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// One watch.
struct Watch {
    server: ApiServer,
    kind: Arc<Kind>,
    selector: Selector,
    /// Keys begin with this; a whole key where one object is watched by name.
    prefix: String,
    /// Everything up to this revision has been sent.
    seen: u64,
    /// The revision at which the watch was opened.
    opened: u64,
    /// What was there at the start, to be sent first.
    initial: Option<Bytes>,
    stage: Stage,
    deadline: Instant,
    next_bookmark: Option<Instant>,
}

/// What a watch does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Waits until the revision that it shall start from is reached.
    Ahead { until: Instant },
    /// Sends changes.
    Live,
    /// Has nothing more to say.
    Ended,
}

/// Answers with the events of a kind.
pub(crate) fn watch(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let fields = call.query.get("fieldSelector");
    let selector = Selector::parse(call.query.get("labelSelector"), fields, &call.kind)?;
    let start = start(&call.query)?;
    let namespace = call.path.namespace.as_str();
    let by_name = if call.path.name.is_empty() { selector.name() } else { Some(call.path.name.as_str()) };
    let prefix = match (by_name, namespace) {
        (Some(name), namespace) if !namespace.is_empty() || !call.kind.traits.namespaced => {
            store::key(namespace, name)
        }
        (_, "") => String::new(),
        (_, namespace) => store::key(namespace, ""),
    };
    let seconds = call.query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
    let mut state = call.server.inner.state();
    let timeout = match seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => Duration::from_secs(state.chance.random_range(1800..3600)),
    };
    let current = state.store.revision();
    // The table must be there, so that its writes wake the watch.
    state.store.table_mut(&call.kind.storage);
    let now = Instant::now();
    let (seen, stage) = match start {
        Start::After(revision) if revision > current => {
            (revision, Stage::Ahead { until: now + REVISION_PATIENCE })
        }
        Start::After(revision) => (revision, Stage::Live),
        Start::Present { .. } | Start::Now => (current, Stage::Live),
    };
    let deadline = now + timeout;
    let bookmarks = call.query.flag("allowWatchBookmarks");
    let mut watch = Watch {
        server: call.server.clone(),
        kind: call.kind.clone(),
        selector,
        prefix,
        seen,
        opened: current,
        initial: None,
        stage,
        deadline,
        next_bookmark: bookmarks.then(|| match start {
            // As soon as the initial events are out, and then as every other.
            Start::Present { streaming: true } => deadline.min(now + Duration::from_secs(1)),
            _ => next_bookmark(now, deadline),
        }),
    };
    if let Start::Present { streaming } = start {
        watch.initial = watch.present(&state, streaming);
    }
    drop(state);
    Ok(respond::stream(futures::stream::unfold(watch, |mut watch| async move {
        watch.next().await.map(|text| (text, watch))
    })))
}

fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let last = deadline.checked_sub(LAST_BOOKMARK).unwrap_or(now);
    if now < last { last.min(now + BOOKMARK_PERIOD) } else { deadline }
}

impl Watch {
    /// The next lines, or the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let woken = self.server.inner.state().store.table(&self.kind.storage)?.woken().clone();
            // Made before the log is read, so that no write falls between reading and waiting.
            let wake = woken.notified();
            if let Some(text) = self.ready() {
                return Some(text);
            }
            if self.stage == Stage::Ended {
                return None;
            }
            let timer = match self.stage {
                Stage::Ahead { until } => until,
                _ => self.next_bookmark.unwrap_or(self.deadline),
            };
            tokio::select! {
                biased;
                () = wake => {}
                () = tokio::time::sleep_until(timer.min(self.deadline)) => {
                    let now = Instant::now();
                    // What was written at this very instant is still sent.
                    if let Some(text) = self.ready() {
                        return Some(text);
                    }
                    let bookmark = self.bookmark_due(now);
                    if now >= self.deadline {
                        self.stage = Stage::Ended;
                    }
                    if bookmark.is_some() {
                        return bookmark;
                    }
                }
            }
        }
    }

    /// What can be sent without waiting.
    fn ready(&mut self) -> Option<Bytes> {
        if let Some(initial) = self.initial.take() {
            return Some(initial);
        }
        let server = self.server.clone();
        let state = server.inner.state();
        match self.stage {
            Stage::Ahead { until } => self.ahead(&state, until),
            Stage::Live => self.changes(&state),
            Stage::Ended => None,
        }
    }

    /// The events of what is there now.
    fn present(&self, state: &State, streaming: bool) -> Option<Bytes> {
        let mut text = BytesMut::new();
        let table = state.store.table(&self.kind.storage)?;
        for (key, version) in table.range(&self.prefix) {
            if self.covers(key) && self.selector.matches(&version.object) {
                self.line(&mut text, "ADDED", version);
            }
        }
        if streaming {
            text.put_slice(&self.bookmark(true));
        }
        (!text.is_empty()).then(|| text.freeze())
    }

    fn ahead(&mut self, state: &State, until: Instant) -> Option<Bytes> {
        let current = state.store.revision();
        if current >= self.seen {
            self.stage = Stage::Live;
            return self.changes(state);
        }
        (Instant::now() >= until).then(|| self.error(&Failure::version_too_large(self.seen, current)))
    }

    fn changes(&mut self, state: &State) -> Option<Bytes> {
        let table = state.store.table(&self.kind.storage)?;
        let Some(events) = table.since(self.seen) else {
            let message = format!("too old resource version: {} ({})", self.seen, table.floor());
            return Some(self.error(&Failure::expired(message)));
        };
        let mut text = BytesMut::new();
        for event in events {
            self.event(&mut text, event);
        }
        self.seen = self.seen.max(state.store.revision());
        if table.is_closed_since(self.opened) {
            self.stage = Stage::Ended;
        }
        (!text.is_empty()).then(|| text.freeze())
    }

    /// Whether `key` is watched. A prefix that is a whole key must be met exactly.
    fn covers(&self, key: &str) -> bool {
        self.prefix.is_empty() || self.prefix.ends_with('/') || self.prefix == key
    }

    /// Writes an event as this watch sees it: an object that stops matching leaves.
    fn event(&self, text: &mut BytesMut, event: &Event) {
        if !event.key.starts_with(&self.prefix) || !self.covers(&event.key) {
            return;
        }
        let matched = event.before.as_ref().filter(|before| self.selector.matches(&before.object));
        let matches = !event.deleted && self.selector.matches(&event.after.object);
        match (matched, matches) {
            (None, true) => self.line(text, "ADDED", &event.after),
            (Some(_), true) => self.line(text, "MODIFIED", &event.after),
            (Some(_), false) if event.deleted => self.line(text, "DELETED", &event.after),
            (Some(before), false) => self.line(text, "DELETED", &before.at(event.revision)),
            (None, false) => {}
        }
    }

    fn line(&self, text: &mut BytesMut, event_type: &str, version: &Version) {
        text.put_slice(format!(r#"{{"type":"{event_type}","object":"#).as_bytes());
        let encoded = self.kind.encoded(version);
        if self.kind.is_stored_version() {
            append(text, &encoded, &TypeFields::Stored);
        } else {
            let api_version = self.kind.api_version();
            append(
                text,
                &encoded,
                &TypeFields::Rewritten { kind: &self.kind.kind, api_version: &api_version },
            );
        }
        text.put_slice(b"}\n");
    }

    fn error(&mut self, failure: &Failure) -> Bytes {
        self.stage = Stage::Ended;
        envelope("ERROR", &failure.status())
    }

    /// The bookmark that is due at `now`, if one is; sets when the next one is.
    fn bookmark_due(&mut self, now: Instant) -> Option<Bytes> {
        let due = self.next_bookmark.filter(|due| *due <= now && now < self.deadline)?;
        self.next_bookmark = Some(next_bookmark(due, self.deadline));
        self.seen = self.seen.max(self.server.inner.state().store.revision());
        Some(self.bookmark(false))
    }

    fn bookmark(&self, end_of_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.seen.to_string()});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object =
            json!({"kind": self.kind.kind, "apiVersion": self.kind.api_version(), "metadata": metadata});
        envelope("BOOKMARK", &object)
    }
}

fn envelope(event_type: &str, object: &Value) -> Bytes {
    let mut text = BytesMut::new();
    text.put_slice(format!(r#"{{"type":"{event_type}","object":"#).as_bytes());
    text.put_slice(&encode(object).bytes);
    text.put_slice(b"}\n");
    text.freeze()
}
