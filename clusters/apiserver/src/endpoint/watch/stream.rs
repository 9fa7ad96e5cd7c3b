//! The stream of one watch: the events of a kind from a revision on, filtered by the selector.
//!
//! A watch reads the log of the table itself and remembers only its position, so a slow watch costs writers nothing. A watch
//! whose position is no longer in the log gets an error and ends.

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
use crate::endpoint::read::REVISION_PATIENCE;
use crate::endpoint::selector::Selector;
use crate::http::call::{Call, Onlooker};
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::Kind;
use crate::state::{ApiServer, State};
use crate::store::{Event, Version};

/// How often a watch that asked for bookmarks gets one.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// How long before its end a watch that asked for bookmarks gets the last one.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The longest time that a watch lasts. A client may ask for more than a clock can count.
const LONGEST: Duration = Duration::from_hours(24 * 365);
/// How many events are taken from the log at once.
const BATCH: usize = 256;
/// About how much text, in bytes, is made at once.
const CHUNK: usize = 64 * 1024;

/// One watch.
struct Watch {
    server: ApiServer,
    kind: Arc<Kind>,
    selector: Selector,
    scope: Scope,
    /// Is notified of the writes that the watch may have to send.
    woken: Arc<Notify>,
    /// Everything up to this revision has been sent.
    seen: u64,
    /// The revision at which the watch was opened.
    opened: u64,
    /// The objects that existed at the start and have not been sent yet.
    initial: Option<vec::IntoIter<(Arc<str>, Arc<Version>)>>,
    /// A bookmark says where the initial events end.
    tells_end: bool,
    /// The revision that the client knows to have seen everything up to, from where it began or the last bookmark.
    marked: Option<u64>,
    /// How often the server had been restored when the watch last checked, and how many restores the watch has sent.
    restored: usize,
    rifts: usize,
    /// Whether it goes on when the server is restored.
    outlasts: bool,
    stage: Stage,
    deadline: Instant,
    next_bookmark: Option<Instant>,
}

/// What a watch does next.
enum Stage {
    /// Waits until the revision that it shall start with is reached.
    Ahead { at_least: u64, until: Instant },
    /// Sends changes.
    Live,
    /// Sends the reason of its end.
    Refused(Failure),
    /// Sends nothing any more.
    Ended,
}

/// Answers with the events of a kind.
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
    // The table must be there, so that its writes wake the watch.
    let table = state.store.table_mut(&call.kind.storage);
    let (woken, oldest, rifts) = (table.woken().clone(), table.oldest(), table.rifts());
    let outlasts = call.parts.extensions.get::<Onlooker>().is_some();
    let now = Instant::now();
    let (seen, stage) = match start {
        Start::After(revision) if revision < oldest => (revision, Stage::Refused(too_old(revision, oldest))),
        Start::After(revision) => (revision, Stage::Live),
        Start::Present { at_least } if at_least > current => {
            (current, Stage::Ahead { at_least, until: now + REVISION_PATIENCE })
        }
        Start::Present { .. } | Start::Now => (current, Stage::Live),
    };
    let deadline = now + timeout.min(LONGEST);
    let tells_end = options.bookmarks && options.send_initial_events == Some(true);
    let next_bookmark = options.bookmarks.then(|| match tells_end {
        // As soon as the initial events are out, and then as every other.
        true => deadline.min(now + Duration::from_secs(1)),
        false => next_bookmark(now, deadline),
    });
    let mut watch = Watch {
        server: call.server.clone(),
        kind: call.kind.clone(),
        selector: options.selector,
        scope,
        woken,
        seen,
        opened: current,
        initial: None,
        tells_end,
        marked: matches!(start, Start::After(_)).then_some(seen),
        restored: call.server.inner.restored(),
        rifts,
        outlasts,
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
    /// The next lines, or the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let woken = match self.stage {
                // Any write may bring the revision that it waits for.
                Stage::Ahead { .. } => self.server.inner.state().store.written().clone(),
                _ => self.woken.clone(),
            };
            // Made before the log is read, so that no write falls between reading and waiting.
            let wake = woken.notified();
            if let Some(text) = self.ready() {
                return Some(text);
            }
            let timer = match self.stage {
                Stage::Ended => return None,
                Stage::Ahead { until, .. } => until,
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
        let restored = self.server.inner.restored();
        if restored != self.restored && !self.outlasts {
            (self.stage, self.initial) = (Stage::Ended, None);
        }
        if let Stage::Ahead { at_least, until } = self.stage {
            self.ahead(at_least, until);
        }
        if let Some(text) = self.present() {
            return Some(text);
        }
        if restored != self.restored && self.outlasts {
            if let Some(text) = self.across() {
                return Some(text);
            }
            self.restored = restored;
        }
        match &self.stage {
            Stage::Live => self.changes(),
            Stage::Refused(failure) => {
                let text = lines::error(failure);
                self.stage = Stage::Ended;
                Some(text)
            }
            Stage::Ahead { .. } | Stage::Ended => None,
        }
    }

    /// What there was to tell when the server was restored, and what is other since.
    fn across(&mut self) -> Option<Bytes> {
        let server = self.server.clone();
        let state = server.inner.state();
        let rift = state.store.table(&self.kind.storage)?.rift_after(self.rifts)?.clone();
        drop(state);
        let mut text = BytesMut::new();
        let tell = |text: &mut BytesMut, event: &Event| {
            if let Some((told, version)) =
                lines::seen(&self.selector, event).filter(|_| self.scope.covers(&event.key))
            {
                lines::put_line(text, &self.kind, told, &version);
            }
        };
        let left = rift.log.iter().filter(|event| event.revision > self.seen);
        left.for_each(|event| tell(&mut text, event));
        text.extend_from_slice(&lines::restored(&self.kind, rift.revision));
        rift.differences.iter().for_each(|event| tell(&mut text, event));
        (self.seen, self.opened) = (rift.revision, rift.revision);
        self.rifts += 1;
        Some(text.freeze())
    }

    fn ahead(&mut self, at_least: u64, until: Instant) {
        let server = self.server.clone();
        let state = server.inner.state();
        let current = state.store.revision();
        if current >= at_least {
            self.begin(&state);
        } else if Instant::now() >= until {
            self.stage = Stage::Refused(Failure::version_too_large(at_least, current));
        }
    }

    /// Takes note of what is there now. Only pointers are copied while the state is locked.
    fn begin(&mut self, state: &State) {
        let table = state.store.table(&self.kind.storage).into_iter();
        let objects = table.flat_map(|table| table.range(self.scope.prefix()));
        let objects = objects.filter(|(key, _)| self.scope.covers(key));
        let objects: Vec<_> = objects.map(|(key, version)| (key.clone(), version.clone())).collect();
        self.initial = Some(objects.into_iter());
        self.seen = state.store.revision();
        self.stage = Stage::Live;
    }

    /// The next events of what was there at the start.
    fn present(&mut self) -> Option<Bytes> {
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
        if self.tells_end {
            self.marked = Some(self.seen);
            text.extend_from_slice(&lines::bookmark(&self.kind, self.seen, true));
        }
        (!text.is_empty()).then(|| text.freeze())
    }

    /// What was written since, as far as it is to be told.
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
            let length = |event: &Event| event.after.encoded().bytes.len() + lines::AROUND;
            let lengths = events.iter().skip(usize::from(events.len() == 1)).map(length);
            let mut text = BytesMut::with_capacity(lengths.sum::<usize>().min(CHUNK));
            for (index, event) in events.iter().enumerate() {
                if text.len() >= CHUNK {
                    // The rest is taken again when this has been read.
                    self.seen = events[index - 1].revision;
                    self.stage = Stage::Live;
                    break;
                }
                let Some((told, version)) = lines::seen(&self.selector, event) else { continue };
                match event.line.get().filter(|_| told == lines::plain_type(event)) {
                    Some(line) if events.len() == 1 => return Some(line.clone()),
                    Some(line) => text.extend_from_slice(line),
                    None => lines::put_line(&mut text, &self.kind, told, &version),
                }
            }
            if !text.is_empty() {
                return Some(text.freeze());
            }
        }
    }

    /// Takes the next events from the log. One that comes alone, as most do, brings the line that all who are sent it
    /// share.
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
            && !self.kind.is_new_event()
        {
            event.line.get_or_init(|| {
                let mut text = BytesMut::new();
                lines::put_line(&mut text, &self.kind, lines::plain_type(event), &event.after);
                text.freeze()
            });
        }
        Ok(events.into_iter().cloned().collect())
    }

    /// The bookmark that is due at `now`, if one is; sets when the next one is.
    fn bookmark_due(&mut self, now: Instant) -> Option<Bytes> {
        let live = matches!(self.stage, Stage::Live);
        let due = self.next_bookmark.filter(|due| live && *due <= now && now < self.deadline)?;
        self.next_bookmark = Some(next_bookmark(due, self.deadline));
        self.seen = self.seen.max(self.server.inner.state().store.revision());
        let marked = self.marked.replace(self.seen);
        let says_something = self.server.inner.repeats_bookmarks || marked != Some(self.seen);
        says_something.then(|| lines::bookmark(&self.kind, self.seen, false))
    }
}
