//! The stream of one watch: the events of a kind after a revision, filtered by the selector.
//!
//! A watch reads the log of the table itself and remembers only its position, so a slow watch costs writers nothing.
//! A watch whose position is no longer in the log gets an error and ends.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use bytes::{Bytes, BytesMut};
use http::Response;
use rand::RngExt;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::lines;
use super::start::{Start, start};
use crate::endpoint::key_range::Scope;
use crate::endpoint::list_options::ListOptions;
use crate::endpoint::read::REVISION_WAIT;
use crate::endpoint::selector::Selector;
use crate::http::call::{Call, RestoreObserver};
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::Kind;
use crate::state::{ApiServer, State};
use crate::store::{Event, Version};

/// The interval of bookmarks for watches that asked for bookmarks.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// The time between the last bookmark and the end of a watch.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The maximum duration of a watch. It prevents an overflow of the clock if a client asks for too much.
const LONGEST: Duration = Duration::from_hours(24 * 365);
/// The maximum number of events that are taken from the log in one step.
const BATCH: usize = 256;
/// The approximate size in bytes of the text that is sent in one step.
const CHUNK: usize = 64 * 1024;

/// One watch.
struct Watch {
    server: ApiServer,
    kind: Arc<Kind>,
    selector: Selector,
    scope: Scope,
    /// Notified about writes that the watch may have to send.
    wake_source: Arc<Notify>,
    /// Everything up to this revision has been sent.
    seen: u64,
    /// The revision at which the watch was opened.
    opened: u64,
    /// The objects that existed at the start and have not been sent yet.
    initial: Option<vec::IntoIter<(Arc<str>, Arc<Version>)>>,
    /// The watch sends a bookmark at the end of the initial events.
    marks_initial_end: bool,
    /// The revision of the start or of the last bookmark.
    /// The client knows that it has all events up to this revision.
    last_marked: Option<u64>,
    /// The number of restores of the server at the last check.
    restored: usize,
    restores_sent: usize,
    /// True if the watch continues after a restore of the server.
    survives_restore: bool,
    stage: Stage,
    deadline: Instant,
    next_bookmark: Option<Instant>,
}

/// The state of a watch.
enum Stage {
    /// The watch waits until the server reaches the revision of its start.
    WaitForStart { at_least: u64, until: Instant },
    /// The watch sends changes.
    Live,
    /// The watch sends the failure that ends it.
    Failed(Failure),
    /// The watch has ended.
    Ended,
}

/// Answers with the stream of the events of a kind.
pub(crate) fn watch(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let options = ListOptions::read(&call.query, &call.kind)?;
    let scope = Scope::new(&call.kind, &call.path, &options.selector)?;
    let start = start(&options)?;
    let mut state = call.server.inner.state();
    let timeout = match options.timeout_seconds {
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
        None => Duration::from_secs(state.chance.random_range(1800..3600)),
    };
    let current = state.store.revision();
    // The table must exist, so that its writes wake the watch.
    let table = state.store.table_mut(&call.kind.storage);
    let (wake_source, oldest, restores_sent) =
        (table.wake_source().clone(), table.oldest(), table.restore_count());
    let survives_restore = call.parts.extensions.get::<RestoreObserver>().is_some();
    let now = Instant::now();
    let (seen, stage) = match start {
        Start::After(revision) if revision < oldest => (revision, Stage::Failed(too_old(revision, oldest))),
        Start::After(revision) => (revision, Stage::Live),
        Start::Present { at_least } if at_least > current => {
            (current, Stage::WaitForStart { at_least, until: now + REVISION_WAIT })
        }
        Start::Present { .. } | Start::Now => (current, Stage::Live),
    };
    let deadline = now + timeout.min(LONGEST);
    let marks_initial_end = options.bookmarks && options.send_initial_events == Some(true);
    let next_bookmark = options.bookmarks.then(|| match marks_initial_end {
        // The first bookmark follows soon after the initial events; the others follow in regular intervals.
        true => deadline.min(now + Duration::from_secs(1)),
        false => next_bookmark(now, deadline),
    });
    let mut watch = Watch {
        server: call.server.clone(),
        kind: call.kind.clone(),
        selector: options.selector,
        scope,
        wake_source,
        seen,
        opened: current,
        initial: None,
        marks_initial_end,
        last_marked: matches!(start, Start::After(_)).then_some(seen),
        restored: call.server.inner.restore_count(),
        restores_sent,
        survives_restore,
        stage,
        deadline,
        next_bookmark,
    };
    if matches!((&watch.stage, start), (Stage::Live, Start::Present { .. })) {
        watch.begin(&state);
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

fn too_old(revision: u64, oldest: u64) -> Failure {
    Failure::expired(format!("too old resource version: {revision} ({oldest})"))
}

impl Watch {
    /// The next lines, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let wake_source = match self.stage {
                // Every write can bring the revision that the watch waits for.
                Stage::WaitForStart { .. } => self.server.inner.state().store.written().clone(),
                _ => self.wake_source.clone(),
            };
            // The waiter is created before the log is read, so that it does not miss a write in between.
            let wake = wake_source.notified();
            if let Some(text) = self.ready() {
                return Some(text);
            }
            let timer = match self.stage {
                Stage::Ended => return None,
                Stage::WaitForStart { until, .. } => until,
                _ => self.next_bookmark.unwrap_or(self.deadline),
            };
            tokio::select! {
                biased;
                () = wake => {}
                () = tokio::time::sleep_until(timer.min(self.deadline)) => {
                    let now = Instant::now();
                    // Events that were written at this instant are still sent.
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

    /// The text that can be sent without waiting.
    fn ready(&mut self) -> Option<Bytes> {
        let restored = self.server.inner.restore_count();
        if restored != self.restored && !self.survives_restore {
            (self.stage, self.initial) = (Stage::Ended, None);
        }
        if let Stage::WaitForStart { at_least, until } = self.stage {
            self.check_start(at_least, until);
        }
        if let Some(text) = self.initial_events() {
            return Some(text);
        }
        if restored != self.restored && self.survives_restore {
            if let Some(text) = self.across_restore() {
                return Some(text);
            }
            self.restored = restored;
        }
        match &self.stage {
            Stage::Live => self.changes(),
            Stage::Failed(failure) => {
                let text = lines::error(failure);
                self.stage = Stage::Ended;
                Some(text)
            }
            Stage::WaitForStart { .. } | Stage::Ended => None,
        }
    }

    /// Returns the lines of a watch about a restore of the server.
    /// These are the events before the restore that were not sent yet, and the bookmark of the restore. The differences
    /// that the restore caused follow.
    fn across_restore(&mut self) -> Option<Bytes> {
        let server = self.server.clone();
        let state = server.inner.state();
        let restore = state.store.table(&self.kind.storage)?.restore_after(self.restores_sent)?.clone();
        drop(state);
        let mut text = BytesMut::new();
        let put = |text: &mut BytesMut, event: &Event| {
            if let Some((event_type, version)) =
                lines::selected(&self.selector, event).filter(|_| self.scope.covers(&event.key))
            {
                lines::put_line(text, &self.kind, event_type, &version);
            }
        };
        let left = restore.log.iter().filter(|event| event.revision > self.seen);
        left.for_each(|event| put(&mut text, event));
        text.extend_from_slice(&lines::restored(&self.kind, restore.revision));
        restore.differences.iter().for_each(|event| put(&mut text, event));
        (self.seen, self.opened) = (restore.revision, restore.revision);
        self.restores_sent += 1;
        Some(text.freeze())
    }

    fn check_start(&mut self, at_least: u64, until: Instant) {
        let server = self.server.clone();
        let state = server.inner.state();
        let current = state.store.revision();
        if current >= at_least {
            self.begin(&state);
        } else if Instant::now() >= until {
            self.stage = Stage::Failed(Failure::version_too_large(at_least, current));
        }
    }

    /// Collects the existing objects. Only pointers are copied while the state is locked.
    fn begin(&mut self, state: &State) {
        let table = state.store.table(&self.kind.storage).into_iter();
        let objects = table.flat_map(|table| table.range(self.scope.prefix()));
        let objects = objects.filter(|(key, _)| self.scope.covers(key));
        let objects: Vec<_> = objects.map(|(key, version)| (key.clone(), version.clone())).collect();
        self.initial = Some(objects.into_iter());
        self.seen = state.store.revision();
        self.stage = Stage::Live;
    }

    /// The next events of the objects that existed at the start.
    fn initial_events(&mut self) -> Option<Bytes> {
        let mut objects = self.initial.take()?;
        let mut text = BytesMut::new();
        for (key, version) in objects.by_ref() {
            if self.selector.matches(&key, &version) {
                lines::put_line(&mut text, &self.kind, "ADDED", &version);
            }
            if text.len() >= CHUNK {
                self.initial = Some(objects);
                return Some(text.freeze());
            }
        }
        if self.marks_initial_end {
            self.last_marked = Some(self.seen);
            text.extend_from_slice(&lines::bookmark(&self.kind, self.seen, true));
        }
        (!text.is_empty()).then(|| text.freeze())
    }

    /// The next events of the log that the watch sends.
    fn changes(&mut self) -> Option<Bytes> {
        loop {
            let events = match self.take_events() {
                Ok(events) if events.is_empty() => return None,
                Ok(events) => events,
                Err(failure) => {
                    self.stage = Stage::Ended;
                    return Some(lines::error(&failure));
                }
            };
            let length = |event: &Event| event.after.encoded().bytes.len() + lines::ENVELOPE;
            let lengths = events.iter().skip(usize::from(events.len() == 1)).map(length);
            let mut text = BytesMut::with_capacity(lengths.sum::<usize>().min(CHUNK));
            for (index, event) in events.iter().enumerate() {
                if text.len() >= CHUNK {
                    // The remaining events are taken again after the client has read this text.
                    self.seen = events[index - 1].revision;
                    self.stage = Stage::Live;
                    break;
                }
                let Some((event_type, version)) = lines::selected(&self.selector, event) else { continue };
                match event.line.get().filter(|_| event_type == lines::plain_type(event)) {
                    Some(line) if events.len() == 1 => return Some(line.clone()),
                    Some(line) => text.extend_from_slice(line),
                    None => lines::put_line(&mut text, &self.kind, event_type, &version),
                }
            }
            if !text.is_empty() {
                return Some(text.freeze());
            }
        }
    }

    /// Takes the next events from the log.
    /// A single event, the most frequent case, caches its line for all watches that send it.
    fn take_events(&mut self) -> Result<Vec<Event>, Failure> {
        let server = self.server.clone();
        let state = server.inner.state();
        let Some(table) = state.store.table(&self.kind.storage) else { return Ok(Vec::new()) };
        let events = table.since(self.seen).ok_or_else(|| too_old(self.seen, table.floor()))?;
        let events: Vec<_> = events.filter(|event| self.scope.covers(&event.key)).take(BATCH).collect();
        match events.last() {
            Some(last) if events.len() == BATCH => self.seen = last.revision,
            _ => {
                self.seen = self.seen.max(state.store.revision());
                if table.is_closed_since(self.opened) {
                    self.stage = Stage::Ended;
                }
            }
        }
        if let [event] = events[..]
            && self.kind.is_stored_version()
            && !self.kind.is_in_events_group()
        {
            event.line.get_or_init(|| {
                let mut text = BytesMut::new();
                lines::put_line(&mut text, &self.kind, lines::plain_type(event), &event.after);
                text.freeze()
            });
        }
        Ok(events.into_iter().cloned().collect())
    }

    /// The bookmark that is due at `now`, if any. Also sets the time of the next bookmark.
    fn bookmark_due(&mut self, now: Instant) -> Option<Bytes> {
        let live = matches!(self.stage, Stage::Live);
        let due = self.next_bookmark.filter(|due| live && *due <= now && now < self.deadline)?;
        self.next_bookmark = Some(next_bookmark(due, self.deadline));
        self.seen = self.seen.max(self.server.inner.state().store.revision());
        let last_marked = self.last_marked.replace(self.seen);
        let says_something = self.server.inner.repeats_bookmarks || last_marked != Some(self.seen);
        says_something.then(|| lines::bookmark(&self.kind, self.seen, false))
    }
}
