//! Tests of reading and writing histories.

use std::time::Duration;

use capsize_history::{Entry, EventType, HistoryError, Reader, Writer, read};
use serde_json::{Value, json};

const HEADER: &str = r#"{"at":0.0,"mark":{"history":"v1","implementation":"karmada","version":"v1.18.2"}}"#;

fn entries(text: &str) -> Result<Vec<Entry>, HistoryError> {
    Reader::new("h.jsonl", text.as_bytes()).collect()
}

/// The message and the help of an error.
fn error(text: &str) -> (String, String) {
    let error = entries(text).unwrap_err();
    let HistoryError::Line { help, .. } = &error else { panic!("{error}") };
    (error.to_string(), help.clone())
}

#[test]
fn an_error_is_reported_with_its_line_and_column() {
    let with = |line: &str| format!("{HEADER}\n{line}\n");
    let cases = [
        (String::new(), "h.jsonl:1:1: the history is empty"),
        ("\n\n".to_owned(), "h.jsonl:3:1: the history is empty"),
        (
            r#"{"at":0.0,"mark":{"step":"final"}}"#.to_owned(),
            "h.jsonl:1:1: the first line is not the header of a history",
        ),
        (
            format!("\n{}\n", r#"{"at":0.0,"mark":{}}"#),
            "h.jsonl:2:1: the first line is not the header of a history",
        ),
        (
            HEADER.replace("v1\"", "v9\""),
            "h.jsonl:1:1: this is a history of version \"v9\", and this Capsize reads v1",
        ),
        (
            HEADER.replace("\"v1\"", "1"),
            "h.jsonl:1:1: this is a history of version 1, and this Capsize reads v1",
        ),
        (
            with(r#"{"at":1.0,"mark":{"step":"#).trim_end().to_owned(),
            "h.jsonl:2:25: the last line is cut off",
        ),
        (with(r#"{"at":1.0,"mark":{"step":"#), "h.jsonl:2:25: this is not JSON: EOF while parsing a value"),
        (with("at: 1"), "h.jsonl:2:1: this is not JSON: expected value"),
        (with("[]"), "h.jsonl:2:2: invalid length 0, expected an entry of a history"),
        (with(r#"{"at":"soon","mark":{}}"#), r#"h.jsonl:2:12: expected a number, and this is "soon""#),
        (with(r#"{"mark":{}}"#), "h.jsonl:2:1: the entry has no `at`"),
        (with(r#"{"at":-1,"mark":{}}"#), "h.jsonl:2:1: `at` is -1"),
        (with(r#"{"at":1e10,"mark":{}}"#), "h.jsonl:2:1: `at` is 10000000000"),
        (
            with(r#"{"at":1,"mark":{"observer":{"latency":1}}}"#),
            "h.jsonl:2:1: `observer` has no `on`, the name of a cluster",
        ),
        (
            with(r#"{"at":1,"mark":{"observer":{"on":"m1","latency":-1}}}"#),
            "h.jsonl:2:1: `observer.latency` is -1, which is no length of time in seconds",
        ),
        (
            with(r#"{"at":1,"mark":{"observer":{"on":"m1","clockOffset":"little"}}}"#),
            "h.jsonl:2:1: `observer.clockOffset` is \"little\", which is no number",
        ),
        (with(r#"{"at":1}"#), "h.jsonl:2:1: the entry is neither a mark nor an event"),
        (
            with(r#"{"at":1,"on":"m1","event":"BOOKMARK","object":{}}"#),
            "h.jsonl:2:36: unknown variant `BOOKMARK`, expected one of `ADDED`, `MODIFIED`, `DELETED`",
        ),
        (
            with(r#"{"at":1,"on":"m1","event":"ADDED","object":{"kind":"Pod"}}"#),
            "h.jsonl:2:1: the object has no metadata with a name",
        ),
        (
            with(r#"{"at":1,"on":"m1","event":"ADDED","object":{"metadata":{"name":"a"}}}"#),
            "h.jsonl:2:1: the object has no kind",
        ),
    ];
    for (text, message) in cases {
        let (observed, help) = error(&text);
        assert_eq!(observed, message);
        assert!(!help.is_empty(), "{message}");
    }
}

#[test]
fn a_folder_and_a_missing_file_are_reported_by_name() {
    let folder = std::env::temp_dir();
    let observed = |path: &std::path::Path| read(path).err().map(|error| error.to_string()).unwrap();
    assert_eq!(observed(&folder), format!("{}: this is a directory", folder.display()));
    let missing = folder.join("capsize-no-such-history.jsonl");
    assert!(observed(&missing).starts_with(&format!("{}: ", missing.display())));
}

#[test]
fn unknown_marks_and_fields_are_kept_or_ignored() {
    let text = format!("{HEADER}\n{}\n", r#"{"at":1,"mark":{"weather":"fair"},"by":"a newer recorder"}"#);
    let entries = entries(&text).unwrap();
    assert_eq!(
        entries[1],
        Entry::mark(Duration::from_secs(1), [("weather".into(), json!("fair"))].into_iter().collect())
    );
}

fn written(entries: &[Entry]) -> String {
    let mut writer = Writer::new(Vec::new());
    entries.iter().for_each(|entry| writer.write(entry).unwrap());
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn written_entries_are_read_again() {
    let Value::Object(header) = json!({"history": "v1", "implementation": "reference"}) else {
        unreachable!()
    };
    let pod = json!({"kind": "Pod", "metadata": {"name": "a", "namespace": "default"}});
    let all = [
        Entry::mark(Duration::ZERO, header),
        Entry::event(Duration::from_micros(1_234_567), "m1", EventType::Added, pod.clone().into()),
        Entry::event(Duration::from_secs(1_200), "control-plane", EventType::Deleted, pod.into()),
    ];
    assert_eq!(entries(&written(&all)).unwrap(), all);
}

#[test]
fn the_same_entries_are_the_same_bytes_and_managed_fields_are_left_out() {
    let one = json!({"kind": "Pod", "metadata": {"name": "a", "managedFields": [{"manager": "m"}]}, "spec": {"b": 1, "a": 2}});
    let other: Value =
        serde_json::from_str(r#"{"spec":{"a":2,"b":1},"metadata":{"name":"a"},"kind":"Pod"}"#).unwrap();
    let event =
        |object: Value| Entry::event(Duration::from_millis(500), "m1", EventType::Modified, object.into());
    let line = "{\"at\":0.5,\"on\":\"m1\",\"event\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"a\":2,\"b\":1}}}\n";
    assert_eq!(written(&[event(one)]), line);
    assert_eq!(written(&[event(other)]), line);
}
