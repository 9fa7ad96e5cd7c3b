//! Reads the documents of one file: events of a watch or an audit log, lists, and single objects.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use super::audit::Audit;
use super::times::{SECOND, written_at};
use crate::record::redact;
use capsize_history::{EventType, LONGEST};

/// The events of one file.
#[derive(Debug, Default)]
pub struct ImportedFile {
    /// The events, in the order of the file.
    pub events: Vec<ImportedEvent>,
    /// The entries that say nothing about an object, by the reason.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// An event, with its time as far as it is known.
#[derive(Debug)]
pub struct ImportedEvent {
    /// The type of the event.
    pub event: EventType,
    /// The object.
    pub object: Value,
    /// The latest time at which it was written; `None` if nothing shows it.
    pub at: Option<Timestamp>,
    /// How much earlier it may have been written.
    pub latency: Duration,
}

/// Why a file cannot be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The text is not JSON.
    #[error("{path}:{line}:{column}: this is not JSON: {reason}")]
    Json {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// The error of the reader.
        reason: String,
    },
    /// A document is of no known form.
    #[error(
        "{path}: document {number} is neither an object, nor a list, nor an event of a watch or an audit log"
    )]
    Form {
        /// The file.
        path: String,
        /// The number of the document, from one.
        number: usize,
    },
}

/// Reads all documents of `input`, called `path` in errors. The values of Secrets are left out.
///
/// # Errors
/// Text that is not JSON, or a document of no known form.
pub fn import(path: &str, input: impl BufRead) -> Result<ImportedFile, ImportError> {
    let mut documents = Documents::default();
    for (place, document) in serde_json::Deserializer::from_reader(input).into_iter::<Value>().enumerate() {
        let document = document.map_err(|error| ImportError::Json {
            path: path.to_owned(),
            line: error.line(),
            column: error.column().max(1),
            reason: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        })?;
        let is_known = documents.read(document);
        is_known.ok_or_else(|| ImportError::Form { path: path.to_owned(), number: place + 1 })?;
    }
    Ok(documents.imported)
}

/// The documents so far.
#[derive(Default)]
struct Documents {
    imported: ImportedFile,
    /// The version of each object, by its key.
    versions: BTreeMap<String, String>,
    audit: Audit,
}

impl Documents {
    /// Reads one document; `None` if it is of no known form.
    fn read(&mut self, mut document: Value) -> Option<()> {
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (kind, group) = (text(&document, "kind"), text(&document, "apiVersion"));
        if group.starts_with("audit.k8s.io/") {
            let items = match document.get_mut("items").map(Value::take) {
                Some(Value::Array(items)) => items,
                _ => vec![document],
            };
            items.into_iter().for_each(|item| self.audited(&item));
            return Some(());
        }
        if document.get("type").is_some() && document["object"].is_object() {
            let object = document["object"].take();
            match document["type"].as_str()? {
                "ADDED" => self.add(EventType::Added, object),
                "MODIFIED" => self.add(EventType::Modified, object),
                "DELETED" => self.add(EventType::Deleted, object),
                _ => self.leave_out("bookmarks and errors of watches"),
            }
            return Some(());
        }
        if let Some(Value::Array(items)) = document.get_mut("items").map(Value::take) {
            for mut item in items {
                // Items of typed lists lack both fields.
                if item.get("kind").is_none() {
                    item["kind"] = Value::from(kind.trim_end_matches("List"));
                    item["apiVersion"] = Value::from(group.as_str());
                }
                self.present(item);
            }
            return Some(());
        }
        (!kind.is_empty() && document.pointer("/metadata/name").is_some()).then(|| self.present(document))
    }

    /// An object as it is, from a dump or from a watch that prints no types.
    fn present(&mut self, object: Value) {
        let is_known = self.versions.contains_key(&key(&object));
        self.add(if is_known { EventType::Modified } else { EventType::Added }, object);
    }

    fn audited(&mut self, event: &Value) {
        match self.audit.read(event) {
            Ok(write) => self.push(write),
            Err(reason) => self.leave_out(reason),
        }
    }

    fn add(&mut self, event: EventType, object: Value) {
        let at = written_at(&object);
        // The last write before a deletion is not the deletion.
        let at = at.filter(|_| event != EventType::Deleted);
        let latency = if at.is_some() { SECOND } else { LONGEST };
        self.push(ImportedEvent { event, object, at, latency });
    }

    fn push(&mut self, mut imported: ImportedEvent) {
        let ImportedEvent { event, object, .. } = &mut imported;
        if object["metadata"]["name"].as_str().is_none() || object["kind"].as_str().is_none() {
            return self.leave_out("objects without a kind or a name");
        }
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        let last = match event {
            EventType::Deleted => self.versions.remove(&key(object)),
            _ => self.versions.insert(key(object), version.clone()),
        };
        if *event == EventType::Modified && !version.is_empty() && last == Some(version) {
            return self.leave_out("writes that change nothing");
        }
        redact(object);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        self.imported.events.push(imported);
    }

    fn leave_out(&mut self, reason: &'static str) {
        *self.imported.left_out.entry(reason).or_default() += 1;
    }
}

/// The identity of an object.
fn key(object: &Value) -> String {
    let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    let (metadata, kind) = (&object["metadata"], &object["kind"]);
    format!("{} {kind} {} {}", group.map_or("", |(group, _)| group), metadata["namespace"], metadata["name"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn imported(documents: &[Value]) -> ImportedFile {
        let text: String = documents.iter().map(|document| format!("{document:#}\n")).collect();
        import("it.json", text.as_bytes()).unwrap()
    }

    fn object(version: &str, second: u32) -> Value {
        let time = format!("2026-01-01T00:00:{second:02}Z");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "c", "namespace": "d", "resourceVersion": version, "managedFields": [{"time": time}],
        }})
    }

    fn second(event: &ImportedEvent) -> Option<i8> {
        event.at.map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).second())
    }

    #[test]
    fn events_of_a_watch_are_as_exact_as_their_managed_fields() {
        let watch = |event: &str, object: Value| json!({"type": event, "object": object});
        let all = imported(&[
            watch("ADDED", object("1", 5)),
            watch("MODIFIED", object("2", 7)),
            watch("BOOKMARK", json!({"kind": "ConfigMap"})),
            watch("DELETED", object("3", 7)),
        ]);
        let events: Vec<_> = all.events.iter().map(|each| (each.event, second(each), each.latency)).collect();
        let expected = [
            (EventType::Added, Some(6), SECOND),
            (EventType::Modified, Some(8), SECOND),
            (EventType::Deleted, None, LONGEST),
        ];
        assert_eq!(events, expected);
        assert!(all.events.iter().all(|each| each.object["metadata"].get("managedFields").is_none()));
        assert_eq!(all.left_out.values().sum::<usize>(), 1);
    }

    #[test]
    fn lists_and_objects_are_present_and_change_when_they_come_again() {
        let mut item = object("1", 1);
        item.as_object_mut().unwrap().retain(|field, _| field == "metadata");
        let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [item]});
        let all = imported(&[list, object("2", 3), object("2", 3)]);
        let events: Vec<_> = all.events.iter().map(|each| (each.event, &each.object["kind"])).collect();
        let kind = json!("ConfigMap");
        assert_eq!(events, [(EventType::Added, &kind), (EventType::Modified, &kind)]);
    }

    #[test]
    fn a_mistake_is_reported_with_its_place() {
        let error = import("it.json", "{\"kind\": \"A\",\n oops}".as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("it.json:2:2: this is not JSON: "), "{error}");
        let error = import("it.json", "{}\n[]".as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("it.json: document 1 is neither"), "{error}");
    }
}
