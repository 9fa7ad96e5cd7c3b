//! Checks that conformance reports and the data of `capsize explain` are up to date.
//! Forged reports are refused, shards join, and parts of the histories violate nothing new.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../trials/stand_in_hub/bugs.rs"]
mod bugs;
mod changes;
mod excerpts;
#[path = "../files/mod.rs"]
mod files;
mod forgeries;
#[path = "../parallel/mod.rs"]
mod parallel;
#[path = "../recorded/mod.rs"]
mod recorded;
#[path = "../recorded/runs.rs"]
mod runs;
mod selections;
mod shipped;
mod traces;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `capsize` with `arguments` in `folder`.
fn capsize(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_capsize")).args(arguments).current_dir(folder).output().unwrap()
}

/// Both streams of a command, each as one line, because the place of a line break depends on the width.
fn printed(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8(text).unwrap();
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// Runs `capsize`, which must end with `code`.
fn runs(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = capsize(folder, arguments);
    let printed = printed(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    printed
}

/// A file as a tree.
fn tree(path: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
