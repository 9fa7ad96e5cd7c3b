//! A chaos run that is killed at any time can be resumed, and comes to the same result.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

const SEEDS: [&str; 8] = ["chaos", "--seeds", "0..4", "--style", "lite", "--jobs", "1", "--save"];

fn chaos(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.args(SEEDS).arg(folder).arg("--keep-going").args(more).stdout(Stdio::null());
    command
}

/// The number of whole lines of the journal, including its head.
fn lines(folder: &Path) -> usize {
    fs::read(folder.join("journal.jsonl"))
        .map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let whole = tempfile::tempdir().unwrap();
    let all_is_well = chaos(whole.path(), &[]).status().unwrap().code();
    let journal = fs::read_to_string(whole.path().join("journal.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 5, "a head, and a line for each seed");
    for moment in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let mut run = chaos(folder.path(), &[]).spawn().unwrap();
        while lines(folder.path()) < moment && run.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        run.kill().unwrap();
        run.wait().unwrap();
        let resumed = chaos(folder.path(), &["--resume"]).status().unwrap().code();
        assert_eq!(resumed, all_is_well);
        assert_eq!(fs::read_to_string(folder.path().join("journal.jsonl")).unwrap(), journal);
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let expected: Vec<_> =
            fs::read_dir(whole.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), expected.len(), "{left:?}");
    }
}
