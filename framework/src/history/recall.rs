//! Reads the lines of events that are written as usual, with what was last said of the same object at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use memchr::memmem::Finder;

use super::digest::{OFFSET, digest};
use super::object::Part;
use super::read::Line;
use super::split::Cursor;
use super::{EventType, Object};

/// The latest version of each object that there is, for the next to be held against.
///
/// Which object a line is about is guessed from the first name in it: a wrong guess costs time, and no truth.
#[derive(Debug)]
pub(super) struct Recall {
    objects: BTreeMap<u64, Object>,
    /// The latest of each kind, for what is new to be held against.
    kinds: BTreeMap<u64, Object>,
    clusters: BTreeSet<Arc<str>>,
    metadata: Finder<'static>,
    name: Finder<'static>,
}

/// What the line is probably about: numbers for the kind and the object.
#[derive(Clone, Copy)]
struct Guess {
    kind: u64,
    object: u64,
}

/// So many objects are kept in mind at most; should there be more, each is new again now and then.
const MOST: usize = 1 << 15;

impl Default for Recall {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            kinds: BTreeMap::new(),
            clusters: BTreeSet::new(),
            metadata: Finder::new("\"metadata\":"),
            name: Finder::new("\"name\":"),
        }
    }
}

impl Recall {
    /// What `text` says; `None` where that is no event, or written in an unusual way.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<Line> {
        let mut cursor = Cursor::new(std::str::from_utf8(text).ok()?);
        let (mut line, mut guess) = (Line::default(), None);
        cursor.fields(|cursor, name| {
            match cursor.named(name) {
                "at" if line.at.is_none() => line.at = Some(cursor.read()?),
                "on" if line.on.is_none() => line.on = Some(self.cluster(cursor.read()?)),
                "event" if line.event.is_none() => line.event = Some(cursor.read()?),
                "object" if line.object.is_none() => {
                    guess = self.guess(line.on.as_deref(), cursor.rest());
                    line.object = Some(cursor.object(|part| self.latest(guess?, part))?);
                }
                _ => return None,
            }
            Some(())
        })?;
        if let (Some(guess), Some(object)) = (guess, &line.object) {
            self.keep(guess, object, line.event);
        }
        cursor.is_at_end().then_some(line)
    }

    fn keep(&mut self, guess: Guess, object: &Object, event: Option<EventType>) {
        if event == Some(EventType::Deleted) {
            self.objects.remove(&guess.object);
            return;
        }
        if self.objects.len() >= MOST {
            self.objects.clear();
        }
        self.objects.insert(guess.object, object.clone());
        self.kinds.insert(guess.kind, object.clone());
    }

    fn latest(&self, guess: Guess, part: &str) -> Option<&Arc<Part>> {
        let mut likely = [self.objects.get(&guess.object), self.kinds.get(&guess.kind)].into_iter().flatten();
        likely.find_map(|object| object.part(part))
    }

    /// The same name, kept once.
    fn cluster(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.clusters.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.clusters.insert(Arc::clone(&name));
        name
    }

    fn guess(&self, on: Option<&str>, object: &str) -> Option<Guess> {
        let head = &object.as_bytes()[..self.metadata.find(object.as_bytes())?];
        let rest = &object.as_bytes()[self.name.find(object.as_bytes())? + self.name.needle().len()..];
        let mut quotes = memchr::memchr_iter(b'"', rest);
        let mut end = quotes.nth(1)?;
        let next = rest[end + 1..].trim_ascii_start().strip_prefix(b",")?.trim_ascii_start();
        if next.starts_with(b"\"namespace\"") {
            end = quotes.nth(3)?;
        }
        let kind = digest(OFFSET, head);
        let object = digest(digest(kind, on.unwrap_or_default().as_bytes()), &rest[..end]);
        Some(Guess { kind, object })
    }
}
