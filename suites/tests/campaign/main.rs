//! Chaos on many machines, without an end, and after an end by a signal, as whole processes.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod continuous;
mod job;
#[path = "../manifests/mod.rs"]
mod manifests;
mod pods;
mod resumed;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `capsize` with `arguments`.
pub(crate) fn capsize(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_capsize")).env("COLUMNS", "1000").args(arguments).output().unwrap()
}

/// Both outputs of a program.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap()
}

/// The profile of the reference with another name, and with `timings` in the place of its own.
pub(crate) fn profile(folder: &Path, timings: &[(&str, &str)]) -> String {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets/reference.yaml");
    let mut text = fs::read_to_string(reference).unwrap().replace("name: reference", "name: mine");
    for (own, other) in timings {
        assert!(text.contains(own), "{own}");
        text = text.replace(own, other);
    }
    let path = folder.join("mine.yaml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A timing that the reference does not keep.
pub(crate) const TOO_STRICT: [(&str, &str); 1] = [("latency: 500ms", "latency: 1ms")];

/// A seed of the style lite that fails with this timing, and soon becomes small.
pub(crate) const FAILS: u64 = 4;
