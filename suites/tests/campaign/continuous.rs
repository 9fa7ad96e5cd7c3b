//! Tests `capsize chaos --continuous`.
//! The command goes on where it ended, and its page has the results of each commit.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::{FAILS, TOO_STRICT, capsize, printed, profile};

/// Runs seeds for a time, and returns the exit code and the output.
fn chaos(db: &Path, lasts: &str, more: &[&str]) -> (Option<i32>, String) {
    let options = ["chaos", "--continuous", "--style", "lite", "--for", lasts, "--db", db.to_str().unwrap()];
    let output = capsize(&[&options[..], more].concat());
    (output.status.code(), printed(&output))
}

/// The seeds in a journal, in order. A line that is being written is left out.
fn seeds(db: &Path, run: &str) -> Vec<u64> {
    let text = fs::read_to_string(db.join(run).join("journal.jsonl")).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines.filter_map(|line| line["seed"].as_u64()).collect()
}

fn page(db: &Path) -> String {
    fs::read_to_string(db.join("index.html")).unwrap()
}

#[test]
fn it_goes_on_where_it_ended_and_keeps_the_results_of_each_commit() {
    let folder = TempDir::new().unwrap();
    let db = folder.path().join("db");
    let run = format!("{}/reference-1.5-lite", env!("CARGO_PKG_VERSION"));
    assert_eq!(chaos(&db, "1s", &[]).0, Some(0));
    let first = seeds(&db, &run);
    assert!(!first.is_empty());
    let (code, text) = chaos(&db, "1s", &[]);
    assert_eq!(code, Some(0), "{text}");
    let both = seeds(&db, &run);
    assert!(both.len() > first.len(), "{both:?}");
    assert_eq!(both, (0..both.len() as u64).collect::<Vec<_>>(), "each seed once, in order");
    assert!(text.contains(&format!("{} seeds: {} held, 0 failed", both.len(), both.len())), "{text}");
    assert_eq!(chaos(&db, "1s", &["--commit", "abc123"]).0, Some(0));
    let other = seeds(&db, "abc123/reference-1.5-lite");
    assert_eq!(other.first(), Some(&0), "another commit begins with the first seed");
    let page = page(&db);
    for (commit, count) in [(env!("CARGO_PKG_VERSION"), both.len()), ("abc123", other.len())] {
        let row = page.lines().find(|line| line.contains(&format!("<td>{commit}</td>"))).unwrap();
        assert!(row.contains(&format!("<td class=\"number\">{count}</td>")), "{row}");
    }
    let all = both.len() + other.len();
    assert!(page.contains(&format!("{all} seeds, of which 0 failed.")), "{page}");
}

#[test]
fn a_seed_that_fails_is_on_the_page_with_the_command_that_repeats_it() {
    let folder = TempDir::new().unwrap();
    let db = folder.path().join("db");
    let target = profile(folder.path(), &TOO_STRICT);
    let seeds = format!("{FAILS}..{}", FAILS + 1);
    let options = ["--target", &target, "--seeds", &seeds, "--jobs", "1"];
    let (code, text) = chaos(&db, "500ms", &options);
    assert_eq!(code, Some(1), "{text}");
    let page = page(&db);
    let run = db.join(env!("CARGO_PKG_VERSION")).join("mine-1.5-lite");
    assert!(run.join(format!("lite-{FAILS}.yaml")).is_file());
    let replay =
        format!("capsize replay {FAILS} --style lite --target {}", run.join("target.yaml").display());
    assert!(page.contains(&format!("<code>{replay}</code>")), "{page}");
    let repeated = capsize(&replay.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(repeated.status.code(), Some(1), "{}", printed(&repeated));
    assert_eq!(chaos(&db, "0s", &options).0, Some(1), "the failures of before count");
}

#[test]
fn a_signal_ends_it_after_the_seeds_that_run_and_only_one_process_may_write() {
    let folder = TempDir::new().unwrap();
    let db = folder.path().join("db");
    let run = "c/reference-1.5-lite";
    let options = ["chaos", "--continuous", "--style", "lite", "--commit", "c", "--jobs", "1", "--db"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    let mut process = command.args(options).arg(&db).stdout(Stdio::null()).spawn().unwrap();
    // The page is written when the database is open.
    while !db.join("index.html").exists() || seeds(&db, run).is_empty() {
        assert!(process.try_wait().unwrap().is_none());
        thread::yield_now();
    }
    let (code, text) = chaos(&db, "1s", &[]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("another process adds results"), "{text}");
    assert!(Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(0));
    let there = seeds(&db, run);
    assert_eq!(there.iter().collect::<BTreeSet<_>>().len(), there.len());
    let count = there.len();
    assert!(page(&db).contains(&format!("{count} seeds, of which 0 failed.")), "{}", page(&db));
}

#[test]
fn a_commit_that_cannot_be_the_name_of_a_folder_is_refused() {
    let folder = TempDir::new().unwrap();
    for commit in ["../x", "a/b", ".", "", "-x"] {
        let (code, text) = chaos(folder.path(), "0s", &[&format!("--commit={commit}")]);
        assert_eq!(code, Some(2), "{commit}: {text}");
    }
    let output = capsize(&["chaos", "--db", "db"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
}
