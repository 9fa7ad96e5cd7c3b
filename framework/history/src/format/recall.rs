//! Reads lines of events by comparison with the latest version of the same object.

use std::sync::Arc;

use indexmap::IndexSet;
use memchr::memmem::Finder;

use super::cursor::Cursor;
use super::digest::{ByDigest, OFFSET, Table, digest};
use super::read::Line;
use super::{EventType, Object};

/// The latest version of each object, for comparison with the next version.
///
/// The reader guesses the object of a line from the first name in it. A wrong guess costs time, and never
/// changes the result.
#[derive(Debug)]
pub struct Recall {
    objects: Table<u64, Object>,
    /// The latest object of each kind, for comparison with new objects.
    kinds: Table<u64, Object>,
    clusters: IndexSet<Arc<str>, ByDigest>,
    metadata: Finder<'static>,
    name: Finder<'static>,
}

/// The probable kind and object of a line, as digests.
#[derive(Clone, Copy)]
struct Guess {
    kind: u64,
    object: u64,
}

/// The maximum number of remembered objects, and of names of clusters.
/// If there are more, all are forgotten.
const MOST: usize = 1 << 15;

impl Default for Recall {
    fn default() -> Self {
        Self {
            objects: Table::default(),
            kinds: Table::default(),
            clusters: IndexSet::default(),
            metadata: Finder::new("\"metadata\":"),
            name: Finder::new("\"name\":"),
        }
    }
}

impl Recall {
    /// The line in `text`; `None` if it is unusual.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<Line> {
        let mut cursor = Cursor::new(std::str::from_utf8(text).ok()?);
        let (mut line, mut guess) = (Line::default(), None);
        cursor.fields(|cursor, name| {
            match cursor.named(name) {
                "at" if line.at.is_none() => line.at = Some(cursor.number()?),
                "mark" if line.mark.is_none() => line.mark = Some(cursor.read()?),
                "on" if line.on.is_none() => line.on = Some(self.cluster(cursor.word()?)),
                "event" if line.event.is_none() => line.event = Some(event_called(cursor.word()?)?),
                "object" if line.object.is_none() => {
                    guess = self.guess(line.on.as_deref(), cursor.rest());
                    let likely = self.likely(guess);
                    line.object = Some(cursor.object(|part| likely.map(|object| object?.part(part)))?);
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

    /// The event in a line of a watch on the cluster `on`; `None` if it has no object, or is unusual.
    pub fn read_watched(&mut self, on: &str, text: &str) -> Option<(EventType, Object)> {
        let mut cursor = Cursor::new(text);
        let (mut event, mut object, mut guess) = (None, None, None);
        cursor.fields(|cursor, name| {
            match cursor.named(name) {
                "type" if event.is_none() => event = Some(event_called(cursor.word()?)?),
                "object" if object.is_none() => {
                    guess = self.guess(Some(on), cursor.rest());
                    let likely = self.likely(guess);
                    object = Some(cursor.object(|part| likely.map(|object| object?.part(part)))?);
                }
                _ => return None,
            }
            Some(())
        })?;
        let object = object.filter(|_| cursor.is_at_end())?;
        if let Some(guess) = guess {
            self.keep(guess, &object, event);
        }
        Some((event?, object))
    }

    fn keep(&mut self, guess: Guess, object: &Object, event: Option<EventType>) {
        if event == Some(EventType::Deleted) {
            self.objects.swap_remove(&guess.object);
            return;
        }
        if self.objects.len() >= MOST {
            self.objects.clear();
        }
        self.objects.insert(guess.object, object.clone());
        self.kinds.insert(guess.kind, object.clone());
    }

    /// The latest version of the object, and the latest object of its kind.
    fn likely(&self, guess: Option<Guess>) -> [Option<&Object>; 2] {
        let own = guess.and_then(|guess| self.objects.get(&guess.object));
        let of_kind = guess.and_then(|guess| self.kinds.get(&guess.kind));
        [own, of_kind]
    }

    /// The shared copy of a name.
    fn cluster(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.clusters.get(name) {
            return Arc::clone(known);
        }
        if self.clusters.len() >= MOST {
            self.clusters.clear();
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

fn event_called(name: &str) -> Option<EventType> {
    match name {
        "ADDED" => Some(EventType::Added),
        "MODIFIED" => Some(EventType::Modified),
        "DELETED" => Some(EventType::Deleted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_lines_of_a_watch_are_read_like_trees() {
        let object = |version: u32, replicas: u32| {
            json!({"kind": "Deployment", "apiVersion": "apps/v1", "spec": {"replicas": replicas},
                "metadata": {"name": "web", "namespace": "default", "resourceVersion": version.to_string()}})
        };
        let mut recall = Recall::default();
        let lines = [
            ("ADDED", object(1, 1)),
            ("MODIFIED", object(2, 1)),
            ("MODIFIED", object(3, 2)),
            ("DELETED", object(4, 2)),
        ];
        for (event, object) in lines {
            let line = format!(r#"{{"type":"{event}","object":{object}}}"#);
            let (event_type, read) = recall.read_watched("m1", &line).unwrap();
            assert_eq!((json!(event_type), read.value()), (event.into(), object));
        }
    }

    #[test]
    fn a_watch_line_without_an_object_is_left_to_the_json_parser() {
        let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"7"}}}"#;
        let error = r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#;
        let cut_off = r#"{"type":"ADDED","object":{"kind":"Pod""#;
        let mut recall = Recall::default();
        for line in [bookmark, error, cut_off, r#"{"type":"ADDED"}"#] {
            assert_eq!(recall.read_watched("m1", line), None, "{line}");
        }
    }
}
