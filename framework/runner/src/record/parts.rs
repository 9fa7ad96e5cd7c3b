//! Writes a recording into files of bounded size, each of which is a complete history.
//!
//! A new file begins with the header, the exactness of each cluster, the faults in force, and every object that exists. It can be
//! judged without the files before it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use serde_json::json;

use super::sink::EntrySink;
use capsize_history::{Entry, EventType, Kind, Mark, Object, Writer};

/// The bound for the size of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// A new file is begun after this many bytes of changes.
    /// The objects at the beginning of a file do not count.
    pub bytes: u64,
    /// How many complete files are kept beside the one that is being written.
    pub kept: u64,
}

/// A recording that is written to a path.
/// Complete files get a number: `fleet.jsonl` becomes `fleet.1.jsonl`.
pub struct Parts {
    path: PathBuf,
    limit: Option<Limit>,
    writer: Writer<CountingWriter>,
    /// The time of the recording at which the present file begins.
    begins: Duration,
    /// The size of the beginning of the present file, which repeats the state.
    repeated: u64,
    state: State,
}

/// The state with which a new file begins.
#[derive(Default)]
struct State {
    header: Option<Mark>,
    observers: BTreeMap<String, Mark>,
    /// The marks of faults in force, in the order of their begins.
    faults: Vec<Mark>,
    objects: BTreeMap<ObjectId, (u64, Object)>,
    written: u64,
}

/// The cluster, the kind with its API version, the namespace and the name.
type ObjectId = (Arc<str>, [String; 4]);

impl Parts {
    /// Creates the file at `path`, which only its owner may read.
    /// With a limit, an existing file is kept as a complete file of an earlier recording.
    ///
    /// # Errors
    /// The file cannot be created. Without a limit, an existing file is such an error.
    pub fn create(path: &Path, limit: Option<Limit>) -> io::Result<Self> {
        if let Some(limit) = limit.filter(|_| path.exists()) {
            set_aside(path, limit)?;
        }
        Ok(Self {
            path: path.to_owned(),
            limit,
            writer: Writer::new(CountingWriter::create(path)?),
            begins: Duration::ZERO,
            repeated: 0,
            state: State::default(),
        })
    }

    fn begin_next(&mut self, now: Duration, limit: Limit) -> io::Result<()> {
        let ended = [("recorder".to_owned(), json!("ended"))].collect_sorted();
        self.writer.write(&Entry::mark(now.saturating_sub(self.begins), ended))?;
        self.writer.flush()?;
        set_aside(&self.path, limit)?;
        self.begins = now;
        self.writer = Writer::new(CountingWriter::create(&self.path)?);
        for entry in self.state.entries() {
            self.writer.write(&entry)?;
        }
        self.repeated = self.writer.get_ref().bytes;
        Ok(())
    }
}

impl EntrySink for Parts {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let changes = self.writer.get_ref().bytes - self.repeated;
        if let Some(limit) = self.limit.filter(|limit| changes >= limit.bytes) {
            self.begin_next(entry.at, limit)?;
        }
        self.state.observe(entry);
        self.writer.write(&Entry { at: entry.at.saturating_sub(self.begins), kind: entry.kind.clone() })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl State {
    fn observe(&mut self, entry: &Entry) {
        match &entry.kind {
            Kind::Event { on, event, object } => {
                let text = |name| object.text("metadata", name).into_owned();
                let version = object.whole("apiVersion").and_then(|field| field.text().map(String::from));
                let id = [
                    version.unwrap_or_default(),
                    object.kind().into_owned(),
                    text("namespace"),
                    text("name"),
                ];
                self.written += 1;
                match event {
                    EventType::Deleted => drop(self.objects.remove(&(Arc::clone(on), id))),
                    _ => drop(self.objects.insert((Arc::clone(on), id), (self.written, object.clone()))),
                }
            }
            Kind::Mark(mark) => self.observe_mark(mark),
        }
    }

    fn observe_mark(&mut self, mark: &Mark) {
        if mark.contains_key("history") {
            self.header = Some(mark.clone());
        } else if let Some(on) = mark.get("observer").and_then(|observer| observer["on"].as_str()) {
            self.observers.insert(on.to_owned(), mark.clone());
        } else if mark.contains_key("fault") {
            let without_state = |mark: &Mark| {
                let fields = mark.iter().filter(|(name, _)| *name != "state");
                fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Mark>()
            };
            let ended = without_state(mark);
            self.faults.retain(|begun| without_state(begun) != ended);
            if mark.get("state").is_some_and(|state| state == "begin") {
                self.faults.push(mark.clone());
            }
        }
    }

    /// The entries at the beginning of a file. The objects are in the order in which they were written.
    fn entries(&self) -> Vec<Entry> {
        let marks = self.header.iter().chain(self.observers.values()).chain(&self.faults);
        let marks = marks.map(|mark| Entry::mark(Duration::ZERO, mark.clone()));
        let mut objects: Vec<_> = self.objects.iter().collect();
        objects.sort_by_key(|(_, (written, _))| *written);
        let objects = objects.into_iter().map(|((on, _), (_, object))| Entry {
            at: Duration::ZERO,
            kind: Kind::Event { on: Arc::clone(on), event: EventType::Added, object: object.clone() },
        });
        marks.chain(objects).collect()
    }
}

/// Gives the file at `path` the next number, and removes the oldest files.
fn set_aside(path: &Path, limit: Limit) -> io::Result<()> {
    let complete = complete(path)?;
    let number = complete.iter().max().map_or(1, |last| last + 1);
    fs::rename(path, numbered(path, number))?;
    for old in complete.into_iter().filter(|old| old.saturating_add(limit.kept) <= number) {
        fs::remove_file(numbered(path, old))?;
    }
    Ok(())
}

/// The path of the complete file with this number.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}.{number}{}", extension.unwrap_or_default()))
}

/// The numbers of the complete files beside `path`.
fn complete(path: &Path) -> io::Result<Vec<u64>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let parts = name.to_str().into_iter().flat_map(|name| name.split('.'));
        let of_name = parts.filter_map(|part| part.parse::<u64>().ok());
        numbers.extend(of_name.filter(|number| numbered(path, *number).file_name() == Some(&name)));
    }
    Ok(numbers)
}

/// A file that counts the bytes that were written to it.
struct CountingWriter {
    file: BufWriter<File>,
    bytes: u64,
}

impl CountingWriter {
    /// Creates a new file. Objects may contain secrets, so that only the owner may read it.
    fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self { file: BufWriter::new(file), bytes: 0 })
    }
}

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event: EventType, name: &str, version: u64) -> Kind {
        let metadata = json!({"name": name, "namespace": "default", "resourceVersion": version.to_string()});
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
        Kind::Event { on: "m1".into(), event, object: object.into() }
    }

    fn mark(value: serde_json::Value) -> Kind {
        Kind::Mark(value.as_object().unwrap().clone())
    }

    fn summary(path: &Path) -> Vec<(u64, String)> {
        let entries = capsize_history::read(path).unwrap().map(Result::unwrap);
        let text = |kind| match kind {
            Kind::Event { event, object, .. } => {
                let name = object.text("metadata", "name").into_owned();
                format!("{event:?} {name} {}", object.text("metadata", "resourceVersion"))
            }
            Kind::Mark(mark) => mark.keys().next().unwrap().clone(),
        };
        entries.map(|entry| (entry.at.as_secs(), text(entry.kind))).collect()
    }

    #[test]
    fn each_file_begins_with_the_state_and_the_oldest_files_are_removed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.jsonl");
        let limit = Some(Limit { bytes: 1, kept: 2 });
        let mut parts = Parts::create(&path, limit).unwrap();
        let observer = json!({"observer": {"on": "m1", "latency": 0.5, "clockOffset": 0.0}});
        let fault = |kind: &str, state: &str| json!({"fault": kind, "cluster": "m1", "state": state});
        let kinds = [
            mark(json!({"history": "v1", "target": "reference"})),
            mark(observer),
            mark(fault("refuse", "begin")),
            mark(fault("partition", "begin")),
            mark(fault("refuse", "end")),
            event(EventType::Added, "b", 1),
            event(EventType::Added, "a", 2),
            event(EventType::Added, "gone", 3),
            event(EventType::Modified, "b", 4),
            event(EventType::Deleted, "gone", 5),
            event(EventType::Modified, "a", 6),
        ];
        for (at, kind) in (0..).zip(kinds) {
            parts.write(&Entry { at: Duration::from_secs(at), kind }).unwrap();
        }
        parts.flush().unwrap();
        let entry = |at: u64, text: &str| (at, text.to_owned());
        let expected = ["history", "observer", "cluster", "Added a 2", "Added b 4", "Modified a 6"];
        let expected: Vec<_> = expected.iter().map(|text| entry(0, text)).collect();
        let read = summary(&path);
        assert_eq!(read, expected);
        let before = summary(&folder.path().join("h.10.jsonl"));
        assert_eq!(before.last(), Some(&entry(1, "recorder")));
        assert!(before.contains(&entry(0, "Deleted gone 5")), "{before:?}");
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["h.10.jsonl", "h.9.jsonl", "h.jsonl"]);
        for name in names {
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        // A monitor that starts again goes on with the next number.
        drop(parts);
        Parts::create(&path, limit).unwrap();
        assert!(folder.path().join("h.11.jsonl").exists());
        assert!(Parts::create(&path, None).is_err(), "no history is overwritten by mistake");
    }
}
