//! `capsize import` judges an incident, and histories are compressed, marked and private.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{capsize, is_refused, recordings, text};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn compressed(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_recorded_failover_as_kubectl_prints_it_is_judged_as_the_recording() {
    let folder = TempDir::new().unwrap();
    let history = fs::read_to_string(recordings().join("duplicated-refused.jsonl")).unwrap();
    let lines = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut watches: Vec<(String, String)> = Vec::new();
    for entry in lines.filter(|entry| entry.get("object").is_some()) {
        let mut object = entry["object"].clone();
        // The recording begins in the hour of its objects, and kubectl prints the time of each write.
        let seconds = entry["at"].as_f64().unwrap() as i64;
        let time = jiff::Timestamp::from_second(1_790_000_000 + seconds).unwrap();
        object["metadata"]["managedFields"] = json!([{"manager": "m", "time": time.to_string()}]);
        let event = json!({"type": entry["event"], "object": object});
        let name = entry["on"].as_str().unwrap();
        match watches.iter_mut().find(|(known, _)| known == name) {
            Some((_, text)) => *text += &format!("{event:#}\n"),
            None => watches.push((name.to_owned(), format!("{event:#}\n"))),
        }
    }
    let mut arguments = vec!["import".to_owned()];
    for (name, text) in &watches {
        fs::write(folder.path().join(format!("{name}.json.gz")), compressed(text.as_bytes())).unwrap();
        arguments.push(format!("{name}={name}.json.gz"));
    }
    arguments.extend(["--out", "it.jsonl", "--target", "karmada-1.18"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = capsize(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("events into it.jsonl"), "{printed}");
    assert_eq!(mode(&folder.path().join("it.jsonl")), 0o600);
    let output = capsize(folder.path(), &["check", "--format", "json", "it.jsonl"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let held: u64 =
        report["guarantees"].as_array().unwrap().iter().map(|each| each["held"].as_u64().unwrap()).sum();
    assert!(held > 20, "{}", text(&output.stdout));
    is_refused(folder.path(), &arguments, 2, "--out it.jsonl: ");
}

#[test]
fn events_without_a_time_are_imported_and_the_command_says_so() {
    let folder = TempDir::new().unwrap();
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    fs::write(folder.path().join("dump.json"), object.to_string()).unwrap();
    let output =
        capsize(folder.path(), &["import", "dump.json", "--out", "it.jsonl", "--target", "karmada-1.18"]);
    let printed = text(&output.stdout);
    assert!(printed.contains("the time of 1 of them is unknown"), "{printed}");
    is_refused(
        folder.path(),
        &["import", "none.json", "--out", "x", "--target", "reference"],
        2,
        "none.json: No such",
    );
    fs::write(folder.path().join("bad.json"), "{\n").unwrap();
    is_refused(
        folder.path(),
        &["import", "bad.json", "--out", "x", "--target", "reference"],
        2,
        "bad.json:2:",
    );
}

#[test]
fn a_compressed_history_and_one_with_a_byte_order_mark_are_judged_alike() {
    let folder = TempDir::new().unwrap();
    let history = fs::read(recordings().join("short-blip.jsonl")).unwrap();
    let marked = [b"\xef\xbb\xbf".as_slice(), &history].concat();
    for (name, contents) in [
        ("plain.jsonl", history.clone()),
        ("packed.jsonl.gz", compressed(&history)),
        ("marked.jsonl", marked.clone()),
        ("both.jsonl.gz", compressed(&marked)),
    ] {
        fs::write(folder.path().join(name), contents).unwrap();
        let output = capsize(folder.path(), &["check", "--format", "json", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
    }
}

#[test]
fn only_their_owner_may_read_the_histories_of_a_report() {
    let folder = TempDir::new().unwrap();
    capsize(folder.path(), &["run", "--filter", "tainting/blip", "--report", "out"]);
    assert_eq!(mode(&folder.path().join("out/histories/tainting/blip.jsonl")), 0o600);
}
