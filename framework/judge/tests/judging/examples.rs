//! The page of what violations look like, made of the histories that break each guarantee.

use std::path::PathBuf;
use std::sync::Mutex;
use std::{env, fs};

use capsize_history::facts::Fact;
use capsize_judge::guarantee::{Catalogue, Verdict};

use crate::outcomes::breaks;
use crate::story::StoryOutcome;

const HEAD: &str = "# What violations look like

For each guarantee a smallest history that breaks it, fact by fact, and what a report says of it. This page is made of the tests
that break each of them by hand; `capsize explain ID` shows the part about one.

There is a workload of two replicas, `web`, on each of the members m1 and m2, and m3 to spare; all is well until 00:10.0. A member is
not ready after 3 s, is tainted after 6 s more, and is evicted from 5 s later; whatever takes no time may take 1 s. The nodes are
called by their zones, a1 and so on. They may be silent for 6 s.
";

/// One test at a time makes its part of the page anew.
static WRITING: Mutex<()> = Mutex::new(());

/// Breaks `id` and nothing else, in the way that the page shows.
#[track_caller]
pub(crate) fn shows(id: &str, outcome: &StoryOutcome) {
    breaks(id, outcome);
    is_shown(id, &outcome.facts, outcome);
}

/// The page shows how `facts` break `id`.
#[track_caller]
pub(crate) fn is_shown(id: &str, facts: &[Fact], verdicts: &[Verdict]) {
    let verdict = verdicts.iter().find(|verdict| verdict.spec.id == id).unwrap();
    let example = capsize_report::example(facts, verdict);
    if env::var_os("UPDATE_DOCS").is_some() {
        let _alone = WRITING.lock().unwrap();
        return write(id, &example);
    }
    let shown = page().split_once(&heading(id)).map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    let shown = shown.split_once("```\n").map_or("", |(shown, _)| shown);
    assert_eq!(shown, example, "docs/violations.md is old: {UPDATE}");
}

const UPDATE: &str = "run UPDATE_DOCS=1 cargo test -p capsize-judge --test judging";

fn heading(id: &str) -> String {
    format!("\n## {id}\n\n```\n")
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/violations.md")
}

fn page() -> String {
    fs::read_to_string(path()).unwrap_or_default()
}

/// Those of `page` that are in the catalogue, in its order, and `example` of `id`.
fn write(id: &str, example: &str) {
    let before = page();
    let section = |rule: &&str| {
        let there = before.split_once(&heading(rule)).and_then(|(_, rest)| rest.split_once("```\n"));
        let text = if *rule == id { Some(example) } else { there.map(|(example, _)| example) };
        text.map(|text| format!("{}{text}```\n", heading(rule)))
    };
    let sections: String = ids().iter().filter_map(section).collect();
    fs::write(path(), format!("{HEAD}{sections}")).unwrap();
}

fn ids() -> Vec<&'static str> {
    Catalogue::specs().iter().map(|spec| spec.id).collect()
}

#[test]
fn the_page_of_violations_shows_each_guarantee_and_nothing_else() {
    if env::var_os("UPDATE_DOCS").is_some() {
        return;
    }
    let page = page();
    assert!(page.starts_with(HEAD), "docs/violations.md is old: {UPDATE}");
    let shown: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(shown, ids());
}
