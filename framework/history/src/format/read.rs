//! Reads a history as a stream, and reports the exact place of an error.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::input::{Input, open};
use super::recall::Recall;
use super::{Entry, EventType, Field, HistoryError, Kind, Mark, Object, Observer, mark};
use crate::plain_words::plain_words;

/// The version of the format.
pub const VERSION: &str = "v1";

/// The longest time in a history, a century.
/// A longer time is a mistake. The limit keeps sums of times in their range.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The time of an event that never happens, and the length of an unknown period.
/// This time is longer than any time in a history. A `Duration` can hold a million times this time, so that no sum of
/// times overflows.
pub const FOREVER: Duration = Duration::from_secs(1 << 44);

/// The entries of a history, in the order of the lines. The stream ends after the first error.
pub struct Reader<R> {
    path: String,
    input: R,
    line: usize,
    /// A line that is longer than the buffer of the input, kept to reuse its allocation.
    text: Vec<u8>,
    recall: Recall,
    /// Whether the header was read.
    begun: bool,
    ended: bool,
}

/// One line, either a mark or an event.
#[derive(Default, Deserialize)]
#[serde(expecting = "an entry of a history")]
pub(super) struct Line {
    pub(super) at: Option<f64>,
    pub(super) mark: Option<Mark>,
    pub(super) on: Option<Arc<str>>,
    pub(super) event: Option<EventType>,
    #[serde(default, deserialize_with = "whole")]
    pub(super) object: Option<Object>,
}

/// The line in `text`; `None` if it is blank.
/// A line that is unusual in any way is parsed in full, so that the error is exact.
fn recall_line(recall: &mut Recall, text: &[u8]) -> Result<Option<Line>, serde_json::Error> {
    let text = text.trim_ascii_end();
    if text.is_empty() {
        return Ok(None);
    }
    recall.read(text).map_or_else(|| serde_json::from_slice(text), Ok).map(Some)
}

fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Object>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.map(Object::from))
}

/// Opens the history at `path`, which may be compressed by gzip.
///
/// # Errors
/// When it is not a file that can be read.
pub fn read(path: &Path) -> Result<Reader<Input>, HistoryError> {
    let name = path.display().to_string();
    let unreadable = |reason: String, help: &str| HistoryError::Unreadable {
        path: name.clone(),
        reason,
        help: help.to_owned(),
    };
    if path.is_dir() {
        return Err(unreadable("this is a directory".into(), "name the .jsonl files in it"));
    }
    let input = open(path).map_err(|error| unreadable(error.to_string(), "name a history that exists"))?;
    Ok(Reader::new(name, input))
}

impl<R: BufRead> Reader<R> {
    /// A reader of `input`. Errors name it `path`.
    pub fn new(path: impl Into<String>, input: R) -> Self {
        Self {
            path: path.into(),
            input,
            line: 0,
            text: Vec::new(),
            recall: Recall::default(),
            begun: false,
            ended: false,
        }
    }

    fn error(&self, column: usize, what: impl Into<String>, help: impl Into<String>) -> HistoryError {
        let (line, what, help) = (self.line.max(1), what.into(), help.into());
        HistoryError::Line { path: self.path.clone(), line, column, what, help }
    }

    fn step(&mut self) -> Result<Option<Entry>, HistoryError> {
        let line = match self.line()? {
            Some(line) => line,
            None if self.begun => return Ok(None),
            None => return Err(self.error(1, "the history is empty", HEADER_HELP)),
        };
        let entry = self.entry(line)?;
        if !self.begun {
            self.check_header(&entry)?;
        }
        self.begun = true;
        Ok(Some(entry))
    }

    /// The next line that is not blank; `None` at the end.
    fn line(&mut self) -> Result<Option<Line>, HistoryError> {
        loop {
            self.line += 1;
            // Most lines are in the buffer as a whole, and are read in place.
            let (line, whole) = if let Ok(buffer) = self.input.fill_buf()
                && let Some(end) = memchr::memchr(b'\n', buffer)
            {
                let line = recall_line(&mut self.recall, &buffer[..end]);
                self.input.consume(end + 1);
                (line, true)
            } else if self.read_on()? == 0 {
                return Ok(None);
            } else {
                (recall_line(&mut self.recall, &self.text), self.text.ends_with(b"\n"))
            };
            if let Some(line) = line.map_err(|error| self.bad_json(&error, whole))? {
                return Ok(Some(line));
            }
        }
    }

    /// Reads a line that is longer than the buffer, and returns its length.
    fn read_on(&mut self) -> Result<usize, HistoryError> {
        self.text.clear();
        self.input.read_until(b'\n', &mut self.text).map_err(|error| HistoryError::Unreadable {
            path: self.path.clone(),
            reason: error.to_string(),
            help: "see whether the file can be read to its end".into(),
        })
    }

    fn bad_json(&self, error: &serde_json::Error, whole: bool) -> HistoryError {
        let column = error.column().max(1);
        if error.is_eof() && !whole {
            let help = "the recorder stopped in the middle of a write: delete this line to judge what comes before it";
            return self.error(column, "the last line is cut off", help);
        }
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or(&text);
        let (what, help) = if error.is_data() {
            (plain_words(what), "docs/histories.md says what fields an entry has")
        } else {
            (format!("this is not JSON: {what}"), "a history is one JSON object a line")
        };
        self.error(column, what, help)
    }

    fn entry(&self, line: Line) -> Result<Entry, HistoryError> {
        let at = line.at.ok_or_else(|| {
            self.error(1, "the entry has no `at`", "write the seconds since the start of the history")
        })?;
        let time = Duration::try_from_secs_f64(at).ok().filter(|time| *time <= LONGEST);
        let at = time.ok_or_else(|| {
            let help = "`at` is the seconds since the start, zero or more, and at most a century";
            self.error(1, format!("`at` is {at}"), help)
        })?;
        if let Some(mark) = line.mark {
            mark::check(&mark).map_err(|(what, help)| self.error(1, what, help))?;
            let help = r#"how exactly a cluster is observed: {"observer":{"on":"m1","latency":0.1,"clockOffset":0.02}}"#;
            Observer::of(&mark).map_err(|what| self.error(1, what, help))?;
            return Ok(Entry::mark(at, mark));
        }
        let (Some(on), Some(event), Some(object)) = (line.on, line.event, line.object) else {
            let help = "an entry has either `mark`, or `on`, `event` and `object`";
            return Err(self.error(1, "the entry is neither a mark nor an event", help));
        };
        if object.field("metadata", "name").and_then(Field::text).is_none() {
            let what = "the object has no metadata with a name";
            return Err(self.error(1, what, "record objects whole, as the API server sent them"));
        }
        if object.whole("kind").and_then(Field::text).is_none() {
            return Err(self.error(
                1,
                "the object has no kind",
                "add kind and apiVersion, which lists leave out",
            ));
        }
        Ok(Entry { at, kind: Kind::Event { on, event, object } })
    }

    fn check_header(&self, entry: &Entry) -> Result<(), HistoryError> {
        let version = match &entry.kind {
            Kind::Mark(mark) => mark.get("history"),
            Kind::Event { .. } => None,
        };
        match version {
            Some(version) if version == VERSION => Ok(()),
            None => Err(self.error(1, "the first line is not the header of a history", HEADER_HELP)),
            Some(other) => {
                let what = format!("this is a history of version {other}, and this Capsize reads {VERSION}");
                Err(self.error(1, what, "use the Capsize that wrote it, or a newer one"))
            }
        }
    }
}

const HEADER_HELP: &str = r#"the first line is {"at":0.0,"mark":{"history":"v1","implementation":"…","version":"…","seconds":{…}}}"#;

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Entry, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let step = self.step();
        self.ended = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
}
